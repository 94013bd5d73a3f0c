"""Other elementwise operations in rare cases: kinks, infinities, integers, wrong operands.

The declarations give the tests of other derivatives (test_table.py).
"""

from __future__ import annotations

import math
import operator
import re

import numpy as np
import pytest

import adjoint
from adjoint.core.operations.operation import Operation
from adjoint.core.recorded import operations
from adjoint.rules import TABLE

INF, NAN = math.inf, math.nan
REAL, WHOLE, COMPLEX, MASK = (adjoint.tensor(values) for values in ([1.5, -2.5], [3, -4], [1 + 2j, 0j], [True, False]))


def gradients(function, *values):
    leaves = [adjoint.tensor(v, dtype=adjoint.float64, requires_grad=True) for v in values]
    grads = adjoint.autograd.grad(function(*leaves).sum(), leaves)
    return [g.tolist() for g in grads]


# arithmetic ---------------------------------------------------------------------------------------------------------


def test_values():
    x, y, z = (adjoint.tensor(v) for v in ([1.0, -2.0], [3.0, 4.0], [0.5, 8.0]))
    assert adjoint.addcmul(x, y, z, value=2).tolist() == [4.0, 62.0]
    assert adjoint.addcdiv(x, y, z, value=-1).tolist() == [-5.0, -2.5]
    assert adjoint.lerp(x, y, 0.25).tolist() == [1.5, -0.5] and x.lerp(y, z).tolist() == [2.0, 46.0]
    assert adjoint.logaddexp2(y, y).tolist() == [4.0, 5.0]
    assert x.copysign(-1.0).tolist() == [-1.0, -2.0] and x.copysign(y).tolist() == [1.0, 2.0]
    assert adjoint.ldexp(x, adjoint.tensor([3, -1])).tolist() == [8.0, -1.0]
    assert adjoint.heaviside(adjoint.tensor([-1.0, 0.0, 2.0, NAN]), adjoint.tensor(0.5)).tolist() == [
        0.0,
        0.5,
        1.0,
        0.0,
    ]
    np.testing.assert_allclose(adjoint.deg2rad(adjoint.tensor([180, 90])).numpy(), [np.pi, np.pi / 2], rtol=1e-6)
    np.testing.assert_allclose(adjoint.tensor([np.pi]).rad2deg().numpy(), [180.0], rtol=1e-6)
    assert adjoint.tensor([2.75, -2.75]).frac().tolist() == [0.75, -0.75]
    np.testing.assert_allclose(adjoint.polar(y, z).numpy(), y.numpy() * np.exp(1j * z.numpy()), rtol=1e-6)
    assert adjoint.float_power(WHOLE, 2).tolist() == [9.0, 16.0]
    assert adjoint.float_power(WHOLE, 2).dtype is adjoint.float64
    assert adjoint.float_power(2, COMPLEX).dtype is adjoint.complex128
    assert adjoint.logaddexp(COMPLEX, COMPLEX).numpy() == pytest.approx(COMPLEX.numpy() + math.log(2))
    assert adjoint.exp2(COMPLEX).numpy() == pytest.approx(2 ** COMPLEX.numpy())


def test_interpolation_is_exact_at_both_ends():
    start, end = adjoint.tensor([0.1, 1e20]), adjoint.tensor([0.3, 1.0])
    assert adjoint.equal(start.lerp(end, 0.0), start) and adjoint.equal(start.lerp(end, 1.0), end)


def test_a_factor_of_integers_drops_its_fraction():
    assert adjoint.addcmul(WHOLE, WHOLE, WHOLE, value=2.5).tolist() == [21, 28]


def test_parts_of_floating_point_numbers():
    x = adjoint.tensor([0.0, 1.0, -3.0, 0.1, INF, NAN])
    mantissa, exponent = adjoint.frexp(x)
    expected = np.frexp(x.numpy())
    np.testing.assert_array_equal(mantissa.numpy(), expected[0])
    assert exponent.dtype is adjoint.int32 and exponent[:4].tolist() == expected[1][:4].tolist()
    assert gradients(lambda t: adjoint.frexp(t).mantissa, [0.0, 1.0, -3.0, 0.1]) == [[1.0, 0.5, 0.25, 8.0]]
    for kind in (adjoint.float16, adjoint.bfloat16, adjoint.float32, adjoint.float64):
        one = adjoint.ones(1, dtype=kind)
        step = adjoint.nextafter(one, one + 1).double() - 1
        assert step.item() == adjoint.finfo(kind).eps


