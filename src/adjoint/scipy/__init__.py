"""SciPy's modules, for code with Tensors: `from adjoint.scipy import linalg, special, stats`.

All names are SciPy's, except functions with a derivative, which also take Tensors and Arrays; the result has the type
of the arguments. `docs/scipy-coverage.md` lists these functions.

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

from importlib import import_module as _import_module
from typing import Any as _Any

from adjoint.interop.scipy_functions import load as _load

_load()

__all__ = ["patched"]

_MODULES = frozenset((
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "spatial", "special", "stats",
))  # fmt: skip


def __getattr__(name: str) -> _Any:
    # imported at the first use, as in SciPy; patched() imports all of it
    if name == "patched":
        from adjoint.scipy._patching import patched

        return patched
    if name in _MODULES:
        return _import_module(f"adjoint.scipy.{name}")
    raise AttributeError(f"module 'adjoint.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
