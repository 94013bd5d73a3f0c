"""Reductions over axes, running sums and products, softmax.

If several elements attain a maximum, minimum or median, they share the gradient evenly. If a function picks one element
by its index (values and indices along one axis), that element gets the whole gradient. Products of all elements but one
are computed without division, so that zeros are exact in every order of differentiation.
"""

from math import inf, nan, prod

from adjoint.arrays.dtypes import finfo, float32, float64, from_numpy_dtype, is_half, kind_of, numpy_dtype
from adjoint.arrays.kernels import cumulative, vectors
from adjoint.arrays.kernels.products_and_sums import AVERAGE, SPREAD, SPREAD_MEAN, SUM_AXES, SUM_AXES_BACK, TOTAL
from adjoint.arrays.namespace import count_true, is_lazy, native, row_major, underlying
from adjoint.runtime.caches import memoize

from .declare import Array, Numeric, constant, general, linear, passes
from .derive import plus
from .refusals import refuse

FLOAT64, FLOAT32 = float64.numpy, float32.numpy

# axes ---------------------------------------------------------------------------------------------------------------


def axes_of(input, dim):
    """The axes of a reduction as array libraries take them: no axes named means all, and a 0-d array has none."""
    return None if dim == () or not input.ndim else dim


def dims_of(dim, ndim):
    """The axes of a reduction as a tuple."""
    if dim is None or dim == () or not ndim:
        return tuple(range(ndim))
    return dim if isinstance(dim, tuple) else (dim,)


def count(shape, dim):
    """The number of elements that each result of a reduction is computed from."""
    if dim is None or dim == () or not shape:
        return prod(shape)
    if type(dim) is not tuple:
        return shape[dim]
    return shape[dim[0]] if len(dim) == 1 else prod([shape[axis] for axis in dim])


def restore(reduced, shape, dim, keepdim):
    """The result of a reduction of an array of this shape, with the reduced axes as axes of size one."""
    if keepdim or not reduced.ndim:
        return reduced  # an array without axes broadcasts as it is
    return reduced[_new_axes(dim, len(shape))]


@memoize()
def _new_axes(dim, ndim):
    dims = dims_of(dim, ndim)
    return tuple([None if axis in dims else slice(None) for axis in range(ndim)])


def part(dim, start=None, stop=None):
    """The index of a slice along one axis."""
    return (slice(None),) * dim + (slice(start, stop), ...)


def reduced_shape(shape, dim, keepdim):
    """The shape of a reduction's result."""
    if dim is None and not keepdim:
        return ()
    dims = dims_of(dim, len(shape))
    if keepdim:
        return tuple([1 if axis in dims else n for axis, n in enumerate(shape)])
    return tuple([n for axis, n in enumerate(shape) if axis not in dims])


def flatten(xp, input, dim):
    """The input with the named axes (None: all) as one axis, the last."""
    dims = dims_of(dim, input.ndim)
    if len(dims) == input.ndim:
        return xp.reshape(input, (count(input.shape, None),))
    other_axes = tuple([axis for axis in range(input.ndim) if axis not in dims])
    rows = tuple([input.shape[axis] for axis in other_axes])
    return xp.reshape(xp.permute_dims(input, other_axes + dims), (*rows, count(input.shape, dim)))


def refuse_empty(name, input, dim):
    """Raise torch's errors for a reduction that is undefined for no elements."""
    if input.size:
        return
    if dim is None or dim == ():
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for axis in dims_of(dim, input.ndim):
        if input.shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def refuse_kinds(kinds, kernel, input):
    """Raise PyTorch's error for kinds of numbers (NumPy's letters) without a kernel in PyTorch."""
    if kind_of(input) in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{from_numpy_dtype(input.dtype).long_name}'")


def refuse_complex(name, input):
    """Raise where complex numbers would have to be ordered."""
    if kind_of(input) == "c":
        raise RuntimeError(f"{name}(): does not support complex input")


# sums and means -----------------------------------------------------------------------------------------------------
# one rule each for all axes and for some, because torch's nodes have two names; kernels are the same


