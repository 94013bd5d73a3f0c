"""`patched`: code that imports NumPy and SciPy itself runs on differentiable arrays for the time of a block."""

from __future__ import annotations

import functools
import importlib
import math
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy

from adjoint import numpy as own_numpy
from adjoint.core.holders import TensorHolder
from adjoint.runtime.caches import cached
from adjoint.runtime.forks import new_rlock

Function = Callable[..., Any]

#: NumPy's functions that make arrays of data, and look for no differentiable arrays there.
MAKERS = (
    "array",
    "asarray",
    "asanyarray",
    "ascontiguousarray",
    "asfortranarray",
    "asarray_chkfinite",
    "require",
    "full",
)

#: Functions of `math` by NumPy's name.
OF_MATH = {
    **{name: name for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt",
        "fabs", "hypot", "degrees", "radians", "copysign", "cbrt", "isfinite", "isinf", "isnan", "isclose",
    )},
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "pow": "power", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
}  # fmt: skip

#: The modules of SciPy whose functions have a counterpart in adjoint.scipy.
PACKAGES = (
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "spatial.distance",
    "special",
    "stats",
)


class _Thread(threading.local):
    """How many blocks a thread is in, and which replaced functions it is running."""

    depth = 0
    running: frozenset[str] = frozenset()


_thread = _Thread()
_lock = new_rlock()
_blocks = 0
#: While there are blocks: what is to stand again for each replacement, by its id.
_originals: dict[int, Any] = {}


def _replacement(original: Function, own: Function, name: str) -> Function:
    """A function that is adjoint's in threads that are in a block, and the library's own in all others.

    What adjoint's calls in turn under the same name is the library's own.
    """

    @functools.wraps(original, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        if not _thread.depth or name in _thread.running:
            return original(*args, **kwargs)
        before = _thread.running
        _thread.running = before | {name}
        try:
            return own(*args, **kwargs)
        finally:
            _thread.running = before

    return function


def _of_math(original: Function, of_numpy: Function) -> Function:
    def own(*args: Any, **kwargs: Any) -> Any:
        held = any(isinstance(value, TensorHolder) for value in args)
        return of_numpy(*args, **kwargs) if held else original(*args, **kwargs)

    return own


def _checked_finite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """numpy.asarray_chkfinite of a differentiable array."""
    array = own_numpy.asarray(a, dtype, order)
    if not numpy.isfinite(own_numpy.detach(array)).all():
        raise ValueError("array must not contain infs or NaNs")
    return array


@cached()
def replacements() -> dict[int, tuple[Any, Any]]:
    """What is replaced, by id: the library's own function or distribution, and what stands for it."""
    pairs: list[tuple[Any, Any]] = []
    for name in MAKERS:
        original = getattr(numpy, name)
        own = _checked_finite if name == "asarray_chkfinite" else getattr(own_numpy, name)
        pairs.append((original, _replacement(original, own, f"numpy.{name}")))
    for name, of_numpy in OF_MATH.items():
        if hasattr(math, name):
            original = getattr(math, name)
            own = _of_math(original, getattr(numpy, of_numpy))
            pairs.append((original, _replacement(original, own, f"math.{name}")))
    for package in PACKAGES:
        theirs, ours = (importlib.import_module(f"{root}.{package}") for root in ("scipy", "adjoint.scipy"))
        for name in ours.__all__:
            original, own = getattr(theirs, name, None), getattr(ours, name)
            if original is None or own is original:
                continue
            is_function = callable(original) and not isinstance(original, type) and hasattr(original, "__name__")
            pairs.append((original, _replacement(original, own, f"{package}.{name}") if is_function else own))
    return {id(original): (original, replacement) for original, replacement in pairs}


def _exchange(table: dict[int, Any]) -> None:
    """Put other objects in the place of some, wherever a module has them under a name."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "adjoint" or not isinstance(module, ModuleType):
            continue
        space = vars(module)
        for key, value in list(space.items()):
            other = table.get(id(value))
            if other is not None:
                space[key] = other


class patched:
    """A with block in which code that was not written for adjoint runs on differentiable arrays.

    In the block, and in the thread that entered it, the following names mean adjoint's functions, in every module that
    has imported them by now, `from scipy.special import ...` included:

    - `numpy.array`, `asarray`, `asanyarray`, `ascontiguousarray`, `asfortranarray`, `asarray_chkfinite`, `require` and
      `full`, which otherwise turn differentiable arrays into plain ones;
    - the functions of `math` that NumPy has, where their argument is a differentiable array;
    - the functions and distributions of SciPy that `adjoint.scipy` has.

    For plain arrays all of these give what the library gives. Other threads get the library's own functions, but for
    SciPy's distributions, which are objects. When the last block ends, nothing is replaced any more. A function that
    is stored elsewhere than in a module, as in a class, is not replaced.

    >>> import adjoint, numpy, scipy.special
    >>> def entropy(p):
    ...     p = numpy.asarray(p, dtype=float)  # loses the derivative outside of the block
    ...     return -numpy.sum(scipy.special.xlogy(p, p))
    >>> with adjoint.scipy.patched():
    ...     adjoint.grad(entropy)(numpy.array([0.5, 0.25])).round(3)
    array([-0.307,  0.386])
    """

    def __enter__(self) -> None:
        global _blocks
        with _lock:
            if _blocks == 0:
                table = replacements()
                _originals.update({id(replacement): original for original, replacement in table.values()})
                _exchange({key: replacement for key, (_, replacement) in table.items()})
            _blocks += 1
        _thread.depth += 1

    def __exit__(self, *error: object) -> None:
        global _blocks
        _thread.depth -= 1
        with _lock:
            _blocks -= 1
            if _blocks == 0:
                _exchange(_originals)
                _originals.clear()
