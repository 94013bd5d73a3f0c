"""Elementwise operations beyond the elementary functions: fused arithmetic, parts of numbers, integers and their bits.

At a kink or a step the derivative follows torch. It is 0 for copysign at 0, and 0 where nan_to_num replaced an element.
Of equal arguments of fmax and fmin the first gets the whole cotangent (maximum and minimum share it).
"""

from adjoint.arrays.dtypes import SCALAR, finfo, from_numpy_dtype, is_half, kind_of, numpy_dtype
from adjoint.arrays.namespace import first_outside, is_lazy
from adjoint.arrays.promotion import common_dtype, number_as
from adjoint.runtime.caches import memoize

from .declare import Array, Constant, Number, elementwise, general, linear, passes_plain
from .elementwise import LOG_2
from .refusals import check_number, is_number, number_check, refuse, refuse_common
from .special import real_only, refuse_operands

# several steps in one -----------------------------------------------------------------------------------------------

_INTEGER_QUOTIENT = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "adjoint.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
    "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
    "tensor1 / tensor2) for all dtypes."
)


@passes_plain
def _check_value(input, tensor1, tensor2, value=1):
    if value != 1:
        check_number(common_dtype([tensor._array for tensor in (input, tensor1, tensor2)], "same"), value)


@elementwise(
    input=1,
    tensor1=lambda tensor2, value: value * tensor2,
    tensor2=lambda tensor1, value: value * tensor1,
    scalars=False,
    inplace=True,
    check=_check_value,
    plain=lambda input, tensor1, tensor2, value: input + value * (tensor1 * tensor2),
)
def addcmul(xp, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1):
    """input + value * tensor1 * tensor2"""
    refuse_operands("addcmul_cpu_out", "b", input)
    product = tensor1 * tensor2
    return input + (product if value == 1 else number_as(value, product.dtype) * product)


@passes_plain
def _check_quotient(input, tensor1, tensor2, value=1):
    if all(kind_of(tensor._array) in "biu" for tensor in (tensor1, tensor2)):
        raise RuntimeError(_INTEGER_QUOTIENT)
    _check_value(input, tensor1, tensor2, value)


@elementwise(
    input=1,
    tensor1=lambda tensor2, value: value / tensor2,
    tensor2=lambda tensor1, tensor2, value: -value * (tensor1 / tensor2) / tensor2,
    scalars=False,
    inplace=True,
    check=_check_quotient,
    plain=lambda input, tensor1, tensor2, value: input + value * (tensor1 / tensor2),
)
def addcdiv(xp, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1):
    """input + value * tensor1 / tensor2"""
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else value * quotient)


_check_weight = number_check()


@passes_plain
def _check_lerp(input, end, weight):
    _check_weight(input, end, weight)
    input_dtype = input.dtype
    operands = (("end", end), ("weight", weight)) if hasattr(weight, "_array") else (("end", end),)
    for name, tensor in operands:
        scalar_weight = name == "weight" and not tensor.ndim
        if tensor.dtype is not input_dtype and not scalar_weight:
            raise RuntimeError(f"expected dtype {input_dtype.c_name} for `{name}` but got dtype {tensor.dtype.c_name}")
    # a weight without axes may bring its type along
    common = input_dtype if len(operands) == 1 else common_dtype([input._array, weight._array], "same")
    if not (common.is_floating_point or common.is_complex):
        kernel = "lerp_kernel_scalar" if len(operands) == 1 else "lerp_kernel_tensor"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input_dtype.long_name}'")


@elementwise(
    input=lambda weight: 1 - weight,
    end=lambda weight: weight,
    weight=lambda input, end: end - input,
    wide=(SCALAR,),
    scalars=("weight",),
    inplace=True,
    node={"": "LerpBackward1", "weight": "LerpBackward0"},
    check=_check_lerp,
)
def lerp(xp, input: Array, end: Array, weight: Array):
    """input + weight * (end - input), exact at both ends."""
    span = end - input
    near = xp.abs(weight) < 0.5
    if is_number(weight):
        return input + weight * span if near else end - (1 - weight) * span
    return xp.where(near, input + weight * span, end - (1 - weight) * span)


@elementwise(
    input=lambda ops, input, other: ops.sigmoid(LOG_2 * (input - other)),
    other=lambda ops, input, other: ops.sigmoid(LOG_2 * (other - input)),
    scalars=False,
)
def logaddexp2(xp, input: Array, other: Array):
    """log2(2 ** input + 2 ** other), without overflow."""
    refuse_operands("logaddexp2_cpu", "biuc", input)
    # NumPy's formula, by functions with vector loops; equal infinities must not be subtracted
    equal = input == other
    below = xp.where(equal, 0, input) - xp.where(equal, 0, other)
    return xp.maximum(input, other) + xp.log1p(xp.exp2(-xp.abs(below))) * (1 / LOG_2)


# angles -------------------------------------------------------------------------------------------------------------


