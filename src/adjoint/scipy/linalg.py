"""scipy.linalg, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.linalg as _linalg

from adjoint.interop.namespaces import over_tensors as _over_tensors
from adjoint.interop.namespaces import public_names as _public_names

globals().update(_public_names("scipy.linalg.", _linalg))
globals().update(_over_tensors("scipy.linalg.", _linalg))

__all__ = list(_linalg.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_linalg, name)
