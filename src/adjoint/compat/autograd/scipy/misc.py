"""logsumexp, which dependents import from autograd.scipy.misc."""

from adjoint.compat.autograd.scipy import special as _special

logsumexp = vars(_special)["logsumexp"]
