"""scipy.ndimage, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.ndimage as _ndimage

from adjoint.interop.namespaces import over_tensors as _over_tensors

globals().update({name: getattr(_ndimage, name) for name in _ndimage.__all__})
globals().update(_over_tensors("scipy.ndimage.", _ndimage))

__all__ = list(_ndimage.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_ndimage, name)
