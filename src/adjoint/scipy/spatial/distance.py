"""scipy.spatial.distance, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.spatial.distance as _distance

from adjoint.interop.namespaces import over_tensors as _over_tensors

globals().update({name: getattr(_distance, name) for name in _distance.__all__})
globals().update(_over_tensors("scipy.spatial.distance.", _distance))

__all__ = list(_distance.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_distance, name)