def _scale(name, factor, node, doc):
    def body(xp, input: Array):
        if kind_of(input) == "c":
            raise RuntimeError(f"{name} is not supported for complex tensors.")
        return input * factor

    body.__doc__ = doc
    return elementwise(name=name, input=factor, dtypes="float", inplace=True, node=node)(body)


_scale("deg2rad", 0.017453292519943295, "Deg2RadBackward0", "Degrees in radians.")
_scale("rad2deg", 57.29577951308232, "Rad2DegBackward0", "Radians in degrees.")


def _check_polar(abs, angle):
    kinds = abs.dtype, angle.dtype
    if not all(kind.is_floating_point for kind in kinds):
        names = " and ".join(kind.long_name for kind in kinds)
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {names}")
    if kinds[0] is not kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {kinds[0].long_name} but got scalar type {kinds[1].long_name} "
            "for second argument"
        )


@general(core="(),()->()", method=False, check=_check_polar)
def polar(xp, abs: Array, angle: Array):
    """abs * exp(1j * angle)"""
    return xp.complex_of(abs * xp.cos(angle), abs * xp.sin(angle))


def _direction(ops, angle):
    return ops.complex(ops.cos(angle), ops.sin(angle))


@polar.vjp("abs")
def _(ops, g, angle):
    return ops.real(g * ops.conj(_direction(ops, angle)))


@polar.vjp("angle")
def _(ops, g, y):
    return ops.real(g * ops.conj(y * 1j))


@polar.jvp("abs")
def _(ops, t, angle):
    return t * _direction(ops, angle)


@polar.jvp("angle")
def _(ops, t, y):
    return t * (y * 1j)


# parts of numbers ---------------------------------------------------------------------------------------------------


@elementwise(
    input=lambda ops, g, y, input: ops.where(input == 0, 0, g * (ops.sign(input) * ops.sign(y))),
    other=0,
    dtypes="float",
    inplace=True,
    node={"other": "CopysignBackward1"},
    runs_once=True,
)
def copysign(xp, input: Array, other: Array):
    """The absolute value of input with the sign of other; a zero's sign counts."""
    real_only("copysign_cpu", input, other)
    return xp.copysign(input, other)


@elementwise(input=1, inplace=True)
def frac(xp, input: Array):
    """The fraction: input - trunc(input)."""
    refuse_operands("frac_cpu", "biuc", input)
    return input - xp.trunc(input)


def _check_frexp(input):
    if not input.is_floating_point():
        raise RuntimeError("adjoint.frexp() only supports floating-point dtypes")


@general(outputs=("mantissa", "exponent"), differentiable=(True, False), core="()->()", check=_check_frexp)
def frexp(xp, input: Array):
    """The mantissa, of size [0.5, 1), and the exponent, an int32, in input = mantissa * 2 ** exponent."""
    return xp.frexp(input)


@frexp.vjp("input")
def _(ops, g, y1):
    return ops.times_power_of_two(g[0], -y1)


@frexp.jvp("input")
def _(ops, t, y1):
    return ops.times_power_of_two(t, -y1), None


@linear(method=False, function=False, node="LdexpBackward0")
def times_power_of_two(xp, input: Array, exponent: Constant):
    """input * 2 ** exponent for integer exponents, of the type of input."""
    return xp.ldexp(input, exponent)


@times_power_of_two.vjp("input")
def _(ops, g, exponent):
    return ops.times_power_of_two(g, exponent)


@elementwise(
    input=lambda ops, other: ops.exp2(other),
    other=lambda y: y * LOG_2,
    dtypes="float",
    scalars=False,
    inplace=True,
)
def ldexp(xp, input: Array, other: Array):
    """input * 2 ** other, broadcast; integers become floating point."""
    return input * (xp.pow(2.0, other) if kind_of(other) == "f" else 2.0**other)


def _limits(dtype, posinf, neginf):
    # the replacements of infinite elements: by default the largest and smallest finite numbers
    highest, lowest = _finite_limits(from_numpy_dtype(dtype))
    return highest if posinf is None else posinf, lowest if neginf is None else neginf


@memoize()
def _finite_limits(kind):
    info = finfo(kind)
    return info.max, info.min


@elementwise(input=lambda ops, g, input: ops.where(ops.isfinite(input), g, 0), dtypes="any", inplace=True)
def nan_to_num(xp, input: Array, nan=0.0, posinf=None, neginf=None):
    """input with NaN and infinities replaced: by 0 and by the largest and smallest finite numbers unless given."""
    kind = kind_of(input)
    if kind in "biu":
        return xp.asarray(input, copy=True)
    if kind == "c":
        return xp.complex_of(
            nan_to_num_kernel(xp, xp.real(input), nan, posinf, neginf),
            nan_to_num_kernel(xp, xp.imag(input), nan, posinf, neginf),
        )
    return nan_to_num_kernel(xp, input, nan, posinf, neginf)


def nan_to_num_kernel(xp, input, nan, posinf, neginf):
    highest, lowest = _limits(input.dtype, posinf, neginf)
    # as arrays: beside bfloat16 a number would count as float64
    number, most, least = [xp.asarray(float(value), dtype=input.dtype) for value in (nan or 0, highest, lowest)]
    result = xp.where(xp.isnan(input), number, input)
    result = xp.where(input == float("inf"), most, result)
    return xp.where(input == -float("inf"), least, result)


