"""Special functions, for SciPy: in its array API mode it uses a namespace's own functions."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy

from adjoint.interop import scipy_functions, ufuncs
from adjoint.interop.table import FUNCTIONS
from adjoint.runtime.caches import memoize


@memoize()
def _table() -> dict[str, Any]:
    """All functions of scipy.special over Tensors; in the array API mode its own are wrapped ufuncs."""
    import scipy.special

    scipy_functions.load()
    prefix = "scipy.special."
    functions = {name.removeprefix(prefix): function for name, function in FUNCTIONS.items() if name.startswith(prefix)}
    for name, function in vars(scipy.special).items():
        ufunc = inspect.unwrap(function) if callable(function) else function
        if isinstance(ufunc, numpy.ufunc) and ufunc in ufuncs.UFUNCS:
            functions[name] = functools.partial(ufuncs.call, ufunc)
    return functions


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in _table():
        raise AttributeError(f"there is no special function {name!r} over Tensors")
    return _table()[name]
