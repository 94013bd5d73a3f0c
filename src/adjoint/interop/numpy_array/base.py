"""The base class of arrays that hold a Tensor, and the conversion between values and Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.holders import TensorHolder
from adjoint.runtime.once import warn_caller
from adjoint.runtime.pytree import flatten

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_ndarray = numpy.ndarray

#: The form of an array without axes that is no number.
ARRAY = "array"

#: Double precision for NumPy's extended one, which no Tensor has.
_DOUBLE = {"g": numpy.dtype(numpy.float64), "G": numpy.dtype(numpy.complex128)}


class ArrayHolder(TensorHolder):
    """An array by NumPy's meaning whose values and derivatives a Tensor carries.

    Subclasses say what results of operations are (`_wrap`, `_constant`) and what errors recommend (`_instead`,
    `_as_constant`).
    """

    __slots__ = ("_form",)

    #: None, or ARRAY for an array without axes that is no number.
    _form: str | None
    #: What errors of lost derivatives recommend, and how a value is taken as a constant.
    _instead: ClassVar[str]
    _as_constant: ClassVar[str]

    @classmethod
    def _wrap(cls, tensor: Tensor) -> Any:
        """The result of an operation as users see it."""
        raise NotImplementedError

    @classmethod
    def _constant(cls, value: Any) -> Any:
        """A plain result without derivative as users see it."""
        return value

    @classmethod
    def _new(cls, tensor: Tensor, form: str | None = None) -> Any:
        """An array of this class around a Tensor."""
        array = cls.__new__(cls)
        array._tensor = tensor
        array._form = form
        return array


#: Classes of users' own values that hold a Tensor, too.
HOLDERS: set[type] = set()


def is_holder(value: Any) -> bool:
    """True for an array, or a value of a user's own class, that holds a Tensor."""
    return isinstance(value, TensorHolder) or type(value) in HOLDERS


def raw(tensor: Tensor) -> Any:
    """The array of a Tensor; a NumPy number if it has no axes."""
    return tensor._array[()]


def in_double(value: Any) -> Any:
    """A value or dtype in double precision if it was in NumPy's extended one, which no Tensor has."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return _reduce_precision(value, value.dtype)
    if isinstance(value, numpy.dtype) or value is numpy.longdouble or value is numpy.clongdouble:
        kind = numpy.dtype(value)
        return _reduce_precision(kind, kind)
    return value


def _reduce_precision(value: Any, kind: numpy.dtype[Any]) -> Any:
    double = _DOUBLE.get(kind.char)
    if double is None:
        return value
    warn_caller(f"{kind.name} is computed in double precision: there are no derivatives of it in its own")
    return double if value is kind else value.astype(double)


def to_tensor(value: Any) -> Tensor:
    """A plain value as a Tensor."""
    return new_tensor(in_double(numpy.asarray(value)))


# nested containers ----------------------------------------------------------------------------------------------------


def holds_array(value: Any) -> bool:
    """True for an array that holds a Tensor, or a container with one in it, as an array of objects may be, too."""
    if is_holder(value):
        return True
    if isinstance(value, _ndarray):
        return value.dtype.kind == "O" and any(isinstance(member, TensorHolder) for member in value.flat)
    if isinstance(value, (list, tuple)):
        return any(map(holds_array, value))
    if isinstance(value, dict):
        return any(holds_array(member) for member in value.values())
    return False


def exchange(change: Callable[[Any], Any], value: Any) -> Any:
    """Nested containers with the arrays in them changed; the very same objects where there are none."""
    if type(value) is _ndarray and value.dtype.kind != "O":
        return value
    if is_holder(value):
        return change(value)
    if not holds_array(value):
        return value
    if isinstance(value, _ndarray):
        return exchange(change, value.tolist())
    if isinstance(value, dict):
        return type(value)((key, exchange(change, member)) for key, member in value.items())
    members = [exchange(change, member) for member in value]
    return type(value)._make(members) if hasattr(value, "_make") else type(value)(members)


def values(value: Any) -> Any:
    """Nested containers in which plain values replace arrays that hold Tensors."""
    return exchange(lambda array: array._value, value)


def unwrap(value: Any) -> Any:
    """Nested containers in which Tensors replace the arrays that hold them.

    All other values stay as they are.
    """
    return exchange(lambda array: array._tensor, value)


def wrap(kind: type[ArrayHolder], value: Any) -> Any:
    """The result of an operation on Tensors, for users of a class of arrays."""
    if isinstance(value, TensorBase):
        return kind._wrap(value)  # type: ignore[arg-type]
    if isinstance(value, (list, tuple, dict)):
        leaves, structure = flatten(value)
        return structure.unflatten([wrap(kind, leaf) for leaf in leaves])
    return value
