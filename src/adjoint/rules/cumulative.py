"""Cumulative operations along an axis: differences of neighbours, cumulative maximum, minimum and log-sum-exp."""

from math import inf

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.kernels import cumulative
from adjoint.arrays.namespace import row_major

from .declare import Array, general, linear
from .reduce import part, refuse_kinds

# differences ----------------------------------------------------------------------------------------------------------


_OF_NEIGHBOURS = {"dim": None, "input_shape": None}


@linear(axes=("dim",), dtypes="any", method=False, function=False, node="SubBackward0", shown=_OF_NEIGHBOURS)
def neighbour_difference(xp, input: Array, dim):
    """The differences of neighbours along an axis, one element fewer; for bools, True if they differ."""
    later, earlier = xp.getitem(input, part(dim, 1)), xp.getitem(input, part(dim, 0, -1))
    return xp.logical_xor(later, earlier) if kind_of(input) == "b" else later - earlier


@neighbour_difference.vjp("input")
def _(ops, g, input_shape, dim):
    if not input_shape[dim]:
        return ops.zeros_of(g, input_shape)
    zero = ops.zeros_of(g, (*input_shape[:dim], 1, *input_shape[dim + 1 :]))
    return -ops.neighbour_difference(ops.cat([zero, g, zero], dim), dim)


# cumulative maximum and minimum ---------------------------------------------------------------------------------------


def _cumulative_extremum(name, better):
    """Declare the operation that gives the extremum of all elements along an axis up to each, and its index."""

    def kernel(xp, input: Array, dim):
        if not input.ndim or not input.size:
            return xp.asarray(input, copy=True), xp.zeros(input.shape, dtype=xp.int64)
        refuse_kinds("c", f"{name}_cpu", input)
        if cumulative.can_do(input):
            return cumulative.extrema(input, dim, better == "maximum")
        values = row_major(xp.accumulate(better, input, dim))
        indices = xp.reshape(xp.arange(input.shape[dim]), (-1,) + (1,) * (input.ndim - dim - 1))
        # the last of equal elements gives the index, and so does the last NaN
        attained = (input == values) | (input != input)
        return values, row_major(xp.accumulate("maximum", xp.where(attained, indices, 0), dim))

    kernel.__doc__ = f"The {better} of all elements along an axis up to each, and the last place where it is."
    rule = general(name=name, axes=("dim",), outputs=("values", "indices"), differentiable=(True, False))(kernel)

    @rule.vjp("input")
    def _(ops, g, y1, input_shape, dim):
        return ops.scatter_add(ops.zeros_of(g[0], input_shape), dim, y1, g[0])

    @rule.jvp("input")
    def _(ops, t, y1, dim):
        return ops.gather(t, dim, y1), None

    return rule


cummax = _cumulative_extremum("cummax", "maximum")
cummin = _cumulative_extremum("cummin", "minimum")


# cumulative log-sum-exp -----------------------------------------------------------------------------------------------


@general(axes=("dim",))
def logcumsumexp(xp, input: Array, dim):
    """The logarithm of the running sum of exp(input) along an axis, without overflow."""
    refuse_kinds("biu", "logcumsumexp_out_cpu", input)
    if not input.ndim or not input.size:
        return xp.asarray(input, copy=True)
    if kind_of(input) == "f":
        return row_major(xp.accumulate("logaddexp", input, dim))
    result = row_major(xp.where(xp.real(input) == -inf, -inf, input))  # exp of it is zero, whatever its imaginary part
    for k in range(1, input.shape[dim]):
        now, before = result[part(dim, k, k + 1)], result[part(dim, k - 1, k)]
        later = xp.real(now) >= xp.real(before)
        larger, smaller = xp.where(later, now, before), xp.where(later, before, now)
        # the imaginary part lies near the imaginary part of the larger number; it may leave (-pi, pi]
        now[...] = larger + xp.log1p(xp.exp(smaller - xp.where(xp.real(smaller) == -inf, 0, larger)))
    return result


def _ratio(ops, before, after):
    # exp(before - after), also for equal infinities; 0 where the logarithm of the sum is -inf
    nothing, same = after == -inf, (before == after) & ops.isinf(before)
    return ops.where(nothing, 0, ops.exp(ops.where(same | nothing, 0, before) - ops.where(same | nothing, 0, after)))


def _scale(ops, y, input, dim):
    """exp(input - m) with m the cumulative maximum of the real part, exp of the steps of m, and the cumulative sums.

    The result, log of the sum plus m, is not subtracted later: if it is large, its last digits are lost.
    """
    top = ops.cummax(ops.real(input) if kind_of(input) == "c" else input, dim)[0]
    powers = _ratio(ops, input, top)
    links = _ratio(ops, top[part(dim, 0, -1)], top[part(dim, 1)])
    sums = ops.recurrence(links, powers, dim, False)
    return powers, links, ops.where(y == -inf, 1, sums)


@logcumsumexp.vjp("input")
def _(ops, g, y, input, dim):
    if not input.ndim:
        return g
    powers, links, sums = [ops.conj(value) for value in _scale(ops, y, input, dim)]
    return powers * ops.recurrence(links, g / sums, dim, True)


@logcumsumexp.jvp("input")
def _(ops, t, y, input, dim):
    if not input.ndim:
        return t
    powers, links, sums = _scale(ops, y, input, dim)
    return ops.recurrence(links, t * powers, dim, False) / sums