def _sum(xp, input: Array, dim=None, keepdim=False):
    """The sum over axes; integers and truth values are summed in int64."""
    return xp.sum(input, axis=axes_of(input, dim), keepdims=keepdim, dtype=wide(xp, input))


def wide(xp, input):
    """The dtype in which sums and products of integers or halves are computed, None (their own) for other numbers."""
    kind = input.dtype
    if kind is FLOAT64 or kind is FLOAT32:  # NumPy's, at once; other libraries' refuse to be compared with them
        return None
    if kind_of(input) in "biu":
        return xp.int64
    return xp.float32 if is_half(input.dtype) else None  # rounded where an edge takes it


def _mean(xp, input: Array, dim=None, keepdim=False):
    """The mean over axes, of floating point or complex numbers."""
    if kind_of(input) not in "fc":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {from_numpy_dtype(input.dtype).long_name}"
        )
    return xp.sum(input, axis=axes_of(input, dim), keepdims=keepdim, dtype=wide(xp, input)) / count(input.shape, dim)


def _sum_vjp(ops, g, input_shape, dim, keepdim):
    return ops.expand(restore(g, input_shape, dim, keepdim), input_shape)


def _mean_vjp(ops, g, input_shape, dim, keepdim):
    share = g / max(count(input_shape, dim), 1)
    return ops.expand(restore(share, input_shape, dim, keepdim), input_shape)


def _shown_count(input_shape):
    return {"self_sym_numel": prod(input_shape)}


#: Attributes that the nodes of reductions over all elements leave out.
NO_AXES = {"dim": None, "keepdim": None}
_dims = {"dim": "dim[]"}
_linear = {"axes": ("dim",), "dtypes": "same", "method": False, "function": False, "shown": _dims, "rows": True}
linear(name="sum", node="SumBackward1", native=SUM_AXES, **_linear)(_sum).vjp("input", native=SUM_AXES_BACK)(_sum_vjp)
linear(name="mean", node="MeanBackward1", attributes=_shown_count, **_linear)(_mean).vjp("input")(_mean_vjp)

# for all axes: only the batch form names any, which are then all but the batch axis
_sum_all = linear(name="sum_all", node="SumBackward0", fast="total", native=TOTAL, **_linear)(_sum)
_mean_all = linear(
    name="mean_all", node="MeanBackward0", fast="average", native=AVERAGE, attributes=_shown_count, **_linear
)(_mean)


@_sum_all.vjp("input", native=SPREAD)
def _(ops, g, input_shape):
    return ops.expand(g, input_shape)


@_mean_all.vjp("input", native=SPREAD_MEAN)
def _(ops, g, input_shape):
    return ops.expand(g / max(prod(input_shape), 1), input_shape)


@linear(axes=("dim",), dtypes="same", method=False, function=False, inplace=True)
def cumsum(xp, input: Array, dim):
    """Running sums along an axis; integers and truth values are summed in int64."""
    if not input.ndim:
        return xp.asarray(input, dtype=wide(xp, input), copy=True)
    if cumulative.can_do(input):
        return cumulative.running(input, dim, False, False, False)
    return row_major(xp.cumsum(input, axis=dim, dtype=wide(xp, input)))


@cumsum.vjp("input")
def _(ops, g, dim):
    return ops.flip(ops.cumsum(ops.flip(g, (dim,)), dim), (dim,)) if g.ndim else g


# products -----------------------------------------------------------------------------------------------------------


def _prod(xp, input: Array, dim=None, keepdim=False):
    """The product over axes; integers and truth values are multiplied in int64."""
    return xp.prod(input, axis=axes_of(input, dim), keepdims=keepdim, dtype=wide(xp, input))


#: A row of at least _LONG_ROW elements is divided into _PARTS rows, and each step handles all of them at once.
_LONG_ROW, _PARTS = 1 << 12, 32


def _others(ops, x, dim):
    # for each element the product of all others: the elements before and after it in its row, times the other rows
    if x.ndim == 1 and x.shape[0] >= _LONG_ROW:
        return _others_of_long(ops, x)
    result = 1
    for k, axis in enumerate(axes := dims_of(dim, x.ndim)):
        result = result * (ops.exclusive_cumprod(x, axis, False) * ops.exclusive_cumprod(x, axis, True))
        if k + 1 < len(axes):
            x = ops.prod(x, axis, True)
    return result


