"""scipy.integrate, whose functions also take Tensors."""

from __future__ import annotations

from typing import Any as _Any

import scipy.integrate as _integrate

from adjoint.interop.namespaces import over_tensors as _over_tensors

globals().update({name: getattr(_integrate, name) for name in _integrate.__all__})
globals().update(_over_tensors("scipy.integrate.", _integrate))

__all__ = list(_integrate.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_integrate, name)
