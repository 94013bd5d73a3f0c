"""Composites over shapes: overloads by argument, and functions that are another operation with worked-out arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import comb, prod
from operator import index
from sys import maxsize
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from adjoint.arrays.dtypes import get_default_dtype, int32, int64
from adjoint.arrays.libraries.numpy_namespace import repeat
from adjoint.arrays.namespace import underlying
from adjoint.arrays.shapes import broadcast_shapes, check_size, normalize_dim, normalize_dims
from adjoint.core.errors import sizes
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.functions.composite import alias_text, as_tensor, composite, described, ops, takes_out
from adjoint.runtime.once import warn_once

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: More pieces than an axis has elements are empty ones; so many are made.
_MOST_PIECES = 1 << 16
Dims = int | Sequence[int]
F = TypeVar("F", bound=Callable[..., Any])


def as_tuple(values: Any) -> tuple[Any, ...]:
    """One number as a tuple, a sequence as a tuple; `f(1, 2)` and `f((1, 2))` mean the same."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0])
    return tuple(values)


def listed(dims: Dims) -> list[int]:
    """One number as a list, a sequence as a list."""
    return list(dims) if isinstance(dims, (tuple, list)) else [index(dims)]  # type: ignore[arg-type]


def takes_axis(function: F) -> F:
    """Let a function with a parameter `dim` be called with NumPy's name for it, `axis`, as torch does."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "axis" in kwargs:
            kwargs["dim"] = kwargs.pop("axis")
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


# another shape --------------------------------------------------------------------------------------------------------


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim as one: a view if possible, the tensor itself if there is nothing to do.

    Raises RuntimeError if start_dim comes after end_dim.

    >>> import adjoint
    >>> adjoint.zeros(2, 3, 4).flatten(1).shape
    adjoint.Size([2, 12])
    """
    shape = input._array.shape
    start, end = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if shape and start == end:
        return input
    return ops.reshape(input, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """A view with one axis cut into several of the given sizes, one of which may be -1.

    Raises RuntimeError if the sizes do not multiply up to the size of the axis.

    >>> import adjoint
    >>> adjoint.zeros(2, 12).unflatten(1, (3, -1)).shape
    adjoint.Size([2, 3, 4])
    """
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflatten(): argument 'sizes' (position 2) must be tuple of ints, not {type(sizes).__name__}")
    new = tuple(map(index, sizes))
    if not new:
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = input._array.shape
    dim = normalize_dim(dim, len(shape))
    n, known = (shape[dim] if shape else 1), prod(size for size in new if size != -1)
    if new.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if known != n if -1 not in new else not known or n % known:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(new)} don't multiply up to the size of dim {dim} ({n}) in the input "
            "tensor"
        )
    new = tuple(n // known if size == -1 else size for size in new)
    return ops.view(input, (*shape[:dim], *new, *shape[dim + 1 :]))


@composite()
def ravel(input: Tensor) -> Tensor:
    """All elements as a vector: a view of a contiguous tensor, a copy of any other.

    >>> import adjoint
    >>> adjoint.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """
    return ops.reshape(input.contiguous(), (-1,))


@composite(namespace=None)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The view of the shape of another tensor.

    Raises RuntimeError if the numbers of elements differ, or where only a copy could have that shape.

    >>> import adjoint
    >>> adjoint.tensor([1, 2, 3, 4]).view_as(adjoint.ones(2, 2))
    tensor([[1, 2],
            [3, 4]])
    """
    return ops.view(input, other._array.shape)


@composite(namespace=None)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor reshaped to the shape of another.

    A view where that is possible, else a copy. Raises RuntimeError if the numbers of elements differ.

    >>> import adjoint
    >>> adjoint.tensor([1, 2, 3, 4]).reshape_as(adjoint.ones(2, 2))
    tensor([[1, 2],
            [3, 4]])
    """
    return ops.reshape(input, other._array.shape)


@composite()
@takes_axis
def squeeze(input: Tensor, dim: Dims | None = None) -> Tensor:
    """A view without axes of length one: without all of them, or those among the named ones.

    >>> import adjoint
    >>> adjoint.zeros(1, 2, 1).squeeze().shape, adjoint.zeros(1, 2, 1).squeeze(0).shape
    (adjoint.Size([2]), adjoint.Size([2, 1]))
    """
    if dim is None:
        return ops.squeeze_all(input, tuple(i for i, n in enumerate(input._array.shape) if n == 1))
    if isinstance(dim, (tuple, list)):
        return ops.squeeze_several(input, tuple(dim))
    return ops.squeeze(input, dim)


@composite(method=False)
def atleast_1d(*tensors: Tensor) -> Any:
    """Each tensor with at least one axis; a tuple unless there is one tensor.

    >>> import adjoint
    >>> adjoint.atleast_1d(adjoint.tensor(2.0))
    tensor([2.])
    """
    return _each(tensors, lambda x: x if x.ndim else ops.reshape(x, (1,)))


@composite(method=False)
def atleast_2d(*tensors: Tensor) -> Any:
    """Each tensor with at least two axes, new ones in front; a tuple unless there is one tensor.

    >>> import adjoint
    >>> adjoint.atleast_2d(adjoint.tensor([1.0, 2.0]))
    tensor([[1., 2.]])
    """
    return _each(tensors, _with_two_axes)


@composite(method=False)
def atleast_3d(*tensors: Tensor) -> Any:
    """Each tensor with at least three axes, those of a vector in the middle; a tuple unless there is one tensor.

    >>> import adjoint
    >>> adjoint.atleast_3d(adjoint.ones(2)).shape, adjoint.atleast_3d(adjoint.ones(2, 3)).shape
    (adjoint.Size([1, 2, 1]), adjoint.Size([2, 3, 1]))
    """
    return _each(tensors, lambda x: x if x.ndim > 2 else ops.unsqueeze(_with_two_axes(x), 2))


def _with_two_axes(x: Tensor) -> Tensor:
    if x.ndim > 1:
        return x
    return ops.unsqueeze(x, 0) if x.ndim else ops.reshape(x, (1, 1))


def _each(tensors: tuple[Any, ...], change: Any) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    changed = tuple(map(change, given))
    return changed if given is not tensors or len(changed) != 1 else changed[0]


# another order of the axes --------------------------------------------------------------------------------------------


@composite()
def permute(input: Tensor, *args: Any, dims: Sequence[int] | None = None) -> Tensor:
    """A view whose axis k is the input's axis dims[k].

    Raises RuntimeError unless each axis is named once.

    >>> import adjoint
    >>> adjoint.zeros(2, 3, 4).permute(2, 0, 1).shape
    adjoint.Size([4, 2, 3])
    """
    return _permuted(input, as_tuple(args) if dims is None else tuple(dims))


def _permuted(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    ndim = input._array.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    if len({d % ndim for d in dims}) != ndim and all(-ndim <= d < ndim for d in dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return ops.permute(input, dims)


@composite()
def t(input: Tensor) -> Tensor:
    """A matrix with its two axes exchanged; tensors with fewer axes as they are.

    Raises RuntimeError for more than two axes.

    >>> import adjoint
    >>> adjoint.t(adjoint.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    ndim = input._array.ndim
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return ops.t(input) if ndim == 2 else ops.transpose(input, 0, 0)


@composite()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Alias of transpose().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.transpose).
    """
    return ops.transpose(input, axis0, axis1)


@composite()
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Alias of transpose().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.transpose).
    """
    return ops.transpose(input, dim0, dim1)


@composite()
def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """A view with the axes `source` moved to the places `destination`; the others keep their order.

    Raises RuntimeError if the two differ in number or name an axis twice.

    >>> import adjoint
    >>> adjoint.zeros(2, 3, 4).movedim(0, -1).shape
    adjoint.Size([3, 4, 2])
    """
    given, places = listed(source), listed(destination)
    if len(given) != len(places):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({given} dims) should contain the same number of "
            f"dims as destination ({places} dims)"
        )
    ndim = input._array.ndim
    moved = {}
    for name, dims in (("source", given), ("destination", places)):
        moved[name] = [normalize_dim(d, ndim) for d in dims]
        if len(set(moved[name])) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if not ndim:
        return ops.transpose(input, 0, 0)
    order = [d for d in range(ndim) if d not in moved["source"]]
    for place, axis in sorted(zip(moved["destination"], moved["source"], strict=True)):
        order.insert(place, axis)
    return ops.permute(input, tuple(order))


@composite()
def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """Alias of movedim().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.movedim).
    """
    return movedim(input, source, destination)


# repeating ------------------------------------------------------------------------------------------------------------


def _spread(name: str) -> Callable[[F], F]:
    """Let the numbers at the end of a call be given by the name that they have together, then perhaps `input` too."""

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if name in kwargs:
                first = (kwargs.pop("input"),) if "input" in kwargs else ()
                args = (*first, *args, kwargs.pop(name))
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


@composite(namespace=None)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """A view expanded to the shape of another tensor.

    Axes of length one are repeated and new ones put in front, without a copy; the derivative sums over them. Raises
    RuntimeError for shapes that do not broadcast.

    >>> import adjoint
    >>> adjoint.tensor([[1], [2]]).expand_as(adjoint.ones(2, 2))
    tensor([[1, 1],
            [2, 2]])
    """
    return ops.expand(input, other._array.shape)


@composite()
@_spread("size")
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
    given = as_tuple(tensors)
    shape = broadcast_shapes(*[x._array.shape for x in given])
    return tuple(x if x._array.shape == shape else ops.expand(x, shape) for x in given)


@composite(namespace=None)
@_spread("size")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the axes along which `size`, broadcast, would be repeated to the tensor's shape.

    Raises RuntimeError if `size` cannot be broadcast to the tensor's shape.

    >>> import adjoint
    >>> adjoint.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    wanted, shape = tuple(map(index, as_tuple(size))), input._array.shape
    fits = len(wanted) <= len(shape) and all(n in (1, m) for n, m in zip(wanted[::-1], shape[::-1], strict=False))
    if not fits:
        raise RuntimeError(f"size {{{sizes(wanted)}}} is not expandable to size {{{sizes(shape)}}}.")
    if not wanted:
        return input.sum()
    if wanted == shape:
        return input
    # as sum() does, sums of integers are int64
    return ops.sum_to_size(input.long() if input._array.dtype.kind in "biu" else input, wanted)


@composite()
@_spread("dims")
def tile(input: Tensor, *dims: Any) -> Tensor:
    """The tensor put side by side dims[k] times along each axis, counted from the last; missing numbers are 1.

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
    given, repeats = (repeats, None) if input is None else (input, repeats)
    input = as_tensor("repeat_interleave", "input", 1, given)
    numbers = input if repeats is None else repeats
    if isinstance(numbers, TensorBase) and numbers.dtype not in (int32, int64):  # type: ignore[attr-defined]
        own = numbers.dtype.long_name  # type: ignore[attr-defined]
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{own}'")
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
    """Each slice repeated as often as others: no places are kept for the way back."""
    shape = tuple(input.shape) or (1,)
    rows = ops.expand(
        ops.reshape(input, (*shape[: dim + 1], 1, *shape[dim + 1 :])),
        (*shape[: dim + 1], repeats, *shape[dim + 1 :]),
    )
    return ops.reshape(ops.clone(rows), (*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))


# joining --------------------------------------------------------------------------------------------------------------


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
    """Empty vectors take the shape of the others, with size 0 along the axis: they add nothing but their dtype."""
    shapes = [getattr(x, "shape", None) for x in tensors]
    other = next((shape for shape in shapes if shape is not None and shape != (0,)), None)
    if other is None or len(other) < 2 or (0,) not in shapes:
        return tensors
    dim = normalize_dim(dim, len(other))
    hollow = (*other[:dim], 0, *other[dim + 1 :])
    return [ops.reshape(x, hollow) if shape == (0,) else x for x, shape in zip(tensors, shapes, strict=True)]


@composite(method=False)
@takes_axis
@described(alias_text("cat"))
def concat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    return cat(tensors, dim, out=out)


@composite(method=False)
@takes_axis
@described(alias_text("cat"))
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
    joined = [atleast_1d(x) for x in _some("hstack", tensors)]
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
    return ops.cat([atleast_2d(x) for x in _some("vstack", tensors)], 0)


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
    return ops.cat([atleast_3d(x) for x in _some("dstack", tensors)], 2)


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
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(tensor).__name__}")
        if tensor._array.ndim > 2:
            raise RuntimeError(
                "adjoint.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{i} has {tensor._array.ndim} dimensions"
            )
        blocks.append(_with_two_axes(tensor))
    width = sum(block._array.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        height, length = block._array.shape
        rows.append(ops.embed_view(block, (height, width), (slice(None), slice(start, start + length))))
        start += length
    return ops.cat(rows, 0)


# grids ----------------------------------------------------------------------------------------------------------------


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
    given = as_tuple(tensors)
    if indexing is None:
        warn_once(
            "adjoint.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
        indexing = "ij"
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'adjoint.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in given:
        if tensor._array.ndim > 1:
            raise RuntimeError(f"adjoint.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}")
        if tensor._array.dtype != given[0]._array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    n = len(given)
    shape = [tensor.numel() for tensor in given]
    swapped = indexing == "xy" and n > 1
    grids = []
    for i, tensor in enumerate(given):
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
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(tensor).__name__}")
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
    """All rows of r numbers below n, each at least `least` above the one before, in their order."""
    shape = (comb(n if least else n + r - 1, r), r)
    check_size(shape, 8)
    result = numpy.empty(shape, numpy.int64)  # raises before the work if there is no memory for it
    if not result.size:
        return result
    rows = numpy.arange(n - (r - 1) * least)[:, None]
    for place in range(1, r):
        # each row once for every number that may follow and leave room for the rest
        first, end = rows[:, -1] + least, n - (r - 1 - place) * least
        number = numpy.maximum(end - first, 0)
        row = repeat(numpy.arange(len(rows)), number)
        following = numpy.arange(len(row)) - (numpy.cumsum(number) - number - first)[row]
        rows = numpy.concatenate([rows[row], following[:, None]], axis=1)
    result[...] = rows
    return result


# splitting ------------------------------------------------------------------------------------------------------------


@composite(method=False)
@takes_axis
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along one axis: all of one size but the last, or of the given sizes.

    Raises RuntimeError for negative sizes, and for given ones that do not add up to the size of the axis.

    >>> import adjoint
    >>> adjoint.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return ops.split_with_sizes(tensor, tuple(split_size_or_sections), dim)
    try:
        size = index(split_size_or_sections)  # type: ignore[arg-type]  # this finds what is no number
    except TypeError:
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
            f"{type(split_size_or_sections).__name__}"
        ) from None
    return ops.split(tensor, size, dim)


