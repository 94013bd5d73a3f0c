"""Sampling of images between their elements: each result is a weighted sum of a few elements.

Images have shape (.., C, S), with all their axes merged into one. places and weights (.., P, T) give T elements for
each of P results; a place of -1 is skipped. The three operations are one trilinear form, each without one of its
arrays, so the derivatives of each are the other two.
"""

from itertools import product
from math import prod

from adjoint.arrays.kernels import scatter
from adjoint.arrays.namespace import native, row_major

from .declare import Array, Constant, Kernels, general, multilinear
from .derive import plus

_OWN = {"method": False, "function": False}
_OPTIONS = {**_OWN, "batching": "joint", "node": "GridSamplerBackward0"}


def _rows(xp, array):
    # (.., C, S) as one row of channels for each element: (images * S, C)
    array_t = xp.matrix_transpose(array)
    return xp.reshape(array_t, (prod(array_t.shape[:-1]), array_t.shape[-1]))


def _images(xp, rows, outer, n):
    # the transposes: (.., C, n)
    images = xp.empty((*outer, rows.shape[-1], n), dtype=rows.dtype)
    images[...] = xp.matrix_transpose(xp.reshape(rows, (*outer, n, rows.shape[-1])))
    return images


def _rows_at(xp, indices, size):
    # for each of T the numbers of rows, and a mask of results without a row (None: each result has one)
    images = prod(indices.shape[:-2])
    flat = xp.reshape(indices, (images, *indices.shape[-2:]))
    missing = flat < 0
    where = xp.where(missing, 0, flat) + (xp.arange(images) * size)[:, None, None]
    some = bool(xp.any(missing))
    for t in range(indices.shape[-1]):
        yield xp.reshape(where[..., t], (-1,)), xp.reshape(missing[..., t], (-1,)) if some else None


def _take_rows(xp, rows, where, missing):
    if not rows.shape[0]:
        return xp.zeros((where.shape[0], rows.shape[1]), dtype=rows.dtype)
    values = xp.take(rows, where, axis=0)
    if missing is not None:
        values = xp.where(missing[:, None], 0, values)
    return values


def _have_loops(places, *arrays):
    return scatter.can_do(*arrays) and type(places) is type(arrays[0])


def _column(xp, weight, t):
    return xp.reshape(weight[..., t], (-1, 1))


# corners --------------------------------------------------------------------------------------------------------------
#
# Along one axis a coordinate between -1 and 1 becomes a position from 0 to n - 1; the padding handles coordinates
# beyond. One, two or four elements around the position have a weight each. The corners of a point are the products of
# these over the axes.

#: The modes and paddings by their numbers in sampling.h, which are torch's.
MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _position(ops, coordinate, n, align_corners):
    """From -1 and 1, the first and last element or their outer edges, to 0 .. n - 1; and its slope."""
    one = ops.ones_like(coordinate)
    if align_corners:
        return (coordinate + 1) * ((n - 1) / 2), one * ((n - 1) / 2)
    return ((coordinate + 1) * n - 1) / 2, one * (n / 2)


def _pad_position(ops, position, slope, n, padding, align_corners):
    """The position that replaces one beyond the axis, and its slope."""
    if padding == "reflection":
        position, slope = _reflect(ops, position, slope, n, align_corners)
    if padding != "zeros":
        interior = (position > 0) & (position < n - 1)
        slope = ops.where(interior, slope, 0)
        position = ops.where(position <= 0, 0, ops.where(position >= n - 1, n - 1, position))
    # NaN has no position
    there = ops.abs(position) < 2.0**31
    return ops.where(there, position, -100), ops.where(there, slope, 0)


def _reflect(ops, position, slope, n, align_corners):
    low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
    if span == 0:
        return position * 0, slope * 0
    away = position - low
    before = away < 0
    away = ops.where(before, -away, away)
    turns = ops.floor(away / span)
    rest, even = away - turns * span, ops.remainder(turns, 2) == 0
    slope = ops.where(before, -slope, slope)
    return ops.where(even, rest, span - rest) + low, ops.where(even, slope, -slope)


#: Cubic convolution with parameter -3/4: near and far from the point, as polynomials, the highest power first.
_NEAR, _FAR = (1.25, -2.25, 0.0, 1.0), (-0.75, 3.75, -6.0, 3.0)


def _polynomial(x, coefficients):
    result = coefficients[0]
    for each in coefficients[1:]:
        result = result * x + each
    return result


def _derivative(coefficients):
    n = len(coefficients) - 1
    return tuple([(n - k) * each for k, each in enumerate(coefficients[:-1])])


def _cubic(part, near, far):
    return [
        _polynomial(part + 1, far),
        _polynomial(part, near),
        _polynomial(1 - part, near),
        _polynomial(2 - part, far),
    ]


def _factors(ops, coordinate, n, mode, padding, align_corners):
    """Along one axis: the elements around a coordinate, -1 for none, their weights, and the weights' slopes."""
    position, slope = _position(ops, coordinate, n, align_corners)
    position, slope = _pad_position(ops, position, slope, n, "zeros" if mode == "bicubic" else padding, align_corners)
    if mode == "nearest":
        return [_element(ops, ops.round(position), n)], [ops.ones_like(position)], [ops.zeros_like(position)]
    low = ops.floor(position)
    part = position - low
    if mode == "bilinear":
        return [_element(ops, low, n), _element(ops, low + 1, n)], [1 - part, part], [-slope, slope]
    wholes = [_pad_position(ops, low + step, slope, n, padding, align_corners)[0] for step in (-1, 0, 1, 2)]
    near, far = _derivative(_NEAR), _derivative(_FAR)
    first, second, third, fourth = _cubic(part, near, far)
    slopes = [first * slope, second * slope, -third * slope, -fourth * slope]
    return [_element(ops, ops.round(whole), n) for whole in wholes], _cubic(part, _NEAR, _FAR), slopes


