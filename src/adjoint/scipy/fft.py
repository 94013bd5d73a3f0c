"""scipy.fft, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.fft as _fft

from adjoint.interop.namespaces import over_tensors as _over_tensors
from adjoint.interop.namespaces import public_names as _public_names

globals().update(_public_names("scipy.fft.", _fft))
globals().update(_over_tensors("scipy.fft.", _fft))

__all__ = list(_fft.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_fft, name)