def test_replacing_what_is_no_number():
    x = [NAN, INF, -INF, 1.5]
    for kind in (adjoint.float16, adjoint.bfloat16, adjoint.float32, adjoint.float64):
        info = adjoint.finfo(kind)
        assert adjoint.tensor(x, dtype=kind).nan_to_num().tolist() == [0.0, info.max, info.min, 1.5]
    assert adjoint.tensor(x).nan_to_num(1.0, 2.0, 3.0).tolist() == [1.0, 2.0, 3.0, 1.5]
    assert adjoint.tensor([complex(NAN, INF)]).nan_to_num(posinf=7.0).tolist() == [7j]
    assert gradients(adjoint.nan_to_num, x) == [[0.0, 0.0, 0.0, 1.0]]


# kinks and infinities -----------------------------------------------------------------------------------------------


def test_numbers_come_before_nan_and_the_first_of_equals_gets_the_gradient():
    a, b = [NAN, 1.0, NAN, 1.0, 2.0, 3.0], [2.0, NAN, NAN, 1.0, 1.0, 4.0]
    assert adjoint.fmax(adjoint.tensor(a), adjoint.tensor(b)).tolist()[:2] == [2.0, 1.0]
    assert gradients(adjoint.fmax, a, b) == [[0.0, 1.0, 1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    assert gradients(adjoint.fmin, a, b) == [[0.0, 1.0, 1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]]


def test_copysign_turns_the_gradient_and_has_none_at_0():
    assert gradients(adjoint.copysign, [1.0, -1.0, 0.0, INF], [-1.0, 1.0, 1.0, -0.0])[0] == [-1.0, -1.0, 0.0, -1.0]


def test_a_step_passes_its_gradient_to_the_value_at_0():
    assert gradients(adjoint.heaviside, [-1.0, 0.0], [5.0, 6.0]) == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("function", [adjoint.logaddexp, adjoint.logaddexp2])
def test_infinite_terms_of_a_sum_of_exponentials(function):
    assert gradients(function, [-INF, INF, -INF], [0.0, 0.0, INF]) == [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    x = adjoint.tensor([800.0], dtype=adjoint.float64, requires_grad=True)
    (g,) = adjoint.autograd.grad(function(x, adjoint.zeros(1, dtype=adjoint.float64)), x, create_graph=True)
    assert adjoint.autograd.grad(g, x)[0].tolist() == [0.0]


def test_the_divisor_of_a_remainder_gets_the_quotient():
    # -2 = -1 * inf + inf: the quotient is rounded down to -1, although -2 / inf is -0
    assert gradients(adjoint.remainder, [-2.0, 7.0], [INF, 2.0])[1] == [1.0, -3.0]
    assert gradients(adjoint.fmod, [-7.0], [2.0])[1] == [3.0]


def test_the_angle_of_minus_0_is_0():
    assert adjoint.tensor([-0.0, 0.0, -1.0]).angle().tolist() == pytest.approx([0.0, 0.0, math.pi])


# integers and bits --------------------------------------------------------------------------------------------------


def test_shifts():
    x = adjoint.tensor([1, 2, -3])
    assert (x << 2).tolist() == [4, 8, -12] and (x >> 1).tolist() == [0, 1, -2]
    assert (2 << adjoint.tensor([1, 3])).tolist() == [4, 16] and (64 >> adjoint.tensor([1, 3])).tolist() == [32, 8]
    assert adjoint.bitwise_left_shift(x, adjoint.tensor([70, -1, 63])).tolist() == [0, 0, -(2**63)]
    assert adjoint.bitwise_right_shift(x, adjoint.tensor([70, -1, 64])).tolist() == [0, 0, -1]
    assert adjoint.tensor([200], dtype=adjoint.uint8).bitwise_left_shift(1).tolist() == [144]
    assert adjoint.tensor([200, 255], dtype=adjoint.uint8).bitwise_right_shift(8).tolist() == [0, 0]
    assert adjoint.tensor([100, 1], dtype=adjoint.int8).bitwise_left_shift(9).tolist() == [0, 0]
    y = x
    y <<= 3
    assert y is x and x.tolist() == [8, 16, -24]
    y >>= 3
    assert x.tolist() == [1, 2, -3]


def test_divisors_and_multiples():
    a, b = adjoint.tensor([12, -8, 0]), adjoint.tensor([18, 4, 0])
    assert adjoint.gcd(a, b).tolist() == [6, 4, 0] and a.lcm(b).tolist() == [36, 8, 0]


def test_tests():
    x = adjoint.tensor([INF, -INF, -0.0, 1.0, NAN])
    assert x.isposinf().tolist() == [True, False, False, False, False]
    assert x.isneginf().tolist() == [False, True, False, False, False]
    assert x.signbit().tolist()[:4] == [False, True, True, False]
    assert WHOLE.signbit().tolist() == [False, True] and WHOLE.isneginf().tolist() == [False, False]
    assert adjoint.isreal(COMPLEX).tolist() == [False, True] and adjoint.isreal(x).all()


def test_truth_values():
    assert MASK.sign().tolist() == [True, False] and MASK.sgn().dtype is adjoint.bool
    assert adjoint.square(MASK).tolist() == [1, 0] and adjoint.square(MASK).dtype is adjoint.int64


# in-place forms, and the tensor itself as an operand -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("addcmul", (REAL, REAL)),
        ("addcdiv", (REAL, REAL)),
        ("lerp", (REAL, 0.25)),
        ("copysign", (-REAL,)),
        ("deg2rad", ()),
        ("rad2deg", ()),
        ("frac", ()),
        ("nan_to_num", ()),
        ("heaviside", (REAL,)),
        ("nextafter", (-REAL,)),
        ("ldexp", (WHOLE,)),
        ("xlogy", (REAL.abs(),)),
        ("logit", (0.1,)),
        ("sinc", ()),
        ("erf", ()),
        ("erfc", ()),
        ("i0", ()),
        ("polygamma", (2,)),
        ("float_power", (2,)),
    ],
)
def test_in_place(name, arguments):
    x = REAL.double() if name == "float_power" else REAL.clone()
    if name == "heaviside":
        x, arguments = x * 0, (REAL,)
    expected = getattr(x, name)(*arguments)
    version = x._version
    assert getattr(x, name + "_")(*arguments) is x and x._version == version + 1
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_a_real_tensor_is_its_own_conjugate():
    assert REAL.conj() is REAL and adjoint.conj_physical(REAL) is REAL
    assert adjoint.resolve_conj(COMPLEX) is COMPLEX and COMPLEX.resolve_neg() is COMPLEX
    assert not COMPLEX.is_conj() and not adjoint.is_neg(COMPLEX)
    x = COMPLEX.clone()
    assert x.conj_physical_() is x and adjoint.equal(x, COMPLEX.conj())


def test_other_names_in_place():
    x = REAL.clone()
    assert x.multiply_(2).subtract_(1).negative_().absolute_().tolist() == [2.0, 6.0]
    assert x.clip_(max=3).divide_(2).tolist() == [1.0, 1.5] and x.__rdiv__(3).tolist() == [3.0, 2.0]


def test_nodes_are_named_by_overload():
    x = adjoint.ones(2, requires_grad=True)
    names = {
        "LerpBackward0": x.lerp(x, 0.5), "LerpBackward1": x.lerp(x, x), "CopysignBackward1": x.copysign(1.0),
        "CopysignBackward0": x.copysign(x), "XlogyBackward0": x.xlogy(x), "XlogyBackward1": adjoint.xlogy(2, x),
        "XlogyBackward2": x.xlogy(2), "FrexpBackward0": x.frexp().mantissa,
    }  # fmt: skip
    assert {name: y.grad_fn.name() for name, y in names.items()} == {name: name for name in names}


# refused arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda: adjoint.addcdiv(WHOLE, WHOLE, WHOLE), RuntimeError, "Integer division with addcdiv is no longer"),
        (
            lambda: adjoint.addcmul(MASK, MASK, MASK),
            NotImplementedError,
            "\"addcmul_cpu_out\" not implemented for 'Bool'",
        ),
        (
            lambda: adjoint.addcmul(REAL, REAL, 2.0),
            TypeError,
            "addcmul(): argument 'tensor2' (position 3) must be Tensor",
        ),
        (lambda: REAL.lerp(REAL.double(), 0.5), RuntimeError, "expected dtype float for `end` but got dtype double"),
        (
            lambda: REAL.lerp(REAL, REAL.double()),
            RuntimeError,
            "expected dtype float for `weight` but got dtype double",
        ),
        (lambda: WHOLE.lerp(WHOLE, 0.5), NotImplementedError, "\"lerp_kernel_scalar\" not implemented for 'Long'"),
        (
            lambda: adjoint.lerp(REAL, 1.0, 0.5),
            TypeError,
            "lerp(): argument 'end' (position 2) must be Tensor, not float",
        ),
        *[
            (
                lambda name=name: getattr(adjoint, name)(3),
                TypeError,
                f"{name}(): argument 'input' (position 1) must be Tensor, not int",
            )
            for name in ("positive", "real", "conj", "conj_physical", "is_conj", "is_neg", "resolve_conj")
        ],
        (lambda: COMPLEX.deg2rad(), RuntimeError, "deg2rad is not supported for complex tensors."),
        (lambda: adjoint.polar(WHOLE, WHOLE), RuntimeError, "Expected both inputs to be Half, Float or Double tensors"),
        (
            lambda: adjoint.polar(REAL, REAL.double()),
            RuntimeError,
            "Expected object of scalar type Float but got scalar",
        ),
        (
            lambda: adjoint.complex(REAL, REAL.double()),
            RuntimeError,
            "Expected object of scalar type Float but got scalar type Double for second argument",
        ),
        (lambda: WHOLE.frac(), NotImplementedError, "\"frac_cpu\" not implemented for 'Long'"),
        (lambda: WHOLE.frexp(), RuntimeError, "frexp() only supports floating-point dtypes"),
        (lambda: WHOLE.nextafter(WHOLE), NotImplementedError, "\"nextafter_cpu\" not implemented for 'Long'"),
        (lambda: REAL.heaviside(WHOLE), RuntimeError, "heaviside is not yet implemented for tensors with different"),
        (lambda: COMPLEX.fmax(COMPLEX), RuntimeError, "fmax not implemented for complex tensors."),
        (lambda: adjoint.fmax(REAL, 1.0), TypeError, "fmax(): argument 'other' (position 2) must be Tensor, not float"),
        (
            lambda: adjoint.maximum(REAL, 1),
            TypeError,
            "maximum(): argument 'other' (position 2) must be Tensor, not int",
        ),
        (lambda: REAL.hypot(2.0), TypeError, "hypot(): argument 'other' (position 2) must be Tensor, not float"),
        (lambda: WHOLE.hypot(WHOLE), NotImplementedError, "\"hypot_cpu\" not implemented for 'Long'"),
        (lambda: WHOLE.logaddexp(WHOLE), NotImplementedError, "\"logaddexp_cpu\" not implemented for 'Long'"),
        (lambda: COMPLEX.signbit(), NotImplementedError, "signbit is not implemented for complex tensors."),
        (lambda: COMPLEX.isposinf(), RuntimeError, "isposinf does not support complex inputs."),
        (lambda: REAL.gcd(REAL), NotImplementedError, "\"gcd_cpu\" not implemented for 'Float'"),
        (lambda: REAL << 2, NotImplementedError, "\"lshift_cpu\" not implemented for 'Float'"),
        (lambda: MASK >> MASK, NotImplementedError, "\"rshift_cpu\" not implemented for 'Bool'"),
        (lambda: ~REAL, TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors"),
        (lambda: REAL.bitwise_not(), NotImplementedError, "\"bitwise_not_cpu\" not implemented for 'Float'"),
        (lambda: +MASK, RuntimeError, "The `+` operator, on a bool tensor is not supported."),
        (lambda: MASK.abs(), NotImplementedError, "\"abs_cpu\" not implemented for 'Bool'"),
        (lambda: MASK**MASK, NotImplementedError, "\"pow\" not implemented for 'Bool'"),
        (lambda: MASK % MASK, NotImplementedError, "\"remainder_cpu\" not implemented for 'Bool'"),
        (lambda: MASK.floor(), NotImplementedError, "\"floor_vml_cpu\" not implemented for 'Bool'"),
        (lambda: REAL.clone().float_power_(2), RuntimeError, "the base given to float_power_ has dtype Float but the"),
        (lambda: adjoint.float_power(2, 3), TypeError, "float_power(): argument 'input' (position 1) must be Tensor"),
        (lambda: adjoint.ldexp(REAL, 2), TypeError, "ldexp(): argument 'other' (position 2) must be Tensor, not int"),
    ],
)
def test_refused(function, error, message):
    with pytest.raises(error, match=re.escape(message)):
        function()


