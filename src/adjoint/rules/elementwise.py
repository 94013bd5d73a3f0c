"""Elementwise operations: arithmetic, powers, exponentials, trigonometric and hyperbolic functions, comparisons.

Partial derivatives are standard (DLMF chapter 4 for the elementary functions). At a kink the value follows torch: 0 for
abs, sign and relu at 0, one half each for equal arguments of maximum and minimum, 1 for clamp at its bounds.
"""

from typing import Any

from adjoint.arrays.dtypes import SCALAR, ZERO_DIM, from_numpy_dtype, kind_of
from adjoint.arrays.kernels.products_and_sums import COPY
from adjoint.arrays.namespace import count_true, laid_out_as, on_device, underlying
from adjoint.arrays.promotion import number_as
from adjoint.runtime.once import warn_once

from . import refusals
from .declare import Array, Constant, Number, Numeric, constant, elementwise, general, linear, of_numbers
from .refusals import INFINITY, is_number, letter_of

PI = 3.141592653589793
LOG_2 = 0.6931471805599453


# arithmetic ---------------------------------------------------------------------------------------------------------

neg = elementwise("negative", name="neg", input=-1, inplace=True, fast="negative", check=refusals.check_neg)
#: torch's kernels round other operands to half precision beside halves; products and quotients do not round numbers.
WIDE = (SCALAR, ZERO_DIM)

mul = elementwise("multiply", name="mul", input="other", other="input", wide=WIDE, inplace=True)


@elementwise(input=lambda input: 2 * input, fast="square", inplace=True, node="PowBackward0")
def square(xp, input: Array):
    """input * input; truth values count as integers."""
    return xp.square(xp.astype(input, xp.int64) if kind_of(input) == "b" else input)


cbrt = elementwise("cbrt", input=lambda y: 1 / (3 * y * y), dtypes="float", method=False, function=False)


@elementwise(input=lambda y: -y * y, dtypes="float", fast="reciprocal", inplace=True)
def reciprocal(xp, input: Array):
    """1 / input"""
    # numpy.reciprocal of the complex number 0 is NaN and not infinite
    return 1 / input if kind_of(input) == "c" else xp.reciprocal(input)


def _times(alpha, value, beside):
    # alpha * value, in the type of both arrays: for truth values alpha is one as well, for integers it wraps as they do
    if alpha == 1:
        return value
    if letter_of(value) == "b" and not (is_number(value) and letter_of(beside) != "b"):
        return value & bool(alpha)
    return number_as(alpha * value, beside.dtype) if is_number(value) else number_as(alpha, value.dtype) * value


@elementwise(
    input=1,
    other="+alpha",
    fast="add",
    inplace=True,
    check=refusals.check_alpha,
    plain=lambda input, other, alpha: input + alpha * other,
)
def add(xp, input: Array, other: Array, *, alpha: Number = 1):
    """input + alpha * other"""
    return xp.add(input, _times(alpha, other, input))


@elementwise(
    input=1,
    other="-alpha",
    fast="subtract",
    inplace=True,
    node={"input": "RsubBackward1"},
    check=refusals.check_sub,
    plain=lambda input, other, alpha: input - alpha * other,
)
def sub(xp, input: Array, other: Array, *, alpha: Number = 1):
    """input - alpha * other"""
    return xp.subtract(input, _times(alpha, other, input))


@elementwise(
    input="-alpha",
    other=1,
    method=False,
    node={"": "RsubBackward0", "input": "RsubBackward1", "other": "RsubBackward1"},
    check=refusals.check_sub,
    plain=lambda input, other, alpha: other - alpha * input,
)
def rsub(xp, input: Array, other: Array, *, alpha: Number = 1):
    """other - alpha * input"""
    return xp.subtract(other, _times(alpha, input, other))


true_divide = elementwise(
    "divide",
    name="true_divide",
    input=of_numbers(lambda g, other: g / other),
    # not by the result, which programs overwrite: p = x / total; p[mask] = 0
    other=of_numbers(lambda input, other: -((input / other) / other)),
    dtypes="float",
    wide=WIDE,
    inplace=True,
    node="DivBackward0",
)


@elementwise(input=lambda other: other, node="MulBackward1", method=False, function=False)
def mul_number(xp, input: Array, other: Number):
    """input * other, a number without a gradient; the node saves the number itself."""
    return input * other