def _element(ops, whole, n):
    return ops.where((whole >= 0) & (whole < n), whole, -1)


def _of_axes(ops, points, lengths, options):
    # the grid names the last axis first
    k = len(lengths)
    return [_factors(ops, points[..., k - 1 - axis], n, *options) for axis, n in enumerate(lengths)]


def _product(factors):
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def _corners(axes):
    # for each corner the number of its element along each axis
    return list(product(*[range(len(weights)) for _, weights, _ in axes]))


@general(outputs=("weights", "places"), differentiable=(True, False), core="(p,k)->(p,t),(p,t)", **_OWN)
def grid_corners(xp, points: Array, lengths, mode, padding, align_corners):
    """The weights and places (.., P, T) of the corners around points (.., P, k) in images of these lengths."""
    if scatter.can_do(points) and points.size:
        return scatter.grid_corners(points, lengths, MODES.index(mode), PADDINGS.index(padding), align_corners)
    ops = Kernels(xp)
    axes = _of_axes(ops, points, lengths, (mode, padding, align_corners))
    weights, places = [], []
    for corner in _corners(axes):
        weights.append(_product([factors[i] for i, (_, factors, _) in zip(corner, axes, strict=True)]))
        flat = in_image = None
        for i, (elements, _, _), n in zip(corner, axes, lengths, strict=True):
            number = xp.astype(elements[i], xp.int64)
            flat = number if flat is None else flat * n + number
            in_image = number >= 0 if in_image is None else in_image & (number >= 0)
        places.append(xp.where(in_image, flat, -1))
    return row_major(xp.stack(weights, axis=-1)), row_major(xp.stack(places, axis=-1))


@grid_corners.vjp("points")
def _(ops, g, points, lengths, mode, padding, align_corners):
    options = MODES.index(mode), PADDINGS.index(padding), align_corners
    cotangent = native(scatter.grid_corners_back, points, g[0], lengths, *options)
    if cotangent is not None:
        return cotangent
    axes = _of_axes(ops, points, lengths, (mode, padding, align_corners))
    of_coordinates = []
    for dim in range(len(axes)):
        total = None
        for t, corner in enumerate(_corners(axes)):
            parts = [axis[2 if k == dim else 1][i] for k, (i, axis) in enumerate(zip(corner, axes, strict=True))]
            total = plus(total, _product(parts) * g[0][..., t])
        of_coordinates.append(total)
    return ops.stack(of_coordinates[::-1], points.ndim - 1)


# sums -----------------------------------------------------------------------------------------------------------------


@multilinear(**_OPTIONS)
def sample(xp, input: Array, weight: Array, places: Constant):
    """The weighted sums of elements: (.., C, P)."""
    if _have_loops(places, input, weight):
        return scatter.samples(input, weight, places)
    rows = _rows(xp, input)
    count = places.shape[-2]
    total = xp.zeros((prod(places.shape[:-1]), input.shape[-2]), dtype=input.dtype)
    for t, (where, missing) in enumerate(_rows_at(xp, places, input.shape[-1])):
        total += _take_rows(xp, rows, where, missing) * _column(xp, weight, t)
    return _images(xp, total, input.shape[:-2], count)


@multilinear(**_OPTIONS)
def sample_input(xp, grad: Array, weight: Array, places: Constant, size):
    """The transpose of sample in its input, of `size` elements: sums of each element's contributions to all results."""
    if _have_loops(places, grad, weight):
        return scatter.sampled_images(weight, places, grad, size)
    rows = _rows(xp, grad)
    outer = grad.shape[:-2]
    total = xp.zeros((prod(outer) * size, grad.shape[-2]), dtype=grad.dtype)
    for t, (where, missing) in enumerate(_rows_at(xp, places, size)):
        values = rows * _column(xp, weight, t)
        if missing is not None:
            where, values = where[~missing], xp.getitem(values, (~missing,))
        if where.shape[0]:
            total += xp.sum_at(total.shape, (where,), values)
    return _images(xp, total, outer, size)


@multilinear(**_OPTIONS)
def sample_weight(xp, grad: Array, input: Array, places: Constant):
    """The transpose of sample in its weights: the inner products over channels of results and elements."""
    if _have_loops(places, grad, input):
        return scatter.sampled_weights(input, places, grad)
    results, rows = _rows(xp, grad), _rows(xp, input)
    columns = [
        xp.sum(results * _take_rows(xp, rows, where, missing), axis=-1)
        for where, missing in _rows_at(xp, places, input.shape[-1])
    ]
    return xp.reshape(xp.stack(columns, axis=-1), places.shape)


@sample.vjp("input")
def _(ops, g, weight, places, input_shape):
    return ops.sample_input(g, ops.conjugate(weight), places, input_shape[-1])


@sample.vjp("weight")
def _(ops, g, input, places):
    return ops.sample_weight(g, ops.conjugate(input), places)


@sample_input.vjp("grad")
def _(ops, g, weight, places):
    return ops.sample(g, ops.conjugate(weight), places)


@sample_input.vjp("weight")
def _(ops, g, grad, places):
    return ops.sample_weight(ops.conjugate(grad), g, places)


@sample_weight.vjp("grad")
def _(ops, g, input, places):
    return ops.sample(ops.conjugate(input), g, places)


@sample_weight.vjp("input")
def _(ops, g, grad, places, input_shape):
    return ops.sample_input(ops.conjugate(grad), g, places, input_shape[-1])