def test_operators_leave_strangers_to_python():
    for symbol in (operator.lshift, operator.rshift):
        with pytest.raises(TypeError, match="unsupported operand"):
            symbol(WHOLE, "a")
        with pytest.raises(TypeError, match="unsupported operand"):
            symbol("a", WHOLE)


def test_rsub_multiplies_what_is_subtracted() -> None:
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    y = adjoint.rsub(x, adjoint.tensor([5.0, 5.0]), alpha=2)
    assert y.tolist() == [3.0, 1.0]
    y.sum().backward()
    assert x.grad.tolist() == [-2.0, -2.0]


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotient_has_a_zero_gradient(mode: str) -> None:
    x = adjoint.tensor([5.0, -5.0], requires_grad=True)
    adjoint.div(x, 2, rounding_mode=mode).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_negative_powers_of_integers_are_rounded_towards_zero() -> None:
    base, exponent = adjoint.tensor([2, 1, -1, -1, 3, 0]), adjoint.tensor([-1, -1, -1, -2, 2, -1])
    assert (base**exponent).tolist() == [0, 1, -1, 1, 9, 0]
    assert (2 ** adjoint.tensor([-1, 3], dtype=adjoint.int8)).tolist() == [0, 8]
    for whole in (base, base.to(adjoint.uint8), base > 0):
        with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
            whole**-1


