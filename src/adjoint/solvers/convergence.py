"""Solvers that do not converge."""


class ConvergenceError(RuntimeError):
    """A solver stopped before it reached its tolerance.

    The message names the equation and the last residual.
    """
