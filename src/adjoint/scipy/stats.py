"""scipy.stats, whose distributions also take Tensors."""

from __future__ import annotations

from typing import Any as _Any

import scipy.stats as _stats

from adjoint.interop.namespaces import Distribution as _Distribution
from adjoint.interop.numpy_functions import FUNCTIONS as _FUNCTIONS

_names = sorted({name.split(".")[2] for name in _FUNCTIONS if name.startswith("scipy.stats.")})

globals().update({name: getattr(_stats, name) for name in _stats.__all__})
globals().update({name: _Distribution(name, getattr(_stats, name)) for name in _names})

__all__ = list(_stats.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_stats, name)
