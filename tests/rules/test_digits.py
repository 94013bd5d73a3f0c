"""Slopes and values that keep their digits near poles, and that do not overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.core.recorded import operations

CLOSE = 1 - 2.0**-40
HUGE = 1e200
#: The operation, its arguments, and its slopes by them.
SLOPES: list[tuple[str, tuple[float, ...], tuple[float, ...]]] = [
    ("asin", (CLOSE,), (1 / math.sqrt((1 - CLOSE) * (1 + CLOSE)),)),
    ("acos", (-CLOSE,), (-1 / math.sqrt((1 - CLOSE) * (1 + CLOSE)),)),
    ("atanh", (CLOSE,), (1 / ((1 - CLOSE) * (1 + CLOSE)),)),
    ("asinh", (HUGE,), (1 / HUGE,)),
    ("acosh", (HUGE,), (1 / HUGE,)),
    ("atan2", (HUGE, 3e199), (2.7522935779816515e-201, -9.174311926605504e-201)),
    ("atan2", (1e-200, 0.0), (0.0, -HUGE)),
    ("log10", (1.7e308,), (1 / 1.7e308 / math.log(10),)),
    ("addcdiv", (1.0, 1e-200, 1e-180), (1.0, 1e180, -1e160)),
    ("hardswish", (-1.5 + 2.0**-40,), (2.0**-40 / 3,)),
    ("exprel", (709.0,), (math.exp(709) / 709 * (1 - 1 / 709),)),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), SLOPES)
def test_slopes(name: str, arguments: tuple[float, ...], expected: tuple[float, ...]) -> None:
    leaves = [adjoint.tensor(np.array([value])).requires_grad_() for value in arguments]
    slopes = adjoint.autograd.grad(operations[name](*leaves).sum(), leaves)
    for slope, exact in zip(slopes, expected, strict=True):
        assert slope.item() == pytest.approx(exact, rel=2e-15, abs=1e-320)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("x", [-1e30, -20.0, 20.0, 1e30])
def test_gelu_by_tanh_far_out(dtype: Any, x: float) -> None:
    input = adjoint.tensor(np.array([x], dtype)).requires_grad_()
    with np.errstate(over="ignore"):
        y = adjoint.nn.functional.gelu(input, approximate="tanh")
        (slope,) = adjoint.autograd.grad(y.sum(), [input])
    assert y.item() == pytest.approx(max(x, 0), rel=1e-7, abs=1e-30)
    assert slope.item() == pytest.approx(float(x > 0), abs=1e-30)


def test_values() -> None:
    near = 2.0**-40
    assert adjoint.logit(adjoint.tensor(0.5 + near, dtype=adjoint.float64)).item() == pytest.approx(4 * near, rel=1e-15)
    assert adjoint.sigmoid(adjoint.tensor(-720.0, dtype=adjoint.float64)).item() == pytest.approx(2.0367e-313, rel=1e-4)
    x = adjoint.tensor(2 + near, dtype=adjoint.float64)
    assert adjoint.lgamma(x).item() == pytest.approx(math.lgamma(2 + near), rel=1e-14)
    assert adjoint.lgamma(adjoint.tensor([1.0, 2.0])).tolist() == [0.0, 0.0]


def test_the_sign_of_no_number() -> None:
    assert adjoint.sign(adjoint.tensor([math.nan, -0.0, -2.0, 3.0])).tolist() == [0.0, 0.0, -1.0, 1.0]


def test_variances_beyond_the_largest_number_are_infinite() -> None:
    with np.errstate(over="ignore"):
        assert adjoint.tensor([1e200, -1e200], dtype=adjoint.float64).var().item() == math.inf
