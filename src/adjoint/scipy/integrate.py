"""scipy.integrate, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.integrate as _integrate

from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.namespaces import over_tensors as _over_tensors
from adjoint.interop.namespaces import public_names as _public_names
from adjoint.interop.scipy_functions.functions_of_functions import integrals as _integrals

globals().update(_public_names("scipy.integrate.", _integrate))
globals().update(_over_tensors("scipy.integrate.", _integrate))
globals().update({name: _known_by(function, __name__, name) for name, function in _integrals(_integrate).items()})

__all__ = list(_integrate.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_integrate, name)