@elementwise(input=lambda g, other: g / other, node="DivBackward1", dtypes="float", method=False, function=False)
def div_number(xp, input: Array, other: Number):
    """input / other, by a number in the same way."""
    return input / other


_rounded: dict[str, Any] = {"input": 0, "other": 0, "wide": WIDE, "node": "DivBackward2", "runs_once": True}


@elementwise(
    **_rounded,
    attributes=lambda: {"rounding_mode": "floor"},
    inplace=True,
    check=refusals.check_quotient("div_floor_cpu"),
)
def floor_divide(xp, input: Array, other: Array):
    """The quotient rounded down, whose derivative is 0."""
    return xp.floor_divide(input, other)


@elementwise(
    **_rounded,
    attributes=lambda: {"rounding_mode": "trunc"},
    method=False,
    function=False,
    check=refusals.check_quotient("div_trunc_cpu"),
)
def trunc_divide(xp, input: Array, other: Array):
    """The quotient rounded towards zero, whose derivative is 0."""
    quotient = xp.trunc(xp.divide(input, other))
    whole = letter_of(input) in "biu" and letter_of(other) in "biu"
    return xp.astype(quotient, xp.result_type(input, other), copy=False) if whole else quotient


remainder = elementwise(
    "remainder",
    input=1,
    other=lambda ops, input, other: -ops.floor_divide(input, other),
    inplace=True,
    fast="remainder",
    node={"": "RemainderBackward1", "other": "RemainderBackward0"},
    check=refusals.check_quotient("remainder_cpu"),
)
fmod = elementwise(
    "fmod",
    input=1,
    other=lambda ops, input, other: -ops.trunc_divide(input, other),
    inplace=True,
    fast="fmod",
    node={"": "FmodBackward1", "other": "FmodBackward0"},
    check=refusals.check_quotient("fmod_cpu"),
)


def _by_base(ops, g, input, exponent):
    # x ** 0 is constant, at x = 0 too, where the formula would give 0 * inf, and whatever the cotangent is
    if is_number(exponent):
        return g * (exponent * ops.pow(input, exponent - 1)) if exponent else ops.zeros_like(g)
    zero = exponent == 0
    safe = ops.where(zero, 1, exponent)
    return ops.where(zero, 0, g * (safe * ops.pow(input, safe - 1)))


def _by_exponent(ops, y, input, exponent):
    # 0 ** e is constant for e > 0; there the logarithm gets 1
    if is_number(input):
        if input == 0 and not is_complex(ops, y):
            return ops.where(exponent >= 0, 0, -y)
        return y * (ops.log(ops.full_like(y, input)) if input else 0)
    zero = (input == 0) & ((ops.real(exponent) if is_complex(ops, exponent) else exponent) >= 0)
    # 1.0 makes integers float64: NumPy would compute logarithms of small integer dtypes in half precision
    base = ops.where(zero, 1.0, input)
    if is_complex(ops, y) and not is_complex(ops, base):
        # negative numbers have complex logarithms
        base = base + 0j
    return ops.where(zero, 0, y * ops.log(base))


def is_complex(ops, value):
    """True for a complex number, array or Tensor."""
    return isinstance(value, complex) or (not is_number(value) and ops.is_complex_array(value))


@elementwise(
    input=_by_base,
    exponent=_by_exponent,
    inplace=True,
    node={"": "PowBackward1", "exponent": "PowBackward0", "input": "PowBackward2"},
    check=refusals.check_pow,
)
def pow(xp, input: Array, exponent: Array):
    """input to the power of exponent, broadcast."""
    if type(exponent) in (int, float):
        # before any question about kinds, so that it can be traced
        product = _PRODUCTS.get(exponent)
        if product is None:
            return input**exponent if exponent in _QUICK else xp.pow(input, exponent)
        if kind_of(input) == "f":
            return product(input)
    if letter_of(input) == letter_of(exponent) == "b":
        if not is_number(exponent):
            raise NotImplementedError("\"pow\" not implemented for 'Bool'")
        return input | (not exponent)
    if letter_of(input) in "biu" and letter_of(exponent) in "bi" and not is_number(exponent):
        return _integer_power(xp, input, exponent)
    return _power(xp, input, exponent)


