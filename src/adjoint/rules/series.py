"""Arithmetic of truncated power series, whose coefficients lie along the axis `dim`: the steps of Taylor mode.

Series truncated at one order form an algebra. In it a function f has the same derivative as for numbers: the change of
f(X) is f'(X) times the change of X, a product of series. So the vjp and jvp of each operation consist of the other
operations, to any order. The transpose of a product is a correlation. The recurrences are those of Knuth, The Art of
Computer Programming 4.7, and of Griewank and Walther, Evaluating Derivatives, chapter 13.
"""

from adjoint.arrays.kernels.series import loops as kernels
from adjoint.arrays.kernels.series.elementwise import RICCATI, WAVES

from .declare import Array, general, multilinear
from .elementwise import logistic

_OPTIONS = {"axes": ("dim",), "method": False, "function": False}

# products and quotients -----------------------------------------------------------------------------------------------


def _of_two(which, rows):
    """The kernel of a product, correlation or quotient of series with as many axes."""

    def kernel(xp, input: Array, other: Array, dim=0):
        a, b = _orders_first(xp, input, dim), _orders_first(xp, other, dim)
        return _orders_at(xp, kernels.of_two(which, a, b) if kernels.can_do(a, b) else xp.stack(rows(a, b)), dim)

    return kernel


def _orders_first(xp, series, dim):
    return xp.moveaxis(series, dim, 0) if dim else series


def _orders_at(xp, series, dim):
    return xp.moveaxis(series, 0, dim) if dim else series


series_product = multilinear(name="series_product", **_OPTIONS)(_of_two(kernels.PRODUCT, kernels.product_rows))
series_correlation = multilinear(name="series_correlation", **_OPTIONS)(
    _of_two(kernels.CORRELATION, kernels.correlation_rows)
)
series_quotient = general(name="series_quotient", **_OPTIONS)(_of_two(kernels.QUOTIENT, kernels.quotient_rows))


@series_product.vjp("input")
def _(ops, g, other, dim):
    return _transpose(ops, g, other, dim)


@series_product.vjp("other")
def _(ops, g, input, dim):
    return _transpose(ops, g, input, dim)


def _transpose(ops, g, factor, dim):
    """The cotangent of a series that was multiplied by a factor."""
    return ops.series_correlation(g, ops.conj(factor), dim)


@series_correlation.vjp("input")
def _(ops, g, other, dim):
    return ops.series_product(g, ops.conj(other), dim)


@series_correlation.vjp("other")
def _(ops, g, input, dim):
    return ops.series_correlation(ops.conj(input), g, dim)


@series_quotient.vjp("input", "other")
def _(ops, g, other, y, dim, needs):
    of_input = _transpose(ops, g, _inverse(ops, other, dim), dim)
    return of_input, -_transpose(ops, of_input, y, dim) if needs[1] else None


@series_quotient.jvp("input")
def _(ops, t, other, dim):
    return ops.series_quotient(t, other, dim)


@series_quotient.jvp("other")
def _(ops, t, other, y, dim):
    return -ops.series_quotient(ops.series_product(t, y, dim), other, dim)


def _inverse(ops, series, dim):
    return ops.series_quotient(_constant(ops, series, 1.0, dim), series, dim)


def _constant(ops, series, value, dim):
    """The series of a number, of the shape of another one."""
    first, rest = _index_along(dim, 0, 1), _index_along(dim, 1, None)
    return ops.cat([ops.zeros_like(series[first]) + value, ops.zeros_like(series[rest])], dim)


def _index_along(dim, start, stop):
    return (*(slice(None),) * dim, slice(start, stop), ...)


# functions that satisfy Riccati's equation y' = c0 + c1 y + c2 y * y --------------------------------------------------


@general(**_OPTIONS)
def series_riccati(xp, input: Array, name, dim=0):
    """The series of one of the functions in `RICCATI`."""
    x = _orders_first(xp, input, dim)
    start = logistic(xp, x[0, ...]) if name == "sigmoid" else getattr(xp, name)(x[0, ...])
    c = RICCATI[name]
    return _orders_at(
        xp, kernels.riccati(x, start, *c) if kernels.can_do(x) else xp.stack(kernels.riccati_rows(x, start, *c)), dim
    )


def _riccati_slope(ops, y, name, dim):
    c0, c1, c2 = RICCATI[name]
    slope = c2 * ops.series_product(y, y, dim) if c2 else 0
    slope = c1 * y + slope if c1 else slope
    return slope + _constant(ops, y, c0, dim) if c0 else slope


@series_riccati.vjp("input")
def _(ops, g, y, name, dim):
    return _transpose(ops, g, _riccati_slope(ops, y, name, dim), dim)


@series_riccati.jvp("input")
def _(ops, t, y, name, dim):
    return ops.series_product(t, _riccati_slope(ops, y, name, dim), dim)


# powers ---------------------------------------------------------------------------------------------------------------


@general(**_OPTIONS)
def series_power(xp, input: Array, exponent, dim=0):
    """The series of a power whose exponent is a real number; the first coefficient must not be 0."""
    x = _orders_first(xp, input, dim)
    start = xp.pow(x[0, ...], exponent)
    return _orders_at(
        xp,
        kernels.power(x, start, exponent) if kernels.can_do(x) else xp.stack(kernels.power_rows(x, start, exponent)),
        dim,
    )


def _power_slope(ops, input, y, exponent, dim):
    return exponent * ops.series_quotient(y, input, dim)


@series_power.vjp("input")
def _(ops, g, input, y, exponent, dim):
    return _transpose(ops, g, _power_slope(ops, input, y, exponent, dim), dim)


@series_power.jvp("input")
def _(ops, t, input, y, exponent, dim):
    return ops.series_product(t, _power_slope(ops, input, y, exponent, dim), dim)


# logarithms -----------------------------------------------------------------------------------------------------------


@general(**_OPTIONS)
def series_log(xp, input: Array, dim=0):
    """The series of the logarithm."""
    x = _orders_first(xp, input, dim)
    start = xp.log(x[0, ...])
    return _orders_at(xp, kernels.log(x, start) if kernels.can_do(x) else xp.stack(kernels.log_rows(x, start)), dim)


@series_log.vjp("input")
def _(ops, g, input, dim):
    return _transpose(ops, g, _inverse(ops, input, dim), dim)


@series_log.jvp("input")
def _(ops, t, input, dim):
    return ops.series_quotient(t, input, dim)


# sines and cosines ----------------------------------------------------------------------------------------------------


@general(**_OPTIONS)
def series_wave(xp, input: Array, name, dim=0):
    """The series of one of the functions in `WAVES`."""
    x = _orders_first(xp, input, dim)
    other, rise, fall = WAVES[name]
    starts = getattr(xp, name)(x[0, ...]), getattr(xp, other)(x[0, ...])
    if kernels.can_do(x, *starts):
        return _orders_at(xp, kernels.wave(x, *starts, rise, fall), dim)
    return _orders_at(xp, xp.stack(kernels.wave_rows(x, *starts, rise, fall)), dim)


def _wave_slope(ops, input, name, dim):
    other, rise, _ = WAVES[name]
    slope = ops.series_wave(input, other, dim)
    return slope if rise > 0 else -slope


@series_wave.vjp("input")
def _(ops, g, input, name, dim):
    return _transpose(ops, g, _wave_slope(ops, input, name, dim), dim)


@series_wave.jvp("input")
def _(ops, t, input, name, dim):
    return ops.series_product(t, _wave_slope(ops, input, name, dim), dim)
