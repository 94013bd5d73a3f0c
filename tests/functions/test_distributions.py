"""Derivatives of distribution functions by their parameters, against mpmath, over many scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from adjoint.core.recorded import operations, raw_ops

OPS = raw_ops(np.zeros(0))


def gamma(a: Any, x: float) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True)


def beta(a: Any, b: Any, x: float) -> Any:
    return mpmath.betainc(a, b, 0, x, regularized=True)


def student(df: Any, t: float) -> Any:
    half = mpmath.mpf(1) / 2
    norm = mpmath.gamma((df + 1) / 2) / (mpmath.sqrt(mpmath.pi * df) * mpmath.gamma(df / 2))
    return half + t * norm * mpmath.hyp2f1(half, (df + 1) / 2, 3 * half, -t * mpmath.mpf(t) / df)


CASES: list[tuple[str, Callable[..., Any], tuple[float, ...], float, Callable[..., Any]]] = [
    *(
        ("gamma", gamma, (a,), a * f, lambda a, x, n: OPS.gammainc_derivative(a, x, n[0]))
        for a in (0.01, 1.0, 30.0)
        for f in (0.3, 1.0, 5.0)
    ),
    *(
        ("student", student, (df,), t, lambda df, t, n: OPS.stdtr(df, t, n[0]))
        for df in (0.3, 3.3, 50.0)
        for t in (-1e-6, 0.99, 1.01, -30.0)
    ),
    *(
        ("beta", beta, (a, b), x, lambda a, b, x, n: OPS.betainc(a, b, x, n))
        for a, b in ((0.1, 0.3), (2.5, 7.0), (300.0, 500.0))
        for x in (0.2, 0.4, 0.5)
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}{case[2]}-{case[3]:g}")
def test_by_parameters(case: Any) -> None:
    _, function, parameters, x, result = case
    orders = [(1,), (2,)] if len(parameters) == 1 else [(1, 0), (0, 1), (1, 1)]
    arrays = [np.array([value]) for value in (*parameters, x)]
    with mpmath.workdps(40):
        for n in orders:
            want = mpmath.diff(lambda *p: function(*p, x), parameters, n, h=mpmath.mpf(10) ** -10)
            np.testing.assert_allclose(result(*arrays, n), float(want), rtol=3e-9, atol=1e-300)


def test_the_macdonald_function_by_its_order() -> None:
    with mpmath.workdps(40):
        for v in (0.1, 2.5, -3.0, 20.0):
            for z in (1e-3, 1.0, 600.0):
                want = mpmath.diff(lambda s, z=z: mpmath.besselk(s, z) * mpmath.exp(z), mpmath.mpf(v), 1)
                result = OPS.kv(np.array([v]), np.array([z]), 1, True)
                np.testing.assert_allclose(result, float(want), rtol=1e-11)


@pytest.mark.parametrize("order", [1, 2])
def test_the_modified_function_of_the_first_kind_by_its_order(order: int) -> None:
    with mpmath.workdps(60):
        for v in (-3.0, -0.3, 0.0, 1e-3, 0.5, 2.5, 60.0):
            for z in (1e-3, 2.25, 30.0, 700.0):
                want = mpmath.diff(
                    lambda s, z=z: mpmath.besseli(s, z) * mpmath.exp(-z), mpmath.mpf(v), order, h=mpmath.mpf(10) ** -15
                )
                result = OPS.iv(np.array([v]), np.array([z]), order, True)
                np.testing.assert_allclose(result, float(want), rtol=2e-12, atol=1e-300)


def test_by_order_and_argument_together() -> None:
    v, z = [x.ravel() for x in np.meshgrid([-2.2, -1.0, 0.5, 7.0, 40.0], [0.01, 1.0, 20.0, 300.0])]
    (by_z,) = [formula.call for formula in operations["iv"].rule.vjps if formula.inputs == ("z",)]
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -15
        want = [
            float(mpmath.diff(lambda s, t: mpmath.besseli(s, t) * mpmath.exp(-t), (v, z), (1, 1), h=h))
            for v, z in zip(v, z, strict=True)
        ]
    np.testing.assert_allclose(by_z(OPS, 1.0, v, z, 1, True), want, rtol=1e-10)


def test_where_the_modified_functions_have_no_derivative_by_the_order() -> None:
    v, z = np.array([1.0, 0, -1, 2, 2, np.nan, 1, 1]), np.array([0.0, 0, 0, -1, np.nan, 1, np.inf, 800])
    nan = np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(OPS.iv(v, z, 1, False), [0, nan, nan, nan, nan, nan, nan, -np.inf])
        np.testing.assert_array_equal(OPS.iv(v, z, 1, True)[:7], [0, nan, nan, nan, nan, nan, 0])
        np.testing.assert_array_equal(OPS.kv(v, z, 1, True)[3:7], [nan, nan, nan, 0])
        # the values are too small for the integrals
        assert np.isfinite(OPS.iv(np.array([0.0, 2.0]), np.array([1e-300, 1e-300]), 1)).all()


def test_elliptic_integrals_at_0_have_their_slopes_there() -> None:
    for name, slope in (("ellipk", np.pi / 8), ("ellipe", -np.pi / 8)):
        (formula,) = operations[name].rule.vjps
        np.testing.assert_allclose(formula.call(OPS, 1.0, np.zeros(1), np.full(1, np.pi / 2)), slope)
