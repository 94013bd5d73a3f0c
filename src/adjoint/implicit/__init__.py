"""Solutions with derivatives: of equations, minimisations, linear systems and differential equations."""

from adjoint.solvers.convergence import ConvergenceError
from adjoint.solvers.implicit import fixed_point, minimize_stationary, root
from adjoint.solvers.linear import linear_solve
from adjoint.solvers.ode import odeint
from adjoint.solvers.sparse import spsolve

__all__ = [
    "ConvergenceError",
    "fixed_point",
    "linear_solve",
    "minimize_stationary",
    "odeint",
    "root",
    "spsolve",
]
