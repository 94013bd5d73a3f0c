"""Solvers that do not converge."""


class ConvergenceError(RuntimeError):
    """A solver did not reach what it was asked for; the message says how far it came."""
