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


T, Y = np.linspace(0.0, 1.0, 5), np.array([1.0, 1.6, 2.2, 3.1, 5.0])


RNG = np.random.default_rng(3)
TALL, RIGHT, LEVER = RNG.normal(size=(6, 3)), RNG.normal(size=6), np.array([1.0, -0.4, 0.7])
COST, WEIGHTS = np.array([-1.0, -2.0, -1.3, -1.0]), np.array([1.0, 0.3, -0.7, 0.2])
ROWS, LIMITS = np.array([[1.0, 1.0, 2.0, 1.0], [2.0, 0.5, 1.0, 1.0], [1.0, 3.0, 1.0, 2.0]]), np.array([4.0, 5.0, 6.0])
#: Options for minima with as many digits as differences need.
FINE: dict[str, dict[str, Any]] = {
    "fmin": {"xtol": 1e-9, "ftol": 1e-14, "full_output": 1}, "fmin_powell": {"xtol": 1e-9, "ftol": 1e-14},
    "fmin_cg": {"gtol": 1e-8}, "fmin_bfgs": {"gtol": 1e-8},
}  # fmt: skip


def growth(t: Any, a: Any, b: Any) -> Any:
    return a * np.exp(b * t)


def misfit(p: Any, y: Any, weight: Any = 1.0) -> Any:
    return (growth(T, p[0], p[1]) - y) * weight


