"""scipy.ndimage, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.ndimage as _ndimage

from adjoint.interop.namespaces import over_tensors as _over_tensors
from adjoint.interop.namespaces import public_names as _public_names

globals().update(_public_names("scipy.ndimage.", _ndimage))
globals().update(_over_tensors("scipy.ndimage.", _ndimage))

__all__ = list(_ndimage.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_ndimage, name)
