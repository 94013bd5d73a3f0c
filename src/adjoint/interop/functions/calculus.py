"""Differences, integrals, interpolation, and functions of single elements that are no ufuncs."""

from __future__ import annotations

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop import ufuncs
from adjoint.interop.functions.reductions import any as any_of
from adjoint.interop.functions.reductions import sum as total
from adjoint.interop.functions.shapes import concatenate
from adjoint.interop.numpy_functions import FUNCTIONS, Array, Operand, function
from adjoint.interop.operands import (
    axes_of,
    axis_of,
    cast,
    constant,
    inexact,
    kind_of,
    number,
    promote,
    tensor_of,
    values_of,
)
from adjoint.tensor.table import ops

_NONE = numpy._NoValue
_PI = numpy.pi


def _part(a, axis, start, stop):
    return a[(slice(None),) * axis + (slice(start, stop),)]


# differences ----------------------------------------------------------------------------------------------------------


@function("diff")
def diff(a: Array, n=1, axis=-1, prepend: Array = None, append: Array = None):
    """Differences of neighbours along an axis, n times."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not a.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = axis_of(axis, a.ndim)
    shape = [*a.shape[:axis], 1, *a.shape[axis + 1 :]]
    ends = [each if each is None or each.ndim else ops.expand(each, shape) for each in (prepend, append)]
    parts = [each for each in (ends[0], a, ends[1]) if each is not None]
    a = concatenate(parts, axis) if len(parts) > 1 and n else a
    # differences of an empty array are empty
    for _ in range(min(n, a.shape[axis])):
        after, before = _part(a, axis, 1, None), _part(a, axis, None, -1)
        a = ops.ne(after, before) if kind_of(a).kind == "b" else after - before
    return a


@function("ediff1d")
def ediff1d(ary: Array, to_end: Array = None, to_begin: Array = None):
    """Differences of neighbours among all elements, between the values for the ends."""
    flat = ops.reshape(ary, (-1,))
    parts = [to_begin, flat[1:] - flat[:-1], to_end]
    for each in (to_begin, to_end):
        if each is not None and not numpy.can_cast(kind_of(each), kind_of(ary), "same_kind"):
            raise TypeError("dtype of `to_end` must be compatible with input `ary` under the `same_kind` rule.")
    return ops.cat([cast(ops.reshape(each, (-1,)), kind_of(ary)) for each in parts if each is not None], 0)


@function("gradient", star=tensor_of)
def gradient(f: Array, *varargs, axis=None, edge_order=1):
    """Central differences inside, one-sided of order 1 or 2 at the ends; also differentiable by the spacing."""
    f = inexact(f)
    axes = axes_of(axis, f.ndim)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    same = varargs[0] if varargs else number(1.0, kind_of(f))
    spacings = list(varargs) if len(varargs) == len(axes) else [same] * len(axes)
    if len(varargs) == 1 and varargs[0].ndim and len(axes) > 1:
        raise TypeError("invalid number of arguments")
    slopes = [_slopes(f, dim, h, edge_order) for dim, h in zip(axes, spacings, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slopes(f, axis, h, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        )
    if h.ndim > 1:
        raise ValueError("distances must be either scalars or 1d")
    f, h = promote(f, h)
    at = [f.narrow(axis, i, 1) for i in ((0, 1, 2, -3, -2, -1) if edge_order == 2 else (0, 1, 1, -2, -2, -1))]
    f0, f1, f2, f3, f4, f5 = at
    before, center, after = _part(f, axis, None, -2), _part(f, axis, 1, -1), _part(f, axis, 2, None)
    if not h.ndim:
        middle = (after - before) / (2 * h)
        first, last = (f1 - f0) / h, (f5 - f4) / h
        if edge_order == 2:
            first = (-1.5 * f0 + 2 * f1 - 0.5 * f2) / h
            last = (0.5 * f3 - 2 * f4 + 1.5 * f5) / h
        return ops.cat([first, middle, last], axis)
    if h.shape[0] != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = h[1:] - h[:-1]
    shape = [-1 if i == axis else 1 for i in range(f.ndim)]
    left, right = ops.reshape(steps[:-1], shape), ops.reshape(steps[1:], shape)
    middle = (
        -right / (left * (left + right)) * before
        + (right - left) / (left * right) * center
        + left / (right * (left + right)) * after
    )
    first, last = (f1 - f0) / steps[0], (f5 - f4) / steps[-1]
    if edge_order == 2:
        p, q = steps[0], steps[1]
        first = -(2 * p + q) / (p * (p + q)) * f0 + (p + q) / (p * q) * f1 - p / (q * (p + q)) * f2
        p, q = steps[-2], steps[-1]
        last = q / (p * (p + q)) * f3 - (q + p) / (p * q) * f4 + (2 * q + p) / (q * (p + q)) * f5
    return ops.cat([first, middle, last], axis)


# integrals ------------------------------------------------------------------------------------------------------------


@function("trapezoid")
def trapezoid(y: Array, x: Array = None, dx: Operand = 1.0, axis=-1):
    """The integral of samples along an axis by the trapezoidal rule."""
    axis = axis_of(axis, y.ndim)
    if x is None:
        step = dx
    else:
        step = diff(x, 1, -1 if x.ndim == 1 else axis)
        if x.ndim == 1:
            step = ops.reshape(step, [-1 if i == axis else 1 for i in range(y.ndim)])
    pairs = ufuncs.call(numpy.add, _part(y, axis, 1, None), _part(y, axis, None, -1))
    return total(ufuncs.call(numpy.divide, ufuncs.call(numpy.multiply, step, pairs), 2.0), axis)


@function("interp")
def interp(x: Array, xp: Array, fp: Array, left: Operand = None, right: Operand = None, period=None):
    """Linear interpolation between points (xp, fp), xp ascending; differentiated by x, xp and fp."""
    kind = "complex128" if kind_of(fp).kind == "c" else "float64"
    x, xp, fp = cast(x, float), cast(xp, float), cast(fp, kind)
    if period is not None:
        period = abs(constant(period))
        if not period:
            raise ValueError("period must be a non-zero value")
        left = right = None
        x, xp = ops.remainder(x, period), ops.remainder(xp, period)
        order = new_tensor(numpy.argsort(values_of(xp), kind="stable"))
        xp, fp = xp[order], fp[order]
        xp = ops.cat([xp[-1:] - period, xp, xp[:1] + period], 0)
        fp = ops.cat([fp[-1:], fp, fp[:1]], 0)
    if xp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not xp.shape[0]:
        raise ValueError("array of sample points is empty")
    left, right = [
        cast(tensor_of(each), kind) if each is not None else end for each, end in ((left, fp[0]), (right, fp[-1]))
    ]
    n = xp.shape[0]
    if n == 1:
        value = ops.expand(fp[0], x.shape)
    else:
        at = ops.clamp(ops.sorted_places(xp, x, True, None) - 1, 0, n - 2)
        x0, x1, f0, f1 = [ops.take(values, places) for values in (xp, fp) for places in (at, at + 1)]
        width = x1 - x0
        width = ops.where(width == 0, number(1, numpy.dtype(float)), width)
        value = f0 + (f1 - f0) / width * (x - x0)
        value = ops.where(x == xp[-1], fp[-1], value)
    return ops.where(x > xp[-1], right, ops.where(x < xp[0], left, value))


@function("unwrap")
def unwrap(p: Array, discont=None, axis=-1, *, period=2 * _PI):
    """Removes jumps of half a period or more along an axis, by whole periods."""
    axis = axis_of(axis, p.ndim)
    if isinstance(period, int) and kind_of(p).kind in "iu":
        shift = numpy.unwrap(values_of(p), discont, axis, period=period) - values_of(p)
        return p + new_tensor(shift)
    p = inexact(p)
    values = values_of(p)
    shift = numpy.unwrap(values, discont, axis, period=period) - values
    return p + new_tensor((numpy.round(shift / period) * period).astype(kind_of(p)))


# single elements ------------------------------------------------------------------------------------------------------


@function("round", "around")
def round(a: Array, decimals=0, out=None):
    """Rounds to a number of decimals, ties to even; the gradient is 0."""
    if kind_of(a).kind == "b":
        a = cast(a, "float16")
    if kind_of(a).kind == "c":
        return ops.complex(round(a.real, decimals), round(a.imag, decimals))
    if kind_of(a).kind in "iu":
        return new_tensor(numpy.round(values_of(a), decimals))
    return ops.round(a, decimals=int(decimals))


@function("fix")
def fix(x: Array, out=None):
    """Rounds towards 0; the gradient is 0."""
    return ops.trunc(x) if kind_of(x).kind == "f" else x.clone()


@function("clip")
def clip(
    a: Array, a_min: Operand = None, a_max: Operand = None, out=None, *, min: Operand = None, max: Operand = None,
    **kwargs,
):  # fmt: skip
    """Values below a_min raised to it and above a_max lowered to it; differentiated by all three."""
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is None and high is None:
        return ufuncs.call(numpy.positive, a, **kwargs)
    if low is None:
        return ufuncs.call(numpy.minimum, a, high, **kwargs)
    if high is None:
        return ufuncs.call(numpy.maximum, a, low, **kwargs)
    return ufuncs.call(numpy._core.umath.clip, a, low, high, **kwargs)  # type: ignore[attr-defined]


@function("nan_to_num")
def nan_to_num(x: Array, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers; no gradient flows to them."""
    if not copy:
        # the derivative needs the values before the write
        return x.copy_(nan_to_num(x.clone(), True, nan, posinf, neginf))
    if kind_of(x).kind == "c":
        parts = [nan_to_num(each, True, nan, posinf, neginf) for each in (x.real, x.imag)]
        result = ops.complex(*parts)
    elif kind_of(x).kind != "f":
        return x.clone()
    else:
        result = ops.nan_to_num(x, *[None if each is None else constant(each) for each in (nan, posinf, neginf)])
    return result