#: Functions of a module's functions and of parameters. They use NumPy's names, which take Tensors and Arrays.
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
    "root, by position": (lambda m, a: m.optimize.root(two, np.array([1.0, 1.0]), (a,)).x[0], A),
    "root, jac=True": (
        lambda m, a: m.optimize.root(lambda x, a: (x**3 - a, np.diag(3 * x**2)), A, (a,), jac=True).x[1], A),
    "brentq, by position": (lambda m, a: m.optimize.brentq(lambda x, a: x**3 - a, 0.0, 9.0, (a,)), 2.3),
    "newton, fprime": (
        lambda m, a: m.optimize.newton(lambda x, a: x**3 - a, 1.0, lambda x, a: 3 * x**2, (a,)), 2.3),
    "fsolve": (lambda m, a: np.sum(m.optimize.fsolve(two, A, args=(a,), xtol=1e-13) * np.array([1.0, -0.3])), A),
    "fsolve, full_output": (
        lambda m, a: m.optimize.fsolve(lambda x, a: x**3 - a, A, a, lambda x, a: np.diag(3 * x**2), True)[0][1], A),
    "fixed_point": (
        lambda m, a: np.sum(m.optimize.fixed_point(lambda x, a: np.cos(a * x / 3), A, (a,), xtol=1e-13)), A),
    "minimize, by position": (lambda m, a: m.optimize.minimize(bowl, np.zeros(2), (a,)).x[1], A),
    "minimize, jac=True": (
        lambda m, a: m.optimize.minimize(lambda x, a: (np.sum((x - a) ** 2), 2 * (x - a)), A, a, jac=True).x[1], A),
    **{
        f"minimum, {name}": (
            lambda m, a, n=name: getattr(m.optimize, n)(bowl, np.zeros(2), args=(a,), disp=0, **FINE[n])[1], A)
        for name in ("fmin", "fmin_powell", "fmin_cg", "fmin_bfgs")
    },
    "minimum, fmin_bfgs, path and value": (
        lambda m, a: m.optimize.fmin_bfgs(bowl, np.zeros(2), None, (a,), 1e-9, disp=0, full_output=1, retall=1)[1], A),
    "minimum, fmin_bfgs, path": (
        lambda m, a: m.optimize.fmin_bfgs(bowl, np.zeros(2), None, (a,), 1e-9, disp=0, retall=1)[0][0], A),
    "minimum, fmin_ncg": (
        lambda m, a: m.optimize.fmin_ncg(
            lambda x, a: np.sum((x - a) ** 4 + x**2), A, lambda x, a: 4 * (x - a) ** 3 + 2 * x, args=(a,), disp=0
        )[0], A),
    "minimum, fmin_l_bfgs_b": (
        lambda m, a: m.optimize.fmin_l_bfgs_b(lambda x, a: (np.sum((x - a) ** 2), 2 * (x - a)), A, args=(a,))[1], A),
    "minimum, fmin_l_bfgs_b, its value": (
        lambda m, a: m.optimize.fmin_l_bfgs_b(bowl, A, args=(a,), approx_grad=1)[1], A),
    "min, leastsq": (lambda m, y: m.optimize.leastsq(misfit, np.ones(2), (y,))[0][1], Y),
    "min, leastsq, covariance": (lambda m, y: m.optimize.leastsq(misfit, np.ones(2), y, full_output=1)[1][0, 1], Y),
    "min, least_squares": (lambda m, y: m.optimize.least_squares(misfit, np.ones(2), args=(y,)).x[0], Y),
    "min, least_squares, keywords": (
        lambda m, y: m.optimize.least_squares(misfit, np.ones(2), args=(Y,), kwargs={"weight": y}).x[0], Y),
    **{
        f"min, least_squares, {key}": (
            lambda m, y, k=key: np.sum(m.optimize.least_squares(misfit, np.ones(2), args=(y,))[k] ** 2), Y)
        for key in ("cost", "fun", "jac")
    },
    "min, curve_fit": (lambda m, y: m.optimize.curve_fit(growth, T, y)[0][1], Y),
    "min, curve_fit, covariance": (lambda m, y: m.optimize.curve_fit(growth, T, y)[1][0, 1], Y),
    "min, curve_fit, places": (lambda m, t: m.optimize.curve_fit(growth, t, Y, p0=[1.0, 1.0])[0][1], T),
    "min, curve_fit, sigma": (lambda m, s: m.optimize.curve_fit(growth, T, Y, sigma=s)[1][1, 1], Y),
    "min, curve_fit, covariance of the data": (
        lambda m, s: m.optimize.curve_fit(growth, T, Y, sigma=np.diag(s), absolute_sigma=True)[1][1, 1], Y),
    "nnls": (lambda m, b: np.sum(m.optimize.nnls(TALL, b)[0] * LEVER), RIGHT),
    "nnls, matrix": (lambda m, A: np.sum(m.optimize.nnls(A, RIGHT)[0] * LEVER), TALL),
    "nnls, norm": (lambda m, A: m.optimize.nnls(A, RIGHT)[1], TALL),
    "lsq_linear": (lambda m, A: np.sum(m.optimize.lsq_linear(A, RIGHT).x * LEVER), TALL),
    "lsq_linear, bounds": (
        lambda m, b: np.sum(m.optimize.lsq_linear(TALL, b, (-0.3, 0.4), method="bvls").x * LEVER), RIGHT),
    "lsq_linear, cost": (lambda m, A: m.optimize.lsq_linear(A, RIGHT, (-0.3, 0.4), method="bvls").cost, TALL),
    "linprog": (lambda m, b: np.sum(m.optimize.linprog(COST, ROWS, b).x * WEIGHTS), LIMITS),
    "linprog, rows": (lambda m, A: np.sum(m.optimize.linprog(COST, A, LIMITS).x * WEIGHTS), ROWS),
    "linprog, cost": (lambda m, c: m.optimize.linprog(c, ROWS, LIMITS).fun, COST),
    "linprog, place by cost": (lambda m, c: np.sum(m.optimize.linprog(c, ROWS, LIMITS).x), COST),
    "linprog, equations": (
        lambda m, b: np.sum(m.optimize.linprog(COST, ROWS, LIMITS, np.ones((1, 4)), b, (0, 2)).slack), np.array([2.5])),
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
    result = call(Ours, tensor)
    tolerance = 1e-4 if name.startswith("min") else 1e-9
    assert isinstance(result, adjoint.Tensor) and result.item() == pytest.approx(expected, rel=tolerance)
    result.backward()
    assert tensor.grad is not None
    exact = tensor.grad.numpy()
    np.testing.assert_allclose(adjoint.func.grad(lambda a: call(Ours, a))(value), exact, rtol=1e-7)
    way = np.cos(np.arange(np.size(value)) + 1.0).reshape(np.shape(value))
    step = 1e-3 if name.startswith("min") else 1e-5
    slope = (call(Ours, value + step * way) - call(Ours, value - step * way)) / (2 * step)
    assert np.sum(exact * way) == pytest.approx(slope, rel=2e-3 if name.startswith("min") else 1e-5)


def test_second_order() -> None:
    a = adjoint.tensor(1.3, dtype=adjoint.float64, requires_grad=True)
    for name in ("brentq", "quad", "quad, limits", "minimize_scalar"):
        assert adjoint.autograd.gradgradcheck(lambda a, name=name: CASES[name][0](Ours, a), a)


