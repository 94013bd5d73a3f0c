"""Declarations of NumPy's functions for Tensors, under their names and with NumPy's signatures.

    @function("trace")
    def trace(a: Array, offset=0, axis1=0, axis2=1, dtype=None, out=None): ...

The annotations are the conversions of arguments before the body runs: `Array` a Tensor, `Operand` a Tensor or, if it is
a number, a Python number, `Arrays` a list of Tensors. None stays None. `out` is never given to the body: the result is
written there afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy

from adjoint.core.operations.arguments import INTERNAL, explanation
from adjoint.interop.operands import is_tensor, operand, tensor_of, write

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

#: The functions over Tensors by their names below `numpy`: "sum", "linalg.norm", "fft.fft".
FUNCTIONS: dict[str, Function] = {}

#: NumPy's functions and ufuncs that one operation computes of one argument, if that is of real floats.
WHOLE: dict[Function, Function] = {}

if TYPE_CHECKING:
    Array: TypeAlias = Any
    Arrays: TypeAlias = Any
    Operand: TypeAlias = Any
else:

    class Array:
        """Annotates a parameter that is a Tensor in the body."""

    class Arrays:
        """Annotates a parameter that is a list of Tensors in the body."""

    class Operand:
        """Annotates a parameter that is a Tensor or a Python number in the body."""


def _each(value: Any) -> list[Any]:
    return list(value.unbind(0)) if is_tensor(value) else [tensor_of(member) for member in value]


_NO_VALUE = numpy._NoValue
_CONVERSIONS: dict[str, Function] = {"Array": tensor_of, "Arrays": _each, "Operand": operand}


def function(*names: str, star: Function | None = None, whole: Function | None = None) -> Callable[[F], F]:
    """Declare the function over Tensors for NumPy's function of these names.

    star: what becomes of each of the arguments `*args`. whole: the operation that computes it of one array.
    """

    def declare(body: F) -> F:
        converted = _caller(body, star)
        for name in names:
            if name in FUNCTIONS:
                raise ValueError(f"numpy.{name} is declared twice")
            FUNCTIONS[name] = converted
            if whole is not None:
                WHOLE[getattr(numpy, name)] = whole
        return converted  # type: ignore[return-value]

    return declare


def _caller(body: Function, star: Function | None) -> Function:
    code = body.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    changes = {name: _CONVERSIONS[kind] for name, kind in body.__annotations__.items() if kind in _CONVERSIONS}
    positions = tuple((names.index(name), change) for name, change in changes.items() if name in names)
    out_place = names.index("out") if "out" in names else -1
    out_is_positional = 0 <= out_place < code.co_argcount

    @functools.wraps(body)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return convert(args, kwargs)
        except INTERNAL as error:
            better = explanation(body, body.__name__, args, kwargs, error)
            if better is None:
                raise
            raise better from error

    def convert(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = list(args)
        n = len(values)
        if kwargs:
            kwargs = {name: value for name, value in kwargs.items() if value is not _NO_VALUE}
        for position, change in positions:
            if position < n:
                if values[position] is not None:
                    values[position] = change(values[position])
            elif kwargs.get(names[position]) is not None:
                kwargs[names[position]] = change(kwargs[names[position]])
        if star is not None:
            values[code.co_argcount :] = [star(value) for value in values[code.co_argcount :]]
        out = None
        if out_place >= 0:
            out = kwargs.pop("out", None)
            if out_is_positional and out_place < n:
                out, values[out_place] = values[out_place], None
        result = body(*values, **kwargs)
        return result if out is None else write(out, result, body.__name__)

    return call
