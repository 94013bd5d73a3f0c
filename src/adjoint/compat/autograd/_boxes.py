"""Boxes: the values in a function under differentiation; they replace arrays and floats.

A box is a differentiable array (see `adjoint.interop.numpy_array`) with HIPS autograd's rules. It is immutable; only
elements of a copy() can be assigned. Results without derivatives are plain arrays. A plain array stores a box as an
object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.operations.dependence import lost_derivative
from adjoint.interop.numpy_array import calls
from adjoint.interop.numpy_array.array import NumpyArray
from adjoint.interop.numpy_array.base import (
    HOLDERS,
    exchange,
    in_double,
    raw,
    to_tensor,
    unwrap,
    values,
)
from adjoint.interop.numpy_array.base import holds_array as holds_box
from adjoint.interop.numpy_array.base import (
    wrap as wrap_result,
)
from adjoint.interop.numpy_array.calls import NO_TRACE
from adjoint.interop.numpy_array.writes import memory_of, to_read
from adjoint.interop.operands import carries_derivative

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Function = Callable[..., Any]

__all__ = [
    "CONNECT", "FOREIGN", "HOLDERS", "NAMESPACES", "NO_TRACE", "OPAQUE", "ArrayBox", "Box", "dispatch", "getval",
    "holds_box", "in_double", "carries_derivative", "isbox", "operands", "raw", "to_read", "to_tensor", "unwrap",
    "values", "wrap",
]  # fmt: skip

#: Types of values with boxes or vector spaces registered by users.
FOREIGN: set[type] = set()

#: Box classes of values without coordinates: their vector spaces have no basis.
OPAQUE: set[type] = set()

#: Functions that are called after the registration of a box or a space for a type.
CONNECT: list[Callable[[type], None]] = []

#: The namespace of boxes: adjoint.compat.autograd.numpy, which sets it.
NAMESPACES: list[Any] = []


class Box:
    """The base class of all boxes. A user's subclass holds values of a type with a registered vector space.

    The graph has the coordinates of such a value in its space; see `_user_values`. A value of a space without a basis
    has nodes of a trace instead; see `_node_derivatives`.
    """

    __slots__ = ("__dict__",)

    _content: Any
    _tensor: Tensor
    _instead = "autograd.numpy.sin(x) for math.sin(x), autograd.numpy.array([...]) for a plain array that is filled"
    _as_constant = "autograd.tracer.getval(x)"

    @property
    def _value(self) -> Any:
        return self._content

    #: The classes of boxes, by the type of values.
    type_mappings: dict[type, type] = {}

    @classmethod
    def register(cls, value_type: type) -> None:
        """Register this class as the class of boxes for a type of values."""
        Box.type_mappings[value_type] = Box.type_mappings[cls] = cls
        if cls is not ArrayBox:
            FOREIGN.add(value_type)
            for connect in CONNECT:
                connect(value_type)


class ArrayBox(NumpyArray, Box):
    """A number or array during differentiation.

    It has the attributes and methods of ndarray, and NumPy's functions accept it. It cannot be converted to a plain
    number, since the derivative would be lost. A plain array stores it as an object. As in HIPS autograd, a box is
    immutable: its elements cannot be assigned, and `x += y` makes another box. Only the result of copy() has its own
    memory: it and its views support assignment and in-place operations.
    """

    __slots__ = ()

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._form = None

    @classmethod
    def _wrap(cls, tensor: Tensor) -> Any:
        """A box for a Tensor with derivatives, otherwise its array or number."""
        return cls._new(tensor) if carries_derivative(tensor) else raw(tensor)

    def _plain(self, what: str) -> Any:
        raise lost_derivative(what.replace("differentiable array", "box"), self._instead, self._as_constant)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Autograd ArrayBox with value {self._value}"

    __str__ = __repr__

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return NAMESPACES[0]

    def _is_assignable(self) -> bool:
        """True for results of copy() and their views."""
        return memory_of(self._tensor) is not None

    def _is_replaced(self) -> bool:
        return not self._is_assignable()

    def _prepare_write(self) -> None:
        if not self._is_assignable():
            raise TypeError(
                "'ArrayBox' object does not support item assignment; assign to the elements of x.copy(), or join parts "
                "with autograd.numpy.concatenate, stack or where"
            )
        super()._prepare_write()


def dispatch(function: Function, args: Any, kwargs: Any) -> Any:
    """Call a function of NumPy with boxes among its arguments.

    Results are boxes, or plain values without derivatives.
    """
    return calls.dispatch(ArrayBox, function, args, kwargs)


def wrap(value: Any) -> Any:
    """The result of an operation for users: boxes for Tensors with derivatives, arrays and numbers for other Tensors.

    Members of lists, tuples and dictionaries are converted.
    """
    return wrap_result(ArrayBox, value)


def operands(value: Any) -> Any:
    """Nested containers with boxes replaced by the Tensors that operations may save.

    See `to_read`.
    """
    return exchange(to_read, value)


def isbox(value: Any) -> bool:
    """True for a box, the form of a value during differentiation.

    >>> from adjoint.compat.autograd.core import isbox
    >>> isbox(2.0)
    False
    """
    return isinstance(value, Box)


def getval(value: Any) -> Any:
    """The value inside a box, also of nested boxes; any other value unchanged.

    >>> from adjoint.compat.autograd.core import getval
    >>> getval(2.0)
    2.0
    """
    while isinstance(value, Box):
        value = value._value
    return value


for _kind in (float, numpy.ndarray, numpy.float64, numpy.float32, numpy.float16, numpy.longdouble, complex,
              numpy.complex64, numpy.complex128, numpy.clongdouble):  # fmt: skip
    Box.type_mappings[_kind] = ArrayBox
Box.type_mappings[ArrayBox] = ArrayBox
