"""Arrays and numbers as arguments of functions of functions: conversions for `adjoint.transforms.passing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from adjoint.arrays.namespace import is_array
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.holders import tensor_of_array
from adjoint.interop.numpy_array.array import Array
from adjoint.interop.numpy_array.base import ArrayHolder, in_double, raw
from adjoint.interop.operands import carries_derivative

_NUMBERS = (float, int, complex, numpy.generic)

WHOLE = (
    "{name}: cannot differentiate by whole numbers or truth values, and an argument is of {kind}: give it as "
    "floating-point numbers, x.astype(float) or {example}"
)


BATCHED = (
    "vmap: a function of plain arrays cannot run for all members of a batch at once, and one is called with a batch: "
    "call it for one member after the other, numpy.stack([f(x) for x in batch]), or write it with NumPy's functions "
    "on differentiable arrays"
)


def is_value(leaf: Any) -> bool:
    """True for an array or a number; truth values of Python are options."""
    if type(leaf) is numpy.ndarray:
        return True
    return type(leaf) is not bool and (isinstance(leaf, (*_NUMBERS, ArrayHolder)) or is_array(leaf))


def is_held(leaf: Any) -> bool:
    """True for a differentiable array."""
    return isinstance(leaf, ArrayHolder)


def enter(leaf: Any, name: str, whole: bool = False) -> TensorBase:
    """The Tensor of an array or a number.

    Raises TypeError for integers, which have no derivative, unless they are allowed.
    """
    tensor = enter_quickly(leaf)
    if tensor is not None:
        return tensor
    if isinstance(leaf, ArrayHolder):
        return leaf._tensor
    tensor = tensor_of_array(in_double(leaf if is_array(leaf) else numpy.asarray(leaf)))
    if tensor._array.dtype.kind in "biu" and not whole:
        raise TypeError(WHOLE.format(name=name, kind=tensor._array.dtype, example="3.0 for 3"))
    return tensor


def enter_quickly(leaf: Any) -> TensorBase | None:
    """The Tensor of a plain floating-point array or of a float; None for other objects."""
    if type(leaf) is numpy.ndarray and leaf.dtype.char in "fdFD":
        return new_tensor(leaf)
    return new_tensor(numpy.array(leaf)) if type(leaf) is float else None


def give(tensor: Any) -> Any:
    """The argument of a function: a number for a Tensor without axes, else an array."""
    return Array._new(tensor)


def take(value: Any, constants: bool = False) -> Any:
    """The Tensor of a differentiable array; with constants, of a plain array or number, too."""
    if isinstance(value, ArrayHolder):
        return value._tensor
    if isinstance(value, numpy.ndarray) and value.dtype.kind == "O":
        return Array(value)._tensor
    if constants and (isinstance(value, _NUMBERS) or is_array(value)):
        return new_tensor(numpy.asarray(value)) if isinstance(value, _NUMBERS) else tensor_of_array(value)
    return value


def leave(tensor: Any, is_held: bool) -> Any:
    """The result for the caller: a differentiable array if derivatives or a batch go on, otherwise plain."""
    array = tensor._array
    if is_held or carries_derivative(tensor) or (type(array) is not numpy.ndarray and hasattr(array, "batches")):
        return Array._wrap(tensor)
    return plain(tensor)


def plain(tensor: Any) -> Any:
    """The values of a Tensor as an array or a number. Raises RuntimeError under vmap."""
    array = tensor._array
    if type(array) is numpy.ndarray:
        return raw(tensor)
    if hasattr(array, "batches"):
        raise RuntimeError(BATCHED)
    return array


def answers() -> dict[str, Callable[..., Any]]:
    """The functions that say it."""
    return {
        "is_value": is_value,
        "is_held": is_held,
        "enter": enter,
        "enter_quickly": enter_quickly,
        "give": give,
        "take": take,
        "leave": leave,
        "plain": plain,
    }
