"""scipy.stats, whose distributions also take Tensors."""

from typing import Any as _Any

import scipy.stats as _stats

from adjoint.interop.namespaces import public_names as _public_names
from adjoint.interop.scipy_functions.distributions.face import distributions as _distributions

globals().update(_public_names("scipy.stats.", _stats))
globals().update(_distributions(_stats))

__all__ = list(_stats.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_stats, name)
