"""Special functions: error, gamma and Bessel functions, orthogonal polynomials, under torch.special's names."""

from adjoint.functions.binding import functions as _functions

globals().update(_functions["special"])
__all__ = sorted(_functions["special"])