def _others_of_long(ops, x):
    n = x.shape[0]
    missing = -n % _PARTS
    filled = ops.cat([x, ops.ones_like(x[:missing])], 0) if missing else x
    parts = ops.reshape(filled, (_PARTS, (n + missing) // _PARTS))
    return ops.reshape(_others(ops, parts, (0, 1)), (n + missing,))[:n]


def _prod_vjp(ops, g, input, dim, keepdim):
    return restore(g, input.shape, dim, keepdim) * ops.conj(_others(ops, input, dim)) if input.ndim else g


def _prod_jvp(ops, t, input, dim, keepdim):
    return ops.sum(t * _others(ops, input, dim), dim, keepdim)


_general = {"axes": ("dim",), "method": False, "function": False, "rows": True}
for _name, _node in (("prod", "ProdBackward1"), ("prod_all", "ProdBackward0")):
    _rule = general(name=_name, node=_node, **_general)(_prod)
    _rule.vjp("input")(_prod_vjp)
    _rule.jvp("input")(_prod_jvp)


@general(axes=("dim",), method=False, function=False, inplace=True)
def cumprod(xp, input: Array, dim):
    """Running products along an axis; integers and truth values are multiplied in int64."""
    if not input.ndim:
        return xp.asarray(input, dtype=wide(xp, input), copy=True)
    if cumulative.can_do(input):
        return cumulative.running(input, dim, True, False, False)
    return row_major(xp.cumprod(input, axis=dim, dtype=wide(xp, input)))


@cumprod.vjp("input")
def _(ops, g, input, dim):
    # element k enters y[i], i >= k, as before[k] * input[k] * (input[k + 1] * ... * input[i])
    if not input.ndim:
        return g
    links = ops.conj(input[part(dim, 1)])
    return ops.conj(ops.exclusive_cumprod(input, dim, False)) * ops.recurrence(links, g, dim, True)


@cumprod.jvp("input")
def _(ops, t, input, dim):
    if not input.ndim:
        return t
    return ops.recurrence(input[part(dim, 1)], ops.exclusive_cumprod(input, dim, False) * t, dim, False)


@general(axes=("dim",), method=False, function=False)
def exclusive_cumprod(xp, input: Array, dim, reverse):
    """The product of all elements before each along an axis; in reverse of all after it."""
    if not input.shape[dim]:
        return xp.asarray(input, copy=True)
    if cumulative.can_do(input):
        return cumulative.running(input, dim, True, reverse, True)
    one, running_product = xp.ones_like(input[part(dim, 0, 1)]), cumprod.kernel(xp)
    if not reverse:
        return row_major(xp.concat([one, running_product(input[part(dim, 0, -1)], dim)], axis=dim))
    running = running_product(xp.flip(input[part(dim, 1)], axis=dim), dim)
    return row_major(xp.concat([xp.flip(running, axis=dim), one], axis=dim))


@exclusive_cumprod.vjp("input")
def _(ops, g, y, input, dim, reverse):
    # element k enters y[i], i > k, as y[k] * (input[k + 1] * ... * input[i - 1])
    if input.shape[dim] < 2:
        return ops.zeros_like(g)
    early, late = part(dim, 0, -1), part(dim, 1)
    links = ops.conj(input[part(dim, 1, -1)])
    sums = ops.recurrence(links, g[early if reverse else late], dim, not reverse)
    products, none = ops.conj(y[late if reverse else early]) * sums, ops.zeros_like(g[part(dim, 0, 1)])
    return ops.cat([none, products] if reverse else [products, none], dim)


@exclusive_cumprod.jvp("input")
def _(ops, t, y, input, dim, reverse):
    if input.shape[dim] < 2:
        return ops.zeros_like(t)
    early, late = part(dim, 0, -1), part(dim, 1)
    span, none = late if reverse else early, ops.zeros_like(t[part(dim, 0, 1)])
    change = y[span] * t[span]
    return ops.recurrence(input[span], ops.cat([change, none] if reverse else [none, change], dim), dim, reverse)


#: From this number of parallel recurrences on, a loop over steps is faster than recursive doubling.
LANES = 16


def _recurrence_by_steps(xp, links, input, dim, reverse):
    y = xp.astype(xp.moveaxis(input, dim, 0), xp.result_type(links, input), copy=True)
    links = xp.moveaxis(links, dim, 0)
    n = y.shape[0]
    steps = range(n - 2, -1, -1) if reverse else range(1, n)
    for k in steps:
        near, link = (k + 1, k) if reverse else (k - 1, k - 1)
        y[k, ...] += links[link, ...] * y[near, ...]
    result = xp.empty(input.shape, dtype=y.dtype)
    result[...] = xp.moveaxis(y, 0, dim)
    return result


@general(axes=("dim",), method=False, function=False)
def recurrence(xp, links: Array, input: Array, dim, reverse):
    """y with y[k + 1] = input[k + 1] + links[k] * y[k] along an axis; links is one shorter than input.

    In reverse y[k] = input[k] + links[k] * y[k + 1]. Made by recursive doubling (Hillis and Steele 1986).
    """
    if cumulative.can_do(links, input) and links.shape[dim] == input.shape[dim] - 1 and links.ndim == input.ndim:
        return cumulative.recurrence(links, input, dim, reverse)
    n, step = input.shape[dim], 1
    if n and input.size // n >= LANES:
        return _recurrence_by_steps(xp, links, input, dim, reverse)
    y = xp.asarray(input, copy=True)
    reach = xp.asarray(links, copy=True)
    while step < n:
        # reach[k] is the product of the links from k to k + step
        early, late = part(dim, 0, n - step), part(dim, step, n)
        if reverse:
            y[early] = y[early] + reach * y[late]
        else:
            y[late] = y[late] + reach * y[early]
        further = n - 2 * step
        if further > 0:
            reach = reach[part(dim, 0, further)] * reach[part(dim, step, step + further)]
        step *= 2
    return row_major(y)


@recurrence.vjp("links", "input")
def _(ops, g, y, links, dim, reverse):
    sums = ops.recurrence(ops.conj(links), g, dim, not reverse)
    early, late = part(dim, 0, -1), part(dim, 1)
    to, of = (early, late) if reverse else (late, early)
    return sums[to] * ops.conj(y[of]), sums


# variances ----------------------------------------------------------------------------------------------------------


def _variance(xp, input, dim, correction, keepdim):
    if kind_of(input) not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    n = count(input.shape, dim)
    if input.ndim and n - correction >= 1:
        variance = native(vectors.squared_distances, input, dims_of(dim, input.ndim), keepdim, n - correction)
        if variance is not None:
            return variance
    total, mean = _squared_distances(xp, input, dim, n, keepdim)
    if n > 1 and _may_be_rounding(xp, total, mean, n):
        # distances may be rounding errors of the mean; then they are measured from an element, and are 0 for equal
        # elements
        dims = dims_of(dim, input.ndim)
        first = input[tuple([slice(1) if axis in dims else slice(None) for axis in range(input.ndim)])]
        total, _ = _squared_distances(xp, input - first, dim, n, keepdim)
    return total / max(n - correction, 0)


@memoize(128)
def _epsilon(kind):
    return finfo(from_numpy_dtype(kind)).eps


def _may_be_rounding(xp, total, mean, n):
    if is_lazy(total) or not total.size:
        return False
    error = n * n**0.5 * _epsilon(numpy_dtype(total.dtype))
    if not total.ndim and underlying(total) is total:
        size = error * abs(complex(mean[(0,) * mean.ndim]))
        # a product of floats may be infinite; their power raises
        return float(total) <= size * size
    size = xp.reshape(xp.abs(mean), total.shape)
    return count_true(underlying(total <= (error * size) ** 2)) > 0


def _squared_distances(xp, input, dim, n, keepdim):
    # the sum of squared distances from the mean, and the mean
    axis = axes_of(input, dim)
    mean = xp.sum(input, axis=axis, keepdims=True) / n
    offset = input - mean
    squares = xp.real(offset * xp.conj(offset)) if kind_of(input) == "c" else offset * offset
    return xp.sum(squares, axis=axis, keepdims=keepdim), mean


def _distance(ops, input, dim, correction):
    # the distance from the mean, and the factor of half its derivative: one over the degrees of freedom
    freedom = count(input.shape, dim) - correction
    return input - ops.mean(input, dim, True), 1 / freedom if freedom else inf


def _spread_gradient(ops, g, input, dim, correction, keepdim):
    # g times half the derivative of the variance
    distance, share = _distance(ops, input, dim, correction)
    if not 0 < share < inf and (dim is None or not input.ndim):
        # no degrees of freedom: of all elements infinite whatever their sign, and no function of them, as in torch
        return restore(g, input.shape, dim, keepdim) * ops.where(distance == 0, nan, inf)
    return restore(g * share, input.shape, dim, keepdim) * distance


def _spread_tangent(ops, t, input, dim, correction, keepdim):
    distance, share = _distance(ops, input, dim, correction)
    return ops.sum(_real_product(ops, distance * share, t), dim, keepdim)


def _real_product(ops, a, b):
    # the change of a real function of gradient a for a change b of its point
    return ops.real(ops.conj(a) * b)


@general(axes=("dim",), method=False, function=False, shown=_dims, rows=True)
def var(xp, input: Array, dim=None, correction: Numeric = 1, keepdim=False):
    """The variance over axes: the sum of squared distances from the mean over (count - correction)."""
    return _variance(xp, input, dim, correction, keepdim)


@var.vjp("input")
def _(ops, g, input, dim, correction, keepdim):
    return _spread_gradient(ops, 2 * g, input, dim, correction, keepdim)


@var.jvp("input")
def _(ops, t, input, dim, correction, keepdim):
    return 2 * _spread_tangent(ops, t, input, dim, correction, keepdim)


@general(axes=("dim",), method=False, function=False, shown=_dims, rows=True)
def std(xp, input: Array, dim=None, correction: Numeric = 1, keepdim=False):
    """The standard deviation over axes; its gradient is 0 where it is 0."""
    return xp.sqrt(_variance(xp, input, dim, correction, keepdim))


@std.vjp("input")
def _(ops, g, y, input, dim, correction, keepdim):
    return _spread_gradient(ops, g * ops.inverse_or_zero(y), input, dim, correction, keepdim)


@std.jvp("input")
def _(ops, t, y, input, dim, correction, keepdim):
    return _spread_tangent(ops, t, input, dim, correction, keepdim) * ops.inverse_or_zero(y)


def _with_mean(name, spread):
    """Declare the variance, or the standard deviation, and the mean as one operation."""

    def kernel(xp, input: Array, dim=None, correction: Numeric = 1, keepdim=False):
        return spread.kernel(xp)(input, dim, correction, keepdim), _mean(xp, input, dim, keepdim)

    kernel.__doc__ = f"The {spread.name} and the mean over axes."
    (of_spread,), change = spread.vjps, spread.jvps["input"]
    node_names = _dims if "y" in of_spread.needs else {**_dims, "y0": None}
    options = {"outputs": (), "rows": True, "method": False, "function": False, "shown": node_names, "undefined": True}
    rule = general(name=name, axes=("dim",), **options)(kernel)

    @rule.vjp("input")
    def _(ops, g, y0, input, dim, correction, keepdim):
        first, second = g
        named_values = {"y": y0, "input": input, "dim": dim, "correction": correction, "keepdim": keepdim}
        of_input = (
            None if first is None else of_spread.call(ops, first, *[named_values[need] for need in of_spread.needs])
        )
        return plus(of_input, None if second is None else _mean_vjp(ops, second, input.shape, dim, keepdim))

    @rule.jvp("input")
    def _(ops, t, y0, input, dim, correction, keepdim):
        named_values = {"y": y0, "input": input, "dim": dim, "correction": correction, "keepdim": keepdim}
        return change.call(ops, t, *[named_values[need] for need in change.needs]), ops.mean(t, dim, keepdim)

    return rule


var_mean = _with_mean("var_mean", var)
std_mean = _with_mean("std_mean", std)


# extrema ------------------------------------------------------------------------------------------------------------


def _extremum(best, public, kernel_name):
    def kernel(xp, input: Array, dim=(), keepdim=False):
        refuse_empty(public, input, dim)
        if not input.size:
            # also of complex numbers, as in torch
            return xp.empty(reduced_shape(input.shape, dim, keepdim), dtype=input.dtype)
        refuse_kinds("c", kernel_name, input)
        return getattr(xp, best)(input, axis=axes_of(input, dim), keepdims=keepdim)

    kernel.__doc__ = f"The {best}imum over axes; equal elements share the gradient evenly."
    return kernel


def _shares(ops, input, y, dim, keepdim):
    # which elements attain the extremum, and how many
    mask = input == restore(y, input.shape, dim, keepdim)
    return mask, _number(ops, mask, input, dim, keepdim)


def _number(ops, mask, like, dim, keepdim):
    # how many are chosen, in the type of the numbers that will be divided by it
    return ops.sum(ops.cast(mask, from_numpy_dtype(like.dtype)), dim, keepdim)


def shares_or_nan(ops, input, y, dim, keepdim):
    # the same, where NaN is attained by NaN
    back = restore(y, input.shape, dim, keepdim)
    mask = (input == back) | ((input != input) & (back != back))
    # avoids 0 / 0 for empty inputs
    number = _number(ops, mask, input, dim, keepdim) if prod(input.shape) else ops.ones_like(y)
    return mask, number


def declare_attained(name, kernel, shares, **options):
    """Declare a reduction whose result is the value of some elements, which share the gradient evenly."""
    rule = general(name=name, axes=("dim",), rows=True, **options)(kernel)

    @rule.vjp("input")
    def _(ops, g, y, input, dim, keepdim):
        return _to_attained(ops, g, shares(ops, input, y, dim, keepdim), input, dim, keepdim)

    @rule.jvp("input")
    def _(ops, t, y, input, dim, keepdim):
        return _of_attained(ops, t, shares(ops, input, y, dim, keepdim), dim, keepdim)


def _to_attained(ops, g, shares, input, dim, keepdim):
    # the elements equal to the result share its cotangent evenly
    mask, number = shares
    # others get 0, not g * 0, since g may be infinite; if no element equals the result, it is NaN, and so is the
    # cotangent
    rest = restore(ops.where(number == 0, nan, 0), input.shape, dim, keepdim)
    return ops.where(mask, restore(g / number, input.shape, dim, keepdim), rest)


def _of_attained(ops, t, shares, dim, keepdim):
    mask, number = shares
    return ops.sum(ops.where(mask, t, 0), dim, keepdim) / number


_amax = _extremum("max", "amax", "max_values_cpu")
_amin = _extremum("min", "amin", "min_values_cpu")
declare_attained("amax", _amax, _shares, shown=_dims)
declare_attained("amin", _amin, _shares, shown=_dims)
declare_attained(
    "max_all",
    _extremum("max", "max", "max_all"),
    shares_or_nan,
    node="MaxBackward1",
    shown=NO_AXES,
    method=False,
    function=False,
)
declare_attained(
    "min_all",
    _extremum("min", "min", "min_all"),
    shares_or_nan,
    node="MinBackward1",
    shown=NO_AXES,
    method=False,
    function=False,
)


@general(axes=("dim",), outputs=("min", "max"), rows=True, method=False, function=False, undefined=True)
def aminmax(xp, input: Array, dim=(), keepdim=False):
    """The minimum and the maximum over an axis; equal elements share the gradient evenly."""
    return _amin(xp, input, dim, keepdim), _amax(xp, input, dim, keepdim)


@aminmax.vjp("input")
def _(ops, g, y0, y1, input, dim, keepdim):
    parts = [
        None if of_one is None else _to_attained(ops, of_one, _shares(ops, input, y, dim, keepdim), input, dim, keepdim)
        for of_one, y in zip(g, (y0, y1), strict=True)
    ]
    return plus(*parts)


@aminmax.jvp("input")
def _(ops, t, y0, y1, input, dim, keepdim):
    return tuple([_of_attained(ops, t, _shares(ops, input, y, dim, keepdim), dim, keepdim) for y in (y0, y1)])


# norms --------------------------------------------------------------------------------------------------------------


def _refuse_no_norm(input, ord, dim):
    axes = [axis for axis in dims_of(dim, input.ndim) if input.shape[axis] == 0]
    if axes and (ord < 0 or ord == inf):
        everything = dim is None or dim == ()
        where = "an empty tensor because" if everything else f"the dimension {axes[0]} because it is empty and"
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on {where} the operation does not have an identity"
        )


@general(axes=("dim",), method=False, function=False, shown=_dims, rows=True)
def linalg_vector_norm(xp, input: Array, ord=2, dim=None, keepdim=False):
    """(sum of abs(input) ** ord) ** (1 / ord) over axes, and its limits for ord 0, inf and -inf."""
    axis, kind = axes_of(input, dim), kind_of(input)
    if ord == 2 and kind == "f" and 0 not in input.shape:
        return xp.sqrt(xp.sum(input * input, axis=axis, keepdims=keepdim))
    if kind not in "fc":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. "
            f"Got {from_numpy_dtype(input.dtype).long_name}"
        )
    if 0 in input.shape:
        _refuse_no_norm(input, ord, dim)
    over = {"axis": axis, "keepdims": keepdim}
    size = xp.abs(input)
    if ord == 2:
        return xp.sqrt(xp.sum(size * size, **over))
    if ord == 1:
        return xp.sum(size, **over)
    if ord in (inf, -inf):
        return (xp.max if ord > 0 else xp.min)(size, **over)
    if ord == 0:
        return xp.sum(size != 0, **over, dtype=size.dtype)
    return xp.sum(size**ord, **over) ** (1 / ord)


