"""Quantiles, covariances and histograms."""

from __future__ import annotations

import builtins

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.functions.creation import linspace
from adjoint.interop.functions.reductions import average
from adjoint.interop.functions.reductions import max as maximum
from adjoint.interop.functions.reductions import min as minimum
from adjoint.interop.functions.reductions import sum as total
from adjoint.interop.functions.selection import sort
from adjoint.interop.numpy_functions import Array, function
from adjoint.interop.operands import (
    axes_of,
    cast,
    constant,
    inexact,
    is_tensor,
    kind_of,
    number,
    promote,
    result_kind,
    tensor_of,
    values_of,
)
from adjoint.interop.reasons import refuse
from adjoint.tensor.table import ops

# quantiles ------------------------------------------------------------------------------------------------------------


def _positions(of_numpy, rows, q, method, weights):
    """The position of the quantiles in the order of each row: NumPy's quantiles of the ranks."""
    n = rows.shape[-1]
    ordinary = of_numpy is numpy.quantile or not numpy.isnan(rows).any()
    if ordinary and weights is None:
        positions = numpy.quantile(numpy.arange(n, dtype=float), q, method=method)
        return numpy.broadcast_to(numpy.reshape(positions, (-1,)), (*rows.shape[:-1], numpy.size(positions)))
    ranks = numpy.argsort(numpy.argsort(rows, axis=-1, kind="stable"), axis=-1, kind="stable").astype(float)
    ranks[numpy.isnan(rows)] = numpy.nan
    options = {} if weights is None else {"weights": weights}
    with numpy.errstate(invalid="ignore"):
        positions = of_numpy(ranks, q, axis=-1, method=method, **options)
    return numpy.moveaxis(numpy.reshape(positions, (-1, *rows.shape[:-1])), 0, -1)


