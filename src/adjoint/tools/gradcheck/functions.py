"""The function under check: its inputs, its outputs, and its values while inputs are perturbed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy

from adjoint.arrays.dtypes import complex128, float64, from_numpy_dtype
from adjoint.arrays.size import Size
from adjoint.core.graph import new_tensor
from adjoint.core.modes.state import MEMORY, ModeBlock
from adjoint.tensor.tensor import Tensor

from . import messages

Array = Any
Function = Callable[..., Any]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The members of a tuple or list; another object as a tuple of one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def tensors_to_check(values: tuple[Any, ...]) -> dict[int, Tensor]:
    """The floating-point tensors that require a gradient, by their places."""
    return {i: x for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad}


def results_of(func: Function, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The function's results as a tuple of tensors. Raises TypeError for other results."""
    results = as_tuple(func(*inputs))
    for index, result in enumerate(results):
        if not isinstance(result, Tensor):
            raise TypeError(messages.NOT_A_TENSOR.format(index=index, kind=type(result).__name__))
    return results


def check_inputs(inputs: tuple[Any, ...]) -> None:
    """Raise unless inputs can be checked; warn if they have little precision."""
    leaves = tensors_to_check(inputs)
    if not leaves:
        raise ValueError(messages.NO_INPUT)
    for index, x in leaves.items():
        if x.dtype not in (float64, complex128):
            warnings.warn(messages.NOT_DOUBLE.format(index=index), UserWarning, stacklevel=4)
        if any(step == 0 and n > 1 for step, n in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(messages.OVERLAP.format(index=index))
        flags = getattr(x._array, "flags", None)
        if flags is not None and not flags.writeable:
            raise RuntimeError(messages.READ_ONLY.format(index=index))


def wide(array: Array) -> Array:
    """A copy in double precision."""
    return numpy.array(array, dtype=complex if array.dtype.kind == "c" else float)


def tensor_like(array: Array, model: Tensor) -> Tensor:
    """An array as a tensor with the dtype and shape of another."""
    return tensor_of(numpy.asarray(array).reshape(model.shape).astype(model._array.dtype))


def tensor_of(array: Array) -> Tensor:
    """An array as a tensor that shares its memory."""
    return cast(Tensor, new_tensor(array))


class at(ModeBlock):
    """Put other values into a tensor's memory for a while, without a new version; all references to it see them."""

    def __init__(self, x: Tensor, values: Array) -> None:
        self.exchange = ((MEMORY, "", (x._array, values)),)

    def _changes(self) -> tuple[Any, ...]:
        return self.exchange


class Evaluation:
    """Calling it gives the followed outputs of a function, flat, in double precision, at the inputs as they are now.

    outputs: the outputs that are followed, by their places, as they were at the given inputs.
    """

    def __init__(self, func: Function, inputs: tuple[Any, ...], outputs: dict[int, Tensor]) -> None:
        self.func = func
        self.inputs = inputs
        self.outputs = outputs

    def __call__(self, how: str = "") -> list[Array]:
        """`how` describes the perturbation in messages."""
        results = as_tuple(self.func(*self.inputs))
        if len(results) <= max(self.outputs, default=-1):
            raise AssertionError(
                f"Expected `func` to return as many outputs when inputs are perturbed {how}, but got: {len(results)}."
            )
        for position, before in self.outputs.items():
            check_same(before._array, results[position]._array, how)
        return [wide(results[position]._array).reshape(-1) for position in self.outputs]


def check_same(before: Array, after: Array, how: str) -> None:
    """Raise AssertionError if a perturbation has changed the shape or dtype of an output."""
    if before.shape != after.shape:
        raise AssertionError(
            f"Expected `func` to return outputs with the same shape when inputs are perturbed {how}, but got: shapes "
            f"{Size(before.shape)} and {Size(after.shape)}."
        )
    if before.dtype != after.dtype:
        raise AssertionError(
            f"Expected `func` to return outputs with the same dtype when inputs are perturbed {how}, but got: dtypes "
            f"{from_numpy_dtype(before.dtype)} and {from_numpy_dtype(after.dtype)}."
        )