@composite(namespace=None, name="split")
@takes_axis
def split_method(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along one axis: all of one size but the last, or of the given sizes.

    The derivative joins the cotangents of the pieces. Raises RuntimeError unless given sizes add up to the length of
    the axis, IndexError for an axis out of range.

    >>> import adjoint
    >>> adjoint.tensor([1, 2, 3]).split(2)
    (tensor([1, 2]), tensor([3]))
    """
    return split(input, split_size, dim)


@composite()
@takes_axis
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` pieces along one axis, of the same size but for the last.

    Raises RuntimeError for less than one chunk.

    >>> import adjoint
    >>> adjoint.arange(5).chunk(3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    n = chunk_size(input, chunks, dim)
    return ops.split(input, n, dim) if n else ops.split_with_sizes(input, (0,) * chunks, dim)


def chunk_size(input: Tensor, chunks: int, dim: int) -> int:
    """The length of all chunks but the last. Raises RuntimeError for less than one chunk."""
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return int(-(-input._array.shape[normalize_dim(dim, input._array.ndim)] // chunks))


@composite()
@takes_axis
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As chunk(), but the pieces count as tensors of their own: nobody checks that they share the input's memory.

    Writing to a piece is right only where nothing needs the input's old values.

    >>> import adjoint
    >>> adjoint.unsafe_chunk(adjoint.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    n = chunk_size(input, chunks, dim)
    return ops.unsafe_split(input, n, dim) if n else ops.unsafe_split_with_sizes(input, (0,) * chunks, dim)


def _takes_either(function: F) -> F:
    """Let indices_or_sections be given by torch's names for each kind alone."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in ("indices", "sections", "tensor_indices_or_sections"):
            if name in kwargs:
                kwargs["indices_or_sections"] = kwargs.pop(name)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


@composite()
@takes_axis
@_takes_either
def tensor_split(input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along one axis: a number of them as equal as possible, or cut before the given places.

    Raises RuntimeError for less than one section.

    >>> import adjoint
    >>> adjoint.arange(5).tensor_split(2), adjoint.arange(5).tensor_split((1, 3))
    ((tensor([0, 1, 2]), tensor([3, 4])), (tensor([0]), tensor([1, 2]), tensor([3, 4])))
    """
    if not input._array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = normalize_dim(dim, input._array.ndim)
    n = input._array.shape[dim]
    if isinstance(indices_or_sections, TensorBase):
        indices_or_sections = indices_or_sections._array.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        stops = [*map(index, indices_or_sections), n]
        starts = [0, *stops[:-1]]
    else:
        sections = index(indices_or_sections)  # type: ignore[arg-type]
        if sections < 1:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        if sections > max(n, _MOST_PIECES):
            raise RuntimeError(
                f"tensor_split(): an axis of size {n} is cut into at most {max(n, _MOST_PIECES)} sections, "
                f"got {sections}"
            )
        stops = [(i + 1) * (n // sections) + min(i + 1, n % sections) for i in range(sections)]
        starts = [0, *stops[:-1]]
    before = (slice(None),) * dim
    return tuple(
        ops.getitem_slice(input, (*before, slice(start, stop))) for start, stop in zip(starts, stops, strict=True)
    )


_SPLIT_STACKED = """tensor_split() along the axis that {stack}() joins; a number must divide its size.

    indices_or_sections: how many pieces, or the places before which to cut. Returns views; the derivative joins their
    cotangents. Raises RuntimeError for too few axes, and for a number of pieces that does not divide the axis.

    >>> import adjoint
    >>> [tuple(piece.shape) for piece in adjoint.{name}(adjoint.ones(2, 2, 2), 2)]
    {shown}
    """


def _split_stacked(function: str, input: Tensor, indices_or_sections: tuple[Any, ...], least: int, dim: int) -> Any:
    """The pieces along an axis of a tensor with at least so many axes; a number of pieces must divide its size."""
    if not indices_or_sections:
        raise TypeError(f'{function}() missing 1 required positional arguments: "indices_or_sections"')
    pieces = indices_or_sections[0] if len(indices_or_sections) == 1 else indices_or_sections
    ndim = input._array.ndim
    if ndim < least:
        raise RuntimeError(
            f"adjoint.{function} requires a tensor with at least {least} dimension, but got a tensor with {ndim} "
            "dimensions!"
        )
    n = input._array.shape[dim]
    if isinstance(pieces, int) and (pieces < 1 or n % pieces):
        raise RuntimeError(
            f"adjoint.{function} attempted to split along dimension {dim}, but the size of the dimension {n} is not "
            f"divisible by the split_size {pieces}!"
        )
    return tensor_split(input, pieces, dim)


@composite()
@_takes_either
@_spread("indices_or_sections")
@described(_SPLIT_STACKED, name="hsplit", stack="hstack", shown="[(2, 1, 2), (2, 1, 2)]")
def hsplit(input: Tensor, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    return _split_stacked("hsplit", input, indices_or_sections, 1, min(1, input._array.ndim - 1))


@composite()
@_takes_either
@_spread("indices_or_sections")
@described(_SPLIT_STACKED, name="vsplit", stack="vstack", shown="[(1, 2, 2), (1, 2, 2)]")
def vsplit(input: Tensor, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    return _split_stacked("vsplit", input, indices_or_sections, 2, 0)


@composite()
@_takes_either
@_spread("indices_or_sections")
@described(_SPLIT_STACKED, name="dsplit", stack="dstack", shown="[(2, 2, 1), (2, 2, 1)]")
def dsplit(input: Tensor, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    return _split_stacked("dsplit", input, indices_or_sections, 3, 2)


@composite()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """The view from start (counted from the end if negative), of the given length, along one axis.

    Raises RuntimeError or IndexError if it would leave the axis.

    >>> import adjoint
    >>> adjoint.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = normalize_dim(dim, input._array.ndim)
    n, start = input._array.shape[dim], index(start)
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return ops.getitem_slice(input, (*(slice(None),) * dim, slice(start, start + length)))


# reordering -----------------------------------------------------------------------------------------------------------


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
    """A copy with the elements moved along axes; those that leave one end come in at the other.

    dims: as many axes as shifts; without them the flattened elements move.

    Raises RuntimeError if shifts and dims differ in number.

    >>> import adjoint
    >>> adjoint.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    moves = tuple(listed(shifts))
    axes = () if dims is None else tuple(listed(dims))
    if len(moves) != len(axes) and not (len(moves) == 1 and dims is None):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    if dims is None:
        return ops.roll(input, moves, None)
    total: dict[int, int] = {}
    for axis, move in zip(axes, moves, strict=True):
        axis = normalize_dim(axis, input._array.ndim)
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
        return ops.clone(input)
    if turns == 2:
        return ops.flip(input, (first, second))
    return ops.flip(ops.transpose(input, first, second), (first if turns == 1 else second,))


# diagonals ------------------------------------------------------------------------------------------------------------


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