#: Methods whose quantiles are values of the sample.
_PICKING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def _quantiles(of_numpy, a, q, axis, method, keepdims, weights=None):
    q = constant(q)
    kind = kind_of(a)
    if method not in _PICKING:
        a = inexact(a)
        kind = kind_of(a) if type(q) in (int, float) else numpy.result_type(kind_of(a), numpy.asarray(q).dtype)
    q = numpy.asarray(q)
    if ((q < 0) | (q > 1)).any():
        raise ValueError("Quantiles must be in the range [0, 1]")
    axes = axes_of(axis, a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    rows = ops.reshape(ops.permute(a, (*rest, *axes)), (*[a.shape[i] for i in rest], -1))
    if weights is not None:
        weights = numpy.asarray(constant(weights))
        if weights.shape != tuple(a.shape):
            shape = [a.shape[i] if i in axes else 1 for i in range(a.ndim)]
            weights = weights.reshape(shape)
        weights = numpy.broadcast_to(weights, tuple(a.shape)).transpose((*rest, *axes)).reshape(tuple(rows.shape))
    positions = _positions(of_numpy, values_of(rows), q, method, weights)
    missing = numpy.isnan(positions)
    positions = numpy.where(missing, 0, positions)
    lower = numpy.floor(positions).astype(int)
    upper = numpy.minimum(lower + 1, rows.shape[-1] - 1)
    ordered = sort(rows)
    low, high = [ops.gather(ordered, rows.ndim - 1, new_tensor(each)) for each in (lower, upper)]
    result = low
    if method not in _PICKING:
        share = (positions - lower).astype(kind.type(0).real.dtype)
        low, high = cast(low, kind), cast(high, kind)
        result = low + ops.where(new_tensor(share == 0), number(0, kind), high - low) * new_tensor(share)
    rows_have_nan = kind_of(a).kind in "fc" and numpy.isnan(values_of(ordered)[..., -1:])
    undefined = missing if of_numpy is numpy.nanquantile else missing | rows_have_nan
    if undefined.any():
        result = ops.where(new_tensor(undefined), number(numpy.nan, kind_of(result)), result)
    result = ops.permute(result, (result.ndim - 1, *range(result.ndim - 1)))
    shape = [1 if i in axes else a.shape[i] for i in range(a.ndim)] if keepdims else [a.shape[i] for i in rest]
    return ops.reshape(result, (*q.shape, *shape))


def _real(a):
    if kind_of(a).kind == "c":
        raise TypeError("a must be an array of real numbers")
    return a


@function("quantile")
def quantile(a: Array, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """Quantiles over axes, by any of NumPy's methods; differentiated by the values."""
    return _quantiles(numpy.quantile, _real(a), q, axis, method, keepdims, weights)


@function("nanquantile")
def nanquantile(
    a: Array, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    """Quantiles over axes of the elements that are not NaN."""
    return _quantiles(numpy.nanquantile, _real(a), q, axis, method, keepdims, weights)


@function("percentile")
def percentile(
    a: Array, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    """Percentiles over axes."""
    return _quantiles(numpy.quantile, _real(a), _of_hundred(q), axis, method, keepdims, weights)


@function("nanpercentile")
def nanpercentile(
    a: Array, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    """Percentiles over axes of the elements that are not NaN."""
    return _quantiles(numpy.nanquantile, _real(a), _of_hundred(q), axis, method, keepdims, weights)


def _of_hundred(q):
    q = numpy.true_divide(constant(q), 100)
    if ((q < 0) | (q > 1)).any():
        raise ValueError("Percentiles must be in the range [0, 100]")
    return q


@function("median")
def median(a: Array, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median over axes; of an even number of values the mean of the two in the middle."""
    return _quantiles(numpy.quantile, a, 0.5, axis, "linear", keepdims)


@function("nanmedian")
def nanmedian(a: Array, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median over axes of the elements that are not NaN."""
    return _quantiles(numpy.nanquantile, a, 0.5, axis, "linear", keepdims)


# covariances ----------------------------------------------------------------------------------------------------------


@function("cov")
def cov(m: Array, y: Array = None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariances of variables; the rows (or columns) of a matrix are the observations of one variable each."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if m.ndim > 2 or (y is not None and y.ndim > 2):
        raise ValueError(f"{'m' if m.ndim > 2 else 'y'} has more than 2 dimensions")
    operands = [each for each in (m, y) if each is not None]
    rows = [ops.reshape(each, (1, -1)) if each.ndim < 2 else each for each in promote(*operands)]
    if not rowvar:
        rows = [row if each.ndim < 2 else ops.transpose(row, 0, 1) for row, each in zip(rows, operands, strict=True)]
    x = cast(inexact(ops.cat(rows, 0) if len(rows) > 1 else rows[0]), dtype)
    if dtype is None and kind_of(x).name in ("float16", "float32", "complex64"):
        x = cast(x, "complex128" if kind_of(x).kind == "c" else "float64")
    weights = None
    for each in (fweights, aweights):
        if each is not None:
            weight = inexact(tensor_of(each))
            weights = weight if weights is None else weights * weight
    ddof = (0 if bias else 1) if ddof is None else ddof
    centre = average(x, 1, weights, keepdims=True)
    deviation = x - centre
    n = x.shape[1]
    if weights is None:
        free = n - ddof
    else:
        whole = total(weights)
        if ddof == 0:
            free = whole
        elif aweights is None:
            free = whole - ddof
        else:
            free = whole - ddof * total(weights * inexact(tensor_of(aweights))) / whole
    weighted = deviation if weights is None else deviation * cast(weights, kind_of(x).type(0).real.dtype)
    result = ops.matmul(weighted, ops.transpose(ops.conj(deviation), 0, 1)) / free
    ones = tuple(i for i, n in enumerate(result.shape) if n == 1)
    return ops.squeeze_several(result, ones) if ones else result


@function("corrcoef")
def corrcoef(x: Array, y: Array = None, rowvar=True, *, dtype=None):
    """The correlation coefficients of variables; each row (or column) of a matrix holds one variable's observations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = ops.sqrt(ops.diagonal(c, 0, 0, 1).real)
    c = c / deviation[:, None] / deviation[None, :]
    if kind_of(c).kind == "c":
        return ops.complex(ops.clamp(c.real, -1, 1), ops.clamp(c.imag, -1, 1))
    return ops.clamp(c, -1, 1)


# counting -------------------------------------------------------------------------------------------------------------


@function("bincount")
def bincount(x, /, weights: Array = None, minlength=0):
    """The number of occurrences of each integer in x, or the sum of its weights; differentiated by the weights."""
    bins = numpy.asarray(constant(x))
    if weights is None:
        return new_tensor(numpy.bincount(bins, minlength=minlength))
    if weights.shape != bins.shape:
        raise ValueError("The weights and list don't have the same length.")
    if bins.size and bins.min() < 0:
        raise ValueError("'list' argument must have no negative elements")
    size = max(int(bins.max(initial=-1)) + 1, minlength)
    return ops.sum_at(cast(weights, float), (size,), (bins.astype(int),))


@function("histogram_bin_edges")
def histogram_bin_edges(a: Array, bins=10, range=None, weights=None):
    """The edges of bins: differentiated by the data where they follow from its extent."""
    if isinstance(bins, str):
        refuse("histogram_bin_edges", a)
        return new_tensor(numpy.histogram_bin_edges(constant(a), bins, range))
    if numpy.ndim(constant(bins) if not isinstance(bins, str) else bins):
        return tensor_of(bins)
    a = ops.reshape(a, (-1,))
    if range is not None:
        first, last = range
    elif not a.numel():
        first, last = [number(each, numpy.dtype(float)) for each in (0, 1)]
    else:
        first, last = inexact(minimum(a)), inexact(maximum(a))
    if first > last:
        raise ValueError("max must be larger than min in range parameter.")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return linspace(first, last, int(bins) + 1, dtype=result_kind(first, last, inexact(a)))


@function("histogram")
def histogram(a: Array, bins=10, range=None, density=None, weights: Array = None):
    """The number of elements (or the sum of weights) in each bin, and the edges of the bins.

    Differentiated by the weights and, where the edges follow from the data, by its extent.
    """
    edges = histogram_bin_edges(a, bins, range)
    flat = numpy.ravel(values_of(a))
    bounds = values_of(edges)
    if len(bounds) > 1 and (numpy.diff(bounds) < 0).any():
        raise ValueError("`bins` must increase monotonically, when an array")
    if weights is None:
        counts = new_tensor(numpy.histogram(flat, bounds)[0])
    else:
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        in_range = (flat >= bounds[0]) & (flat <= bounds[-1])
        bin_numbers = numpy.minimum(numpy.searchsorted(bounds, flat, "right") - 1, len(bounds) - 2)
        weights_in_range = ops.reshape(weights, (-1,))[new_tensor(in_range)]
        counts = ops.sum_at(weights_in_range, (len(bounds) - 1,), (bin_numbers[in_range],))
    if density:
        counts = cast(counts, float)
        return counts / (edges[1:] - edges[:-1]) / total(counts), edges
    return counts, edges


def _bins_of_axes(bins, n):
    """The bins of each axis: a number or edges for all, or one of these for each."""
    if not isinstance(bins, (list, tuple, numpy.ndarray)):
        return [bins] * n
    if len(bins) != n:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    return list(bins)


def _edges_along(column, bins, extent):
    """The edges of the bins along one axis; they follow from the data where no extent is given."""
    if extent is None or not isinstance(bins, (int, numpy.integer)):
        return histogram_bin_edges(column, bins)
    first, last = extent
    return linspace(first, last, int(bins) + 1)


def _places_in_bins(columns, bounds):
    """The bin of each point along each axis, and which points are in any."""
    in_range, places = numpy.ones(numpy.shape(columns[0]), bool), []
    for column, edges in zip(columns, bounds, strict=True):
        in_range &= (column >= edges[0]) & (column <= edges[-1])
        places.append(numpy.minimum(numpy.searchsorted(edges, column, "right") - 1, len(edges) - 2))
    return tuple(bins[in_range] for bins in places), in_range


@function("histogramdd")
def histogramdd(sample, bins=10, range=None, density=None, weights: Array = None):
    """The number of points (or the sum of their weights) in each bin of a grid, and the edges along each axis.

    Differentiated by the weights and, where the edges follow from the data, by its extent.
    """
    rows = is_tensor(sample) or isinstance(sample, numpy.ndarray)
    columns = list(ops.unbind(tensor_of(sample), 1)) if rows else [tensor_of(each) for each in sample]
    n = len(columns)
    ranges = [None] * n if range is None else range
    edges = [_edges_along(*each) for each in zip(columns, _bins_of_axes(bins, n), ranges, strict=True)]
    bounds = [values_of(each) for each in edges]
    places, in_range = _places_in_bins([values_of(each) for each in columns], bounds)
    shape = tuple(len(each) - 1 for each in bounds)
    ones = new_tensor(numpy.ones(in_range.shape))
    counts = ops.sum_at(cast(ones if weights is None else weights, float)[new_tensor(in_range)], shape, places)
    if density:
        whole = total(counts)
        for axis, each in enumerate(edges):
            widths = (-1 if k == axis else 1 for k in builtins.range(n))
            counts = counts / ops.reshape(each[1:] - each[:-1], tuple(widths))
        counts = counts / whole
    return counts, edges


@function("histogram2d")
def histogram2d(x: Array, y: Array, bins=10, range=None, density=None, weights: Array = None):
    """The number of points in the plane (or the sum of their weights) in each bin, and the edges along both axes.

    Differentiated as histogramdd.
    """
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if isinstance(bins, (list, tuple, numpy.ndarray)) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (along_x, along_y) = histogramdd([x, y], bins, range, density, weights)
    return counts, along_x, along_y
