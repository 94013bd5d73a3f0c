"""The replacements of functions of NumPy, math and SciPy in a block of `patched`."""

from __future__ import annotations

import cmath
import functools
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy

from adjoint import numpy as own_numpy
from adjoint.core.graph import new_tensor
from adjoint.interop.namespaces import GUARDED, for_both
from adjoint.interop.numpy_array.array import Array
from adjoint.interop.numpy_array.base import ARRAY, holds_array
from adjoint.interop.numpy_array.calls import ORIGINALS, for_arrays
from adjoint.interop.numpy_array.writes import make_writable
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.runtime.caches import memoize
from adjoint.scipy._blocks import FILLED, depends, has_arrays, is_own, serves_differentiated_code, thread
from adjoint.scipy._numbers import DOUBLE
from adjoint.transforms.passing import CALLERS

Function = Callable[..., Any]

#: NumPy's functions that make arrays from data, and do not check the data for differentiable arrays.
CONVERTING = ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite", "require")
MAKERS = ("array", "arange", *CONVERTING)

#: Replacements that are not set in compiled modules.
FOR_PYTHON: set[Function] = set()

#: Functions of `math` and `cmath`, by the name of the function of NumPy or `adjoint.scipy.special`.
OF_MATH = {
    **{name: name for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "log2", "log10", "log1p", "sqrt",
        "fabs", "fmod", "hypot", "degrees", "radians", "copysign", "cbrt", "prod",
    )},
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "pow": "power", "fsum": "sum",
}  # fmt: skip
OF_CMATH = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log10", "sqrt", "asin", "acos", "atan", "asinh",
            "acosh", "atanh")  # fmt: skip
#: Functions with a derivative that is zero everywhere.
CONSTANT = ("isfinite", "isinf", "isnan", "isclose", "floor", "ceil", "trunc")
SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}

#: The modules of SciPy with a corresponding module in adjoint.scipy.
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


def _replacement(original: Function, replacement: Function) -> Function:
    """A function that calls adjoint's function in a block, and the library's function in other threads.

    Calls from adjoint's code go to the library's function, except calls from functions of the user.
    """

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        if not thread.depth or (is_own(caller) and caller.f_code not in CALLERS):
            return original(*args, **kwargs)
        return replacement(*args, **kwargs)

    return function


# NumPy ----------------------------------------------------------------------------------------------------------------


