"""NumPy's functions of polynomials, whose coefficients are a vector, the highest power first."""

from __future__ import annotations

import numpy

from adjoint.core.graph import new_tensor
from adjoint.functions.binding import functions
from adjoint.interop import ufuncs
from adjoint.interop.functions.linalg import lstsq
from adjoint.interop.functions.products import _convolve
from adjoint.interop.functions.reductions import sum as total
from adjoint.interop.functions.shapes import atleast_1d, vander
from adjoint.interop.numpy_functions import Array, Arrays, Operand, function
from adjoint.interop.operands import inexact, kind_of, known_values, number, promote, tensor_of, values_of
from adjoint.tensor.table import ops


@function("polyval")
def polyval(p: Array, x: Operand):
    """The value at x."""
    coefficients, x = promote(p, x)
    result = ops.zeros_like(x)
    for coefficient in ops.unbind(coefficients, 0):
        result = result * x + coefficient
    return result


def _align(a1, a2):
    a1, a2 = promote(atleast_1d(a1), atleast_1d(a2))
    n = max(len(a1), len(a2))
    return [ops.constant_pad_nd(a, (n - len(a), 0), 0) if len(a) < n else a for a in (a1, a2)]


@function("polyadd")
def polyadd(a1: Array, a2: Array):
    """The sum of two polynomials."""
    first, second = _align(a1, a2)
    return first + second


@function("polysub")
def polysub(a1: Array, a2: Array):
    """The difference of two polynomials."""
    first, second = _align(a1, a2)
    return first - second


def _trim(p):
    """Removes leading zeros; one zero stays if all are zero."""
    p = atleast_1d(p)
    nonzero = numpy.flatnonzero(known_values(p, "polymul"))
    return p[int(nonzero[0]) :] if len(nonzero) else p[-1:]


@function("polymul")
def polymul(a1: Array, a2: Array):
    """The product of two polynomials."""
    first, second = promote(_trim(a1), _trim(a2))
    return _convolve(first, second, "full")


@function("polydiv")
def polydiv(u: Array, v: Array):
    """Quotient and remainder of two polynomials."""
    u, v = promote(inexact(atleast_1d(u)), inexact(atleast_1d(v)))
    n, m = len(u) - 1, len(v) - 1
    scale = 1 / v[0]
    quotient = []
    rest = u
    for k in range(n - m + 1):
        factor = scale * rest[k]
        quotient.append(factor)
        rest = rest - functions[""]["cat"]([ops.zeros_like(u[:k]), factor * v, ops.zeros_like(u[k + m + 1 :])], 0)
    first = 0
    values = values_of(rest)
    while numpy.allclose(values[first], 0, rtol=1e-14) and len(values) - first > 1:
        first += 1
    return ops.stack(quotient, 0) if quotient else new_tensor(numpy.zeros(1, kind_of(u))), rest[first:]


@function("polyder")
def polyder(p: Array, m=1):
    """The m-th derivative of a polynomial."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = atleast_1d(p)
    # the derivative of no coefficients has none
    for _ in range(min(int(m), len(p))):
        n = len(p) - 1
        p = p[:-1] * new_tensor(numpy.arange(n, 0, -1).astype(numpy.result_type(kind_of(p), int)))
    return p


@function("polyint")
def polyint(p: Array, m=1, k: Operand = None):
    """The m-th antiderivative of a polynomial with constants k."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p = atleast_1d(p)
    constants = atleast_1d(number(0.0, numpy.dtype(float)) if k is None else tensor_of(k))
    if len(constants) == 1 and m > 1:
        constants = ops.expand(constants, (m,))
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(int(m)):
        n = len(p)
        p = ops.cat(promote(ufuncs.call(numpy.divide, p, numpy.arange(n, 0, -1)), constants[i : i + 1]), 0)
    return p


