"""scipy.integrate over Tensors: rules for samples."""

from __future__ import annotations

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS, Array, function
from adjoint.interop.operands import axis_of, inexact, tensor_of
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


@function("scipy.integrate.simpson")
def simpson(y: Array, x=None, *, dx=1.0, axis=-1):
    """The integral by Simpson's rule, linear in the samples: SciPy's weights for these places."""
    import scipy.integrate

    y = inexact(y)
    dim = axis_of(axis, y.ndim)
    if x is not None and getattr(x, "requires_grad", False):
        raise TypeError("simpson(): there is no derivative by the places x; use trapezoid()")
    coordinates = None if x is None else numpy.asarray(tensor_of(x)._array)
    if coordinates is not None and coordinates.ndim != 1:
        raise TypeError("simpson(): with a Tensor as the samples, x must have one axis")
    weights = scipy.integrate.simpson(numpy.eye(y.shape[dim]), x=coordinates, dx=dx, axis=-1)
    return ops.sum(y * ops.reshape(tensor_of(weights), tuple(-1 if i == dim else 1 for i in range(y.ndim))), (dim,))
