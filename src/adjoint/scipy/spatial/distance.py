"""scipy.spatial.distance, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.spatial.distance as _distance

from adjoint.interop.namespaces import over_tensors as _over_tensors
from adjoint.interop.namespaces import public_names as _public_names

globals().update(_public_names("scipy.spatial.distance.", _distance))
globals().update(_over_tensors("scipy.spatial.distance.", _distance))

__all__ = list(_distance.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_distance, name)
