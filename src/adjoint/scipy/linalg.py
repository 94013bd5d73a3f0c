"""scipy.linalg, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.linalg as _linalg

from adjoint.interop.namespaces import over_tensors as _over_tensors

globals().update({name: getattr(_linalg, name) for name in _linalg.__all__})
globals().update(_over_tensors("scipy.linalg.", _linalg))

__all__ = list(_linalg.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_linalg, name)
