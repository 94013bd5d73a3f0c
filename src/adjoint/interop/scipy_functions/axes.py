"""Helpers of filters: arrays extended beyond their edges, windows along an axis, linear functions as matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.operands import cast, inexact, kind_of, promote, tensor_of
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: The longest axis along which a linear function of SciPy is along_axis as a matrix.
LONGEST = 4096


def tensors(*values: Any) -> list[Tensor]:
    """Tensors of one floating-point or complex dtype; Python numbers get the dtype of the others."""
    return promote(*[float(v) if type(v) in (int, float) else inexact(tensor_of(v)) for v in values])


def move_axes(tensor: Tensor, source: Any, destination: Any) -> Tensor:
    """The Tensor with axes elsewhere."""
    return FUNCTIONS["moveaxis"](tensor, source, destination)


def along_axis(x: Tensor, axis: int, places: numpy.ndarray) -> Tensor:
    """The elements at places along an axis."""
    return ops.index_select(x, axis, new_tensor(numpy.asarray(places, numpy.int64)))


def extend(x: Tensor, axis: int, before: int, after: int, mode: str, fill: Any = 0.0) -> Tensor:
    """More elements at both ends of an axis. mode: NumPy's name of a way to continue an array, or "constant"."""
    if not (before or after):
        return x
    n = x.shape[axis]
    if mode != "constant":
        return along_axis(x, axis, numpy.pad(numpy.arange(n), (before, after), mode))  # type: ignore[call-overload]
    shape = list(x.shape)
    parts = [x]
    for width, position in ((before, 0), (after, len(parts))):
        if width:
            shape[axis] = width
            part = ops.expand(tensors(fill, x)[0], tuple(shape))
            parts.insert(0 if position == 0 else len(parts), part)
    return ops.cat(parts, axis)


def windows(x: Tensor, axis: int, size: int) -> Tensor:
    """All windows of a length along an axis; their elements lie along a last axis."""
    return ops.unfold(x, axis, size, 1)


def by_matrix(function: Callable[[Any], Any], x: Tensor, axis: int) -> Tensor:
    """A linear function of vectors along an axis: the matrix of what SciPy's function makes of unit vectors.

    function: of the rows of a matrix. Raises ValueError for an axis of more than 4096 elements.
    """
    n = x.shape[axis]
    if n > LONGEST:
        raise ValueError(f"along an axis of {n} elements; over Tensors this function takes at most {LONGEST}")
    matrix = numpy.asarray(function(numpy.eye(n)))
    kind = numpy.result_type(kind_of(x), matrix.dtype)
    rows = cast(move_axes(x, axis, -1), kind) @ new_tensor(matrix.astype(kind))
    return move_axes(rows, -1, axis)