def norm_gradient(ops, scale, y, input, ord, dim, keepdim):
    # the gradient of the norm times a number for each norm; 0 where the norm is 0
    def back(reduced):
        return restore(reduced, input.shape, dim, keepdim)

    if ord == 2:
        return input * back(scale * ops.inverse_or_zero(y))
    if ord == 0:
        return ops.zeros_like(input)
    direction = ops.sgn(input)
    if ord == 1:
        return direction * back(scale)
    size = ops.abs(input)
    if ord in (inf, -inf):
        mask, number = _shares(ops, size, y, dim, keepdim)
        return direction * ops.where(mask, back(scale / number), 0)
    zero = size == 0
    ratio = ops.where(zero, 1, size) * back(ops.inverse_or_zero(y))
    flat = zero | (ratio == 0)
    slope = ops.where(flat, 0, ops.where(flat, 1, ratio) ** (ord - 1))
    return direction * (back(scale) * slope)


@linalg_vector_norm.vjp("input")
def _(ops, g, y, input, ord, dim, keepdim):
    if ord == 0:
        # a count: as in torch the gradient is undefined, not a tensor of zeros
        return None
    return norm_gradient(ops, g, y, input, ord, dim, keepdim)


@linalg_vector_norm.jvp("input")
def _(ops, t, y, input, ord, dim, keepdim):
    gradient = norm_gradient(ops, ops.ones_like(y), y, input, ord, dim, keepdim)
    return ops.sum(_real_product(ops, gradient, t), dim, keepdim)


