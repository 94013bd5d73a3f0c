"""scipy.ndimage over Tensors: filters by windows, and values between the elements by splines.

Images, weights, widths of Gaussians and coordinates have derivatives. Results have the dtype of the computation, a
floating-point one; there is no `output`.
"""

from __future__ import annotations

import itertools
import math

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS, function
from adjoint.interop.operands import axes_of, axis_of, plain
from adjoint.interop.scipy_functions.axes import along_axis, by_matrix, extend, tensors, windows
from adjoint.interop.scipy_functions.pieces import constants, piecewise
from adjoint.interop.scipy_functions.pieces import plain as values_of
from adjoint.tensor.table import ops

#: SciPy's names of ways to go on beyond the edges, and NumPy's.
_WAYS = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def _way(mode):
    if mode not in _WAYS:
        raise RuntimeError(f"boundary mode {mode!r} not supported")
    return _WAYS[mode]


def _refuse(output):
    if output is not None and not isinstance(output, type):
        raise TypeError(
            f"ndimage: output= must be a dtype or None for Tensors, got {type(output).__name__}; use the returned "
            "Tensor"
        )


def _each(value, n):
    """One value for each axis."""
    values = list(value) if isinstance(value, (list, tuple, numpy.ndarray)) else [value] * n
    if len(values) != n:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def _windows_along(x, axis, size, mode, cval, origin):
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ValueError("invalid origin")
    return windows(extend(x, axis, before, size - 1 - before, _way(mode), cval), axis, size)


# filters of one axis --------------------------------------------------------------------------------------------------


@function("scipy.ndimage.correlate1d")
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """The sum of neighbours along an axis times weights."""
    _refuse(output)
    x, weights = tensors(input, weights)
    return _windows_along(x, axis_of(axis, x.ndim), weights.shape[0], mode, cval, origin) @ weights


def _convolution_origin(size, origin):
    """The origin of a correlation that is a convolution."""
    return -origin - (0 if size % 2 else 1)


@function("scipy.ndimage.convolve1d")
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """The sum of neighbours along an axis times weights in reverse."""
    x, weights = tensors(input, weights)
    origin = _convolution_origin(weights.shape[0], origin)
    return correlate1d(x, ops.flip(weights, (0,)), axis, output, mode, cval, origin)


@function("scipy.ndimage.uniform_filter1d")
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """The mean of neighbours along an axis."""
    _refuse(output)
    x = tensors(input)[0]
    return ops.mean(_windows_along(x, axis_of(axis, x.ndim), size, mode, cval, origin), (-1,))


@function("scipy.ndimage.gaussian_filter1d")
def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None
):
    """A Gaussian filter, or one by a Gaussian's derivative, along an axis; differentiable by its width, too."""
    x, sigma = tensors(input, sigma)
    if radius is None:
        radius = int(truncate * float(values_of(sigma)) + 0.5)
    return correlate1d(x, ops.flip(_gaussian(sigma, order, radius), (0,)), axis, output, mode, cval)


def _gaussian(sigma, order, radius):
    """A Gaussian at whole numbers with the sum 1; for an order, times the polynomial of that derivative."""
    x = constants(numpy.arange(-radius, radius + 1), sigma)
    bell = ops.exp(-0.5 * ops.square(x / sigma))
    bell = bell / ops.sum(bell, (0,))
    # Hermite's recurrence: h(n + 1) = -(x h(n) + n h(n - 1)) / sigma**2
    before, now = 0 * x, 0 * x + 1
    for n in range(order):
        before, now = now, -(x * now + n * before) / (sigma * sigma)
    return now * bell


# filters of several axes ----------------------------------------------------------------------------------------------


