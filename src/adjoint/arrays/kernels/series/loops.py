"""Products, quotients and recurrences of truncated power series, whose coefficients lie along the first axis.

`can_do` is False without a compiler, and for arrays without loops: the functions below it do the same with whole arrays
of any library.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))
PRODUCT, CORRELATION, QUOTIENT = range(3)
#: So many series are worked on together, see series.h.
_PIECE = 128


def can_do(*arrays):
    """True if there are loops for these arrays."""
    if not compiled or any([type(array) is not numpy.ndarray for array in arrays]):
        return False
    dtype = arrays[0].dtype
    return dtype in _FLOATS and all([array.dtype == dtype for array in arrays])


if compiled:

    def of_two(which, a, b):
        """The product, correlation or quotient of two series, broadcast."""
        if a.shape != b.shape:
            a, b = numpy.broadcast_arrays(a, b)
        a, b = numpy.ascontiguousarray(a), numpy.ascontiguousarray(b)
        y = numpy.empty(a.shape, a.dtype)
        n, size, bytes = a.shape[0], a.size // a.shape[0], a.itemsize
        first, second, result = adj_bytes(a), adj_bytes(b), adj_bytes(y)
        if a.size:
            with cython.nogil:
                adj_series_of_two(bytes, which, n, size, first, second, result)
        return y

    def riccati(x, start, c0, c1, c2):
        """The series of y with y' = (c0 + c1 y + c2 y * y) x' that starts with y[0] = start."""
        x = numpy.ascontiguousarray(x)
        y = numpy.empty(x.shape, x.dtype)
        y[0] = start
        n, size, bytes = x.shape[0], x.size // x.shape[0], x.itemsize
        factors = numpy.empty(n * _PIECE, x.dtype)
        source, slope, result = adj_bytes(x), adj_bytes(factors), adj_bytes(y)
        if x.size:
            with cython.nogil:
                adj_series_riccati(bytes, n, size, source, c0, c1, c2, slope, result)
        return y

    def power(x, start, exponent):
        """The series of y with x y' = exponent y x' that starts with y[0] = start."""
        x = numpy.ascontiguousarray(x)
        y = numpy.empty(x.shape, x.dtype)
        y[0] = start
        n, size, bytes = x.shape[0], x.size // x.shape[0], x.itemsize
        source, result = adj_bytes(x), adj_bytes(y)
        if x.size:
            with cython.nogil:
                adj_series_power(bytes, n, size, source, exponent, result)
        return y

    def wave(x, sine, cosine, sign):
        """The series of s and c with s' = c x' and c' = sign s x' that start with sine and cosine."""
        x = numpy.ascontiguousarray(x)
        s, c = numpy.empty(x.shape, x.dtype), numpy.empty(x.shape, x.dtype)
        s[0], c[0] = sine, cosine
        n, size, bytes = x.shape[0], x.size // x.shape[0], x.itemsize
        source, first, second = adj_bytes(x), adj_bytes(s), adj_bytes(c)
        if x.size:
            with cython.nogil:
                adj_series_wave(bytes, n, size, source, sign, first, second)
        return s, c


# the same with whole arrays -------------------------------------------------------------------------------------------


def product_rows(a, b):
    """The coefficients of a product: a[0] b[k] + ... + a[k] b[0]."""
    return [total([a[j, ...] * b[k - j, ...] for j in range(k + 1)]) for k in range(a.shape[0])]


def correlation_rows(g, b):
    """The coefficients of the transposed product: g[k] b[0] + ... + g[n - 1] b[n - 1 - k]."""
    n = g.shape[0]
    return [total([g[j, ...] * b[j - k, ...] for j in range(k, n)]) for k in range(n)]


def quotient_rows(a, b):
    """The coefficients of y with y b = a."""
    rows = []
    for k in range(a.shape[0]):
        rows.append((a[k, ...] - total([b[j, ...] * rows[k - j] for j in range(1, k + 1)])) / b[0, ...])
    return rows


def riccati_rows(x, start, c0, c1, c2):
    """The coefficients of y with y' = (c0 + c1 y + c2 y * y) x' and y[0] = start."""
    rows = [start]
    slope = [c0 + c1 * start + c2 * start * start]
    for k in range(1, x.shape[0]):
        rows.append(total([j * x[j, ...] * slope[k - j] for j in range(1, k + 1)]) / k)
        squares = total([rows[j] * rows[k - j] for j in range(k + 1)]) if c2 else 0
        slope.append(c1 * rows[k] + c2 * squares)
    return rows


def power_rows(x, start, exponent):
    """The coefficients of y with x y' = exponent y x' and y[0] = start."""
    rows = [start]
    for k in range(1, x.shape[0]):
        terms = [(exponent * j - (k - j)) * x[j, ...] * rows[k - j] for j in range(1, k + 1)]
        rows.append(total(terms) / (k * x[0, ...]))
    return rows


def wave_rows(x, sine, cosine, sign):
    """The coefficients of s and c with s' = c x' and c' = sign s x'."""
    s, c = [sine], [cosine]
    for k in range(1, x.shape[0]):
        factors = [j * x[j, ...] for j in range(1, k + 1)]
        s.append(total([f * c[k - j] for j, f in enumerate(factors, 1)]) / k)
        c.append(sign * total([f * s[k - j] for j, f in enumerate(factors, 1)]) / k)
    return s, c


def total(terms):
    """The sum of arrays, 0 for none."""
    result = terms[0] if terms else 0
    for term in terms[1:]:
        result = result + term
    return result
