"""SciPy's names for code that Tensors may come into: `from adjoint.scipy import linalg, special, stats`.

Everything is SciPy's own but for the functions that have a derivative, which compute with Tensors and Arrays where they
get some: what you pass is what you get. `docs/scipy-coverage.md` lists them.

>>> import adjoint
>>> from adjoint.scipy import special
>>> x = adjoint.tensor([0.5, 2.0], dtype=adjoint.float64, requires_grad=True)
>>> special.logsumexp(x).backward()
>>> x.grad
tensor([0.1824, 0.8176], dtype=adjoint.float64)
>>> import numpy
>>> from adjoint.scipy import stats
>>> adjoint.func.grad(lambda a: numpy.sum(stats.gamma.logpdf([1.0, 2.0], a)))(2.0).round(4)
np.float64(-0.1524)
"""

from typing import Any as _Any

from adjoint.interop.scipy_functions import load as _load

_load()

__all__ = ["patched"]


def __getattr__(name: str) -> _Any:
    if name == "patched":
        # imported when it is first used, since it needs all of SciPy
        from adjoint.scipy._patching import patched

        return patched
    raise AttributeError(f"module 'adjoint.scipy' has no attribute {name!r}")
