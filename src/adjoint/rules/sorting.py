"""Operations that pick elements by their order: sort, topk, extrema and medians along an axis, with their indices.

The gradient goes to the picked elements. NaN counts as the largest value, as in torch.
"""

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.kernels import comparisons
from adjoint.arrays.namespace import count_true, laid_out_as, native, row_major, underlying

from .declare import Array, Constant, constant, general, linear
from .reduce import (
    NO_AXES,
    declare_attained,
    flatten,
    part,
    reduced_shape,
    refuse_complex,
    refuse_empty,
    refuse_kinds,
    shares_or_nan,
)

# picking by index ---------------------------------------------------------------------------------------------------


@linear(axes=("dim",), batching="joint", method=False, function=False)
def place(xp, input: Array, dim, index: Constant, size):
    """Zeros of the given size along an axis, but input at the places that index names, each at most once."""
    shape = list(input.shape)
    shape[dim] = size
    result = xp.zeros(tuple(shape), dtype=input.dtype)
    xp.setitem(result, xp.along_axis(index, dim), input)
    return result


@place.vjp("input")
def _(ops, g, dim, index):
    return ops.gather(g, dim, index)


def _with_axis(reduced, dim, keepdim):
    return reduced if keepdim else reduced[(slice(None),) * dim + (None, ...)]


def declare_picked(name, kernel, *, keeps_axis=False, **options):
    """Declare an operation that returns elements along an axis and their indices."""
    options = {"outputs": ("values", "indices"), "differentiable": (True, False), "rows": not keeps_axis, **options}
    rule = general(name=name, axes=("dim",), **options)(kernel)

    if keeps_axis:

        @rule.vjp("input")
        def _(ops, g, y1, input_shape, dim):
            return ops.place(g[0], dim, y1, input_shape[dim]) if input_shape else g[0]

    else:

        @rule.vjp("input")
        def _(ops, g, y1, input_shape, dim, keepdim):
            if not input_shape:
                return g[0]
            cotangents, index = _with_axis(g[0], dim, keepdim), _with_axis(y1, dim, keepdim)
            return ops.place(cotangents, dim, index, input_shape[dim])


def _pick(xp, input, index, dim, keepdim):
    # the elements at the index, and the index, both without the axis unless keepdim
    values = xp.take_along_axis(input, index, axis=dim)
    return (values, index) if keepdim else (xp.squeeze(values, axis=dim), xp.squeeze(index, axis=dim))


def _at_rank(xp, input, k, dim):
    # where the k-th smallest element along an axis is, counted from 0; NaN counts as the largest
    return xp.argpartition(input, k, axis=dim)[part(dim, k, k + 1)]


def _itself(xp, input):
    # the result of all operations here for a 0-d array
    return xp.asarray(input, copy=True), xp.zeros((), dtype=xp.int64)


# sorting ------------------------------------------------------------------------------------------------------------


def _order(xp, input, dim, descending):
    if not descending:
        return xp.argsort(input, axis=dim, stable=True)
    # equal elements keep their order also where the largest comes first
    order_of_flip = xp.argsort(xp.flip(input, axis=dim), axis=dim, stable=True)
    return input.shape[dim] - 1 - xp.flip(order_of_flip, axis=dim)


def _sort(xp, input: Array, dim=-1, descending=False, *, stable=False):
    """The elements in order along an axis, and where they were; equal elements keep their order."""
    if kind_of(input) == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if not input.ndim:
        return _itself(xp, input)
    order = _order(xp, input, dim, descending)
    values = xp.take_along_axis(input, order, axis=dim)
    return laid_out_as(values, input), laid_out_as(order, input)


declare_picked("sort", _sort, keeps_axis=True)


@constant(axes=("dim",), dtypes="same")
def argsort(xp, input: Array, dim=-1, descending=False, *, stable=False):
    """The indices that put the elements in order along an axis; equal elements keep their order."""
    return _sort(xp, input, dim, descending)[1]


# up to so many elements all are put in order, which is quicker than to look for the first of equals
_FEW = 32


