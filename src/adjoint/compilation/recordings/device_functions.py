"""CuPy's equivalents of the NumPy functions in the steps of a recording."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from adjoint.arrays.libraries.cupy_namespace import MissingFunction
from adjoint.compilation.recordings.recorded_array import Attribute, Method, RuleKernel, name_in_namespace

#: CuPy's functions for reductions.
REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip


def on_device(function: Any, xp: Any) -> Callable[..., Any]:
    """CuPy's equivalent of a NumPy function in a step.

    Raises MissingFunction if CuPy has none.
    """
    if isinstance(function, RuleKernel):
        return function.rule.kernel_on(xp)  # type: ignore[no-any-return]
    if getattr(function, "draws", False):
        return partial(drawn_on_host, function)
    if isinstance(function, (Method, Attribute)) or function in (bool, float, int, complex):
        return function  # type: ignore[no-any-return]
    if function is operator.index:
        return lambda array: operator.index(array.item())
    if function is operator.getitem:
        return xp.getitem  # type: ignore[no-any-return]
    if function is operator.setitem:
        return xp.setitem  # type: ignore[no-any-return]
    owner = getattr(function, "__self__", None)
    if isinstance(owner, numpy.ufunc):
        return _method_of_ufunc(owner, function.__name__, xp)
    part, name = name_in_namespace(function)
    return getattr(getattr(xp, part) if part else xp, name)  # type: ignore[no-any-return]


def _method_of_ufunc(ufunc: Any, method: str, xp: Any) -> Callable[..., Any]:
    if method == "reduce" and ufunc.__name__ in REDUCTIONS:
        device_reduction = getattr(xp, REDUCTIONS[ufunc.__name__])

        def reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
            result = (
                device_reduction(array, axis=axis, keepdims=keepdims)
                if dtype is None
                else device_reduction(array, axis, dtype, None, keepdims)
            )
            if out is None:
                return result
            target = out[0] if isinstance(out, tuple) else out
            target[...] = result
            return target

        return reduce
    raise MissingFunction(f"{ufunc.__name__}.{method}")


def drawn_on_host(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Numbers that are drawn in main memory, by arguments from a device."""
    return function(*in_main_memory(args), **in_main_memory(kwargs))


def in_main_memory(value: Any) -> Any:
    """A tree of arguments with NumPy's arrays in the place of CuPy's."""
    if isinstance(value, (tuple, list)):
        return type(value)([in_main_memory(member) for member in value])
    if isinstance(value, dict):
        return {key: in_main_memory(member) for key, member in value.items()}
    return value.get() if type(value) is sys.modules["cupy"].ndarray else value
