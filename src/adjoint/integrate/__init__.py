"""Initial value problems: SciPy's solver with derivatives supplied, and solutions that have derivatives."""

from adjoint.solvers.initial_value import solve_ivp
from adjoint.solvers.ode import odeint

__all__ = ["odeint", "solve_ivp"]