def _power(xp, input, exponent):
    """input to the power of exponent: by the namespace's function, or by the operator where that is faster."""
    if is_number(exponent) and exponent in _QUICK:
        return input**exponent
    return xp.pow(input, exponent)


#: Exponents for which NumPy's operator computes a square, a root or a quotient.
_QUICK = frozenset((0, 0.5, 1, 2, -1))


# numpy.power takes some 20 times as long as a product; exponents that it computes by products itself are not listed
_PRODUCTS = {
    3: lambda x: x * x * x,
    4: lambda x: (x * x) * (x * x),
    -2: lambda x: 1 / (x * x),
}


def _integer_power(xp, input, exponent):
    # negative powers of integers are rounded towards zero, so only powers of 1 and -1 differ from 0
    negative = exponent < 0
    if not count_true(underlying(negative)):
        return input**exponent
    sign = xp.where(exponent % 2 == 0, input * input, input)
    inverse = xp.where(abs(input) == 1, sign, xp.zeros_like(sign))
    powers = xp.where(negative, inverse, input ** xp.where(negative, 0, exponent))
    return xp.astype(powers, xp.result_type(input, exponent), copy=False)


# exponentials and logarithms ----------------------------------------------------------------------------------------

exp = elementwise("exp", input="y", dtypes="float", inplace=True)


@elementwise(input=lambda y: y * LOG_2, dtypes="float", inplace=True)
def exp2(xp, input: Array):
    """2 to the power of input."""
    return xp.exp(LOG_2 * input) if kind_of(input) == "c" else xp.exp2(input)


expm1 = elementwise("expm1", input=lambda y: y + 1, dtypes="float", inplace=True)
# g / x and not g * (1 / x), which for complex numbers is NaN at x = 0
log = elementwise("log", input=lambda g, input: g / input, dtypes="float", inplace=True)
log2 = elementwise("log2", input=lambda g, input: g / (input * LOG_2), dtypes="float", inplace=True)
# not g / (input * log 10), whose divisor overflows
log10 = elementwise("log10", input=lambda g, input: g * 0.4342944819032518 / input, dtypes="float", inplace=True)
log1p = elementwise(
    "log1p", input=lambda g, input: g / (1 + input), dtypes="float", inplace=True, node="Log1PBackward0"
)
sqrt = elementwise("sqrt", input=lambda g, y: g / (2 * y), dtypes="float", inplace=True)


@elementwise(input=lambda y: -0.5 * y * y * y, dtypes="float", inplace=True)
def rsqrt(xp, input: Array):
    """1 / sqrt(input)"""
    return 1 / xp.sqrt(input)


@elementwise(
    input=lambda ops, input, other: ops.sigmoid(input - other),
    other=lambda ops, input, other: ops.sigmoid(other - input),
    scalars=False,
)
def logaddexp(xp, input: Array, other: Array):
    """log(exp(input) + exp(other)), without overflow."""
    kind = xp.result_type(input, other)
    if kind_of(kind) in "biu":
        raise NotImplementedError(f"\"logaddexp_cpu\" not implemented for '{from_numpy_dtype(kind).long_name}'")
    if kind_of(kind) == "f":
        return xp.logaddexp(input, other)
    first = xp.real(input) >= xp.real(other)
    larger, smaller = xp.where(first, input, other), xp.where(first, other, input)
    # an infinite number is the result alone, since the difference of two infinities is undefined
    alone = xp.isinf(xp.real(larger)) & (xp.real(smaller) < INFINITY)
    with xp.errstate(invalid="ignore"):
        below = xp.where(alone | (larger == smaller), 0, smaller - larger)
        return xp.where(alone, larger, larger + xp.log1p(xp.exp(below)))


# trigonometric and hyperbolic functions -----------------------------------------------------------------------------

sin = elementwise("sin", input=lambda ops, input: ops.cos(input), dtypes="float", inplace=True)
cos = elementwise("cos", input=lambda ops, input: -ops.sin(input), dtypes="float", inplace=True)
tan = elementwise("tan", input=lambda y: 1 + y * y, dtypes="float", inplace=True)


def _arcsine_slope(ops, input):
    if is_complex(ops, input):
        # a product of two roots does not overflow and stays on the principal branch. On a cut the sign of a zero tells
        # the side; differences keep this sign, sums do not
        return ops.rsqrt(-(input - 1)) * ops.rsqrt(input - -1)
    # not 1 - x * x, which has few digits where x is near 1
    return ops.rsqrt((1 - input) * (1 + input))


