"""scipy.optimize, whose solvers take Tensors and Arrays as parameters: solutions are differentiated by them."""

from typing import Any as _Any

import scipy.optimize as _optimize

from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.scipy_functions.functions_of_functions import optimizers as _optimizers

globals().update({name: getattr(_optimize, name) for name in _optimize.__all__})
globals().update({name: _known_by(function, __name__, name) for name, function in _optimizers(_optimize).items()})

__all__ = list(_optimize.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_optimize, name)