@function("scipy.ndimage.correlate")
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """The sum of neighbours times an array of weights."""
    _refuse(output)
    x, weights = tensors(input, weights)
    axes = axes_of(axes, x.ndim)
    if weights.ndim != len(axes):
        raise RuntimeError("filter weights array has incorrect shape.")
    for axis, size, way, start in zip(
        axes, weights.shape, _each(mode, len(axes)), _each(origin, len(axes)), strict=True
    ):
        x = _windows_along(x, axis, size, way, cval, start)
    letters = "abcdefghijklm"[: len(axes)]
    return FUNCTIONS["einsum"](f"...{letters},{letters}->...", x, weights)


@function("scipy.ndimage.convolve")
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """The sum of neighbours times an array of weights in reverse."""
    x, weights = tensors(input, weights)
    starts = [
        _convolution_origin(n, start) for n, start in zip(weights.shape, _each(origin, weights.ndim), strict=True)
    ]
    return correlate(x, ops.flip(weights, tuple(range(weights.ndim))), output, mode, cval, starts, axes=axes)


# filters by rank ------------------------------------------------------------------------------------------------------


def by_rank(x, rank_of, sizes, footprint, mode, cval, origin, axes):
    """The element of a rank in each window. rank_of: from the number of elements in a window to the rank."""
    axes = axes_of(axes, x.ndim)
    mask = None if footprint is None else numpy.asarray(footprint, bool)
    if mask is not None and (mask.ndim != len(axes) or not mask.any()):
        raise ValueError(
            f"footprint must have {len(axes)} axes, one for each filtered axis, and at least one true element; its "
            f"shape is {mask.shape}"
        )
    if mask is None and sizes is None:
        raise RuntimeError("no footprint or filter size provided")
    sizes = mask.shape if mask is not None else [int(n) for n in _each(plain(sizes), len(axes))]
    for axis, size, way, start in zip(axes, sizes, _each(mode, len(axes)), _each(origin, len(axes)), strict=True):
        x = _windows_along(x, axis, size, way, cval, start)
    elements = ops.reshape(x, (*x.shape[: -len(axes)], -1))
    if mask is not None and not mask.all():
        elements = along_axis(elements, elements.ndim - 1, numpy.flatnonzero(mask))
    n = elements.shape[-1]
    rank = rank_of(n)
    if not -n <= rank < n:
        raise RuntimeError("rank not within filter footprint size")
    return ops.sort(elements, -1)[0][..., rank]


def _rank_of_percentile(percentile):
    share = percentile + 100 if percentile < 0 else percentile
    if not 0 <= share <= 100:
        raise RuntimeError("invalid percentile")
    return lambda n: n - 1 if share == 100 else int(n * share / 100.0)


