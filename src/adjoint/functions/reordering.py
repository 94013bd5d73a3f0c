"""Reordering of elements (flips, rolls, rotations), and elements on diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjoint.arrays.shapes import normalize_dim, normalize_dims, require_dim
from adjoint.functions.arguments import Dims, as_list
from adjoint.functions.composite import composite, ops, takes_out

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


@composite()
def fliplr(input: Tensor) -> Tensor:
    """A copy with the order along the second axis reversed. Raises RuntimeError for fewer than two axes.

    >>> import adjoint
    >>> adjoint.fliplr(adjoint.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return ops.flip(input, (1,))


@composite()
def flipud(input: Tensor) -> Tensor:
    """A copy with the order along the first axis reversed. Raises RuntimeError for a tensor without axes.

    >>> import adjoint
    >>> adjoint.flipud(adjoint.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if not input._array.ndim:
        raise RuntimeError("Input must be >= 1-d.")
    return ops.flip(input, (0,))


@composite()
def roll(input: Tensor, shifts: Dims, dims: Dims | None = None) -> Tensor:
    """A copy with the elements shifted cyclically along axes.

    dims: one axis for each shift; without dims the flattened elements move, by one shift.

    Raises RuntimeError if shifts and dims differ in number, or there is no shift, and IndexError for axes out of range.

    >>> import adjoint
    >>> adjoint.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    moves = tuple(as_list(shifts))
    axes = () if dims is None else tuple(as_list(dims))
    if not moves:
        raise RuntimeError("`shifts` required")
    if len(moves) == 1 and not axes:
        return ops.roll(input, moves, None)
    if len(moves) != len(axes):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    total: dict[int, int] = {}
    for axis, move in zip(axes, moves, strict=True):
        axis = require_dim(axis, input._array.ndim)
        total[axis] = total.get(axis, 0) + move
    return ops.roll(input, tuple(total.values()), tuple(total))


@composite()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned k times by 90 degrees in the plane of two axes, from the first towards the second.

    >>> import adjoint
    >>> adjoint.tensor([[1, 2], [3, 4]]).rot90()
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input._array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    first, second = normalize_dims(tuple(dims), input._array.ndim)
    turns = k % 4
    if turns == 0:
        return ops.clone_with_strides(input, None)
    if turns == 2:
        return ops.flip(input, (first, second))
    return ops.flip(ops.transpose(input, first, second), (first if turns == 1 else second,))


@composite()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in the axes dim1 and dim2 of the result, with the last axis of the input along a diagonal.

    >>> import adjoint
    >>> adjoint.tensor([1, 2]).diag_embed()
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = input._array.ndim
    first, second = (normalize_dim(d, ndim + 1) for d in (dim1, dim2))
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not ndim:
        normalize_dim(-2, 0)
    n = input._array.shape[-1] + abs(offset)
    return ops.embed_diagonal(input, offset, first, second, n, n)


@composite()
@takes_out
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The square matrix with a vector along a diagonal, or a copy of a diagonal of a matrix.

    Raises RuntimeError for another number of axes.

    >>> import adjoint
    >>> adjoint.diag(adjoint.tensor([1, 2])), adjoint.diag(adjoint.tensor([[1, 2], [3, 4]]))
    (tensor([[1, 0],
            [0, 2]]), tensor([1, 4]))
    """
    ndim = input._array.ndim
    if ndim == 1:
        return diag_embed(input, diagonal)
    if ndim == 2:
        return ops.clone(ops.diagonal(input, diagonal))
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The square matrix with the flattened elements along a diagonal.

    >>> import adjoint
    >>> adjoint.diagflat(adjoint.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(ops.reshape(input, (-1,)), offset)
