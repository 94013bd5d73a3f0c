"""Elementwise operations in rare cases: kinks under infinite cotangents, wrong operands, torch's errors.

The declarations give the tests of other values and derivatives (test_table.py).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import pytest

import adjoint
from adjoint import Tensor

COMPLEX = adjoint.tensor([1j, 2.0])
WHOLE = adjoint.tensor([3, -4])
REAL = adjoint.tensor([1.0, 2.0])
MASK = adjoint.tensor([True, False])


def gradient(function: Callable[[Tensor], Tensor], *values: float) -> list[float]:
    x = adjoint.tensor(values, requires_grad=True)
    (g,) = adjoint.autograd.grad(function(x).sum(), x)
    return g.tolist()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.relu(),
        lambda x: x.clamp(min=0),
        lambda x: x.clamp(0, 9),
        lambda x: adjoint.maximum(x, adjoint.zeros(2)),
        lambda x: -adjoint.minimum(-x, adjoint.zeros(2)),
    ],
    ids=["relu", "clamp_min", "clamp", "maximum", "minimum"],
)
def test_an_infinite_cotangent_does_not_flow_where_the_function_is_flat(function):
    # the derivative of sqrt at 0 is infinite, and 0 times infinity would be NaN
    assert gradient(lambda x: function(x).sqrt(), -1.0, 4.0) == [0.0, 0.25]


@pytest.mark.parametrize("dtype", [adjoint.uint8, adjoint.int16, adjoint.int64, adjoint.bool])
def test_logarithms_of_whole_numbers_are_not_taken_in_half_precision(dtype):
    """This is seen in the derivatives by the exponent and by the factor of the logarithm."""
    base = adjoint.tensor([1, 3, 200]).to(dtype)
    x = adjoint.tensor([0.5, -0.25, 0.75], dtype=adjoint.float64, requires_grad=True)
    logs = [math.log(value) for value in base.tolist()]
    (g,) = adjoint.autograd.grad(adjoint.xlogy(x, base).sum(), x)
    assert g.tolist() == pytest.approx(logs, rel=1e-15)
    (g,) = adjoint.autograd.grad((base**x).sum(), x)
    powers = [value**exponent for value, exponent in zip(base.tolist(), x.tolist(), strict=True)]
    assert g.tolist() == pytest.approx([p * log for p, log in zip(powers, logs, strict=True)], rel=1e-15)


def test_beside_an_infinity_nothing_counts_in_complex_sums_of_exponentials():
    inf, nan = math.inf, math.nan
    a = adjoint.tensor([inf, inf, -inf, -inf, complex(inf, 2), nan], dtype=adjoint.complex128)
    b = adjoint.tensor([1, inf, 1, -inf, 3 + 1j, inf], dtype=adjoint.complex128)
    for actual in (adjoint.logaddexp(a, b), adjoint.logaddexp(b, a)):
        assert actual[:5].tolist() == [inf, inf, 1, -inf, complex(inf, 2)]
        assert actual[5].isnan()


def test_relu_and_maximum_pass_gradients_at_nan():
    nan = float("nan")
    assert gradient(lambda x: x.relu(), nan, 1.0) == [1.0, 1.0]
    assert gradient(lambda x: adjoint.maximum(x, adjoint.zeros(2)), nan, 1.0) == [1.0, 1.0]


def test_the_angle_of_the_origin_is_constant():
    x, y = adjoint.zeros(2, requires_grad=True), adjoint.tensor([0.0, 1.0], requires_grad=True)
    adjoint.atan2(x, y).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0] and y.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: COMPLEX < COMPLEX, "\"lt_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: COMPLEX >= 1, "\"ge_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: REAL.double() < 1j, "\"lt_cpu\" not implemented for 'ComplexDouble'"),
        (lambda: COMPLEX % 2, "\"remainder_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: COMPLEX // 2, "\"div_floor_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: COMPLEX.round(), "\"round_vml_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: adjoint.atan2(COMPLEX, REAL), "\"atan2_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: COMPLEX.floor(), "floor is not supported for complex inputs"),
        (lambda: COMPLEX.clamp(0), "clamp is not supported for complex types"),
        (lambda: COMPLEX.relu(), "clamp is not supported for complex types"),
        (lambda: COMPLEX.sign(), "Please use torch.sgn instead."),
        (lambda: REAL & REAL, "\"bitwise_and_cpu\" not implemented for 'Float'"),
        (lambda: REAL.double() | 1, "\"bitwise_or_cpu\" not implemented for 'Double'"),
        (lambda: WHOLE ^ 1.5, "\"bitwise_xor_cpu\" not implemented for 'Float'"),
    ],
)
def test_types_without_the_operation(function, message):
    with pytest.raises(NotImplementedError, match=re.escape(message)):
        function()


def test_other_refusals():
    with pytest.raises(RuntimeError, match="maximum not implemented for complex tensors"):
        adjoint.maximum(COMPLEX, COMPLEX)
    with pytest.raises(TypeError, match="is only implemented on integer and Boolean-type tensors"):
        operator.invert(REAL)


@pytest.mark.parametrize(
    "function",
    [lambda: WHOLE // 0, lambda: WHOLE % 0, lambda: 3 % adjoint.tensor([1, 0]), lambda: adjoint.fmod(WHOLE, 0)],
    ids=["//", "%", "reflected", "fmod"],
)
def test_whole_numbers_are_not_divided_by_zero(function):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        function()


def test_floats_are_divided_by_zero():
    with pytest.warns(RuntimeWarning):
        assert (REAL // 0).tolist() == [float("inf")] * 2
    assert (WHOLE / 2).tolist() == [1.5, -2.0] and (WHOLE // 2).tolist() == [1, -2]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: -MASK, "Negation, the `-` operator, on a bool tensor is not supported."),
        (lambda: MASK - MASK, "Subtraction, the `-` operator, with two bool tensors is not supported."),
        (lambda: MASK - 1, "Subtraction, the `-` operator, with a bool tensor is not supported."),
        (lambda: 1 - MASK, "Subtraction, the `-` operator, with a bool tensor is not supported."),
        (lambda: REAL - MASK, "Subtraction, the `-` operator, with a bool tensor is not supported."),
        (lambda: REAL.sub_(MASK), "Subtraction, the `-` operator, with a bool tensor is not supported."),
    ],
)
def test_bools_are_not_subtracted(function, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        function()


def test_what_does_not_fit_is_not_written():
    with pytest.raises(RuntimeError, match=re.escape("output with shape [3] doesn't match the broadcast shape [2, 3]")):
        adjoint.ones(3).copy_(adjoint.ones(2, 3))
    with pytest.raises(RuntimeError, match="fill_ only supports 0-dimension value tensor but got tensor with 1 dim"):
        adjoint.ones(3).fill_(adjoint.ones(3))


@pytest.mark.parametrize("call", [lambda a, b: a / b, lambda a, b: 2 / b, lambda a, b: (a / 9).erfinv()])
def test_results_may_be_overwritten_as_in_torch(call: Any) -> None:
    """The derivatives need only the inputs. Many programs write p = x / total; p[mask] = 0."""
    a, b = (adjoint.tensor([1.0, 2.0, 4.0], dtype=adjoint.float64, requires_grad=True) for _ in range(2))
    expected = adjoint.autograd.grad(call(a, b)[1:].sum(), (a, b), allow_unused=True)
    result = call(a, b)
    result[0] = 0
    gradients = adjoint.autograd.grad(result.sum(), (a, b), allow_unused=True)
    assert [g is None or g.tolist() for g in gradients] == [g is None or g.tolist() for g in expected]


def test_where_with_a_condition_of_bytes_warns() -> None:
    condition = adjoint.tensor([0, 2], dtype=adjoint.uint8)
    adjoint.set_warn_always(True)
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
        y = adjoint.where(condition, 1.0, 0.0)
    adjoint.set_warn_always(False)
    assert y.tolist() == [0.0, 1.0]