def _declare_ranks(name, rank_of):
    @function(f"scipy.ndimage.{name}")
    def filter_windows(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
        """The element of a rank in each window; the derivative is its own."""
        _refuse(output)
        return by_rank(tensors(input)[0], rank_of, size, footprint, mode, cval, origin, axes)

    @function(f"scipy.ndimage.{name}1d")
    def along_one(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
        """The element of a rank in each window along an axis; the derivative is its own."""
        _refuse(output)
        return by_rank(tensors(input)[0], rank_of, size, None, mode, cval, origin, axis)


_declare_ranks("minimum_filter", lambda n: 0)
_declare_ranks("maximum_filter", lambda n: n - 1)


@function("scipy.ndimage.median_filter")
def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """The median of each window; the derivative goes to the median element."""
    _refuse(output)
    return by_rank(tensors(input)[0], lambda n: n // 2, size, footprint, mode, cval, origin, axes)


@function("scipy.ndimage.rank_filter")
def rank_filter(input, rank, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """The element of a rank in each window, counted from the end where it is negative."""
    _refuse(output)
    return by_rank(tensors(input)[0], lambda n: int(plain(rank)), size, footprint, mode, cval, origin, axes)


@function("scipy.ndimage.percentile_filter")
def percentile_filter(
    input, percentile, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """The percentile of each window, which is one of its elements."""
    _refuse(output)
    rank_of = _rank_of_percentile(float(plain(percentile)))
    return by_rank(tensors(input)[0], rank_of, size, footprint, mode, cval, origin, axes)


# options of several axes ----------------------------------------------------------------------------------------------


def _one_by_one(x, axes, filter_of, *options):
    """A filter of one axis along several, each with its own options."""
    axes = axes_of(axes, x.ndim)
    for each in zip(axes, *[_each(option, len(axes)) for option in options], strict=True):
        x = filter_of(x, *each)
    return x


@function("scipy.ndimage.uniform_filter")
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """The mean of neighbours."""
    _refuse(output)

    def along(x, axis, size, mode, origin):
        return uniform_filter1d(x, size, axis, None, mode, cval, origin)

    return _one_by_one(tensors(input)[0], axes, along, size, mode, origin)


@function("scipy.ndimage.gaussian_filter")
def gaussian_filter(
    input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None
):
    """A Gaussian filter, differentiable by its widths, too."""
    _refuse(output)

    def along(x, axis, sigma, order, mode, radius):
        if values_of(tensors(sigma)[0]) <= 1e-15:
            return x
        return gaussian_filter1d(x, sigma, axis, order, None, mode, cval, truncate, radius=radius)

    widths = [sigma[i] for i in range(sigma.shape[0])] if getattr(sigma, "ndim", 0) else sigma
    return _one_by_one(tensors(input)[0], axes, along, widths, order, mode, radius)


def _edges(smooth):
    def filter_of(input, axis=-1, output=None, mode="reflect", cval=0.0):
        x = tensors(input)[0]
        axis = axis_of(axis, x.ndim)
        ways = _each(mode, x.ndim)
        result = correlate1d(x, [-1.0, 0.0, 1.0], axis, output, ways[axis], cval)
        for other in range(x.ndim):
            if other != axis:
                result = correlate1d(result, smooth, other, None, ways[other], cval)
        return result

    return filter_of


sobel = function("scipy.ndimage.sobel")(_edges([1.0, 2.0, 1.0]))
prewitt = function("scipy.ndimage.prewitt")(_edges([1.0, 1.0, 1.0]))


def _add_up(input, axes, mode, second):
    """The sum over axes of a function of the array, the axis and its mode."""
    x = tensors(input)[0]
    axes = axes_of(axes, x.ndim)
    parts = [second(x, axis, way) for axis, way in zip(axes, _each(mode, len(axes)), strict=True)]
    return sum(parts[1:], parts[0])


@function("scipy.ndimage.laplace")
def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
    """The sum of second differences."""
    _refuse(output)
    return _add_up(input, axes, mode, lambda x, axis, way: correlate1d(x, [1.0, -2.0, 1.0], axis, None, way, cval))


def _order_along(ndim, axis, order):
    return [order if i == axis else 0 for i in range(ndim)]


@function("scipy.ndimage.gaussian_laplace")
def gaussian_laplace(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    """The sum of second derivatives of Gaussian filters."""
    _refuse(output)

    def second(x, axis, way):
        return gaussian_filter(x, sigma, _order_along(x.ndim, axis, 2), None, way, cval, **kwargs)

    return _add_up(input, axes, mode, second)


@function("scipy.ndimage.gaussian_gradient_magnitude")
def gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    """The length of the gradient by Gaussian derivatives."""
    _refuse(output)

    def square(x, axis, way):
        return ops.square(gaussian_filter(x, sigma, _order_along(x.ndim, axis, 1), None, way, cval, **kwargs))

    return ops.sqrt(_add_up(input, axes, mode, square))


# values between the elements ------------------------------------------------------------------------------------------


@function("scipy.ndimage.spline_filter1d")
def spline_filter1d(input, order=3, axis=-1, output=numpy.float64, mode="mirror"):
    """The coefficients of the spline through the elements along an axis: a linear function of them."""
    import scipy.ndimage

    _refuse(output)
    x = tensors(input)[0]
    if order < 2:
        return x

    def filter_of(rows):
        return scipy.ndimage.spline_filter1d(rows, order, 1, numpy.float64, mode)

    return by_matrix(filter_of, x, axis_of(axis, x.ndim))


@function("scipy.ndimage.spline_filter")
def spline_filter(input, order=3, output=numpy.float64, mode="mirror"):
    """The coefficients of the spline through the elements."""
    return _one_by_one(tensors(input)[0], None, lambda x, axis: spline_filter1d(x, order, axis, output, mode))


@function("scipy.ndimage.map_coordinates")
def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """The values of the spline through the elements at coordinates, which are differentiated, too."""
    _refuse(output)
    if mode not in _FOLDS:
        raise TypeError(f"map_coordinates: mode={mode!r} is not supported for Tensors; use one of {', '.join(_FOLDS)}")
    if mode == "nearest" and order > 1 and not prefilter:
        raise TypeError(f"map_coordinates: mode='nearest' with order={order} needs prefilter=True for Tensors")
    x, places = tensors(input, coordinates)
    if prefilter and order > 1:
        if mode == "nearest":
            for axis in range(x.ndim):
                x = extend(x, axis, 12, 12, "edge")
            places = places + 12
        x = spline_filter(x, order, numpy.float64, mode)
    shape = tuple(places.shape[1:])
    columns = [ops.reshape(places[i], (-1,)) for i in range(x.ndim)]
    value = _spline_values(x, columns, order, mode)
    if mode == "constant":
        at = [values_of(column) for column in columns]
        outside = numpy.any([(c < 0) | (c > n - 1) for c, n in zip(at, x.shape, strict=True)], 0)
        value = piecewise([outside], [float(cval), lambda v: v], value)
    return ops.reshape(value, shape)


def _clip(c, n):
    return numpy.clip(c, 0, n - 1)


def _mirror(c, n):
    c = numpy.mod(c, max(2 * n - 2, 1))
    return numpy.where(c > n - 1, 2 * n - 2 - c, c)


def _reflect(c, n):
    c = numpy.mod(c + 0.5, 2 * n) - 0.5
    return numpy.where(c > n - 0.5, 2 * n - 1 - c, c)


def _wrap(c, n):
    return numpy.mod(c, n)


#: Where places outside of the elements lie inside, by the mode; and which way the spline's coefficients go on.
_FOLDS = {
    "constant": (lambda c, n: c, _mirror), "nearest": (_clip, _clip), "mirror": (_mirror, _mirror),
    "reflect": (_reflect, _reflect), "grid-wrap": (_wrap, _wrap),
}  # fmt: skip


def _spline_values(x, columns, order, mode):
    """The sum of coefficients around each place times the B-splines of its distance to them."""
    fold, go_on = _FOLDS[mode]
    rows = []
    for c, n in zip(columns, x.shape, strict=True):
        at = values_of(c)
        source = fold(at, n)
        # a place outside moves with the one inside, against it, or not at all
        direction = numpy.sign(numpy.round((fold(at + 1e-6, n) - source) * 1e6))
        c = (c - constants(at, c)) * constants(direction, c) + constants(source, c)
        first = numpy.floor(values_of(c) if order % 2 else values_of(c) + 0.5) - order // 2
        weights = [_cardinal(c - constants(first + j, c), order) for j in range(order + 1)]
        rows.append([(go_on(first + j, n).astype(int), weights[j]) for j in range(order + 1)])
    total = None
    for corner in itertools.product(*rows):
        part = x[tuple(index for index, _ in corner)] * math.prod(weight for _, weight in corner)
        total = part if total is None else total + part
    return total


def _cardinal(t, order):
    """The centred B-spline of a degree at t, by truncated powers (de Boor 1978, chapter IX)."""
    half = 0.5 * (order + 1)
    if order == 0:
        return constants((values_of(t) >= -0.5) & (values_of(t) < 0.5), t)
    total = None
    for j in range(order + 2):
        part = (-1) ** j * math.comb(order + 1, j) / math.factorial(order) * ops.clamp(t + (half - j), min=0.0) ** order
        total = part if total is None else total + part
    return total