@elementwise(
    input=lambda ops, g, input, other: ops.where(input == other, 0, g),
    other=0,
    dtypes="any",
    scalars=False,
    inplace=True,
)
def nextafter(xp, input: Array, other: Array):
    """The next number from input in the direction of other."""
    common = common_dtype([input, other], "same")
    if not common.is_floating_point:
        raise NotImplementedError(f"\"nextafter_cpu\" not implemented for '{common.long_name}'")
    kind = common.numpy
    step = getattr(xp, "nextafter_of_halves", xp.nextafter) if is_half(kind) else xp.nextafter
    return step(xp.astype(input, kind, copy=False), xp.astype(other, kind, copy=False))


def _check_heaviside(input, values):
    kinds = input.dtype, values.dtype
    if kinds[0].is_complex or kinds[1].is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if kinds[0] is not kinds[1]:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@elementwise(
    input=0,
    values=lambda ops, g, input: ops.where(input == 0, g, 0),
    scalars=False,
    inplace=True,
    check=_check_heaviside,
)
def heaviside(xp, input: Array, values: Array):
    """The step function: 0 below 0, 1 above, and `values` at 0; 0 for NaN."""
    return xp.where(input == 0, values, xp.astype(input > 0, values.dtype))


# the larger and the smaller, numbers before NaN ---------------------------------------------------------------------


def _number_before_nan(name, is_first):
    def to_input(ops, g, input, other):
        return ops.where(is_first(input, other) | ops.isnan(other), g, 0)

    def to_other(ops, g, input, other):
        return ops.where(is_first(input, other) | ops.isnan(other), 0, g)

    check = refuse("c", f"{name} not implemented for complex tensors.", RuntimeError)
    elementwise(name, input=to_input, other=to_other, scalars=False, fast=name, check=check)


_number_before_nan("fmax", lambda input, other: input >= other)
_number_before_nan("fmin", lambda input, other: input <= other)

# tests --------------------------------------------------------------------------------------------------------------


@elementwise()
def signbit(xp, input: Array):
    """True for negative numbers, -0.0 among them."""
    if kind_of(input) == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return xp.signbit(input) if kind_of(input) in "fV" else input < 0


def _infinity(name, bound):
    def body(xp, input: Array):
        return input == bound

    body.__doc__ = f"True where input is {bound}."
    return elementwise(name=name, check=refuse("c", f"{name} does not support complex inputs.", RuntimeError))(body)


_infinity("isposinf", float("inf"))
_infinity("isneginf", -float("inf"))


@elementwise()
def isreal(xp, input: Array):
    """True where the imaginary part is 0."""
    return xp.imag(input) == 0 if kind_of(input) == "c" else xp.ones_like(input, dtype=bool)


# integers and bits --------------------------------------------------------------------------------------------------


def _on_integers(name, label, kernel, doc, **options):
    def body(xp, input: Array, other: Array):
        return kernel(xp, input, other)

    body.__doc__ = doc
    return elementwise(name=name, inplace=True, check=refuse_common("bfcV", label), **options)(body)


def _last_bit(xp, input, other):
    # the type of the result, and the largest shift that leaves a bit
    kind = xp.result_type(input, other)
    return kind, 8 * numpy_dtype(kind).itemsize - 1


def _leave_a_bit(other, last):
    # True if all shifts do
    if is_number(other):
        return 0 <= other <= last
    return not is_lazy(other) and bool(other.size) and first_outside(other, 0, last + 1) is None


def _left_shift(xp, input, other):
    kind, last = _last_bit(xp, input, other)
    if _leave_a_bit(other, last):
        return input << other
    outside = (other < 0) | (other > last)
    return xp.where(outside, 0, input << xp.asarray(xp.clip(other, 0, last), dtype=kind))


def _right_shift(xp, input, other):
    # a shift by more bits than there are leaves the sign, which unsigned integers do not have
    kind, last = _last_bit(xp, input, other)
    if _leave_a_bit(other, last):
        return input >> other
    outside = (other < 0) | (other > last)
    shifted = input >> xp.asarray(xp.where(outside, last, other), dtype=kind)
    return xp.where(outside, 0, shifted) if numpy_dtype(kind).kind == "u" else shifted


_on_integers(
    "bitwise_left_shift", "lshift_cpu", _left_shift, "input * 2 ** other for integers; bits shifted out are lost."
)
_on_integers("bitwise_right_shift", "rshift_cpu", _right_shift, "input / 2 ** other for integers, rounded down.")
elementwise(
    "gcd",
    arrays=("input", "other"),
    scalars=False,
    inplace=True,
    check=refuse_common("bfcV", "gcd_cpu"),
    doc="The greatest common divisor, not negative.",
)
elementwise(
    "lcm",
    arrays=("input", "other"),
    scalars=False,
    inplace=True,
    check=refuse_common("bfcV", "lcm_cpu"),
    doc="The least common multiple, not negative.",
)