def _arctangent_product(ops, g, input):
    # of complex numbers the square overflows to NaN
    if is_complex(ops, input):
        return g / (input - 1j) / (input + 1j)
    return g / (1 + input * input)


asin = elementwise("asin", input=_arcsine_slope, dtypes="float", inplace=True)
acos = elementwise("acos", input=lambda ops, input: -_arcsine_slope(ops, input), dtypes="float", inplace=True)
atan = elementwise("atan", input=_arctangent_product, dtypes="float", inplace=True)
sinh = elementwise("sinh", input=lambda ops, input: ops.cosh(input), dtypes="float", inplace=True)
cosh = elementwise("cosh", input=lambda ops, input: ops.sinh(input), dtypes="float", inplace=True)
# g - g * y * y has no number in it, which NumPy would have to make an array of at every call
tanh = elementwise("tanh", input=lambda g, y: g - g * y * y, dtypes="float", inplace=True)


def _asinh_partial(ops, input):
    if is_complex(ops, input):
        # even, and by two roots that do not overflow, right of the cut or on its right side
        right = ops.where(ops.signbit(ops.real(input)), -input, input)
        return ops.rsqrt(right - 1j) * ops.rsqrt(right + 1j)
    # the size of (1, x), whose square overflows
    return 1 / ops.hypot(input, ops.ones_like(input))


asinh = elementwise("asinh", input=_asinh_partial, dtypes="float", inplace=True)


# a product of two roots does not overflow and stays on the principal branch; the difference keeps the sign of a zero
@elementwise(input=lambda ops, input: ops.rsqrt(input - 1) * ops.rsqrt(input - -1), dtypes="float", inplace=True)
def acosh(xp, input: Array):
    """Inverse hyperbolic cosine."""
    return xp.acosh(input)


def _artanh_product(ops, g, input):
    # of complex numbers the product overflows to NaN
    if is_complex(ops, input):
        return g / (1 - input) / (1 + input)
    return g / ((1 - input) * (1 + input))


atanh = elementwise("atanh", input=_artanh_product, dtypes="float", inplace=True)


def _over_square(ops, value, input, other):
    # value / (input ** 2 + other ** 2); the squares may overflow, or be too small. At the origin, where the angle has
    # no derivative, torch takes 0 and not 0 / 0
    size = ops.hypot(input, other)
    size = ops.where(size == 0, 1, size)
    return value / size / size


atan2 = elementwise(
    "atan2",
    name="atan2",
    input=lambda ops, input, other: _over_square(ops, other, input, other),
    other=lambda ops, input, other: _over_square(ops, -input, input, other),
    dtypes="float",
    scalars=False,
    inplace=True,
    fast="atan2",
    check=refusals.refuse_complex("atan2_cpu"),
)
hypot = elementwise(
    "hypot",
    input=lambda y, input: input / y,
    other=lambda y, other: other / y,
    scalars=False,
    inplace=True,
    fast="hypot",
    check=refusals.refuse_common("biuc", "hypot_cpu"),
)

# activations of one argument ----------------------------------------------------------------------------------------


def logistic(xp, input):
    """1 / (1 + exp(-input)) of real or complex arrays."""
    return 1 / (1 + xp.exp(-input)) if kind_of(input) == "c" else xp.expit(input)


@elementwise(input=lambda g, y: g * (y - y * y), dtypes="float", inplace=True)
def sigmoid(xp, input: Array):
    """1 / (1 + exp(-input)), without overflow."""
    return logistic(xp, input)


#: Functions whose vjp is a gate; torch has an operation for each, threshold_backward and so on.
GATED = ("threshold", "leaky_relu", "hardtanh", "hardsigmoid", "hardshrink", "softshrink")


def _gate(name):
    @elementwise(
        name=name,
        grad=lambda ops, g, closed, slope: ops.where(closed, g * slope, g),
        input=0,
        method=False,
        function=False,
        batching="spread",
    )
    def gate(xp, grad: Array, input: Array, closed: Constant, slope=0):
        """The cotangent of a rectifier: grad, or slope times grad where it is closed.

        It depends on the input only where that has a kink. So its derivative by the input is zero, but as in torch
        there is one: the first derivative of a rectifier can be differentiated again.
        """
        return xp.where(closed, slope * grad if slope else 0, grad)