# exponentials -------------------------------------------------------------------------------------------------------


@general(axes=("dim",), dtypes="float", shown=_dims, rows=True)
def logsumexp(xp, input: Array, dim, keepdim=False):
    """log(sum(exp(input))) over axes, without overflow."""
    axis = axes_of(input, dim)
    if not count(input.shape, dim):
        return xp.log(xp.sum(input, axis=axis, keepdims=keepdim))
    top = xp.max(xp.real(input), axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0)
    total = xp.log(xp.sum(xp.exp(input - top), axis=axis, keepdims=True)) + top
    return xp.reshape(total, reduced_shape(input.shape, dim, keepdim))


@logsumexp.vjp("input")
def _(ops, g, y, input, dim, keepdim):
    back = restore(y, input.shape, dim, keepdim)
    return restore(g, input.shape, dim, keepdim) * ops.conj(ops.exp(input - back))


@logsumexp.jvp("input")
def _(ops, t, y, input, dim, keepdim):
    return ops.sum(t * ops.exp(input - restore(y, input.shape, dim, keepdim)), dim, keepdim)


def _lower(xp, name, input, dim):
    # input with its largest element along an axis at 0
    last = "_lastdim" if dim == input.ndim - 1 else ""
    refuse_kinds("biuc", f"{name}{last}_kernel_impl", input)
    return input - xp.max(input, axis=axes_of(input, dim), keepdims=True)


