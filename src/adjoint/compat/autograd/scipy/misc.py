"""Where SciPy once had logsumexp, which dependents still import from here."""

from adjoint.compat.autograd.scipy.special import logsumexp

__all__ = ["logsumexp"]