for _of in GATED:
    _gate(f"{_of}_backward")


@elementwise(input=lambda ops, g, y: ops.threshold_backward(g, y, y <= 0), inplace=True)
def relu(xp, input: Array):
    """input where it is positive, 0 elsewhere; NaN stays NaN."""
    refusals.refuse_clamp(input)
    if kind_of(input) == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    return xp.maximum(input, 0)


# kinks and steps: where no gradient flows it is 0 and not g * 0, as g may be infinite ---------------------------------


@elementwise(input=0, inplace=True, check=refusals.check_sign)
def sign(xp, input: Array):
    """-1, 0 or 1, 0 for NaN; a truth value itself."""
    if kind_of(input) == "f":
        # numpy.sign has no loop by vectors, and keeps NaN
        return xp.where(input > 0, 1.0, 0.0 - xp.astype(input < 0, input.dtype))
    return xp.asarray(input, copy=True) if kind_of(input) == "b" else xp.sign(input)


def _step(name):
    return elementwise(name, input=0, inplace=True, fast=name, check=refusals.check_step(name))


floor = _step("floor")
ceil = _step("ceil")
trunc = _step("trunc")


def _round_node(input, decimals=0):
    return "RoundBackward1" if decimals else "RoundBackward0"


@elementwise(input=0, inplace=True, node=_round_node, check=refusals.check_round)
def round(xp, input: Array, *, decimals: Numeric = 0):
    """input rounded to `decimals` places, halves to even."""
    return xp.round(input, decimals)


def _to_larger(ops, g, input, other):
    return ops.where(input == other, g / 2, ops.where(input < other, 0, g))


def _to_smaller(ops, g, input, other):
    return ops.where(input == other, g / 2, ops.where(input > other, 0, g))


maximum = elementwise(
    "maximum",
    input=_to_larger,
    other=lambda ops, g, input, other: _to_larger(ops, g, other, input),
    scalars=False,
    fast="maximum",
    check=refusals.refuse("c", "maximum not implemented for complex tensors.", RuntimeError),
)
minimum = elementwise(
    "minimum",
    input=_to_smaller,
    other=lambda ops, g, input, other: _to_smaller(ops, g, other, input),
    scalars=False,
    fast="minimum",
    check=refusals.refuse("c", "minimum not implemented for complex tensors.", RuntimeError),
)


def _clamp_inside(input, min, max):
    mask = True if min is None else input >= min
    return mask if max is None else (input <= max) & mask


def _clamp_below(input, min, max):
    return input < min if max is None else (input < min) & (min < max)


def _clamp_above(input, min, max):
    return input > max if min is None else (input > max) | (max < min)


@elementwise(
    input=lambda ops, g, input, min, max: ops.where(_clamp_inside(input, min, max), g, 0),
    min=lambda ops, g, input, min, max: ops.where(_clamp_below(input, min, max), g, 0),
    max=lambda ops, g, input, min, max: ops.where(_clamp_above(input, min, max), g, 0),
    inplace=True,
    node={"min": "ClampBackward1", "max": "ClampBackward1"},
    check=refusals.check_bound,
)
def clamp(xp, input: Array, min: Array = None, max: Array = None):
    """input with values below min raised to it and above max lowered to it (max wins where min > max)."""
    if min is None and max is None:
        raise RuntimeError("adjoint.clamp: At least one of 'min' or 'max' must not be None")
    if min is not None:
        input = xp.maximum(min, input)
    return input if max is None else xp.minimum(max, input)


@elementwise(
    input=lambda ops, g, input, min: ops.where(_clamp_inside(input, min, None), g, 0),
    min=lambda ops, g, input, min: ops.where(_clamp_below(input, min, None), g, 0),
    inplace=True,
    node={"": "ClampMinBackward1", "min": "ClampMinBackward0"},
    check=refusals.check_bound,
)
def clamp_min(xp, input: Array, min: Array):
    """input with values below min raised to it."""
    return xp.maximum(min, input)


