"""Checks of the arguments of elementwise operations, and their error messages, in PyTorch's words."""

from adjoint.arrays.dtypes import finfo, float16, float32, float64, from_numpy_dtype, kind_of
from adjoint.arrays.namespace import underlying
from adjoint.arrays.promotion import common_dtype
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.runtime.caches import memoize

from .declare import passes, passes_plain

INFINITY = float("inf")

_NUMBERS = (int, float, complex)


def is_number(value):
    """True for a Python number; other arguments of a kernel are arrays."""
    return isinstance(value, _NUMBERS)


_LETTERS = {bool: "b", int: "i", float: "f", complex: "c"}


def letter_of(value):
    """NumPy's letter for the kind of numbers that an argument holds; the empty string for None."""
    array = getattr(value, "_array", value)
    return kind_of(array) if hasattr(array, "dtype") else _LETTERS.get(type(value), "")


def refuse(kinds, message, error=NotImplementedError):
    """A check that refuses arguments of some kinds of numbers; {} in the message is their common dtype."""

    @passes("".join([kind for kind in "biuf" if kind not in kinds]))
    def check(*values):
        for value in values:
            kind = letter_of(value)
            if kind and kind in kinds:
                operands = [getattr(value, "_array", value) for value in values if value is not None]
                raise error(message.format(common_dtype(operands, "same").long_name))

    return check


def refuse_common(kinds, function):
    """A check that refuses operands whose common dtype is of some kinds."""

    @passes("".join([kind for kind in "biuf" if kind not in kinds]))
    def check(*values):
        common = common_dtype([getattr(value, "_array", value) for value in values if value is not None], "same")
        if common.numpy.kind in kinds:
            raise NotImplementedError(f"\"{function}\" not implemented for '{common.long_name}'")

    return check


def refuse_complex(function):
    """A check that refuses complex numbers."""
    return refuse("c", f"\"{function}\" not implemented for '{{}}'")


def check_quotient(function):
    """A check that refuses complex numbers, which have no order, two bools, and the integer 0 as a divisor."""
    no_complex = refuse_complex(function)
    bools = refuse("b", f"\"{function}\" not implemented for '{{}}'")

    @passes_plain
    def check(input, other):
        kinds = letter_of(input), letter_of(other)
        if "c" in kinds:
            no_complex(input, other)
        if kinds[0] == kinds[1]:
            bools(input, other)
        if kinds[0] not in "biu" or kinds[1] not in "biu":
            return
        if not (underlying(other._array).all() if hasattr(other, "_array") else other):
            empty = any(0 in value._array.shape for value in (input, other) if hasattr(value, "_array"))
            if not empty:
                raise RuntimeError("ZeroDivisionError")

    return check


_INVERT = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
check_neg = refuse("b", f"Negation, the `-` operator, on a bool tensor is not supported. {_INVERT}", RuntimeError)


def check_fits(input, value):
    """Raise RuntimeError for a number that the dtype of the input cannot hold."""
    if is_number(value):
        check_number(from_numpy_dtype(input._array.dtype), value)


def check_number(kind, value):
    """Raise RuntimeError for a number that a dtype cannot hold. Infinity fits into floating-point types."""
    if _overflows(kind, value):
        raise overflow_error(kind)


def overflow_error(kind):
    """The error for a number that a dtype cannot hold."""
    name = kind.c_name if kind.itemsize > 2 or kind.is_floating_point else f"{kind.name}_t"
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


#: The largest number of half precision, which every floating type of NumPy's holds.
_LEAST_MAXIMUM = finfo(float16).max


@memoize()
def _largest(kind):
    return finfo(kind).max


def _overflows(kind, value):
    letter = kind.numpy.kind
    if letter == "b" or isinstance(value, bool):
        return False
    if letter == "f" and type(value) in (int, float) and -_LEAST_MAXIMUM <= value <= _LEAST_MAXIMUM:
        return False
    if letter == "f" and type(value) is float:
        return _largest(kind) < abs(value) < INFINITY
    if isinstance(value, complex) and not kind.is_complex:
        return value.imag != 0 or _overflows(kind, value.real)
    if letter not in "iu":
        most = _largest(kind)
        return any(most < abs(part) < INFINITY for part in (value.real, value.imag))
    most = 2 ** (8 * kind.itemsize - (letter == "i")) - 1
    # negative integers may wrap to unsigned ones; fractions may not
    least = -most - 1 if letter == "i" else -most if isinstance(value, int) else 0
    return not least <= value <= most


