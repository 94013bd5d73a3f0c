"""scipy.fft, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.fft as _fft

from adjoint.interop.namespaces import over_tensors as _over_tensors

globals().update({name: getattr(_fft, name) for name in _fft.__all__})
globals().update(_over_tensors("scipy.fft.", _fft))

__all__ = list(_fft.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_fft, name)