@general(axes=("dim",), method=False, function=False)
def softmax(xp, input: Array, dim):
    """exp(input) along an axis, divided by its sum."""
    result = vectors.softmax(input, dim, False)
    if result is not None:
        return result
    if not input.size:
        return xp.asarray(input, copy=True)
    powers = xp.exp(_lower(xp, "softmax", input, dim))
    return row_major(powers / xp.sum(powers, axis=axes_of(input, dim), keepdims=True))


def softmax_derivative(ops, t, y, dim):
    # the Jacobian diag(y) - y y^T is symmetric
    product = native(vectors.softmax_back, t, y, dim, False)
    if product is not None:
        return product
    weighted = t * y
    return weighted - y * ops.sum(weighted, dim, True)


softmax.vjp("input")(lambda ops, g, y, dim: softmax_derivative(ops, g, y, dim))
softmax.jvp("input")(lambda ops, t, y, dim: softmax_derivative(ops, t, y, dim))


@general(axes=("dim",), method=False, function=False)
def log_softmax(xp, input: Array, dim):
    """input - logsumexp(input) along an axis."""
    result = vectors.softmax(input, dim, True)
    if result is not None:
        return result
    if not input.size:
        return xp.asarray(input, copy=True)
    lowered = _lower(xp, "log_softmax", input, dim)
    return row_major(lowered - xp.log(xp.sum(xp.exp(lowered), axis=axes_of(input, dim), keepdims=True)))