REFUSED: list[tuple[Call, type[Exception], str]] = [
    (
        lambda a: optimize.minimize(bowl, np.zeros(2), args=(a,), bounds=[(0, 1)] * 2),
        TypeError,
        "bounds=? (is|are) not supported for Tensors",
    ),
    (lambda a: integrate.quad(lambda x, a: a[0] * x, 0, 1, args=(a,), weight="cos", wvar=2.0), TypeError, "weight="),
    (lambda a: integrate.solve_ivp(lambda t, y, a: -a * y, (0, 1), A, "BDF", args=(a,)), TypeError, "use RK45 or RK23"),
    (lambda a: optimize.brentq(lambda x: x**3 - float(a[0].detach()), 0, 9, args=(a,)), TypeError, "argument"),
    (lambda a: optimize.brentq(lambda x: x**3 - a[0], 0, 9), TypeError, "none of its arguments"),
    (lambda a: optimize.minimize(lambda x: ((x - a) ** 2).sum(), A), TypeError, "none of its arguments"),
    (lambda a: optimize.golden(lambda x: (x - a[0]) ** 2), TypeError, "none of its arguments"),
    (lambda a: optimize.broyden1(lambda x: x**3 - a, A), TypeError, r"root\(F, x0, args=\(...\), method='broyden1'"),
    (lambda a: optimize.newton_krylov(lambda x: x**3 - a, A), TypeError, "method='krylov'"),
    (lambda a: optimize.fsolve(lambda x: x**3 - a, A), TypeError, r"Give it in args=\(...\)"),
    (lambda a: optimize.least_squares(misfit, A, args=(a[0],), bounds=(0, 9)), TypeError, "bounds must be"),
    (lambda a: optimize.least_squares(misfit, A, args=(a[0],), loss="huber"), TypeError, "loss must be 'linear'"),
    (lambda a: optimize.curve_fit(growth, T, Y * a[0], bounds=(0, 9)), TypeError, "bounds must be"),
    (lambda a: optimize.curve_fit(lambda t, b, c: growth(t, b, c) + a[0], T, Y), TypeError, "xdata, ydata or sigma"),
    (lambda a: optimize.minimize_scalar(quartic, bounds=(a[0], 9.0), args=(1.0,)), TypeError, "bounds has no deriv"),
    (lambda a: optimize.linprog(COST, ROWS, LIMITS * a[0], bounds=(0, a[1])), TypeError, "bounds has no derivative"),
    (lambda a: optimize.linprog(COST * 0, ROWS, LIMITS * a[0]), ValueError, "the multiplier 0"),
    (lambda a: optimize.linprog([1.0, 2.0], A_eq=[[1.0, 1.0]] * 2, b_eq=a * 0 + 1), ValueError, "a vertex"),
    (lambda a: optimize.milp(a), TypeError, r"scipy.optimize.milp\(\) was given a Tensor that requires grad"),
    (lambda a: optimize.approx_fprime(a, lambda x: (x**2).sum()), TypeError, r"approx_fprime\(\) was given a Tensor"),
    (
        lambda a: optimize.fminbound(lambda x, a: (x - a[0]) ** 2, 0.0, 9.0, args=(a,)),
        TypeError,
        "bounds=? (is|are) not supported for Tensors",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case: Any) -> None:
    call, error, message = case
    with pytest.raises(error, match=message):
        call(adjoint.tensor(A, requires_grad=True))


def test_assignments_are_those_of_the_values() -> None:
    costs = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    rows, columns = scipy.optimize.linear_sum_assignment(costs)
    slopes = adjoint.grad(lambda x: np.sum(x[optimize.linear_sum_assignment(x)]))(costs)
    expected = np.zeros((3, 3))
    expected[rows, columns] = 1
    np.testing.assert_array_equal(slopes, expected)


def test_a_solution_of_plain_parameters_is_scipys() -> None:
    solution = optimize.minimize(bowl, np.zeros(2), args=(A,), bounds=[(0, 1)] * 2)
    expected = scipy.optimize.minimize(bowl, np.zeros(2), args=(A,), bounds=[(0, 1)] * 2)
    np.testing.assert_array_equal(solution.x, expected.x)
    with pytest.warns(scipy.integrate.IntegrationWarning):
        integrate.quad(lambda x: 1 / x, 0, 1)


@pytest.mark.parametrize("limits", [((1.0, 2.0), 3.0), (0.0, [adjoint.ones(1)]), ({}, 1.0)])
def test_limits_that_are_no_numbers_are_named(limits: Any) -> None:
    with pytest.raises(TypeError, match="a limit of integration must be one number"):
        adjoint.scipy.integrate.quad(lambda t: t, *limits)
