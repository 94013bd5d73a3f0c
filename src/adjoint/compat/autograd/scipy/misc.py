"""Where SciPy once had logsumexp, which dependents still import from here."""

from adjoint.compat.autograd.scipy import special as _special

logsumexp = vars(_special)["logsumexp"]
