"""Elementwise functions of truncated series: tables of their recurrences, and functions of NumPy's plain arrays.

Series are arrays with the coefficients along the first axis. The functions in the tables `OF_ONE` and `OF_TWO` are the
quick way of the operations of these names; both are empty where the loops are not compiled. A function that gives None
leaves its arguments to the operations on series (`rules/series.py`), which give the same.
"""

import numpy

from adjoint.arrays.kernels.series import loops as kernels
from adjoint.arrays.namespace import namespace
from adjoint.runtime.memory import with_kept_memory

#: Functions with y' = c0 + c1 y + c2 y * y, and these coefficients.
RICCATI = {"exp": (0, 1, 0), "expm1": (1, 1, 0), "sigmoid": (0, 1, -1), "tan": (1, 0, 1), "tanh": (1, 0, -1)}
#: For each function the other one of its pair, and the signs in y' = rise * other, other' = fall * y.
WAVES = {"sin": ("cos", 1, -1), "cos": ("sin", -1, 1), "sinh": ("cosh", 1, 1), "cosh": ("sinh", 1, 1)}
#: Whole exponents up to this one are computed by products, as the base may be 0.
LARGEST_BY_PRODUCTS = 64

_numpy = namespace(numpy.zeros(0))


def _of_riccati(c0, c1, c2):
    return lambda x, value, y: kernels.riccati(x, y, c0, c1, c2)


def _of_wave(other, rise, fall):
    kernel = getattr(_numpy, other)
    return lambda x, value, y: kernels.wave(x, y, kernel(value), rise, fall)


#: From the series of x, its value and that of the result to the series of the result.
OF_ONE = {
    "neg": lambda x, value, y: kernels.negative(x),
    "square": lambda x, value, y: kernels.of_two(kernels.PRODUCT, x, x),
    "reciprocal": lambda x, value, y: kernels.of_two(kernels.QUOTIENT, kernels.constant(x, 1), x),
    "log": lambda x, value, y: kernels.log(x, y),
    "sqrt": lambda x, value, y: kernels.power(x, y, 0.5),
    "rsqrt": lambda x, value, y: kernels.power(x, y, -0.5),
    **{name: _of_riccati(*coefficients) for name, coefficients in RICCATI.items()},
    **{name: _of_wave(*wave) for name, wave in WAVES.items()},
}


def _started(series, y):
    """A copy of the series whose first coefficient is y; None if the series is broadcast."""
    if series.shape[1:] != y.shape:
        return None
    series = with_kept_memory(numpy.positive, (series,))
    series[0] = y
    return series


def _product(a, b, left, right, y):
    if a is not None and b is not None:
        return kernels.of_alike(kernels.PRODUCT, a, b)
    series, constant = (a, right) if b is None else (b, left)
    return with_kept_memory(numpy.multiply, (series, constant)) if series.ndim == y.ndim + 1 else None


def _sum(a, b, left, right, y):
    if a is not None and b is not None:
        return with_kept_memory(numpy.add, (a, b)) if a.shape == b.shape else None
    return _started(a if b is None else b, y)


def _difference(a, b, left, right, y):
    if a is not None and b is not None:
        return with_kept_memory(numpy.subtract, (a, b)) if a.shape == b.shape else None
    return _started(a, y) if b is None else _started(kernels.negative(b), y)


def _quotient(a, b, left, right, y):
    if b is None:
        return with_kept_memory(numpy.divide, (a, right)) if a.ndim == y.ndim + 1 else None
    if a is None:
        if b.shape[1:] != y.shape:
            return None
        a = kernels.constant(b, left)
    return kernels.of_alike(kernels.QUOTIENT, a, b)


def _power(a, b, left, right, y):
    if b is not None or not isinstance(right, (int, float)) or a.shape[1:] != y.shape:
        return None
    if right == 2:
        return kernels.of_two(kernels.PRODUCT, a, a)
    return None if right == int(right) and 0 <= right <= LARGEST_BY_PRODUCTS else kernels.power(a, y, right)


#: From the series of two operands, None for that of a constant, their values and that of the result.
OF_TWO = {"mul": _product, "add": _sum, "sub": _difference, "true_divide": _quotient, "pow": _power}
if not kernels.compiled:
    OF_ONE = OF_TWO = {}
