"""Shapes and axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from adjoint.interop.operands import cast
from adjoint.interop.table import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of one common shape."""
    return list(FUNCTIONS["broadcast_arrays"](*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A view repeated to a larger shape."""
    return FUNCTIONS["broadcast_to"](x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Concatenates tensors along an axis; flattened if it is None."""
    return FUNCTIONS["concatenate"](arrays, axis)


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...] = 0) -> Tensor:
    """New axes of length one."""
    return FUNCTIONS["expand_dims"](x, axis)


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The order along axes reversed."""
    return FUNCTIONS["flip"](x, axis)


def moveaxis(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor:
    """Axes moved to other places."""
    return FUNCTIONS["moveaxis"](x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The axes in another order."""
    return FUNCTIONS["transpose"](x, axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated."""
    counts = repeats if isinstance(repeats, int) else cast(repeats, numpy.int64)  # NumPy does not take uint64
    return FUNCTIONS["repeat"](x, counts, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements under another shape. Raises ValueError if copy is False and only a copy has it."""
    result = FUNCTIONS["reshape"](x, shape, copy=copy)
    if copy is False and x.numel() and result.data_ptr() != x.data_ptr():
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return result


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Elements shifted cyclically along axes."""
    return FUNCTIONS["roll"](x, shift, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Without axes of length one."""
    return FUNCTIONS["squeeze"](x, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    return FUNCTIONS["stack"](arrays, axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The Tensor repeated along each axis."""
    return FUNCTIONS["tile"](x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of all places along an axis."""
    return FUNCTIONS["unstack"](x, axis=axis)