def test_sign_of_nan() -> None:
    assert adjoint.sign(adjoint.tensor([float("nan"), -2.0])).tolist() == [0.0, -1.0]


@pytest.mark.parametrize("values", [[1 + 2j, -3j], [1.5, -2.0]], ids=["complex", "real"])
def test_the_conjugate_is_written_to_out(values: list[complex]) -> None:
    z = adjoint.tensor(values)
    out = adjoint.empty(2, dtype=z.dtype)
    assert adjoint.conj_physical(z, out=out) is out
    assert out.tolist() == adjoint.conj_physical(z).tolist() == [complex(v).conjugate() for v in values]


def _outcome(call):
    # The values and dtype of a call, or its error.
    try:
        with np.errstate(all="ignore"):
            result = call()
    except (RuntimeError, TypeError) as error:
        return type(error), str(error)
    return result.tolist(), result.dtype


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_small_arrays_of_one_type_give_what_the_general_way_gives(dtype, shape):
    rng = np.random.default_rng(0)
    x, y = (adjoint.tensor(np.asarray(rng.integers(1, 5, shape)).astype(dtype)) for _ in range(2))
    names = [name for name in TABLE.homes if operations[name].fast and operations[name].is_elementwise]
    assert {"gcd", "logical_and", "bitwise_not", "sign", "eq"} <= set(names)
    for name in names:
        operation = Operation(TABLE[name])
        operands = [x, y][: len(operation.rule.inputs)]
        quick = _outcome(lambda operation=operation, operands=operands: operation(*operands))
        general = _outcome(lambda operation=operation, operands=operands: operation.apply([*operands, *operation.tail]))
        assert str(quick) == str(general), name


def test_large_arrays_give_what_small_ones_give():
    rng = np.random.default_rng(0)
    x, y = (adjoint.tensor(rng.integers(0, 2, 1 << 15) * 1.5) for _ in range(2))
    for name in ("logical_and", "logical_or", "logical_xor"):
        operation = operations[name]
        assert operation(x, y)[:50].tolist() == operation(x[:50], y[:50]).tolist(), name
    assert adjoint.logical_not(x)[:50].tolist() == adjoint.logical_not(x[:50]).tolist()