@elementwise(
    input=lambda ops, g, input, max: ops.where(_clamp_inside(input, None, max), g, 0),
    max=lambda ops, g, input, max: ops.where(_clamp_above(input, None, max), g, 0),
    inplace=True,
    node={"": "ClampMaxBackward1", "max": "ClampMaxBackward0"},
    check=refusals.check_bound,
)
def clamp_max(xp, input: Array, max: Array):
    """input with values above max lowered to it."""
    return xp.minimum(max, input)


@linear(
    moves=True,
    by_element=True,
    dtypes="same",
    scalars=True,
    check=refusals.check_where,
    explain=refusals.explain_shapes,
)
def where(xp, condition: Constant, input: Array, other: Array):
    """input where the condition holds, other elsewhere, broadcast."""
    return xp.where(condition, input, other)


@where.vjp("input")
def _(ops, g, condition):
    return ops.where(condition, g, 0)


@where.vjp("other")
def _(ops, g, condition):
    return ops.where(condition, 0, g)


@elementwise(input=lambda y: -y * y, method=False, function=False)
def inverse_or_zero(xp, input: Array):
    """1 / input where input is not 0, and 0 there."""
    zero = input == 0
    return xp.where(zero, 0, 1 / xp.where(zero, 1, input))


@elementwise(
    input=lambda ops, other: ops.inverse_or_zero(other),
    other=lambda ops, y, other: -y * ops.inverse_or_zero(other),
    method=False,
    function=False,
)
def divide_or_zero(xp, input: Array, other: Array):
    """input / other where other is not 0, and 0 there."""
    zero = other == 0
    return xp.where(zero, 0, input / xp.where(zero, 1, other))


# complex numbers ----------------------------------------------------------------------------------------------------


@general(core="()->()", inplace=True)
def abs_(xp, input: Array):
    """Absolute value; real for complex input."""
    if kind_of(input) == "b":
        raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
    return xp.abs(input)


@abs_.vjp("input")
def _(ops, g, input):
    return g * ops.sgn(input)


@abs_.jvp("input")
def _(ops, t, input):
    return ops.real(ops.conj(ops.sgn(input)) * t) if is_complex(ops, input) else ops.sgn(input) * t


@general(core="()->()", inplace=True)
def sgn(xp, input: Array):
    """input / abs(input), 0 at 0; the sign for real input."""
    if kind_of(input) == "b":
        return xp.asarray(input, copy=True)
    if kind_of(input) != "c":
        return sign.kernel(xp)(input)
    size = xp.abs(input)
    return xp.where(size == 0, 0, input / xp.where(size == 0, 1, size))


def _sgn_derivative(ops, t, input, y):
    # the radial part of t is lost, the rest is divided by the radius; real functions jump and are flat elsewhere
    if not is_complex(ops, input):
        return t * 0
    size = ops.abs(input)
    zero = size == 0
    transverse = t - y * ops.real(ops.conj(y) * t)
    return ops.where(zero, 0, transverse / ops.where(zero, 1, size))


@sgn.vjp("input")
def _(ops, g, input, y):
    return _sgn_derivative(ops, g, input, y) if is_complex(ops, input) else ops.zeros_like(input)


@sgn.jvp("input")
def _(ops, t, input, y):
    return _sgn_derivative(ops, t, input, y)


@general(core="()->()", dtypes="float")
def angle(xp, input: Array):
    """The argument of a complex number; 0 or pi for real ones."""
    if kind_of(input) == "c":
        return xp.angle(input)
    return xp.where(input != input, input, xp.where(input < 0, xp.asarray(PI, dtype=input.dtype), 0))


@angle.vjp("input")
def _(ops, g, input):
    if not is_complex(ops, input):
        return ops.zeros_like(input)
    size = ops.abs(input)
    zero = size == 0
    return ops.where(zero, 0, g * input * 1j / ops.where(zero, 1, size * size))


@angle.jvp("input")
def _(ops, t, input):
    if not is_complex(ops, input):
        return t * 0
    size = ops.abs(input)
    zero = size == 0
    return ops.where(zero, 0, ops.imag(ops.conj(input) * t) / ops.where(zero, 1, size * size))


@linear(method=False, function=False, inplace="conj_physical_")
def conj(xp, input: Array):
    """Complex conjugate; the input itself if it is real."""
    return xp.asarray(input, copy=True) if kind_of(input) == "b" else xp.conj(input)