def number_check(kinds="iufcV"):
    """A check that refuses numbers which overflow the common dtype of all arguments, if this is of these kinds."""

    @passes_plain
    def check(*values):
        numbers = [value for value in values if isinstance(value, _NUMBERS)]
        if numbers:
            common = common_dtype([getattr(v, "_array", v) for v in values if v is not None], "same")
            if common.numpy.kind in kinds:
                for number in numbers:
                    check_number(common, number)

    return check


@passes("biuf")
def check_alpha(input, other, alpha=1):
    if type(alpha) is int and alpha == 1:
        return
    common = common_dtype([getattr(value, "_array", value) for value in (input, other)], "same")
    inexact = common.is_floating_point or common.is_complex
    if isinstance(alpha, bool) and common.numpy.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not inexact:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not common.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    check_number(common, alpha)


@passes("iuf")
def check_sub(input, other, alpha=1):
    check_alpha(input, other, alpha)
    kinds = letter_of(input), letter_of(other)
    if kinds == ("b", "b"):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if "b" in kinds:
        raise RuntimeError(f"Subtraction, the `-` operator, with a bool tensor is not supported. {_INVERT}")


check_integers = number_check("iu")


@passes_plain
def check_pow(input, exponent):
    if not is_number(exponent) or kind_of(input._array) not in "biu":
        return
    if exponent.real < 0 and letter_of(exponent) in "bi":
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    check_integers(input, exponent)


check_sign = refuse(
    "c", "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
)


def check_step(name):
    """A check that refuses complex numbers and truth values."""
    no_complex = refuse("c", f"{name} is not supported for complex inputs")
    no_bool = refuse("b", f"\"{name}_vml_cpu\" not implemented for '{{}}'")

    @passes_plain
    def check(input):
        no_complex(input)
        no_bool(input)

    return check


_refuse_round = refuse("bc", "\"round_vml_cpu\" not implemented for '{}'")
_refuse_decimals = refuse("biuc", "\"round_cpu\" not implemented for '{}'")


@passes_plain
def check_round(input, decimals=0):
    (_refuse_decimals if decimals else _refuse_round)(input)


_OF_CLAMP = "clamp is not supported for complex types"
_refuse_complex_bound = refuse("c", _OF_CLAMP)
_check_bounds_fit = number_check()


def refuse_clamp(array):
    """Raise NotImplementedError, in torch's words, for an array of complex numbers, which have no order."""
    if kind_of(array) == "c":
        raise NotImplementedError(_OF_CLAMP)


@passes_plain
def check_bound(*values):
    _refuse_complex_bound(*values)
    _check_bounds_fit(*values)


def explain_shapes(error, *operands):
    # raises PyTorch's error for shapes that do not broadcast
    broadcast_shapes(*[operand.shape for operand in operands if not is_number(operand)])


@passes("biuf", of_inputs=True)
def check_where(condition, input, other):
    check_integers(input, other)


def check_imag(input):
    if kind_of(input._array) != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


_WITH_PARTS = frozenset((float16, float32, float64))


def check_parts(real, imag):
    first, second = from_numpy_dtype(real._array.dtype), from_numpy_dtype(imag._array.dtype)
    if first is second and first in _WITH_PARTS:
        return
    if not (first.is_floating_point and second.is_floating_point) or "bfloat16" in (first.name, second.name):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {first.long_name} and {second.long_name}"
        )
    raise RuntimeError(
        f"Expected object of scalar type {first.long_name} but got scalar type {second.long_name} for second argument"
    )


def refuse_inexact(name):
    """A check that refuses floating-point and complex numbers."""
    return refuse("fcV", f"\"{name}_cpu\" not implemented for '{{}}'")


def explain_copy(error, input, other):
    broadcast = broadcast_shapes(input.shape, other.shape)
    return RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(broadcast)}")


def check_fill(input, value):
    rank = value._array.ndim if hasattr(value, "_array") else 0
    if rank:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {rank} dimensions.")
    check_fits(input, value)
