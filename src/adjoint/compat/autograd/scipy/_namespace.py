"""SciPy's namespaces with functions that also take boxes."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy
import scipy.special

from adjoint.compat.autograd._boxes import NO_TRACE, operands, wrap
from adjoint.compat.autograd._primitives import Primitive, make_primitive
from adjoint.core.operations.naming import known_by
from adjoint.interop import scipy_functions
from adjoint.interop.numpy_functions import FUNCTIONS

scipy_functions.load()
NO_TRACE |= {scipy.special.gammasgn}


def primitive_of(name: str, of_scipy: Callable[..., Any]) -> Primitive:
    """A function of SciPy, by its name in the table, that also takes boxes."""
    return over_boxes(of_scipy, FUNCTIONS[name])


def over_boxes(of_scipy: Callable[..., Any], over_tensors: Callable[..., Any]) -> Primitive:
    """A function of SciPy, by its counterpart over Tensors, that also takes boxes."""
    return Primitive(of_scipy, functools.partial(_on_boxes, over_tensors))


def _on_boxes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return wrap(function(*operands(args), **operands(kwargs)))


def wrap_namespace(old: types.ModuleType, new: dict[str, Any]) -> None:
    """Fill a namespace with everything of a module of SciPy; functions with derivatives become primitives."""
    for name in dir(old):
        if name.startswith("_") or name in new:
            continue
        value = getattr(old, name)
        if isinstance(value, types.ModuleType):
            continue
        if callable(value) and not isinstance(value, type):
            value = known_by(_primitive(f"{old.__name__}.{name}", value), new["__name__"], name)
        new[name] = value


def _primitive(name: str, of_scipy: Callable[..., Any]) -> Primitive:
    if name in FUNCTIONS:
        return primitive_of(name, of_scipy)
    # others have no derivative, unless their users give one
    return make_primitive(of_scipy) if isinstance(of_scipy, numpy.ufunc) else Primitive(of_scipy)
