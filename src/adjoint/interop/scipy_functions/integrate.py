"""scipy.integrate over Tensors: rules for samples."""

from __future__ import annotations

from adjoint.interop.numpy_functions import FUNCTIONS, Array, function
from adjoint.interop.operands import axis_of, inexact, promote, tensor_of
from adjoint.tensor.table import ops

FUNCTIONS["scipy.integrate.trapezoid"] = FUNCTIONS["trapezoid"]


def _widths(x, dx, ndim, dim):
    """The widths of intervals, ready to be multiplied with values along an axis."""
    if x is None:
        return dx
    x = inexact(tensor_of(x))
    if x.ndim == 1:
        d = x[1:] - x[:-1]
        return ops.reshape(d, tuple(-1 if i == dim else 1 for i in range(ndim)))
    n = x.shape[dim]
    return x.narrow(dim, 1, n - 1) - x.narrow(dim, 0, n - 1)


@function("scipy.integrate.cumulative_trapezoid")
def cumulative_trapezoid(y: Array, x=None, dx=1.0, axis=-1, initial=None):
    """The integral up to each place by the trapezoidal rule."""
    y = inexact(y)
    dim = axis_of(axis, y.ndim)
    n = y.shape[dim]
    means = 0.5 * (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1))
    result = ops.cumsum(means * _widths(x, dx, y.ndim, dim), dim)
    if initial is None:
        return result
    if initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    return ops.cat([ops.zeros_like(result.narrow(dim, 0, 1)), result], dim)


def _along_last(y, x, dx, axis):
    """Samples with the axis last, and the widths of the intervals between them."""
    x = None if x is None else inexact(tensor_of(x))
    y, *rest = promote(inexact(y), *([] if x is None else [x]))
    dim = axis_of(axis, y.ndim)
    y = FUNCTIONS["moveaxis"](y, dim, -1)
    if not rest:
        return y, ops.ones_like(y[..., 1:]) * dx, dim
    x = rest[0] if rest[0].ndim == 1 else FUNCTIONS["moveaxis"](rest[0], dim, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return y, x[..., 1:] - x[..., :-1], dim


@function("scipy.integrate.simpson")
def simpson(y: Array, x=None, *, dx=1.0, axis=-1):
    """The integral by Simpson's rule, also over intervals of several widths.

    For an odd number of intervals the last one has the parabola through the last three samples (Cartwright 2017).
    """
    y, h, _ = _along_last(y, x, dx, axis)
    n = y.shape[-1]
    if n < 3:
        return ops.sum(0.5 * h * (y[..., 1:] + y[..., :-1]), (-1,))
    whole = n - 1 + n % 2
    left, right = h[..., 0 : whole - 1 : 2], h[..., 1 : whole - 1 : 2]
    both = left + right
    first, middle, last = (y[..., start : whole - 2 + start : 2] for start in range(3))
    parts = first * (2 - right / left) + middle * (both * both / (left * right)) + last * (2 - left / right)
    total = ops.sum(both / 6 * parts, (-1,))
    if n % 2:
        return total
    a, b = h[..., -2], h[..., -1]
    of_last = (2 * b * b + 3 * a * b) / (6 * (a + b)) * y[..., -1] + (b * b + 3 * a * b) / (6 * a) * y[..., -2]
    return total + of_last - b**3 / (6 * a * (a + b)) * y[..., -3]


def _first_halves(y, h):
    """The integrals over the first of each two intervals, of the parabola through their three samples."""
    first, second = h[..., :-1], h[..., 1:]
    share, ratio = first / (first + second), first / second
    parts = (3 - share) * y[..., :-2] + (3 + share * ratio + share) * y[..., 1:-1] - share * ratio * y[..., 2:]
    return first / 6 * parts


@function("scipy.integrate.cumulative_simpson")
def cumulative_simpson(y: Array, *, x=None, dx=1.0, axis=-1, initial=None):
    """The integral up to each sample by Simpson's rule (Cartwright 2017)."""
    y, h, dim = _along_last(y, x, dx, axis)
    n = y.shape[-1]
    if n < 3:
        parts = 0.5 * h * (y[..., 1:] + y[..., :-1])
    else:
        ahead = _first_halves(y, h)
        back = ops.flip(_first_halves(ops.flip(y, (-1,)), ops.flip(h, (-1,))), (-1,))
        # even intervals use the parabola ahead; odd intervals and the last one use the parabola behind
        both = ops.stack([ahead, back], -1)
        pairs = ops.reshape(both[..., ::2, :], (*both.shape[:-2], -1))
        parts = ops.cat([pairs[..., : n - 2], back[..., -1:]], -1)
    result = ops.cumsum(parts, y.ndim - 1)
    if initial is not None:
        start = ops.expand(promote(result, initial)[1], tuple(result.shape[:-1]))[..., None]
        result = ops.cat([start, result + start], -1)
    return FUNCTIONS["moveaxis"](result, -1, dim)