@function("poly")
def poly(seq_of_zeros: Array):
    """The polynomial with the given zeros, or the characteristic polynomial of a matrix."""
    zeros = atleast_1d(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        from adjoint.interop.functions.linalg import eigvals

        zeros = eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    zeros = inexact(zeros)
    result = ops.expand(number(1, kind_of(zeros)), (1,))
    for zero in ops.unbind(zeros, 0):
        result = ops.constant_pad_nd(result, (0, 1), 0) - ops.constant_pad_nd(result * zero, (1, 0), 0)
    if kind_of(result).kind == "c":
        values = values_of(zeros)
        if numpy.array_equal(numpy.sort(values), numpy.sort(values.conj())):
            return result.real
    return result


@function("roots")
def roots(p: Array):
    """The zeros of a polynomial, the eigenvalues of its companion matrix."""
    from adjoint.interop.functions.linalg import eigvals

    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    nonzero = numpy.flatnonzero(known_values(p, "roots"))
    if not len(nonzero):
        return new_tensor(numpy.zeros(0))
    trailing = len(p) - nonzero[-1] - 1
    p = inexact(p[int(nonzero[0]) : int(nonzero[-1]) + 1])
    n = len(p)
    if n < 2:
        return new_tensor(numpy.zeros(trailing))
    below = new_tensor(numpy.eye(n - 2, n - 1, dtype=kind_of(p)))
    top = (-p[1:] / p[0])[None, :]
    values = eigvals(ops.cat([top, below], 0))
    return ops.constant_pad_nd(values, (0, int(trailing)), 0) if trailing else values


@function("polyfit")
def polyfit(x: Array, y: Array, deg, rcond=None, full=False, w: Array = None, cov=False):
    """The polynomial of a degree that fits points best in the sense of least squares; differentiated by x, y and w."""
    order = int(deg) + 1
    x, y = [inexact(each) + 0.0 for each in (x, y)]
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1 or not len(x):
        raise TypeError("expected 1D vector for x" if x.ndim != 1 else "expected non-empty vector for x")
    if not 1 <= y.ndim <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    rcond = len(x) * numpy.finfo(kind_of(x)).eps if rcond is None else rcond
    left, right = vander(x, order), y
    if w is not None:
        weights = inexact(w) + 0.0
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * weights[:, None]
        right = right * (weights[:, None] if y.ndim == 2 else weights)
    scale = ops.sqrt(total(left * left, 0))
    left, right = promote(left / scale, right)
    solution, residuals, rank, singular = lstsq(left, right, rcond)
    solution = ops.transpose(ops.transpose(solution, 0, -1) / scale, 0, -1) if solution.ndim > 1 else solution / scale
    if full:
        return solution, residuals, rank, singular, rcond
    if not cov:
        return solution
    base = ops.linalg_inv(ops.matmul(ops.transpose(left, 0, 1), left)) / (scale[:, None] * scale[None, :])
    if cov == "unscaled":
        factor = number(1.0, kind_of(base))
    else:
        if len(x) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (len(x) - order)
        factor = factor[0] if y.ndim == 1 else factor
    return solution, base * factor if y.ndim == 1 or cov == "unscaled" else base[:, :, None] * factor


# numpy.polynomial: the lowest power first -----------------------------------------------------------------------------


def _on_axis(x, c):
    """The polynomials along the first axis of c at all elements of x, whose axes come last."""
    c = ops.reshape(c, (*c.shape, *(1,) * x.ndim))
    return _by_horner(x, c)


def _by_horner(x, c):
    value = c[-1] + x * 0
    for k in range(len(c) - 2, -1, -1):
        value = c[k] + value * x
    return value


@function("polynomial.polynomial.polyval2d")
def polyval2d(x: Operand, y: Operand, c: Array):
    """The polynomial with coefficients c of two variables at points (x, y)."""
    x, y, c = [inexact(each) for each in promote(x, y, c)]
    if x.shape != y.shape:
        raise ValueError("x, y are incompatible")
    return _by_horner(y, _on_axis(x, c))


@function("polynomial.polynomial.polyvalnd")
def polyvalnd(pts: Arrays, c: Array):
    """The polynomial with coefficients c of several variables, at points with the coordinates pts."""
    *pts, c = [inexact(each) for each in promote(*pts, c)]
    if any(x.shape != pts[0].shape for x in pts):
        names = {2: "x, y", 3: "x, y, z"}.get(len(pts), "ordinates")
        raise ValueError(f"{names} are incompatible")
    value = _on_axis(pts[0], c)
    for x in pts[1:]:
        value = _by_horner(x, value)
    return value


@function("polynomial.polynomial.polygrid2d")
def polygrid2d(x: Operand, y: Operand, c: Array):
    """The polynomial with coefficients c of two variables at all pairs of an element of x and one of y."""
    x, y, c = [inexact(each) for each in promote(x, y, c)]
    return _on_axis(y, _on_axis(x, c))
