"""scipy.stats, whose distributions also take Tensors."""

from typing import Any as _Any

import scipy.stats as _stats

from adjoint.interop.scipy_functions.distributions.face import distributions as _distributions

globals().update({name: getattr(_stats, name) for name in _stats.__all__})
globals().update(_distributions(_stats))

__all__ = list(_stats.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_stats, name)
