"""Products, quotients and recurrences of truncated power series, whose coefficients lie along the first axis.

`can_do` is False without a compiler, and for arrays without loops. Then the functions below use whole-array operations
of any library.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

from adjoint.runtime.crossovers import UNLOCKED

if not compiled:
    # the compiled form has it from the .pxd
    from adjoint.runtime.memory import with_kept_memory

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))
PRODUCT, CORRELATION, QUOTIENT = range(3)
#: Whole exponents up to this one are computed by products, as the base may be 0.
LARGEST_BY_PRODUCTS = 64


def can_do(*arrays):
    """True if there are loops for these arrays."""
    if not compiled or any([type(array) is not numpy.ndarray for array in arrays]):
        return False
    dtype = arrays[0].dtype
    return dtype in _FLOATS and all([array.dtype == dtype for array in arrays])


def line(x, n):
    """The series of x + t, of n coefficients."""
    if compiled and adj_precision(x) >= 0:
        x = without_gaps(x)
        y = line_like(x, n)
        adj_fill_line(x, y)
        return y
    y = numpy.zeros((n, *x.shape), x.dtype)
    y[0] = x
    y[1:2] = 1
    return y


if compiled:

    def negative(x):
        """The negative of a series."""
        x = without_gaps(x)
        y = series_like(x)
        adj_series_negate(adj_itemsize(x), adj_n_elements(x), adj_bytes(x), adj_bytes(y))
        return y

    def constant(model, value):
        """The series of a number or of numbers, like another one."""
        y = series_like(model)
        y[1:] = 0
        y[0] = value
        return y

    def series_from(x, start):
        """A new series like x; only the first coefficient is set."""
        y = series_like(x)
        if adj_is_coefficient(start, y):
            adj_set_coefficient(y, 0, start)
        else:
            y[0] = start
        return y

    def of_two(which, a, b):
        """The product, correlation or quotient of two series, broadcast."""
        if not adj_are_alike(a, b):
            a, b = numpy.broadcast_arrays(a, b)
        a, b = without_gaps(a), without_gaps(b)
        y = series_like(a)
        bytes, n = adj_itemsize(a), adj_order(a)
        size = adj_n_elements(a) // n
        state = adj_release_lock(n * n * size >= _UNLOCKED)
        adj_series_of_two(bytes, which, n, size, adj_bytes(a), adj_bytes(b), adj_bytes(y))
        adj_take_lock(state)
        return y

    def of_alike(which, a, b):
        """The result for two series of one shape; None for others."""
        return of_two(which, a, b) if adj_are_alike(a, b) else None

    def riccati(x, start, c0, c1, c2):
        """The series of y with y' = (c0 + c1 y + c2 y * y) x' that starts with y[0] = start."""
        x = without_gaps(x)
        y = series_from(x, start)
        bytes, n = adj_itemsize(x), adj_order(x)
        size = adj_n_elements(x) // n
        state = adj_release_lock(n * n * size >= _UNLOCKED)
        missing = adj_series_riccati(bytes, n, size, adj_bytes(x), c0, c1, c2, adj_bytes(y))
        adj_take_lock(state)
        if missing:
            raise MemoryError
        return y

    def power(x, start, exponent):
        """The series of y with x y' = exponent y x' that starts with y[0] = start."""
        x = without_gaps(x)
        y = series_from(x, start)
        bytes, n = adj_itemsize(x), adj_order(x)
        size = adj_n_elements(x) // n
        state = adj_release_lock(n * n * size >= _UNLOCKED)
        adj_series_power(bytes, n, size, adj_bytes(x), exponent, adj_bytes(y))
        adj_take_lock(state)
        return y

    def log(x, start):
        """The series of y with x y' = x' that starts with y[0] = start."""
        x = without_gaps(x)
        y = series_from(x, start)
        bytes, n = adj_itemsize(x), adj_order(x)
        size = adj_n_elements(x) // n
        state = adj_release_lock(n * n * size >= _UNLOCKED)
        adj_series_log(bytes, n, size, adj_bytes(x), adj_bytes(y))
        adj_take_lock(state)
        return y

    def wave(x, start, other, rise, fall):
        """The series of y with y' = rise c x' and c' = fall y x' that starts with y[0] = start and c[0] = other."""
        x, other = without_gaps(x), without_gaps(other)
        y = series_from(x, start)
        bytes, n = adj_itemsize(x), adj_order(x)
        size = adj_n_elements(x) // n
        state = adj_release_lock(n * n * size >= _UNLOCKED)
        missing = adj_series_wave(bytes, n, size, adj_bytes(x), rise, fall, adj_bytes(other), adj_bytes(y))
        adj_take_lock(state)
        if missing:
            raise MemoryError
        return y

    # functions for the tables in elementwise.py: of one or two series, their values, and the value y of the result

    def of_neg(x, value, y):
        return negative(x)

    def of_square(x, value, y):
        return of_two(PRODUCT, x, x)

    def of_reciprocal(x, value, y):
        return of_two(QUOTIENT, constant(x, 1), x)

    def of_log(x, value, y):
        return log(x, y)

    def of_power(exponent, x, value, y):
        return power(x, y, exponent)

    def of_riccati(c0, c1, c2, x, value, y):
        return riccati(x, y, c0, c1, c2)

    def of_wave(other, rise, fall, x, value, y):
        return wave(x, y, other(value), rise, fall)

    def with_first(series, y):
        """A copy of the series whose first coefficient is y; None if the series is broadcast."""
        if not adj_is_stack_of(series, y):
            return None
        series = with_kept_memory(numpy.positive, (series,))
        series[0] = y
        return series

    def of_mul(a, b, left, right, y):
        if a is not None and b is not None:
            return of_alike(PRODUCT, a, b)
        series, factor = (a, right) if b is None else (b, left)
        return with_kept_memory(numpy.multiply, (series, factor)) if adj_ndim(series) == adj_ndim(y) + 1 else None

    def of_add(a, b, left, right, y):
        if a is not None and b is not None:
            return with_kept_memory(numpy.add, (a, b)) if adj_are_alike(a, b) else None
        return with_first(a if b is None else b, y)

    def of_sub(a, b, left, right, y):
        if a is not None and b is not None:
            return with_kept_memory(numpy.subtract, (a, b)) if adj_are_alike(a, b) else None
        return with_first(a, y) if b is None else with_first(negative(b), y)

    def of_true_divide(a, b, left, right, y):
        if b is None:
            return with_kept_memory(numpy.divide, (a, right)) if adj_ndim(a) == adj_ndim(y) + 1 else None
        if a is None:
            if not adj_is_stack_of(b, y):
                return None
            a = constant(b, left)
        return of_alike(QUOTIENT, a, b)

    def of_pow(a, b, left, right, y):
        if b is not None or not isinstance(right, (int, float)) or not adj_is_stack_of(a, y):
            return None
        if right == 2:
            return of_two(PRODUCT, a, a)
        return None if right == int(right) and 0 <= right <= LARGEST_BY_PRODUCTS else power(a, y, right)

    _UNLOCKED = UNLOCKED
    adj_import_arrays()


# the plain forms, with whole arrays
# -------------------------------------------------------------------------------------------


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
        rows.append(total([j * x[j, ...] * slope[k - j] for j in range(1, k + 1)]) * (1 / k))
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


def log_rows(x, start):
    """The coefficients of y with x y' = x' and y[0] = start."""
    rows = [start]
    for k in range(1, x.shape[0]):
        known_sum = total([j * rows[j] * x[k - j, ...] for j in range(1, k)])
        rows.append((x[k, ...] - known_sum / k) / x[0, ...])
    return rows


def wave_rows(x, start, other, rise, fall):
    """The coefficients of y with y' = rise c x', c' = fall y x', y[0] = start and c[0] = other."""
    y, c = [start], [other]
    for k in range(1, x.shape[0]):
        factors = [j * x[j, ...] for j in range(1, k + 1)]
        first = total([f * c[k - j] for j, f in enumerate(factors, 1)])
        second = total([f * y[k - j] for j, f in enumerate(factors, 1)])
        y.append(rise * (first * (1 / k)))
        c.append(fall * (second * (1 / k)))
    return y


def total(terms):
    """The sum of arrays, 0 for none."""
    result = terms[0] if terms else 0
    for term in terms[1:]:
        result = result + term
    return result