@log_softmax.vjp("input")
def _(ops, g, y, dim):
    cotangent = native(vectors.softmax_back, g, y, dim, True)
    return g - ops.exp(y) * ops.sum(g, dim, True) if cotangent is None else cotangent


@log_softmax.jvp("input")
def _(ops, t, y, dim):
    return t - ops.sum(ops.exp(y) * t, dim, True)


# tests, counts and places, through which no gradient flows ----------------------------------------------------------


def _truth(name):
    """Declare a test of the elements over axes."""

    def kernel(xp, input: Array, dim=None, keepdim=False):
        # here an empty tuple of axes means none, and uint8 keeps its type, as in torch
        result = getattr(xp, name)(input, axis=dim if input.ndim else None, keepdims=keepdim)
        return xp.astype(xp.asarray(result), input.dtype) if input.dtype == xp.uint8 else result

    kernel.__doc__ = f"True where {name} of the elements over axes {'is' if name == 'any' else 'are'} not 0."
    return constant(name=name, axes=("dim",), rows=True)(kernel)


any_ = _truth("any")
all_ = _truth("all")


@constant(axes=("dim",), spread="dim", rows=True)
def count_nonzero(xp, input: Array, dim=None):
    """How many elements over axes are not 0."""
    return xp.sum(input != 0, axis=axes_of(input, dim), dtype=xp.int64)


def _position_of(name):
    def kernel(xp, input: Array, dim=None, keepdim=False):
        if not input.size:
            if dim is None:
                raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
            refuse_empty(name, input, dim)
        is_one = dim is None or (isinstance(dim, int) and input.ndim > 0)
        rows, axis = (input, dim) if is_one else (flatten(xp, input, dim), -1)
        result = getattr(xp, name)(rows, axis=axis)
        return xp.reshape(result, reduced_shape(input.shape, dim, True)) if keepdim else result

    kernel.__doc__ = f"The first place of the {name[3:]}imum along an axis, or in the flattened input."
    return kernel


def _check_order(name):
    no_complex = refuse("c", f"{name}(): does not support complex input", RuntimeError)
    no_bools = refuse("b", f"{name}(): does not support bool input", RuntimeError)

    @passes("iuf")
    def check(input, dim=None, keepdim=False):
        no_complex(input)
        no_bools(input)

    return check


for _name in ("argmax", "argmin"):
    constant(name=_name, axes=("dim",), rows=True, check=_check_order(_name))(_position_of(_name))
