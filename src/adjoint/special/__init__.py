"""Special functions: error, gamma and Bessel functions, orthogonal polynomials, under torch.special's names."""

from adjoint.functions.binding import functions as _functions
from adjoint.runtime.lazy import LateAttributes as _LateAttributes

__all__ = sorted(_functions["special"].homes)
__getattr__ = _LateAttributes(__name__, tables=(_functions["special"],))
__dir__ = __getattr__.list_names
