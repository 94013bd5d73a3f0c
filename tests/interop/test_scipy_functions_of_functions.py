"""scipy.optimize's solvers and scipy.integrate's integrals, differentiated by parameters of the functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import adjoint
from adjoint.scipy import integrate, optimize

Call = Callable[..., Any]
A = np.array([1.3, 0.7])
INF = np.inf


def two(x: Any, a: Any) -> Any:
    return np.stack([x[0] ** 2 + a[0] * x[1] - 2.0, x[1] ** 3 + x[0] * a[1] - 1.0])


def quartic(x: Any, a: Any) -> Any:
    return (x - a) ** 4 + a * x**2


def bowl(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 4 + x**2 * a[0])


#: Functions of a module's functions and parameters; NumPy's names, which Tensors and Arrays take.
CASES: dict[str, tuple[Call, Any]] = {
    **{
        name: (
            lambda m, a, n=name: getattr(m.optimize, n)(lambda x, a: np.exp(x) - a * x**2 - 3 * a, 0.0, 9.0, args=a),
            2.3,
        )
        for name in ("brentq", "brenth", "bisect", "ridder", "toms748")
    },
    "newton": (lambda m, a: m.optimize.newton(lambda x, a, b: x**3 - a * b, 1.0, args=(a, 2.0)), 2.3),
    "brentq, full_output": (
        lambda m, a: m.optimize.brentq(lambda x, a: x**3 - a, 0.0, 9.0, args=(a,), full_output=True)[0], 2.3),
    "root_scalar": (
        lambda m, a: m.optimize.root_scalar(lambda x, a: x**3 - a, args=(a,), bracket=(0.0, 9.0)).root, 2.3),
    "root": (lambda m, a: np.sum(m.optimize.root(two, np.array([1.0, 1.0]), args=(a,)).x * np.array([1.0, -0.3])), A),
    "minimize": (lambda m, a: np.sum(m.optimize.minimize(bowl, np.zeros(2), args=(a,)).x * np.array([1.0, -0.3])), A),
    "minimize, value": (lambda m, a: m.optimize.minimize(bowl, np.zeros(2), args=(a,)).fun, A),
    "minimize_scalar": (lambda m, a: m.optimize.minimize_scalar(quartic, args=(a,)).x, 2.3),
    "minimum, brent": (lambda m, a: m.optimize.brent(quartic, (a,)), 2.3),
    "minimum, golden": (lambda m, a: m.optimize.golden(quartic, args=(a,), brack=(0.0, 2.0)), 2.3),
    "minimum, its value": (lambda m, a: m.optimize.brent(quartic, (a,), full_output=True)[1], 2.3),
    "quad": (lambda m, a: m.integrate.quad(lambda x, a: np.exp(-a * x) * np.cos(x), 0.2, 3.0, args=(a,))[0], 1.3),
    "quad, limits": (lambda m, a: m.integrate.quad(lambda x: np.sin(x), 0.1 * a, a)[0], 1.3),
    "quad, closure": (lambda m, a: m.integrate.quad(lambda x: np.log(a * x) * x, 0.0, 2.0)[0], 1.3),
    "quad, upwards": (lambda m, a: m.integrate.quad(lambda x, a: np.exp(-a * x), a, np.inf, args=(a,))[0], 1.3),
    "quad, downwards": (lambda m, a: m.integrate.quad(lambda x, a: np.exp(a * x), -np.inf, a, args=(a,))[0], 1.3),
    "quad, everywhere": (lambda m, a: m.integrate.quad(lambda x, a: np.exp(-a * x * x), -INF, INF, args=a)[0], 1.3),
    "quad, full_output": (
        lambda m, a: m.integrate.quad(lambda x, a: abs(x - a) ** 1.5, 0.0, 3.0, args=(a,), full_output=1)[0], 1.3),
    "solve_ivp": (
        lambda m, a: np.sum(m.integrate.solve_ivp(
            lambda t, y, a: -a * y, (0.0, 2.0), A, t_eval=[0.5, 2.0], args=(a,), rtol=1e-9, atol=1e-10
        ).y), 1.3),
}  # fmt: skip


class OfScipy:
    optimize, integrate = scipy.optimize, scipy.integrate


class Ours:
    optimize, integrate = optimize, integrate


@pytest.mark.parametrize("name", CASES)
def test_derivatives_by_parameters(name: str) -> None:
    call, value = CASES[name]
    expected = call(OfScipy, value)
    np.testing.assert_allclose(call(Ours, value), expected, rtol=1e-12)
    tensor = adjoint.tensor(value, dtype=adjoint.float64, requires_grad=True)
    found = call(Ours, tensor)
    tolerance = 1e-6 if name.startswith("min") else 1e-9
    assert isinstance(found, adjoint.Tensor) and found.item() == pytest.approx(expected, rel=tolerance)
    found.backward()
    assert tensor.grad is not None
    exact = tensor.grad.numpy()
    np.testing.assert_allclose(adjoint.func.grad(lambda a: call(Ours, a))(value), exact, rtol=1e-7)
    way = np.array([0.4, -0.8]) if np.ndim(value) else 1.0
    step = 1e-3 if name.startswith("min") else 1e-5
    slope = (call(Ours, value + step * way) - call(Ours, value - step * way)) / (2 * step)
    assert np.sum(exact * way) == pytest.approx(slope, rel=2e-3 if name.startswith("min") else 1e-5)


def test_second_order() -> None:
    a = adjoint.tensor(1.3, dtype=adjoint.float64, requires_grad=True)
    for name in ("brentq", "quad", "quad, limits", "minimize_scalar"):
        assert adjoint.autograd.gradgradcheck(lambda a, name=name: CASES[name][0](Ours, a), a)


REFUSED: list[tuple[Call, type[Exception], str]] = [
    (lambda a: optimize.minimize(bowl, np.zeros(2), args=(a,), bounds=[(0, 1)] * 2), TypeError, "there are no bounds"),
    (lambda a: integrate.quad(lambda x, a: a[0] * x, 0, 1, args=(a,), weight="cos", wvar=2.0), TypeError, "weight="),
    (lambda a: integrate.solve_ivp(lambda t, y, a: -a * y, (0, 1), A, "BDF", args=(a,)), TypeError, "the methods"),
    (lambda a: optimize.brentq(lambda x: x**3 - float(a[0].detach()), 0, 9, args=(a,)), TypeError, "argument"),
    (lambda a: optimize.brentq(lambda x: x**3 - a[0], 0, 9), TypeError, "none of its arguments"),
    (lambda a: optimize.minimize(lambda x: ((x - a) ** 2).sum(), A), TypeError, "none of its arguments"),
    (lambda a: optimize.golden(lambda x: (x - a[0]) ** 2), TypeError, "none of its arguments"),
    (lambda a: optimize.fminbound(lambda x, a: (x - a[0]) ** 2, 0.0, 9.0, args=(a,)), TypeError, "there are no bounds"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case: Any) -> None:
    call, error, message = case
    with pytest.raises(error, match=message):
        call(adjoint.tensor(A, requires_grad=True))


def test_a_solution_of_plain_parameters_is_scipys() -> None:
    found = optimize.minimize(bowl, np.zeros(2), args=(A,), bounds=[(0, 1)] * 2)
    np.testing.assert_array_equal(found.x, scipy.optimize.minimize(bowl, np.zeros(2), args=(A,), bounds=[(0, 1)] * 2).x)
    with pytest.warns(scipy.integrate.IntegrationWarning):
        integrate.quad(lambda x: 1 / x, 0, 1)


@pytest.mark.parametrize("limits", [((1.0, 2.0), 3.0), (0.0, [adjoint.ones(1)]), ({}, 1.0)])
def test_limits_that_are_no_numbers_are_named(limits: Any) -> None:
    with pytest.raises(TypeError, match="a limit of integration must be one number"):
        adjoint.scipy.integrate.quad(lambda t: t, *limits)
