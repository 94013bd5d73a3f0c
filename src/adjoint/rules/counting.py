"""Places in sorted sequences, membership and counts. A gradient flows through the weights of counts only."""

from adjoint.arrays.dtypes import int64
from adjoint.arrays.kernels import comparisons
from adjoint.arrays.namespace import is_lazy, native
from adjoint.arrays.shapes import broadcast_shapes

from .declare import Array, Constant, constant, linear
from .refusals import letter_of
from .special import refuse_operands

# places in sorted sequences -----------------------------------------------------------------------------------------


@constant(dtypes="same", scalars=True, method=False, function=False, batching="joint")
def sorted_places(xp, sorted_sequence: Array, input: Array, right=False, sorter: Constant = None):
    """The index at which a value keeps a sorted sequence sorted: before equal elements, or after them if `right`.

    Sequences lie along the last axis. For several sequences the values have the same leading axes.
    """
    refuse_operands("searchsorted_out_cpu", "bc", sorted_sequence)
    side = "right" if right else "left"
    lead = sorted_sequence.shape[:-1]
    if not lead:
        return xp.searchsorted(sorted_sequence, input, side=side, sorter=sorter)
    result = xp.empty(input.shape, dtype=xp.int64)
    for index in xp.ndindex(*lead):
        row = (*index, ...)
        order = None if sorter is None else sorter[row]
        result[row] = xp.searchsorted(sorted_sequence[row], input[row], side=side, sorter=order)
    return result


#: From more pairs on, a search in order takes less time than the comparison of all.
_PAIRS = 1 << 10


@constant(dtypes="same", scalars=True, core="(),(n)->()", method=False, function=False)
def among(xp, elements: Array, test_elements: Array, invert=False):
    """True for each element that is among the test elements, a vector; with `invert` for each that is not."""
    elements = xp.asarray(elements)
    if test_elements.ndim == 1:
        if elements.size * test_elements.size > _PAIRS:
            return xp.isin(elements, test_elements, invert=invert)
        is_member = native(comparisons.are_among, elements, test_elements, invert) if comparisons.compiled else None
        if is_member is not None:
            return is_member
    is_member = xp.any(elements[..., None] == test_elements, axis=-1)
    return ~is_member if invert else is_member


# counts of rows: leading axes are those of a batch ------------------------------------------------------------------


def _counts(xp, bins, weights, width):
    """How often each of the numbers below `width` occurs in each row, or the sum of its weights."""
    lead = bins.shape[:-1]
    n = 1
    for length in lead:
        n *= length
    rows = xp.reshape(bins, (n, bins.shape[-1])) + xp.arange(n)[:, None] * width
    if weights is not None:
        weights = xp.reshape(xp.broadcast_to(weights, bins.shape), (-1,))
    return xp.reshape(xp.bincount(xp.reshape(rows, (-1,)), weights, n * width), (*lead, width))


def _check_bincount(input, weights=None, minlength=0):
    if input._array.ndim != 1 and input.numel():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if letter_of(input) not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.long_name}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")


@linear(core="(n),(n)->(m)", check=_check_bincount)
def bincount(xp, input: Constant, weights: Array = None, minlength=0):
    """How often each number from 0 on occurs, or the sum of its weights (float64 unless they are float32)."""
    if input.size and xp.min(input) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    weights = weights if input.size else None  # the counts of an empty input are int64, weighted or not
    if weights is not None and weights.shape != input.shape:
        input = xp.broadcast_to(input, broadcast_shapes(input.shape, weights.shape))
    if input.ndim == 1 and not is_lazy(input):
        counts = xp.bincount(input, weights, minlength)
    else:
        counts = _counts(xp, input, weights, max(minlength, int(xp.max(input)) + 1 if input.size else 0))
    if weights is None:
        return counts
    return xp.astype(counts, xp.float32 if weights.dtype == xp.float32 else xp.float64, copy=False)


@bincount.vjp("weights")
def _(ops, g, input):
    return ops.gather(g, g.ndim - 1, ops.cast(input, int64))


@constant(dtypes="same", core="(n)->(m)", method=False, function=False)
def row_histogram(xp, input: Array, bins, min, max):
    """How many elements lie in each of `bins` equal parts of [min, max]; of their own range if these are equal."""
    low, high = (xp.full((*input.shape[:-1], 1), float(bound)) for bound in (min, max))
    if min == max and input.shape[-1]:
        low, high = (xp.astype(f(input, axis=-1, keepdims=True), xp.float64) for f in (xp.min, xp.max))
    if not xp.all(xp.isfinite(low) & xp.isfinite(high)):
        wrong = ~(xp.isfinite(low) & xp.isfinite(high))
        raise RuntimeError(f"adjoint.histc: range of [{low[wrong][0]:g}, {high[wrong][0]:g}] is not finite")
    low, high = xp.where(low == high, low - 1, low), xp.where(low == high, high + 1, high)
    dtype, input = input.dtype, xp.astype(input, xp.float64, copy=False)
    in_range = (input >= low) & (input <= high)
    every = not is_lazy(input) and bool(xp.all(in_range))
    element = input if every else xp.where(in_range, input, low)
    step = (high - low) / bins
    bin = xp.floor((element - low) / step)
    # rounding may have led across an edge
    bin = bin - xp.astype(element < low + bin * step, xp.float64)
    bin = xp.clip(bin + xp.astype(element >= low + (bin + 1) * step, xp.float64), 0, bins - 1)
    # elements outside are counted beyond the last part, and dropped
    counts = _counts(xp, xp.astype(bin if every else xp.where(in_range, bin, bins), xp.int64), None, bins + 1)
    return xp.astype(counts[..., :bins], dtype)


@constant(core="(n)->(m)", method=False, function=False)
def nonzero_places(xp, input: Array, size):
    """The places of the first `size` elements that are not zero; -1 after the last of them."""
    n = input.shape[-1]
    order = xp.argsort(xp.astype(input == 0, xp.uint8), axis=-1, stable=True)
    order = order[..., : min(size, n)]
    indices = xp.where(xp.take_along_axis(input, order, axis=-1) != 0, order, -1)
    missing = xp.full((*input.shape[:-1], max(size - n, 0)), -1, dtype=xp.int64)
    return xp.concat([indices, missing], axis=-1)