@function("angle")
def angle(z: Array, deg=False):
    """The argument of a complex number, in radians or degrees; of a real one 0 or pi."""
    radians = ops.angle(inexact(z))
    return radians * (180 / _PI) if deg else radians


@function("i0")
def i0(x: Array):
    """The modified Bessel function of order 0."""
    if kind_of(x).kind == "c":
        raise TypeError("i0 not supported for complex values")
    return ops.i0(inexact(x))


@function("sinc")
def sinc(x: Array):
    """sin(pi x) / (pi x), 1 at 0."""
    return ops.sinc(inexact(x))


# where the real function is not defined, the complex one -----------------------------------------------------------


def _as_complex(x, outside):
    """The Tensor as complex numbers if any element is outside of where the real function is defined."""
    x = inexact(x)
    if kind_of(x).kind != "c" and bool(any_of(outside(x))):
        return cast(x, numpy.result_type(kind_of(x), numpy.complex64))
    return x


def _negative(x):
    return ops.lt(x, 0)


def _beyond_one(x):
    return ops.gt(ops.abs(x), 1)


_OUTSIDE = {
    "sqrt": ("sqrt", _negative), "log": ("log", _negative), "log2": ("log2", _negative), "log10": ("log10", _negative),
    "arccos": ("acos", _beyond_one), "arcsin": ("asin", _beyond_one), "arctanh": ("atanh", _beyond_one),
}  # fmt: skip


def _scimath(name, operation, outside):
    def of_any(x):
        return getattr(ops, operation)(_as_complex(tensor_of(x), outside))

    of_any.__name__ = name
    of_any.__doc__ = f"{name}() with complex results where real ones do not exist."
    FUNCTIONS[f"lib.scimath.{name}"] = of_any


for _name, (_operation, _where) in _OUTSIDE.items():
    _scimath(_name, _operation, _where)


@function("lib.scimath.logn")
def logn(n: Array, x: Array):
    """The logarithm to base n, complex where it has to be."""
    n, x = promote(_as_complex(n, _negative), _as_complex(x, _negative))
    return ops.log(x) / ops.log(n)


@function("lib.scimath.power")
def power(x: Operand, p: Operand):
    """x ** p, complex where x is negative; whole numbers to negative powers have fractions."""
    base, exponent = tensor_of(x), tensor_of(p)
    if kind_of(base).kind != "c" and bool(any_of(ops.lt(base, 0))):
        base = cast(base, numpy.result_type(kind_of(base), numpy.complex64))
    if kind_of(exponent).kind in "iu" and bool(any_of(ops.lt(exponent, 0))):
        exponent = cast(exponent, float)
    return ufuncs.call(numpy.power, base, exponent)
