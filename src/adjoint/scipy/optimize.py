"""scipy.optimize, whose solvers take Tensors and Arrays as parameters: solutions have derivatives in these."""

from typing import Any as _Any

import scipy.optimize as _optimize

from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.namespaces import public_names as _public_names
from adjoint.interop.scipy_functions.active_sets import discrete_problems as _discrete_problems
from adjoint.interop.scipy_functions.active_sets import linear_problems as _linear_problems
from adjoint.interop.scipy_functions.functions_of_functions import optimizers as _optimizers
from adjoint.interop.scipy_functions.least_squares import fits as _fits

globals().update(_public_names("scipy.optimize.", _optimize))
for _functions in (_optimizers, _fits, _linear_problems, _discrete_problems):
    globals().update({name: _known_by(function, __name__, name) for name, function in _functions(_optimize).items()})

__all__ = list(_optimize.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_optimize, name)
