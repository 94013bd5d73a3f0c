"""Broadcasting, tiling and repeating of elements, and the sums that undo them."""

from __future__ import annotations

from operator import index
from sys import maxsize
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import int32, int64
from adjoint.arrays.libraries.numpy_namespace import repeat
from adjoint.arrays.namespace import underlying
from adjoint.arrays.shapes import broadcast_shapes, normalize_dim
from adjoint.core.errors import sizes
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.functions.arguments import as_tuple, takes_axis, takes_joint_name
from adjoint.functions.composite import as_tensor, composite, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


@composite(namespace=None)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """A view expanded to the shape of another tensor.

    Axes of length one are repeated and new axes come first, without a copy; the derivative sums over them. Raises
    RuntimeError for shapes that do not broadcast.

    >>> import adjoint
    >>> adjoint.tensor([[1], [2]]).expand_as(adjoint.ones(2, 2))
    tensor([[1, 1],
            [2, 2]])
    """
    return ops.expand(input, other._array.shape)


@composite()
@takes_joint_name("size")
def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    """A view broadcast to a shape. Raises RuntimeError where it does not fit.

    >>> import adjoint
    >>> adjoint.broadcast_to(adjoint.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return ops.expand(input, as_tuple(size))


@composite(method=False)
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of all tensors, broadcast to their common shape.

    >>> import adjoint
    >>> adjoint.broadcast_tensors(adjoint.tensor([[1], [2]]), adjoint.tensor([3, 4]))
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    operands = as_tuple(tensors)
    shape = broadcast_shapes(*[x._array.shape for x in operands])
    return tuple(x if x._array.shape == shape else ops.expand(x, shape) for x in operands)


@composite(namespace=None)
@takes_joint_name("size")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the axes along which `size`, broadcast, would be repeated to the tensor's shape.

    Raises RuntimeError if `size` cannot be broadcast to the tensor's shape.

    >>> import adjoint
    >>> adjoint.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    target, shape = tuple(map(index, as_tuple(size))), input._array.shape
    fits = len(target) <= len(shape) and all(n in (1, m) for n, m in zip(target[::-1], shape[::-1], strict=False))
    if not fits:
        raise RuntimeError(f"size {{{sizes(target)}}} is not expandable to size {{{sizes(shape)}}}.")
    if not target:
        return input.sum()
    if target == shape:
        return input
    # as sum() does, sums of integers are int64
    return ops.sum_to_size(input.long() if input._array.dtype.kind in "biu" else input, target)


@composite()
@takes_joint_name("dims")
def tile(input: Tensor, *dims: Any) -> Tensor:
    """The tensor repeated dims[k] times along each axis, counted from the last; missing numbers are 1.

    >>> import adjoint
    >>> adjoint.tensor([1, 2]).tile(2)
    tensor([1, 2, 1, 2])
    """
    repeats = as_tuple(dims)
    return ops.repeat(input, (1,) * (input._array.ndim - len(repeats)) + repeats)


@composite()
@takes_axis
def repeat_interleave(
    input: Tensor | None = None,
    repeats: int | Tensor | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element (of the flattened tensor, or each slice along dim) repeated in place.

    repeats: a number, or one for each slice. Given one tensor alone, it holds the numbers, and the slices' places are
    returned.

    Raises RuntimeError for negative numbers, or not as many as there are slices, NotImplementedError for numbers other
    than int32 and int64.

    >>> import adjoint
    >>> adjoint.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    """
    values, repeats = (repeats, None) if input is None else (input, repeats)
    input = as_tensor("repeat_interleave", "input", 1, values)
    numbers = input if repeats is None else repeats
    if isinstance(numbers, TensorBase) and numbers.dtype not in (int32, int64):
        dtype_name = numbers.dtype.long_name
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{dtype_name}'")
    if repeats is None:
        return new_tensor(repeat(numpy.arange(input._array.size), input._array))
    if dim is None:
        input, dim = ops.reshape(input, (-1,)), 0
    dim = normalize_dim(dim, input._array.ndim)
    n = input._array.shape[dim] if input._array.ndim else 1
    if isinstance(repeats, int) and 0 <= repeats <= maxsize // (16 * max(input.numel(), 1)):
        return _each_repeated(input, repeats, dim)
    times = repeats._array if isinstance(repeats, TensorBase) else numpy.asarray(repeats)
    if underlying(times) is not times:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            "aten::repeat_interleave.Tensor."
        )
    if (times < 0).any():
        raise RuntimeError("Repeats must be non-negative")
    if times.size not in (1, n):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {times.size} and "
            f"input.size({dim}) = {n}"
        )
    return ops.index_select(input, dim, new_tensor(repeat(numpy.arange(n), times.reshape(-1))))


def _each_repeated(input: Tensor, repeats: int, dim: int) -> Tensor:
    """Each slice repeated equally often: no indices are saved."""
    shape = tuple(input.shape) or (1,)
    rows = ops.expand(
        ops.reshape(input, (*shape[: dim + 1], 1, *shape[dim + 1 :])),
        (*shape[: dim + 1], repeats, *shape[dim + 1 :]),
    )
    return ops.reshape(ops.clone(rows), (*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))
