"""Elementwise functions of truncated series: tables of their recurrences, and functions of NumPy's plain arrays.

Series are arrays with the coefficients along the first axis. The functions in the tables `OF_ONE` and `OF_TWO` are the
quick way of the operations of these names; both are empty where the loops are not compiled. A function that gives None
leaves its arguments to the operations on series (`rules/series.py`), which give the same.
"""

from functools import partial

import numpy

from adjoint.arrays.kernels.series import loops as kernels
from adjoint.arrays.namespace import namespace

#: Functions with y' = c0 + c1 y + c2 y * y, and these coefficients.
RICCATI = {"exp": (0, 1, 0), "expm1": (1, 1, 0), "sigmoid": (0, 1, -1), "tan": (1, 0, 1), "tanh": (1, 0, -1)}
#: For each function its partner, and the signs in y' = rise * other, other' = fall * y.
WAVES = {"sin": ("cos", 1, -1), "cos": ("sin", -1, 1), "sinh": ("cosh", 1, 1), "cosh": ("sinh", 1, 1)}

#: From the series of x, its value and the result's value to the series of the result.
OF_ONE = {}
#: From the series of two operands (None for a constant), their values and the result's value to the series of the
#: result.
OF_TWO = {}
if kernels.compiled:
    _numpy = namespace(numpy.zeros(0))
    OF_ONE = {
        "neg": kernels.of_neg,
        "square": kernels.of_square,
        "reciprocal": kernels.of_reciprocal,
        "log": kernels.of_log,
        "sqrt": partial(kernels.of_power, 0.5),
        "rsqrt": partial(kernels.of_power, -0.5),
        **{name: partial(kernels.of_riccati, *coefficients) for name, coefficients in RICCATI.items()},
        **{name: partial(kernels.of_wave, getattr(_numpy, other), *signs) for name, (other, *signs) in WAVES.items()},
    }
    OF_TWO = {
        "mul": kernels.of_mul,
        "add": kernels.of_add,
        "sub": kernels.of_sub,
        "true_divide": kernels.of_true_divide,
        "pow": kernels.of_pow,
    }
