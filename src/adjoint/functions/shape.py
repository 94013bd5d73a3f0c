"""Reshaping, and reordering of axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

from adjoint.arrays.shapes import normalize_dim
from adjoint.functions.arguments import Dims, as_list, as_tuple, takes_axis
from adjoint.functions.composite import composite, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


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
    """A view with one axis split into axes of the given sizes; one size may be -1.

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
    n, product = (shape[dim] if shape else 1), prod(size for size in new if size != -1)
    if new.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if product != n if -1 not in new else not product or n % product:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(new)} don't multiply up to the size of dim {dim} ({n}) in the input "
            "tensor"
        )
    new = tuple(n // product if size == -1 else size for size in new)
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
    """A view without axes of length one, all of them or only the named ones.

    >>> import adjoint
    >>> adjoint.zeros(1, 2, 1).squeeze().shape, adjoint.zeros(1, 2, 1).squeeze(0).shape
    (adjoint.Size([2]), adjoint.Size([2, 1]))
    """
    if dim is None:
        return ops.squeeze_all(input, tuple([i for i, n in enumerate(input._array.shape) if n == 1]))
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
    return _each(tensors, with_one_axis)


@composite(method=False)
def atleast_2d(*tensors: Tensor) -> Any:
    """Each tensor with at least two axes, new axes in front; a tuple unless there is one tensor.

    >>> import adjoint
    >>> adjoint.atleast_2d(adjoint.tensor([1.0, 2.0]))
    tensor([[1., 2.]])
    """
    return _each(tensors, with_two_axes)


@composite(method=False)
def atleast_3d(*tensors: Tensor) -> Any:
    """Each tensor with at least three axes, a vector's axis in the middle; a tuple unless there is one tensor.

    >>> import adjoint
    >>> adjoint.atleast_3d(adjoint.ones(2)).shape, adjoint.atleast_3d(adjoint.ones(2, 3)).shape
    (adjoint.Size([1, 2, 1]), adjoint.Size([2, 3, 1]))
    """
    return _each(tensors, with_three_axes)


def with_one_axis(x: Tensor) -> Tensor:
    """A number as a vector."""
    return x if x.ndim else ops.reshape(x, (1,))


def with_three_axes(x: Tensor) -> Tensor:
    """A matrix with a last axis of length one, a vector as such a row."""
    return x if x.ndim > 2 else ops.unsqueeze(with_two_axes(x), 2)


def with_two_axes(x: Tensor) -> Tensor:
    """A number as a matrix of one element, a vector as a matrix of one row."""
    if x.ndim > 1:
        return x
    return ops.unsqueeze(x, 0) if x.ndim else ops.reshape(x, (1, 1))


def _each(tensors: tuple[Any, ...], change: Any) -> Any:
    members = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    changed = tuple(map(change, members))
    return changed if members is not tensors or len(changed) != 1 else changed[0]


@composite()
def permute(input: Tensor, *args: Any, dims: Sequence[int] | None = None) -> Tensor:
    """A view whose axis k is the input's axis dims[k].

    Raises RuntimeError unless each axis is named once.

    >>> import adjoint
    >>> adjoint.zeros(2, 3, 4).permute(2, 0, 1).shape
    adjoint.Size([4, 2, 3])
    """
    return _permute(input, as_tuple(args) if dims is None else tuple(dims))


def _permute(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    ndim = input._array.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    try:
        return ops.permute(input, dims)
    except RuntimeError:
        if len({d % ndim for d in dims}) != ndim:
            raise RuntimeError("permute(): duplicate dims are not allowed.") from None
        raise


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
    """A view with the axes `source` moved to the positions `destination`; the others keep their order.

    Raises RuntimeError if the two differ in number or repeat an axis.

    >>> import adjoint
    >>> adjoint.zeros(2, 3, 4).movedim(0, -1).shape
    adjoint.Size([3, 4, 2])
    """
    ndim = input._array.ndim
    if type(source) is int and type(destination) is int and ndim:
        axis, position = normalize_dim(source, ndim), normalize_dim(destination, ndim)
        order = list(range(ndim))
        order.insert(position, order.pop(axis))
        return ops.permute(input, tuple(order))
    sources, destinations = as_list(source), as_list(destination)
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number of "
            f"dims as destination ({destinations} dims)"
        )
    axes = {}
    for name, dims in (("source", sources), ("destination", destinations)):
        axes[name] = [normalize_dim(d, ndim) for d in dims]
        if len(set(axes[name])) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if not ndim:
        return ops.transpose(input, 0, 0)
    order = [d for d in range(ndim) if d not in axes["source"]]
    for position, axis in sorted(zip(axes["destination"], axes["source"], strict=True)):
        order.insert(position, axis)
    return ops.permute(input, tuple(order))


@composite()
def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """Alias of movedim().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.movedim).
    """
    return movedim(input, source, destination)