@conj.vjp("input")
def _(ops, g):
    return ops.conj(g)


@linear(view=True, method=False, function=False)
def real(xp, input: Array):
    """Real part, a view of complex input; real input itself."""
    return xp.real(input)


@real.vjp("input")
def _(g):
    return g


@linear(view=True, method=False, check=refusals.check_imag)
def imag(xp, input: Array):
    """Imaginary part of complex input, as a view."""
    return xp.imag(input)


@imag.vjp("input")
def _(g):
    return g * 1j


@linear(dtypes="same", method=False, check=refusals.check_parts, runs_once=True)
def complex_(xp, real: Array, imag: Array):
    """real + 1j * imag"""
    return real + imag * 1j


@complex_.vjp("real")
def _(ops, g):
    return ops.real(g)


@complex_.vjp("imag")
def _(ops, g):
    return ops.imag(g)


# comparisons and tests: no derivative; comparisons in place have derivative 0 ---------------------------------------


def _comparison(kernel, name, **options):
    # in place, the result is a tensor of the input's type, and its derivative 0
    node = {"": f"{name.capitalize()}Backward1", "other": f"{name.capitalize()}Backward0"}
    return elementwise(kernel, name=name, input=0, other=0, differentiable=(False,), inplace=True, node=node, **options)


def _ordering(kernel, name):
    return _comparison(kernel, name, fast=kernel, check=refusals.refuse_complex(f"{name}_cpu"))


def _truth(*arrays, **options):
    return elementwise(arrays=arrays, scalars=False, inplace=True, **options)


eq = _comparison("equal", "eq")
ne = _comparison("not_equal", "ne")


lt = _ordering("less", "lt")
le = _ordering("less_equal", "le")
gt = _ordering("greater", "gt")
ge = _ordering("greater_equal", "ge")


def _truths(xp, *arrays):
    # comparisons with zero, which NumPy makes of whole vectors, unlike its logical functions of numbers
    return [array if kind_of(array) == "b" else array != 0 for array in arrays]


@_truth("input", "other", small="logical_and")
def logical_and(xp, input: Array, other: Array):
    """True where both are not zero."""
    return xp.logical_and(*_truths(xp, input, other))


@_truth("input", "other", small="logical_or")
def logical_or(xp, input: Array, other: Array):
    """True where one of the two is not zero."""
    return xp.logical_or(*_truths(xp, input, other))


@_truth("input", "other", small="logical_xor")
def logical_xor(xp, input: Array, other: Array):
    """True where exactly one of the two is not zero."""
    return xp.logical_xor(*_truths(xp, input, other))


@_truth("input", small="logical_not")
def logical_not(xp, input: Array):
    """True where the input is zero."""
    return xp.logical_not(input) if kind_of(input) == "b" else input == 0


def _bitwise(name):
    only_integers = refusals.refuse_inexact(name)

    def explain(error, input, other):
        only_integers(input, other)

    return elementwise(name, arrays=("input", "other"), inplace=True, explain=explain)


bitwise_and = _bitwise("bitwise_and")
bitwise_or = _bitwise("bitwise_or")
bitwise_xor = _bitwise("bitwise_xor")
bitwise_not = elementwise(
    "bitwise_invert", name="bitwise_not", arrays=("input",), inplace=True, check=refusals.refuse_inexact("bitwise_not")
)
isnan = elementwise("isnan", arrays=("input",))
isinf = elementwise("isinf", arrays=("input",))
isfinite = elementwise("isfinite", arrays=("input",))

IMAGINARY_PART = "Casting complex values to real discards the imaginary part"

# copies and types ---------------------------------------------------------------------------------------------------


@linear(moves=True, method=False, function=False, copies=True, native=COPY)
def clone(xp, input: Array):
    """A copy with the same values and layout; expanded input is laid out anew, row by row."""
    return copy_in_order(xp, input)


def copy_in_order(xp, input):
    """A copy with the axes in the same order in memory; row by row where elements share memory."""
    if 0 in getattr(input, "strides", ()):
        return row_major_copy(xp, input)
    return xp.asarray(input, copy=True)


@clone.vjp("input")
def _(g):
    return g


