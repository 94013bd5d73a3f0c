"""SciPy's names for code that Tensors may come into: `from adjoint.scipy import linalg, special, stats`.

Everything is SciPy's own but for the functions that have a derivative, which compute with Tensors where they get some.

>>> import adjoint
>>> from adjoint.scipy import special
>>> x = adjoint.tensor([0.5, 2.0], dtype=adjoint.float64, requires_grad=True)
>>> special.logsumexp(x).backward()
>>> x.grad
tensor([0.1824, 0.8176], dtype=adjoint.float64)
"""

from adjoint.interop.scipy_functions import load as _load

_load()
