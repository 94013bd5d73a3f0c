"""SciPy for functions that are to be differentiated."""

from adjoint.compat.autograd.scipy import integrate, linalg, signal, special, stats
