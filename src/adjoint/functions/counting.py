"""Searching in sorted sequences, unique elements, histograms: composites without derivatives."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype, int32, int64, is_half, kind_of
from adjoint.arrays.namespace import is_array, namespace, underlying
from adjoint.arrays.promotion import upcast
from adjoint.arrays.shapes import normalize_dim, require_dim
from adjoint.arrays.size import Size, as_int
from adjoint.core import errors
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.operations.results import results_of
from adjoint.functions.composite import composite, ops, takes_out
from adjoint.functions.underived import without_derivative

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{name}."
)


def _array_of(function: str, tensor: object, name: str = "input", *, dynamic: str | None = None) -> Any:
    """The raw array of an argument. A batch is refused if the shape of the result depends on its values."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(errors.must_be_tensor(function, name, 0, tensor))
    array = tensor._array
    if underlying(array) is not array:
        raise RuntimeError(_DYNAMIC.format(name=dynamic or function))
    return array


# sorted sequences ---------------------------------------------------------------------------------------------------

_SEARCH = "adjoint.searchsorted(): "


def _side(right: bool, side: str | None) -> bool:
    """Whether a value goes after equal elements."""
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(f"{_SEARCH}side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{_SEARCH}side and right can't be set to opposites, got side of left while right was True")
    return side == "right"


def _check_sequences(sorted_sequence: Tensor, input: Tensor | float, sorter: Tensor | None) -> None:
    n = sorted_sequence.ndim
    if n == 0:
        raise RuntimeError(f"{_SEARCH}boundaries tensor should have positive dimension, but got 0 dimension")
    is_tensor = isinstance(input, TensorBase)
    shape = tuple(input.shape) if is_tensor else ()
    if n > 1 and not shape:
        raise RuntimeError(
            f"{_SEARCH}input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
            f"tensor dim({n}) and input value's dim(0) numel(1)"
        )
    if n > 1 and (len(shape) != n or shape[:-1] != sorted_sequence.shape[:-1]):
        raise RuntimeError(
            f"{_SEARCH}boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {errors.sizes(sorted_sequence.shape)} and "
            f"input value tensor {errors.sizes(shape)}"
        )
    if sorter is None:
        return
    if sorter.shape != sorted_sequence.shape:
        raise RuntimeError(
            f"{_SEARCH}boundary and sorter must have the same size, but got boundary tensor "
            f"{errors.sizes(sorted_sequence.shape)}and got sorter tensor {errors.sizes(sorter.shape)}"
        )
    if sorter.dtype is not int64:
        raise RuntimeError(f"{_SEARCH}sorter must be a tensor of long dtype but got dtype {sorter.dtype.long_name}")
    order = underlying(sorter._array)
    if order.size and (order.min() < 0 or order.max() >= sorted_sequence.shape[-1]):
        raise RuntimeError(f"{_SEARCH}sorter index out of range")


def _check_values(function: str, argument: str, position: int, value: Any) -> None:
    """Raise TypeError for what is neither a Tensor nor a number."""
    if not (isinstance(value, (TensorBase, numbers.Number)) or is_array(value)):
        raise TypeError(errors.must_be_tensor(function, argument, position, value))


def _insertion_points(
    sequence: Tensor, input: Any, right: bool, sorter: Tensor | None, out_int32: bool, out: Tensor | None
) -> Tensor:
    indices = ops.sorted_places(sequence, input, right, sorter)
    if out_int32:
        indices = indices.to(int32)
    if out is None:
        return indices
    return ops.clone(indices, out=out)


