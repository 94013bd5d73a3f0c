"""One tensor of several: joined along an axis, in blocks, in products and combinations."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import get_default_dtype
from adjoint.arrays.libraries.numpy_namespace import repeat
from adjoint.arrays.shapes import check_size, normalize_dim
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.functions.arguments import as_tuple, in_common_dtype, require_member, takes_axis
from adjoint.functions.composite import alias_text, composite, describe, ops, takes_out
from adjoint.functions.shape import with_one_axis, with_three_axes, with_two_axes
from adjoint.runtime.once import warn_once

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


@composite(method=False)
@takes_axis
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors joined along one axis. Empty one-dimensional tensors are left out beside others.

    Raises ValueError for no tensors, RuntimeError for shapes that differ along another axis.

    >>> import adjoint
    >>> adjoint.cat([adjoint.tensor([1, 2]), adjoint.tensor([3])])
    tensor([1, 2, 3])
    """
    if isinstance(tensors, (tuple, list)):
        tensors = _fit_empty(tensors, dim)
    return ops.cat(tensors, dim) if out is None else ops.cat(tensors, dim, out=out)


def _fit_empty(tensors: Sequence[Tensor], dim: int) -> Sequence[Tensor]:
    """Empty vectors get the shape of the others, with size 0 along the axis: they contribute only their dtype."""
    shapes = [x._array.shape if isinstance(x, TensorBase) else getattr(x, "shape", None) for x in tensors]
    if (0,) not in shapes:
        return tensors
    other = next((shape for shape in shapes if shape is not None and shape != (0,)), None)
    if other is None or len(other) < 2:
        return tensors
    dim = normalize_dim(dim, len(other))
    hollow = (*other[:dim], 0, *other[dim + 1 :])
    return [ops.reshape(x, hollow) if shape == (0,) else x for x, shape in zip(tensors, shapes, strict=True)]


@composite(method=False)
@takes_axis
@describe(alias_text("cat"))
def concat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    return cat(tensors, dim, out=out)


@composite(method=False)
@takes_axis
@describe(alias_text("cat"))
def concatenate(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    return cat(tensors, dim, out=out)


def _some(function: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    if isinstance(tensors, (tuple, list)) and not tensors:
        raise RuntimeError(f"{function} expects a non-empty TensorList")
    return tensors


@composite(method=False)
@takes_out
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the second axis, vectors along their only one. Raises RuntimeError for no tensors.

    >>> import adjoint
    >>> adjoint.hstack([adjoint.tensor([1, 2]), adjoint.tensor([3])])
    tensor([1, 2, 3])
    """
    joined = [with_one_axis(x) for x in _some("hstack", tensors)]
    return cat(joined, 0 if joined[0].ndim == 1 else 1)


@composite(method=False)
@takes_out
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the first axis, vectors as rows. Raises RuntimeError for no tensors.

    >>> import adjoint
    >>> adjoint.vstack([adjoint.tensor([1, 2]), adjoint.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return ops.cat([with_two_axes(x) for x in _some("vstack", tensors)], 0)


@composite(method=False, name="row_stack")
@takes_out
def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Alias of vstack().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.vstack).
    """
    return vstack(tensors)


@composite(method=False)
@takes_out
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the third axis. Raises RuntimeError for no tensors.

    >>> import adjoint
    >>> adjoint.dstack([adjoint.tensor([1, 2]), adjoint.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return ops.cat([with_three_axes(x) for x in _some("dstack", tensors)], 2)


@composite(method=False)
@takes_out
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the second axis, vectors as columns. Raises RuntimeError for no tensors.

    >>> import adjoint
    >>> adjoint.column_stack([adjoint.tensor([1, 2]), adjoint.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    return ops.cat([x if x.ndim > 1 else ops.reshape(x, (-1, 1)) for x in _some("column_stack", tensors)], 1)


@composite(method=False)
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices as blocks along the diagonal of one; vectors and numbers are rows.

    Raises RuntimeError for more than two axes.

    >>> import adjoint
    >>> adjoint.block_diag(adjoint.tensor([[1, 2]]), adjoint.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    if not tensors:
        return new_tensor(numpy.zeros((1, 0), get_default_dtype().numpy))
    blocks = []
    for i, tensor in enumerate(tensors):
        require_member(0, i, tensor)
        if tensor._array.ndim > 2:
            raise RuntimeError(
                "adjoint.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{i} has {tensor._array.ndim} dimensions"
            )
    # a number beside a matrix does not decide the dtype: so before it becomes one
    for tensor in in_common_dtype(*tensors):
        blocks.append(with_two_axes(tensor))
    width = sum(block._array.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        height, length = block._array.shape
        rows.append(ops.embed_view(block, (height, width), (slice(None), slice(start, start + length))))
        start += length
    return ops.cat(rows, 0)


@composite(method=False)
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views of vectors, each repeated along the axes of all others.

    indexing: "ij", one axis for each vector in turn, or "xy", with the first two axes exchanged.

    Raises RuntimeError for another number of axes, different dtypes, and another indexing.

    >>> import adjoint
    >>> adjoint.meshgrid(adjoint.tensor([1, 2]), adjoint.tensor([3, 4]), indexing="ij")
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    vectors = as_tuple(tensors)
    if indexing is None:
        warn_once("adjoint.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'adjoint.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in vectors:
        if tensor._array.ndim > 1:
            raise RuntimeError(f"adjoint.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}")
        if tensor._array.dtype != vectors[0]._array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    n = len(vectors)
    shape = [tensor.numel() for tensor in vectors]
    swapped = indexing == "xy" and n > 1
    grids = []
    for i, tensor in enumerate(vectors):
        grid = ops.expand(ops.reshape(tensor, (-1, *(1,) * (n - 1 - i))), shape)
        grids.append(ops.transpose(grid, 0, 1) if swapped else grid)
    return tuple(grids)


@composite(method=False)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to take one element of each vector, as rows; a single vector as it is.

    Raises RuntimeError for more than one axis.

    >>> import adjoint
    >>> adjoint.cartesian_prod(adjoint.tensor([1, 2]), adjoint.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for i, tensor in enumerate(tensors):
        require_member(0, i, tensor)
        if tensor._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([ops.reshape(grid, (-1,)) for grid in meshgrid(*tensors, indexing="ij")], -1)


@composite(method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to take r elements of a vector in their order, as rows; with_replacement: any more than once.

    Raises RuntimeError for more than one axis and a negative number.

    >>> import adjoint
    >>> adjoint.combinations(adjoint.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return new_tensor(numpy.empty(0, input.dtype.numpy))
    return ops.index(input, (_rising_rows(input._array.shape[0], r, 0 if with_replacement else 1),))


def _rising_rows(n: int, r: int, least: int) -> Any:
    """All rows of r numbers below n, each exceeding the previous one by at least `least`, in order."""
    shape = (comb(n if least else n + r - 1, r), r)
    check_size(shape, 8)
    result = numpy.empty(shape, numpy.int64)  # raises before the work if there is no memory for it
    if not result.size:
        return result
    rows = numpy.arange(n - (r - 1) * least)[:, None]
    for column in range(1, r):
        # each row once for every number that may follow and leave room for the rest
        first, end = rows[:, -1] + least, n - (r - 1 - column) * least
        number = numpy.maximum(end - first, 0)
        row = repeat(numpy.arange(len(rows)), number)
        following = numpy.arange(len(row)) - (numpy.cumsum(number) - number - first)[row]
        rows = numpy.concatenate([rows[row], following[:, None]], axis=1)
    result[...] = rows
    return result
