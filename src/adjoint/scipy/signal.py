"""scipy.signal, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.signal as _signal

from adjoint.interop.namespaces import over_tensors as _over_tensors
from adjoint.interop.namespaces import public_names as _public_names

globals().update(_public_names("scipy.signal.", _signal))
globals().update(_over_tensors("scipy.signal.", _signal))

__all__ = list(_signal.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_signal, name)