def _to_be_filled(original: Function, replacement: Function) -> Function:
    """A function that makes an array of constants; in a differentiated function, the array is differentiable."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if not thread.depth:
            return original(*args, **kwargs)
        result = replacement(*args, **kwargs)
        if type(result) is not numpy.ndarray or result.dtype.char not in "fdFD":
            return result
        if not serves_differentiated_code(sys._getframe(1)):
            return result
        return Array._new(make_writable(new_tensor(result)), ARRAY)

    FOR_PYTHON.add(function)
    return function


class PlainNumpy(ModuleType):
    """NumPy for compiled modules in a block: with original functions, since they read the memory of results."""

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)


def _plain_numpy() -> PlainNumpy:
    module = PlainNumpy("numpy", numpy.__doc__)
    vars(module).update(vars(numpy))
    return module


def _for_constants(original: Function, replacement: Function) -> Function:
    """A function that converts to an array; code without differentiable arrays gets plain arrays for constants."""

    def call(*args: Any, **kwargs: Any) -> Any:
        array = args[0] if args else None
        if isinstance(array, Array) and not depends(array) and not has_arrays(sys._getframe(2)):
            return original(array.__array__(), *args[1:], **kwargs)
        return replacement(*args, **kwargs)

    return call


def _checked_finite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """numpy.asarray_chkfinite of a differentiable array."""
    array = own_numpy.asarray(a, dtype, order)
    if not numpy.isfinite(own_numpy.detach(array)).all():
        raise ValueError("array must not contain infs or NaNs")
    return array


def _arange(*args: Any, **kwargs: Any) -> Any:
    """numpy.arange with differentiable arrays for its start and its step."""
    if not holds_array((args, kwargs)):
        return numpy.arange(*args, **kwargs)
    numbers = dict(zip(("start", "stop", "step") if len(args) > 1 else ("stop",), args, strict=False)) | kwargs
    steps = numpy.arange(len(numpy.arange(*own_numpy.detach(args), **own_numpy.detach(kwargs))))
    result = numbers.get("start", 0.0) + numbers.get("step", 1.0) * steps
    return result if numbers.get("dtype") is None else result.astype(numbers["dtype"])


_OWN = {"asarray_chkfinite": _checked_finite, "arange": _arange}


def _of_numpy(name: str) -> Function:
    original: Function = getattr(numpy, name)
    replacement: Function = _OWN.get(name) or getattr(own_numpy, name)
    if name in FILLED:
        return _to_be_filled(original, replacement)
    if name in CONVERTING:
        replacement = _for_constants(original, replacement)
    return _replacement(original, replacement)


def _of_strides() -> tuple[Function, Function]:
    """numpy.lib.stride_tricks.as_strided, which has no override protocol in NumPy."""
    original = numpy.lib.stride_tricks.as_strided
    return original, _replacement(original, for_both(original, FUNCTIONS["lib.stride_tricks.as_strided"]))


def _takes_lists(original: Function) -> Function:
    """A function of NumPy that also takes lists of differentiable arrays; NumPy does not look into lists."""
    return _replacement(original, for_arrays(Array, original, original))


def _functions_of_arrays() -> Iterator[Function]:
    """NumPy's functions that dispatch differentiable arrays to adjoint's functions."""
    for name in FUNCTIONS:
        space, _, function = name.rpartition(".")
        original: Any = getattr(getattr(numpy, space, None) if space else numpy, function, None)
        if hasattr(original, "_implementation") and name not in FILLED:
            yield original


# math -----------------------------------------------------------------------------------------------------------------


def _of_math(original: Function, of_arrays: Function) -> Function:
    def replacement(*args: Any, **kwargs: Any) -> Any:
        return of_arrays(*args, **kwargs) if any(holds_array(value) for value in args) else original(*args, **kwargs)

    return replacement


def _of_constants(original: Function) -> Function:
    return lambda *args, **kwargs: original(*own_numpy.detach(args), **kwargs)


def _of_complex(of_numpy: Function) -> Function:
    """A function of `cmath`, with complex arguments and results."""
    return lambda x: of_numpy(x + 0j)


def _log(of_numpy: Function, complex_part: Any = 0.0) -> Function:
    """The logarithm, to any base."""

    def log(x: Any, base: Any = None) -> Any:
        value = of_numpy(x + complex_part)
        return value if base is None else value / of_numpy(base + complex_part)

    return log


def _dist(p: Any, q: Any) -> Any:
    return numpy.linalg.norm(own_numpy.asarray(p) - own_numpy.asarray(q))


def _functions_of_math() -> list[tuple[Function, Function]]:
    """The functions of `math` and `cmath`, and their replacements for arrays."""
    special = importlib.import_module("adjoint.scipy.special")
    of_arrays: dict[str, Function] = {name: getattr(numpy, of_numpy) for name, of_numpy in OF_MATH.items()}
    of_arrays |= {name: getattr(special, of_scipy) for name, of_scipy in SPECIAL.items()}
    of_arrays |= {name: _of_constants(getattr(math, name)) for name in CONSTANT}
    of_arrays |= {"log": _log(numpy.log), "dist": _dist}
    rows = [("math", name, function) for name, function in of_arrays.items()]
    rows += [("cmath", name, _of_complex(getattr(numpy, OF_MATH[name]))) for name in OF_CMATH]
    rows += [("cmath", "log", _log(numpy.log, 0j)), ("cmath", "phase", numpy.angle)]
    modules = {"math": math, "cmath": cmath}
    return [
        (getattr(modules[module], name), function) for module, name, function in rows if hasattr(modules[module], name)
    ]


# SciPy ----------------------------------------------------------------------------------------------------------------


def _of_scipy() -> Iterator[tuple[Any, Any]]:
    """The functions, classes and distributions of SciPy, with their replacements."""
    for package in PACKAGES:
        theirs, ours = (importlib.import_module(f"{root}.{package}") for root in ("scipy", "adjoint.scipy"))
        for name in ours.__all__:
            original, replacement = getattr(theirs, name, None), getattr(ours, name)
            if original is None or replacement is original or replacement in GUARDED:
                continue
            is_function = callable(original) and not isinstance(original, type) and hasattr(original, "__name__")
            yield original, _replacement(original, replacement) if is_function else replacement


# all ------------------------------------------------------------------------------------------------------------------


@memoize()
def replacements() -> dict[int, tuple[Any, Any]]:
    """Pairs of an original function or distribution and its replacement, by the id of the original."""
    pairs: list[tuple[Any, Any]] = [(getattr(numpy, name), _of_numpy(name)) for name in (*MAKERS, *FILLED)]
    pairs += [_of_strides(), *((original, _takes_lists(original)) for original in _functions_of_arrays())]
    ORIGINALS.update((replacement, original) for original, replacement in pairs)
    for original, of_arrays in _functions_of_math():
        pairs.append((original, _replacement(original, _of_math(original, of_arrays))))
    pairs += _of_scipy()
    pairs += [(numpy.float64, DOUBLE), (numpy, _plain_numpy())]
    return {id(original): (original, replacement) for original, replacement in pairs}
