"""scipy.optimize with derivatives supplied, for functions of tensors."""

from adjoint.solvers.functions import scipy_function
from adjoint.solvers.optimize import curve_fit, least_squares, minimize, root, root_scalar

__all__ = ["curve_fit", "least_squares", "minimize", "root", "root_scalar", "scipy_function"]
