"""Sums, products, extrema and cumulative sums; no gradient flows to an ignored NaN."""

from __future__ import annotations

import builtins
from operator import methodcaller
from typing import Any

import numpy

from adjoint.core.recorded import operations
from adjoint.interop import ufuncs
from adjoint.interop.numpy_functions import Array, function
from adjoint.interop.operands import axes_of, axis_of, cast, inexact, kind_of, number, result_kind, tensor_of
from adjoint.tensor.table import ops

_NONE: Any = numpy._NoValue


@function("sum", whole=operations["sum_all"])
def sum(a: Array, axis=None, dtype=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The sum over axes."""
    return ufuncs.reduce(numpy.add, a, axis, dtype, None, keepdims, initial, where)


@function("prod", whole=operations["prod_all"])
def prod(a: Array, axis=None, dtype=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The product over axes."""
    return ufuncs.reduce(numpy.multiply, a, axis, dtype, None, keepdims, initial, where)


@function("max", "amax", whole=methodcaller("amax"))
def max(a: Array, axis=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The maximum over axes; equal elements share the gradient evenly."""
    return ufuncs.reduce(numpy.maximum, a, axis, None, None, keepdims, initial, where)


@function("min", "amin", whole=methodcaller("amin"))
def min(a: Array, axis=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The minimum over axes; equal elements share the gradient evenly."""
    return ufuncs.reduce(numpy.minimum, a, axis, None, None, keepdims, initial, where)


@function("all")
def all(a: Array, axis=None, out=None, keepdims=False, *, where=True):
    """Whether all elements along axes are true."""
    return ufuncs.reduce(numpy.logical_and, a, axis, None, None, keepdims, _NONE, where)


@function("any")
def any(a: Array, axis=None, out=None, keepdims=False, *, where=True):
    """Whether any element along axes is true."""
    return ufuncs.reduce(numpy.logical_or, a, axis, None, None, keepdims, _NONE, where)


@function("ptp")
def ptp(a: Array, axis=None, out=None, keepdims=False):
    """The maximum over axes less the minimum."""
    return max(a, axis, None, keepdims) - min(a, axis, None, keepdims)


# running totals -------------------------------------------------------------------------------------------------------


def _running(ufunc, a, axis, dtype):
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), 0
    return ufuncs.accumulate(ufunc, a, axis, dtype)


@function("cumsum")
def cumsum(a: Array, axis=None, dtype=None, out=None):
    """Running sums along an axis, or of all elements."""
    return _running(numpy.add, a, axis, dtype)


@function("cumprod")
def cumprod(a: Array, axis=None, dtype=None, out=None):
    """Running products along an axis, or of all elements."""
    return _running(numpy.multiply, a, axis, dtype)


def _cumulative(ufunc, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    x = ops.reshape(x, (-1,)) if x.ndim == 0 else x
    result = ufuncs.accumulate(ufunc, x, axis, dtype)
    if include_initial:
        dim = axis_of(axis, x.ndim)
        shape = [*x.shape[:dim], 1, *x.shape[dim + 1 :]]
        first = ops.expand(number(ufunc.identity, kind_of(result)), shape)
        result = ops.cat([first, result], dim)
    return result


@function("cumulative_sum")
def cumulative_sum(x: Array, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running sums along an axis, with a leading 0 if include_initial."""
    return _cumulative(numpy.add, x, axis, dtype, include_initial)


@function("cumulative_prod")
def cumulative_prod(x: Array, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running products along an axis, with a leading 1 if include_initial."""
    return _cumulative(numpy.multiply, x, axis, dtype, include_initial)


# without NaN ----------------------------------------------------------------------------------------------------------


def fill_nan(a, value):
    """The Tensor with a number instead of NaN."""
    return ops.where(ops.isnan(a), number(value, kind_of(a)), a) if kind_of(a).kind in "fc" else a


@function("nansum")
def nansum(a: Array, axis=None, dtype=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The sum over axes with NaN counted as 0."""
    return sum(fill_nan(a, 0), axis, dtype, None, keepdims, initial, where)


@function("nanprod")
def nanprod(a: Array, axis=None, dtype=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The product over axes with NaN counted as 1."""
    return prod(fill_nan(a, 1), axis, dtype, None, keepdims, initial, where)


@function("nancumsum")
def nancumsum(a: Array, axis=None, dtype=None, out=None):
    """Running sums with NaN counted as 0."""
    return cumsum(fill_nan(a, 0), axis, dtype)


@function("nancumprod")
def nancumprod(a: Array, axis=None, dtype=None, out=None):
    """Running products with NaN counted as 1."""
    return cumprod(fill_nan(a, 1), axis, dtype)


def _nan_extremum(extremum, worst, a, axis, keepdims, initial, where):
    if kind_of(a).kind not in "fc":
        return extremum(a, axis, None, keepdims, initial, where)
    result = extremum(fill_nan(a, worst), axis, None, keepdims, initial, where)
    none = all(ops.isnan(a), axis, None, keepdims)
    return ops.where(none, number(numpy.nan, kind_of(a)), result)


@function("nanmax")
def nanmax(a: Array, axis=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The maximum over axes of the elements that are not NaN; NaN if all are."""
    return _nan_extremum(max, -numpy.inf, a, axis, keepdims, initial, where)


@function("nanmin")
def nanmin(a: Array, axis=None, out=None, keepdims=False, initial=_NONE, where=True):
    """The minimum over axes of the elements that are not NaN; NaN if all are."""
    return _nan_extremum(min, numpy.inf, a, axis, keepdims, initial, where)


# means and variances --------------------------------------------------------------------------------------------------


def count_along(a, axis, keepdims, where):
    """The number of elements along axes; a Tensor if some elements are ignored."""
    axes = axes_of(axis, a.ndim)
    if where is True:
        n = 1
        for each in axes:
            n *= a.shape[each]
        return n
    mask = ops.expand(cast(tensor_of(where), bool), a.shape)
    kind = kind_of(a)
    real = kind.type(0).real.dtype if kind.kind == "c" else kind
    return cast(sum(mask, axes, None, None, keepdims), real)


def _working(a, dtype):
    return cast(inexact(a), dtype)


@function("mean", whole=operations["mean_all"])
def mean(a: Array, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """The mean over axes."""
    a = _working(a, dtype)
    axes = axes_of(axis, a.ndim)
    if where is True:
        return ops.mean(a, axes, bool(keepdims)) if axes else a.clone()
    return sum(a, axes, None, None, keepdims, _NONE, where) / count_along(a, axes, keepdims, where)


def _spread(name, a, axis, dtype, ddof, keepdims, where, mean_given, correction):
    if correction is not _NONE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    a = _working(a, dtype)
    axes = axes_of(axis, a.ndim)
    if where is True and mean_given is _NONE and axes:
        return getattr(ops, name)(a, axes, ddof, bool(keepdims))
    centre = mean(a, axes, None, None, True, where=where) if mean_given is _NONE else tensor_of(mean_given)
    deviation = a - centre
    if where is not True:
        deviation = ops.where(cast(tensor_of(where), bool), deviation, number(0, kind_of(deviation)))
    squares = ops.square(deviation) if kind_of(a).kind != "c" else ops.square(ops.abs(deviation))
    total = sum(squares, axes, None, None, keepdims, _NONE, where)
    n = count_along(a, axes, keepdims, where)
    free = builtins.max(n - ddof, 0) if isinstance(n, int) else ops.clamp(n - ddof, min=0)
    variance = total / free
    return variance if name == "var" else _root(variance)


def _root(variance):
    """The square root, whose gradient is 0 where it is 0."""
    none = ops.eq(variance, 0)
    return ops.where(none, variance, ops.sqrt(ops.where(none, number(1, kind_of(variance)), variance)))


@function("var")
def var(a: Array, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=_NONE, correction=_NONE):
    """The variance over axes: squared distances from the mean, summed and divided by (count - ddof)."""
    return _spread("var", a, axis, dtype, ddof, keepdims, where, mean, correction)


@function("std")
def std(a: Array, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=_NONE, correction=_NONE):
    """The standard deviation over axes; its gradient is 0 where it is 0."""
    return _spread("std", a, axis, dtype, ddof, keepdims, where, mean, correction)


def _numbers_of(a, where):
    """The mask of elements that are not NaN (and in `where`)."""
    present = ops.logical_not(ops.isnan(a))
    return present if where is True else ops.logical_and(present, cast(tensor_of(where), bool))


@function("nanmean")
def nanmean(a: Array, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """The mean over axes of the elements that are not NaN."""
    a = _working(a, dtype)
    return mean(a, axis, None, None, keepdims, where=_numbers_of(a, where))


@function("nanvar")
def nanvar(
    a: Array, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=_NONE, correction=_NONE
):
    """The variance over axes of the elements that are not NaN."""
    a = _working(a, dtype)
    return _spread("var", a, axis, None, ddof, keepdims, _numbers_of(a, where), mean, correction)


@function("nanstd")
def nanstd(
    a: Array, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=_NONE, correction=_NONE
):
    """The standard deviation over axes of the elements that are not NaN."""
    a = _working(a, dtype)
    return _spread("std", a, axis, None, ddof, keepdims, _numbers_of(a, where), mean, correction)


@function("average")
def average(a: Array, axis=None, weights: Array = None, returned=False, *, keepdims=False):
    """The mean over axes weighted by `weights`; also differentiable by the weights."""
    if weights is None:
        result = mean(a, axis, None, None, keepdims)
        scale = number(a.numel() / builtins.max(result.numel(), 1), kind_of(result))
        return (result, ops.expand(scale, result.shape).clone()) if returned else result
    axes = axes_of(axis, a.ndim)
    if a.shape != weights.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if tuple(weights.shape) != tuple(a.shape[each] for each in axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        order = sorted(range(len(axes)), key=axes.__getitem__)
        shape = [a.shape[i] if i in axes else 1 for i in range(a.ndim)]
        weights = ops.reshape(ops.permute(weights, order), shape)
    kind = result_kind(a, weights, *([numpy.dtype(float)] if kind_of(a).kind in "biu" else []))
    a, weights = cast(a, kind), cast(weights, kind)
    total = sum(weights, axes, None, None, keepdims)
    if weights.shape != a.shape:
        total = sum(ops.expand(weights, a.shape), axes, None, None, keepdims)
    if bool(any(total == 0)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = sum(a * weights, axes, None, None, keepdims) / total
    return (result, ops.expand(total, result.shape).clone()) if returned else result