def _first_of_equals(xp, input, indices, least, dim):
    """Ascending indices of the k largest elements; of those equal to the k-th largest, the first are taken."""
    same = input == least
    if kind_of(input) == "f" and count_true(underlying(least != least)):
        same = same | ((least != least) & (input != input))
    equal_places = xp.take_along_axis(same, indices, axis=dim)
    if count_true(underlying(same)) == count_true(underlying(equal_places)):
        return indices
    rows, equal_places, indices = (xp.moveaxis(array, dim, -1) for array in (same, equal_places, indices))
    n = rows.shape[-1]
    equal = xp.nonzero(xp.reshape(rows, (-1,)))[0]
    first = xp.reshape(xp.arange(rows.size // n, dtype=equal.dtype) * n, (*rows.shape[:-1], 1))
    # the position among the equal elements of its row, for each element taken
    rank = xp.cumulative_sum(xp.astype(equal_places, equal.dtype), axis=-1) - 1
    rank = xp.where(equal_places, xp.searchsorted(equal, first) + rank, 0)
    return xp.moveaxis(xp.where(equal_places, xp.take(equal, rank) - first, indices), -1, dim)


def _places_of_first(xp, input, k, dim, largest):
    """The indices of the first k elements in descending (or ascending) order; equal elements keep their order."""
    n = input.shape[dim]
    if comparisons.compiled:
        is_last = dim == input.ndim - 1
        rows = input if is_last else row_major(xp.moveaxis(input, dim, -1))
        places = native(comparisons.places_of_first, rows, k, largest)
        if places is not None:
            return places if is_last else xp.moveaxis(places, -1, dim)
    if not 0 < k < n or n <= _FEW:
        return _order(xp, input, dim, largest)[part(dim, 0, k)]
    last = n - k if largest else k - 1
    split = xp.argpartition(input, last, axis=dim)
    indices = xp.sort(split[part(dim, n - k, n) if largest else part(dim, 0, k)], axis=dim)
    least = xp.take_along_axis(input, split[part(dim, last, last + 1)], axis=dim)
    indices = _first_of_equals(xp, input, indices, least, dim)
    order = _order(xp, xp.take_along_axis(input, indices, axis=dim), dim, largest)
    return xp.take_along_axis(indices, order, axis=dim)


def _topk(xp, input: Array, k, dim=-1, largest=True, sorted=True):
    """The k largest (or smallest) elements along an axis and their indices, in order (`sorted` or not).

    Of equal elements the first are taken, in their order.
    """
    if kind_of(input) == "c":
        raise RuntimeError("topk does not support complex dtypes on CPU")
    if kind_of(input) == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    n = input.shape[dim] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError("selected index k out of range")
    if not input.ndim:
        return _itself(xp, input)
    indices = row_major(_places_of_first(xp, input, k, dim, largest))
    return xp.take_along_axis(input, indices, axis=dim), indices


declare_picked("topk", _topk, keeps_axis=True)

# one element along an axis --------------------------------------------------------------------------------------------


def _extremum(name):
    def kernel(xp, input: Array, dim, keepdim=False):
        refuse_empty(name, input, dim)
        refuse_complex(name, input)
        if not input.ndim:
            return _itself(xp, input)
        index = getattr(xp, f"arg{name}")(input, axis=dim, keepdims=True)
        return _pick(xp, input, index, dim, keepdim)

    kernel.__doc__ = f"The {name}imum along an axis and the first place where it is."
    return kernel


for _name, _node in (("max", "MaxBackward0"), ("min", "MinBackward0")):
    declare_picked(_name, _extremum(_name), node=_node, method=False, function=False)


def _kthvalue(xp, input: Array, k, dim=-1, keepdim=False):
    """The k-th smallest element along an axis (counted from 1) and where it is."""
    refuse_empty("kthvalue", input, dim)
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    if not input.ndim:
        return _itself(xp, input)
    refuse_kinds("bc", "kthvalue_cpu", input)
    return _pick(xp, input, _at_rank(xp, input, k - 1, dim), dim, keepdim)


declare_picked("kthvalue", _kthvalue)


def _nothing(xp, shape, dtype):
    # the median of no elements
    return xp.full(shape, float("nan") if kind_of(dtype) == "f" else xp.iinfo(dtype).min, dtype=dtype)


def _median(xp, input: Array, dim, keepdim=False):
    """The median along an axis (the lower of two) and where it is; NaN if there is one."""
    refuse_empty("median", input, dim)
    refuse_kinds("bc", "median_out", input)
    if not input.ndim:
        return _itself(xp, input)
    index = _at_rank(xp, input, (input.shape[dim] - 1) // 2, dim)
    missing = input != input
    index = xp.where(xp.any(missing, axis=dim, keepdims=True), xp.argmax(missing, axis=dim, keepdims=True), index)
    return _pick(xp, input, index, dim, keepdim)


declare_picked("median", _median, node="MedianBackward1", method=False, function=False)


def _median_all(xp, input: Array, dim=None, keepdim=False):
    """The median of all elements (the lower of two); NaN if there is one, or if there are no elements."""
    refuse_kinds("bc", "median_cpu", input)
    flat, shape = flatten(xp, input, dim), reduced_shape(input.shape, dim, keepdim)
    n = flat.shape[-1]
    if not n:
        return _nothing(xp, shape, input.dtype)
    # NaN counts as the largest number, so it comes last
    ranked = xp.partition(flat, (n - 1) // 2, axis=-1)
    middle = xp.getitem(ranked, (..., (n - 1) // 2))
    last = xp.max(flat, axis=-1)
    return xp.reshape(xp.where(last != last, last, middle), shape)


declare_attained(
    "median_all", _median_all, shares_or_nan, node="MedianBackward0", shown=NO_AXES, method=False, function=False
)


def _nanmedian(xp, input: Array, dim, keepdim=False):
    """The median along an axis (the lower of two) of the elements that are not NaN, and its index; NaN without any."""
    refuse_empty("median", input, dim)
    refuse_kinds("bc", "median_out", input)
    if not input.ndim:
        return _itself(xp, input)
    counts = xp.sum(input == input, axis=dim, keepdims=True)
    if xp.all(counts == input.shape[dim]):
        index = _at_rank(xp, input, (input.shape[dim] - 1) // 2, dim)
    else:
        order = xp.argsort(input, axis=dim, stable=True)
        index = xp.take_along_axis(order, xp.maximum(counts - 1, 0) // 2, axis=dim)
    return _pick(xp, input, index, dim, keepdim)


declare_picked("nanmedian", _nanmedian, node="NanmedianBackward1", method=False, function=False)


def _nanmedian_all(xp, input: Array, dim=None, keepdim=False):
    """The median of all elements that are not NaN (the lower of two); NaN if there are none."""
    refuse_kinds("bc", "median_cpu", input)
    flat, shape = xp.sort(flatten(xp, input, dim), axis=-1), reduced_shape(input.shape, dim, keepdim)
    if not flat.shape[-1]:
        return _nothing(xp, shape, input.dtype)
    counts = xp.sum(flat == flat, axis=-1, keepdims=True)
    return xp.reshape(xp.take_along_axis(flat, xp.maximum(counts - 1, 0) // 2, axis=-1), shape)


declare_attained(
    "nanmedian_all",
    _nanmedian_all,
    shares_or_nan,
    node="NanmedianBackward0",
    shown=NO_AXES,
    method=False,
    function=False,
)


def _mode(xp, input: Array, dim=-1, keepdim=False):
    """The most frequent element along an axis (of several the smallest) and the last place where it is."""
    if input.ndim and not input.shape[dim]:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    if not input.ndim:
        return _itself(xp, input)
    if input.size:
        refuse_kinds("c", "mode_cpu", input)
    n = input.shape[dim]
    order = xp.argsort(input, axis=dim, stable=True)
    values = xp.take_along_axis(input, order, axis=dim)
    indices = xp.broadcast_to(xp.reshape(xp.arange(n), (-1,) + (1,) * (input.ndim - dim - 1)), input.shape)
    same = xp.zeros(input.shape, dtype=bool)
    same[part(dim, 1)] = values[part(dim, 1)] == values[part(dim, 0, -1)]
    # how many equal elements come before each in the order
    before = indices - xp.accumulate("maximum", xp.where(same, 0, indices), dim)
    best = xp.argmax(before, axis=dim, keepdims=True)
    return _pick(xp, input, xp.take_along_axis(order, best, axis=dim), dim, keepdim)


declare_picked("mode", _mode)