@composite(method=False)
def searchsorted(
    sorted_sequence: Tensor, input: Tensor | float, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, out: Tensor | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The index at which each value would be inserted to keep a sequence sorted. Sequences run along the last axis.

    Args:
        sorted_sequence: one sequence, or several with leading axes equal to those of input.
        input: the values. The result has the same shape, with dtype int64, or int32 if out_int32 is True.
        right: whether a value goes after equal elements. It goes before them by default. side="right" says the same.
        sorter: the indices that sort sorted_sequence, if it is not sorted.

    Raises RuntimeError for shapes that do not match, and if right and side contradict each other.

    >>> import adjoint
    >>> adjoint.searchsorted(adjoint.tensor([1, 3, 5]), adjoint.tensor([0, 3, 6]))
    tensor([0, 1, 3])
    """
    if not isinstance(sorted_sequence, TensorBase):
        raise TypeError(errors.must_be_tensor("searchsorted", "sorted_sequence", 0, sorted_sequence))
    _check_values("searchsorted", "input", 1, input)
    behind = _side(right, side)
    _check_sequences(sorted_sequence, input, sorter)
    return _insertion_points(sorted_sequence, input, behind, sorter, out_int32, out)


@composite(method=False)
def bucketize(
    input: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The number of the bucket that each value lies in. The buckets are the intervals between sorted boundaries.

    Args:
        boundaries: the sorted boundaries, with one axis.
        right: whether a value equal to a boundary belongs to the bucket above it. It belongs to the bucket below by
            default.

    The result has the shape of input, with dtype int64, or int32 if out_int32 is True.
    Raises RuntimeError unless boundaries has one axis.

    >>> import adjoint
    >>> adjoint.bucketize(adjoint.tensor([0.5, 1.0, 7.0]), adjoint.tensor([1.0, 2.0]))
    tensor([0, 0, 2])
    """
    if not isinstance(boundaries, TensorBase):
        raise TypeError(errors.must_be_tensor("bucketize", "boundaries", 1, boundaries))
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    _check_values("bucketize", "input", 0, input)
    return _insertion_points(boundaries, input, right, None, out_int32, out)


# membership and counts ----------------------------------------------------------------------------------------------


@composite(method=False)
def isin(
    elements: Tensor | complex,
    test_elements: Tensor | complex,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """True for each element that is one of the test elements. With invert, True for each element that is not.

    One of the two arguments may be a number. Raises RuntimeError for booleans and complex numbers.

    >>> import adjoint
    >>> adjoint.isin(adjoint.tensor([1, 2, 3]), adjoint.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    _check_values("isin", "elements", 0, elements)
    _check_values("isin", "test_elements", 1, test_elements)
    _check_members(elements)
    if isinstance(test_elements, TensorBase):
        _check_members(test_elements)
        row = test_elements if test_elements._array.ndim == 1 else ops.reshape(test_elements, (-1,))
        is_member = ops.among(elements, row, invert)
    elif isinstance(elements, TensorBase):
        is_member = (ops.ne if invert else ops.eq)(elements, test_elements)
    else:
        raise TypeError(errors.must_be_tensor("isin", "elements", 0, elements))
    return is_member if out is None else ops.clone(is_member, out=out)


def _check_members(members: Any) -> None:
    if isinstance(members, TensorBase) and kind_of(members._array) in "bc":
        raise RuntimeError(f"Unsupported input type encountered for isin(): {members.dtype.long_name}")


@composite()
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None) -> Tensor:
    """The number of elements in each of `bins` equal intervals of [min, max].

    If min equals max, the range of the elements is used. The result has the dtype of input.
    Raises RuntimeError for a range that is not finite, and for min above max.

    >>> import adjoint
    >>> adjoint.histc(adjoint.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if not isinstance(input, TensorBase):
        raise TypeError(errors.must_be_tensor("histc", "input", 0, input))
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype.long_name}'")
    bins = as_int("histc", "bins", 2, bins)
    if bins <= 0:
        raise RuntimeError(f"adjoint.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("adjoint.histc: max must be larger than min")
    counts = ops.row_histogram(ops.reshape(input, (-1,)), bins, min, max)
    return counts if out is None else ops.clone(counts, out=out)


@composite()
@takes_out
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the first `size` nonzero elements, as rows. Missing rows are filled with fill_value.

    Raises RuntimeError for a negative size.

    >>> import adjoint
    >>> adjoint.nonzero_static(adjoint.tensor([0, 5, 7]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    indices = ops.nonzero_places(ops.reshape(input, (-1,)), size)
    if not input.ndim:
        return indices[:, None][:, :0]
    if input.numel():
        rows = ops.stack(list(unravel_index(indices, tuple(input.shape))), 1)
    else:
        rows = ops.expand(indices[:, None], (size, input.ndim))
    return ops.where(indices[:, None] < 0, fill_value, rows)


# unique elements ----------------------------------------------------------------------------------------------------


def _no_complex(array: Any) -> None:
    if kind_of(array) == "c":
        raise NotImplementedError(f"\"unique\" not implemented for '{from_numpy_dtype(array.dtype).long_name}'")


def _as_rows(array: Any, dim: int | None) -> tuple[Any, int]:
    """The elements, or the slices along an axis, as rows of a matrix; and the axis."""
    if dim is None:
        return array.reshape(-1, 1), 0
    dim = require_dim(dim, array.ndim)
    rows = namespace(array).moveaxis(array, dim, 0)
    if not array.size and (array.shape[dim] or any(n == 0 for n in rows.shape[1:])):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return rows.reshape(len(rows), -1 if rows.size else 1), dim


def _groups(array: Any, dim: int | None, sort: bool, each: bool) -> tuple[Any, Any, Any]:
    """Groups of equal elements or slices: the position of the first member, the group of each element, and the sizes.

    The group of each element is None if no result needs it.

    If `sort` is True, groups are numbered in ascending order of their values. Otherwise only neighbours form a group,
    and groups are numbered in order of appearance. Each NaN is a group of its own.
    """
    xp = namespace(array)
    rows, _ = _as_rows(upcast(array), dim)
    n = len(rows)
    if kind_of(rows) == "b":
        rows = rows.astype(xp.uint8)
    order = None
    if sort:
        order = xp.lexsort(rows.T[::-1]) if n else xp.arange(n)
        rows = rows[order]
    starts = xp.ones(n, dtype=bool)
    if rows.shape[1] == 1:
        # neighbours of a vector are compared without gaps
        rows = rows[:, 0]
        starts[1:] = rows[1:] != rows[:-1]
    else:
        starts[1:] = xp.any(rows[1:] != rows[:-1], axis=1)
    first_of_group = xp.nonzero(starts)[0]
    ends = xp.asarray(first_of_group, copy=True)
    ends[:-1], ends[-1:] = first_of_group[1:], n
    sizes = ends - first_of_group
    if order is None:
        return first_of_group, xp.cumsum(starts) - 1 if each else None, sizes
    groups = xp.empty(n, dtype=xp.int64)
    groups[order] = xp.cumsum(starts) - 1
    return order[first_of_group], groups, sizes


def _values_and_counts(array: Any) -> tuple[Any, Any]:
    """The distinct elements in ascending order, and how often each occurs. Each NaN counts as distinct."""
    if type(array) is not numpy.ndarray:
        return namespace(array).unique(array, return_counts=True, equal_nan=False)
    ordered = array.flatten()
    ordered.sort()
    starts = numpy.ones(ordered.size, dtype=bool)
    numpy.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    (firsts,) = starts.nonzero()
    counts = numpy.empty_like(firsts)
    numpy.subtract(firsts[1:], firsts[:-1], out=counts[:-1])
    counts[-1:] = ordered.size - firsts[-1:]
    return ordered[firsts], counts


def _unique(array: Any, sort: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    _no_complex(array)
    xp = namespace(array)
    if sort and dim is None and not return_inverse:
        # no need to know where the elements were: sorting is several times faster than finding their order
        values, counts = _values_and_counts(upcast(array))
        values = new_tensor(values.astype(array.dtype, copy=False))
        return (values, new_tensor(counts)) if return_counts else values
    firsts, groups, counts = _groups(array, dim, sort, return_inverse)
    values = array.reshape(-1)[firsts] if dim is None else xp.take(array, firsts, axis=normalize_dim(dim, array.ndim))
    results = [values]
    if return_inverse:
        results.append(groups.reshape(array.shape) if dim is None else groups)
    if return_counts:
        results.append(counts)
    tensors = tuple(new_tensor(each) for each in results)
    return tensors if len(tensors) > 1 else tensors[0]


@composite()
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements in ascending order, or the distinct slices along an axis.

    Args:
        return_inverse: whether to return, for each element of input, its index among the distinct values: a tensor of
            the shape of input, or with one axis if dim is given.
        return_counts: whether to return how often each value occurs.
        dim: the axis whose slices are compared.

    Returns the values, then the requested results. Each NaN counts as distinct. The values require a gradient if input
    does, as in PyTorch; a backward pass through them raises NotImplementedError, since there is no derivative.

    >>> import adjoint
    >>> adjoint.unique(adjoint.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    name = "_unique2" if dim is None else "unique_dim"
    results = _unique(_array_of("unique", input, dynamic=name), True, return_inverse, return_counts, dim)
    return _first_underived(results, input, name)


def _first_underived(results: Any, input: Tensor, name: str) -> Any:
    """Mark the values among the results as requiring a gradient that has no formula, if the input requires one."""
    values = results[0] if isinstance(results, tuple) else results
    without_derivative(values, (input,), NotImplementedError(f"the derivative for '{name}' is not implemented."))
    return results


@composite()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along an axis, without those equal to their predecessor.

    Args:
        return_inverse: whether to return, for each element of input, its index among the values: a tensor of the shape
            of input, or with one axis if dim is given.
        return_counts: whether to return the length of each run of equal elements.
        dim: the axis whose slices are compared.

    Returns the values, then the requested results.

    >>> import adjoint
    >>> adjoint.unique_consecutive(adjoint.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    results = _unique(_array_of("unique_consecutive", input), False, return_inverse, return_counts, dim)
    return _first_underived(results, input, "unique_consecutive")


# histograms ---------------------------------------------------------------------------------------------------------


@results_of("histogram")
class Histogram(NamedTuple):
    """Counts, and the edges of the bins."""

    hist: Tensor
    bin_edges: Tensor


@results_of("histogramdd")
class Histogramdd(NamedTuple):
    """Counts, and for each coordinate the edges of the bins."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def _edges(xp: Any, points: Any, bins: Any, bounds: tuple[float, float] | None, d: int) -> Any:
    """The edges of the bins of one coordinate."""
    if isinstance(bins, TensorBase):
        edges = bins._array
        if edges.ndim != 1:
            raise RuntimeError(
                f"adjoint.histogramdd: bins tensor should have one dimension, but got {edges.ndim} dimensions in the "
                f"bins tensor for dimension {d}"
            )
        if not edges.size:
            raise RuntimeError(
                "adjoint.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins "
                f"tensor for dimension {d}"
            )
        return edges
    if bins <= 0:
        raise RuntimeError(f"adjoint.histogram(): bins must be > 0, but got {bins} for dimension {d}")
    low, high = _bounds(xp, points, bounds, d)
    return xp.linspace(low, high, bins + 1).astype(points.dtype)


def _bounds(xp: Any, points: Any, bounds: tuple[float, float] | None, d: int) -> tuple[float, float]:
    if bounds is None:
        low, high = (float(xp.min(points)), float(xp.max(points))) if points.size else (0.0, 1.0)
    else:
        low, high = bounds
    if not abs(low) + abs(high) < float("inf"):
        raise RuntimeError(f"adjoint.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"adjoint.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {d}"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _bins_of(xp: Any, points: Any, edges: Any) -> Any:
    """The bin of each point between the first and the last edge. The last edge belongs to the last bin."""
    last = len(edges) - 2
    if last < 0 or not points.size:
        return xp.zeros(len(points), dtype=int)
    # equal bins, up to rounding, are found by division; other ones by search
    span = edges[-1] - edges[0]
    if span > 0:
        bins = xp.minimum(((points - edges[0]) * ((last + 1) / span)).astype(int), last)
        bins -= points < edges[bins]
        bins += (points >= edges[bins + 1]) & (bins < last)
        if ((points >= edges[bins]) & ((points < edges[bins + 1]) | (bins == last))).all():
            return bins
    return xp.minimum(xp.searchsorted(edges, points, side="right") - 1, last)


def _counts(xp: Any, points: Any, edges: list[Any], weight: Any, density: bool) -> Any:
    """Count points, one in each row, by bins. The last bin of each coordinate includes its upper edge."""
    shape = tuple(len(each) - 1 for each in edges)
    in_range = xp.ones(len(points), dtype=bool)
    for column, each in zip(points.T, edges, strict=True):
        in_range &= (column >= each[0]) & (column <= each[-1])
    weights = None if weight is None else weight.reshape(-1)[in_range]
    bins = [_bins_of(xp, column[in_range], each) for column, each in zip(points.T, edges, strict=True)]
    flat = xp.ravel_multi_index(bins, shape) if in_range.any() else xp.zeros(0, dtype=int)
    n = 1
    for length in shape:
        n *= length
    counts = xp.bincount(flat, weights, n).reshape(shape)
    if density:
        volumes = counts.sum()
        for axis, each in enumerate(edges):
            volumes = volumes * xp.diff(each).reshape([-1 if i == axis else 1 for i in range(len(edges))])
        counts = counts / volumes
    return counts.astype(points.dtype)


def _points(function: str, input: Tensor, weight: Tensor | None, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Check the input and the weights. Return their raw arrays."""
    array = _array_of(function, input)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input.dtype.long_name}'")
    if weight is None:
        return array, None
    if tuple(weight.shape) != shape[:-1]:
        raise RuntimeError(
            "adjoint.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {errors.sizes(shape)} and weight with shape "
            f"{errors.sizes(weight.shape)}"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            "adjoint.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({input.dtype.c_name}), and weight({weight.dtype.c_name})"
        )
    return array, _array_of(function, weight, "weight")


def _check_bins(input: Tensor, bins: Sequence[Any]) -> None:
    for d, each in enumerate(bins):
        if isinstance(each, TensorBase) and each.dtype is not input.dtype:
            raise RuntimeError(
                "adjoint.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
                f"dtype {input.dtype.c_name} and bins for dimension {d} with dtype {each.dtype.c_name}"
            )


@composite()
@takes_out
def histogram(
    input: Tensor, bins: int | Tensor, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:  # fmt: skip
    """The number of elements in each bin, or the sum of their weights. The last bin includes its upper edge.

    Args:
        bins: the edges of the bins, or the number of bins of equal width.
        range: the lower and the upper end of the bins of equal width, by default the smallest and the largest element.
        weight: a weight for each element, of the shape of input.
        density: whether to divide each result by the total and by the width of its bin.

    Returns a named tuple (hist, bin_edges), of the dtype of input.
    Raises RuntimeError for invalid bins, ranges or weights.

    >>> import adjoint
    >>> adjoint.histogram(adjoint.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    array, weights = _points("histogram", input, weight, (*_flat_shape(input), 1))
    _check_bins(input, [bins])
    xp = namespace(array)
    points = upcast(array).reshape(-1, 1)
    edges = _edges(xp, points, bins, None if range is None else tuple(range), 0)  # type: ignore[arg-type]
    counts = _counts(xp, points, [edges], weights, density)
    return Histogram(
        *_without_derivatives("histogram", [_of_type(each, array) for each in (counts, edges)], input, bins, weight)
    )


def _without_derivatives(function: str, results: list[Tensor], *inputs: Any) -> tuple[Tensor, ...]:
    missing = NotImplementedError(f"derivative for {function} is not implemented")
    outputs = [without_derivative(result, inputs, missing) for result in results]
    return ops.join_results(outputs, "NotImplemented")


def _flat_shape(input: Tensor) -> tuple[int, ...]:
    return tuple(getattr(input, "shape", ()))


def _of_type(array: Any, model: Any) -> Tensor:
    return new_tensor(array.astype(model.dtype, copy=False) if is_half(model.dtype) else array)


@composite(method=False)
def histogramdd(
    input: Tensor, bins: int | Sequence[int] | Sequence[Tensor], *, range: Sequence[float] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> Histogramdd:  # fmt: skip
    """The number of points in each cell of a grid. The last axis of input holds the coordinates of a point.

    Args:
        bins: for each coordinate the edges of its bins or their number. One number applies to all coordinates.
        range: the lower and the upper end of each coordinate, in a flat sequence.
        weight: a weight for each point.
        density: whether to divide each result by the total and by the volume of its cell.

    Returns a named tuple (hist, bin_edges), where bin_edges is a tuple of tensors.
    Raises RuntimeError for invalid bins, ranges or weights.

    >>> import adjoint
    >>> points = adjoint.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    >>> adjoint.histogramdd(points, bins=2).hist
    tensor([[1., 0.],
            [1., 1.]])
    """
    if input.ndim < 2:
        raise RuntimeError("adjoint.histogramdd: input tensor should have at least 2 dimensions")
    array, weights = _points("histogramdd", input, weight, tuple(input.shape))
    n = array.shape[-1]
    each_bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(each_bins) != n:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"adjoint.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got "
            f"{len(range)}"
        )
    _check_bins(input, each_bins)
    xp = namespace(array)
    points = upcast(array).reshape(-1, n)
    ranges = [None] * n if range is None else list(zip(range[::2], range[1::2], strict=True))
    edges = [
        _edges(xp, points[:, d], each, bound, d) for d, (each, bound) in enumerate(zip(each_bins, ranges, strict=True))
    ]
    counts = _counts(xp, points, edges, weights, density)
    operands = (input, *each_bins, weight)
    (hist,) = _without_derivatives("histogramdd", [_of_type(counts, array)], *operands)
    bounds = _without_derivatives("histogramdd", [_of_type(each, array) for each in edges], *operands)
    return Histogramdd(hist, bounds)


# indices and shapes -------------------------------------------------------------------------------------------------


@composite(method=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Convert flat indices, which count in row-major order, to coordinates in an array of the given shape.

    Returns one tensor for each axis.
    Raises TypeError for indices that are not integers, ValueError for a negative length.

    >>> import adjoint
    >>> adjoint.unravel_index(adjoint.tensor([4, 7]), (3, 4))
    (tensor([1, 1]), tensor([0, 3]))
    """
    if indices.is_complex() or indices.is_floating_point() or indices.dtype.name == "bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in lengths:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in lengths):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(lengths)}")
    indices = indices.long()
    coordinates = []
    step = 1
    for n in reversed(lengths):
        coordinates.append(ops.remainder(ops.floor_divide(indices, step), n))
        step *= n
    return tuple(reversed(coordinates))


@composite(method=False)
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that the given shapes broadcast to.

    Raises RuntimeError if two lengths of an axis differ and neither is 1, ValueError for a negative length.

    >>> import adjoint
    >>> adjoint.broadcast_shapes((3, 1), (4,))
    adjoint.Size([3, 4])
    """
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    ndim = max(map(len, sizes), default=0)
    result = [1] * ndim
    for position, size in enumerate(sizes):
        for i, n in enumerate(size, start=ndim - len(size)):
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if result[i] == 1:
                result[i] = n
            elif n not in (1, result[i]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {i - ndim}! Mismatching argument at index "
                    f"{position} had {size}; but expected shape should be broadcastable to {result}"
                )
    return Size(result)