@linear(
    method=False,
    function=False,
    node=lambda input, strides, is_gradient: "CopyBackwards" if is_gradient else "CloneBackward0",
    shown={"is_gradient": None},
    copies=True,
)
def clone_with_strides(xp, input: Array, strides=None, is_gradient=False):
    """A copy with the given strides, counted in elements, without overlap (None: row-major)."""
    if strides is None or not input.size or not hasattr(input, "strides"):
        return row_major_copy(xp, input)
    n = extent(input.shape, strides)
    # as_strided() reads gaps
    memory = (xp.empty if n == input.size else xp.zeros)((n,), dtype=input.dtype)
    result = xp.as_strided(memory, input.shape, tuple([abs(k) for k in strides]))
    if min(strides, default=0) < 0:
        # views begin at the first element in memory, which is the last along an axis that runs backward
        result = result[tuple([slice(None, None, -1 if k < 0 else 1) for k in strides])]
    result[...] = input
    return result


@clone_with_strides.vjp("input")
def _(g):
    return g


@clone_with_strides.batch
def _(input, strides):
    return {} if strides is None else {"strides": (extent(input.shape[1:], strides), *strides)}


def extent(shape, strides):
    """The number of elements from the first to the last of a strided array, both included."""
    return 1 + sum([(n - 1) * abs(k) for n, k in zip(shape, strides, strict=True)])


def row_major_copy(xp, input, dtype=None):
    """A row-major copy, perhaps with another data type."""
    result = xp.empty(input.shape, dtype=dtype or input.dtype)
    result[...] = input
    return result


@linear(moves=True, method=False, function=False, node="ToCopyBackward0", copies=True)
def cast(xp, input: Array, dtype):
    """A copy with another data type, laid out as a clone; a complex number gives its real part to a real type."""
    target = dtype.numpy
    if kind_of(input) == "c" and target.kind not in "cb":
        warn_once(IMAGINARY_PART)
        input = xp.real(input)
    if 0 in getattr(input, "strides", ()):
        return row_major_copy(xp, input, target)
    return xp.astype(input, target, copy=True)


@cast.vjp("input")
def _(g):
    return g


@linear(method=False, function=False, node="ToCopyBackward0", copies=True)
def move(xp, input: Array, target, source):
    """The values on another device; `source` is where they come from."""
    result = on_device(input, target)
    return xp.asarray(input, copy=True) if result is input else result


@move.vjp("input")
def _(ops, g, target, source):
    return ops.move(g, source, target)


def _cast_to_input(xp, input, other):
    other = xp.asarray(other)
    if kind_of(other) == "c" and kind_of(input) not in "cb":
        warn_once(IMAGINARY_PART)
        other = xp.real(other)
    return xp.astype(other if other.shape == input.shape else xp.broadcast_to(other, input.shape), input.dtype)


@elementwise(
    input=0,
    other=1,
    dtypes="any",
    method=False,
    function=False,
    inplace="copy_",
    node="CopyBackwards",
    explain=refusals.explain_copy,
)
def copy(xp, input: Array, other: Array):
    """other, broadcast to the shape of input and cast to its type: the value that copy_ and item assignment write."""
    return _cast_to_input(xp, input, other)


@elementwise(
    input=0,
    value=1,
    dtypes="any",
    method=False,
    inplace="fill_",
    node={"": "FillBackward1", "value": "FillBackward0"},
    check=refusals.check_fill,
    repeats=True,
)
def fill(xp, input: Array, value: Array):
    """value everywhere: the value that fill_ writes."""
    return laid_out_as(_cast_to_input(xp, input, value), input)


@elementwise(input=0, dtypes="any", method=False, function=False, inplace="zero_", repeats=True)
def zero(xp, input: Array):
    """Zeros: the value that zero_ writes."""
    return xp.zeros_like(input)


def _batched_write(name):
    """The result has all batches of the values that are written."""

    def run(batch, input, **others):
        (values,) = others.values()
        wider = batch.spread(input, values)
        return NotImplemented if wider is input else getattr(batch.ops, name)(wider, values)

    return run


for _rule in (copy, fill):
    _rule.batch_rule(_batched_write(_rule.name))


# helpers of formulas, through which no gradient flows ----------------------------------------------------------------


@constant(method=False, function=False)
def is_complex_array(xp, input: Array):
    """True for a complex array."""
    return kind_of(input) == "c"


@is_complex_array.batch_rule
def _(batch, input):
    return kind_of(input) == "c"
