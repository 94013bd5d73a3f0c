"""Slopes and values keep their digits near poles, and do not overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special
from mpmath import mp

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


def erfcx(x: Any) -> Any:
    # mpmath's exponential of 1e400 is finite
    return mp.exp(x * x) * mp.erfc(x) if x < 1e4 else (1 - 1 / (2 * x * x) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi))


def hazard(x: Any) -> Any:
    return mp.sqrt(2 / mp.pi) / erfcx(-x / mp.sqrt(2))


def scaled_slope(function: Any, order: int, x: Any) -> Any:
    return mp.diff(lambda t: mp.exp(-abs(t) if function == mp.besseli else t) * function(order, t), x)


def inverse_slope(p: Any) -> Any:
    y = mp.findroot(lambda t: mp.log(mp.erfc(t)) - mp.log(p), scipy.special.erfcinv(float(p)))
    return -mp.sqrt(mp.pi) / 2 * mp.exp(y * y)


def ndtri_slope(p: Any) -> Any:
    return -mp.sqrt(2) * 2 * inverse_slope(2 * p)


def j1_slope(x: Any) -> Any:
    if x < 1e-100:
        return mp.mpf(1) / 3
    return mp.diff(lambda t: (mp.sin(t) / t - mp.cos(t)) / t, x)


#: Functions whose slopes would cancel if they were computed from the values: operation, keywords, arguments, mpmath's
#: slope.
DIFFERENCES: list[tuple[str, dict[str, Any], tuple[float, ...], Any]] = [
    ("special_erfcx", {}, (1.9, 2.1, 30.0, 1e10, 1e200), lambda x: 2 * x * erfcx(x) - 2 / mp.sqrt(mp.pi)),
    ("normal_hazard", {}, (-2.5, -3.0, -40.0, -1e10), lambda x: -hazard(x) * (x + hazard(x))),
    ("dawsn", {}, (3.9, 4.1, -6.0, 100.0, 1e8), lambda x: 1 - mp.sqrt(mp.pi) * x * mp.exp(-x * x) * mp.erfi(x)),
    ("special_i0e", {}, (1.0, -2.1, 7.9, 8.1, 1e4), lambda x: scaled_slope(mp.besseli, 0, x)),
    ("special_i1e", {}, (1e-5, -2.1, 7.9, 8.1, 1e4), lambda x: scaled_slope(mp.besseli, 1, x)),
    ("special_scaled_modified_bessel_k0", {}, (0.1, 7.9, 8.1, 1e4), lambda x: scaled_slope(mp.besselk, 0, x)),
    ("special_scaled_modified_bessel_k1", {}, (0.1, 7.9, 8.1, 1e4), lambda x: scaled_slope(mp.besselk, 1, x)),
    ("erfcinv", {}, (1e-300, 1e-100, 0.1), inverse_slope),
    ("special_ndtri", {}, (1e-300, 1e-100, 0.1), ndtri_slope),
    ("digamma", {}, (-1.9999999999999998, -9.999999999999998, -2.5), lambda x: mp.psi(1, x)),
    ("lgamma", {}, (-1.9999999999999998, -9.999999999999998, -2.5), lambda x: mp.psi(0, x)),
    ("ellipk", {}, (-1e10, -0.6, -0.4, 0.4, 0.6, 1 - 2.0**-50), lambda m: mp.diff(mp.ellipk, m)),
    ("ellipe", {}, (-1e10, -0.6, -0.4, 0.4, 0.6, 1 - 2.0**-50), lambda m: mp.diff(mp.ellipe, m)),
    ("exprel", {}, (-0.4, -0.03, 0.03, 0.3, 710.5), lambda x: mp.diff(lambda t: mp.expm1(t) / t, x)),
    ("spherical_bessel_j", {"order": 1}, (1e-309, 0.5), j1_slope),
    ("bessel_i", {"order": 2}, (-1e-309, 0.5), lambda x: (mp.besseli(1, x) + mp.besseli(3, x)) / 2),
]


@pytest.mark.parametrize(("name", "keywords", "points", "exact"), DIFFERENCES, ids=[entry[0] for entry in DIFFERENCES])
def test_slopes_that_are_differences(name: str, keywords: dict[str, Any], points: Any, exact: Any) -> None:
    x = adjoint.tensor(points, dtype=adjoint.float64).requires_grad_()
    (slopes,) = adjoint.autograd.grad(operations[name](x, **keywords).sum(), [x])
    with mp.workdps(150):
        expected = [float(exact(mp.mpf(point))) for point in points]
    assert slopes.tolist() == pytest.approx(expected, rel=64 * 2.0**-52, abs=1e-320)


#: Derivatives of inverse functions, as expressions of roots with the right branch.
INVERSES: dict[str, Any] = {
    "asin": lambda z: 1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z)),
    "acos": lambda z: -1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z)),
    "atan": lambda z: 1 / (1 + z * z),
    "asinh": lambda z: 1 / mp.sqrt(1 + z * z),
    "acosh": lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1)),
    "atanh": lambda z: 1 / ((1 - z) * (1 + z)),
}
#: Points on both sides of all cuts, and other points. The signs of zeros matter, and a sum of complex numbers would
#: lose them.
SIDES = [complex(x, y) for x, y in ((8.0, 0.0), (0.0, 8.0), (0.5, 2.0)) for x in (x, -x) for y in (y, -y)]


@pytest.mark.parametrize("name", INVERSES)
def test_slopes_on_both_sides_of_cuts(name: str) -> None:
    z = adjoint.tensor(np.array(SIDES)).requires_grad_()
    (slopes,) = adjoint.autograd.grad(operations[name](z), [z], adjoint.ones_like(z))
    with mp.workdps(50):
        beside = [mp.mpc(*[part or math.copysign(1e-300, part) for part in (p.real, p.imag)]) for p in SIDES]
        expected = np.array([complex(INVERSES[name](p)) for p in beside])
    np.testing.assert_allclose(np.conj(slopes.numpy()), expected, rtol=1e-14)


@pytest.mark.parametrize("name", INVERSES)
def test_slopes_of_huge_complex_numbers(name: str) -> None:
    with np.errstate(all="ignore"):
        z = adjoint.tensor(np.array([3e200 + 4e200j])).requires_grad_()
        (slope,) = adjoint.autograd.grad(operations[name](z), [z], adjoint.ones_like(z))
    assert abs(slope.item()) == pytest.approx(0.0 if name in ("atan", "atanh") else 2e-201, rel=1e-14)


@pytest.mark.parametrize("name", ["beta", "betaln"])
@pytest.mark.parametrize(("a", "b"), [(100.0, 0.001), (0.001, 100.0), (1e15, 2.0), (0.5, 0.25), (-0.5, 0.25)])
def test_slopes_of_eulers_integral(name: str, a: float, b: float) -> None:
    leaves = [adjoint.tensor([value], dtype=adjoint.float64).requires_grad_() for value in (a, b)]
    y = operations[name](*leaves)
    slopes = adjoint.autograd.grad(y.sum(), leaves)
    with mp.workdps(50):
        exact = [float(mp.psi(0, mp.mpf(point)) - mp.psi(0, mp.mpf(a) + b)) for point in (a, b)]
    factor = y.item() if name == "beta" else 1.0
    assert [slope.item() for slope in slopes] == pytest.approx([factor * value for value in exact], rel=64 * 2.0**-52)


def test_values_that_are_infinite_or_not() -> None:
    big = adjoint.tensor([-800.0, 800.0], dtype=adjoint.float64)
    assert operations["bessel_i"](big, 2).tolist() == [math.inf, math.inf]
    near = adjoint.tensor(710.5, dtype=adjoint.float64)
    assert operations["exprel"](near).item() == pytest.approx(math.exp(710.5 - math.log(710.5)), rel=1e-12)
    assert adjoint.nn.functional.hardswish(adjoint.tensor(1.5e308, dtype=adjoint.float64)).item() == 1.5e308
    (slope,) = adjoint.autograd.grad(
        operations["ellipk"](one := adjoint.tensor([1.0], dtype=adjoint.float64).requires_grad_()).sum(), [one]
    )
    assert slope.item() == math.inf


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
