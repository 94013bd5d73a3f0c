"""SciPy for functions that are to be differentiated."""

from adjoint.compat.autograd.scipy import integrate, linalg, misc, signal, special, stats
