"""SciPy's solvers with derivatives from adjoint."""

import numpy as np
import pytest
from scipy import optimize as reference
from scipy import sparse

import adjoint
from adjoint import optimize
from adjoint.integrate import solve_ivp
from adjoint.solvers.functions import ScalarFunction, VectorFunction
from adjoint.solvers.optimize import DERIVATIVES

#: The largest error of a method's solution, if it is not 1e-4.
SLOPPY = dict.fromkeys(("nelder-mead", "trust-ncg", "newton-cg", "trust-krylov", "slsqp"), 1e-3) | {"tnc": 1.0}


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("method", [name for name in DERIVATIVES if name != "cobyla"])
def test_every_method_of_minimize(method, monkeypatch):
    names = set()
    for name in ("jac", "hess", "hessp"):
        call = getattr(ScalarFunction, name)
        monkeypatch.setattr(ScalarFunction, name, lambda *a, call=call, name=name: (names.add(name), call(*a))[1])
    solution = optimize.minimize(rosenbrock, [1.2, 1.2], method=method)
    assert isinstance(solution.fun, float) and solution.x == pytest.approx(1, abs=SLOPPY.get(method, 1e-4))
    assert names == set(DERIVATIVES[method])


def test_a_method_of_the_user_s_gets_everything():
    def newton(fun, x0, args, jac, hess, hessp, **options):
        x = x0
        for _ in range(9):
            x = x - np.linalg.solve(hess(x), jac(x))
        assert hessp(x, x) == pytest.approx(hess(x) @ x)
        return reference.OptimizeResult(x=x, fun=fun(x), success=True)

    assert optimize.minimize(rosenbrock, [1.2, 1.2], method=newton).x == pytest.approx(1)


@pytest.mark.parametrize("method", ["trust-constr", "SLSQP", None])
def test_constraints_and_bounds(method):
    disc = reference.NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, -np.inf, 1.0)
    rules = {
        "nonlinear": disc,
        "linear too": [disc, reference.LinearConstraint([[1, -1]], -9, 9)],
        "dict": {"type": "ineq", "fun": lambda x, r: r - (x**2).sum(), "args": (1.0,)},
    }
    for constraints in rules.values():
        result = optimize.minimize(rosenbrock, [0.5, 0.5], method=method, constraints=constraints, bounds=[(0, 2)] * 2)
        assert result.x == pytest.approx([0.786415, 0.617698], abs=1e-4)


def test_constraints_are_given_exact_derivatives():
    function = VectorFunction(lambda x: [x[0] ** 3 * x[1], x[1] ** 2], [1.0, 2.0], (), "f")
    assert function.jac([1.0, 2.0]).tolist() == [[6.0, 1.0], [0.0, 4.0]]
    assert function.hess([1.0, 2.0], [1.0, 10.0]).tolist() == [[12.0, 3.0], [3.0, 20.0]]
    second = {"jac": lambda x: [[1, 1]], "hess": lambda x, v: np.zeros((2, 2))}
    constraint = reference.NonlinearConstraint(lambda x: x.sum(), 0.5, 1, **second)
    assert optimize.minimize(rosenbrock, [0.2, 0.2], method="trust-constr", constraints=constraint).success


def test_trees_come_back_as_trees_and_their_bounds_are_trees():
    start = {"a": 0.0, "b": np.ones((2, 2), dtype=np.float32), "c": np.array([1, 2])}
    bounds = {"a": (None, 1.5), "b": (np.full((2, 2), 0.5), None), "c": (-9, 9)}
    result = optimize.minimize(
        lambda p: (p["a"] - 2) ** 2 + np.square(p["b"]).sum() + ((p["c"] - 1) ** 2).sum(), start, bounds=bounds
    )
    assert result.x["a"] == pytest.approx(1.5) and result.x["c"] == pytest.approx(1, abs=1e-6)
    assert result.x["b"].shape == (2, 2) and result.x["b"].dtype == np.float32 and result.x["b"] == pytest.approx(0.5)
    assert result.jac.shape == (7,)


def test_large_trust_constr_and_other_hessians():
    solution = optimize.minimize(lambda x: ((x - 1) ** 4).sum() + (x**2).sum(), np.zeros(501), method="trust-constr")
    assert solution.optimality < 1e-6
    solution = optimize.minimize(rosenbrock, [0.5, 0.5], method="trust-constr", hess=reference.SR1())
    assert solution.x == pytest.approx(1, abs=1e-4)


def test_each_point_is_evaluated_once():
    calls = []
    f = optimize.scipy_function(lambda x, k: (calls.append(1), k * (x**3).sum())[1], args=(2.0,))
    x = np.array([1.0, 2.0])
    assert (f.fun(x), f.jac(x).tolist(), f.hess(x).tolist()) == (18.0, [6.0, 24.0], [[12.0, 0.0], [0.0, 24.0]])
    assert f.hessp(x, [1, 1]).tolist() == [12.0, 24.0] and len(calls) == 1
    f.jac(x)[:] = 0
    assert f.jac(x).tolist() == [6.0, 24.0]
    x[0] = 0.0
    assert f.fun(x) == 16.0 and len(calls) == 2
    assert f.fun([1.0]) == 2.0 and f.hess([1.0]).tolist() == [[12.0]]
    constant = optimize.scipy_function(lambda x: 3.0, allow_constant=True)
    assert constant.fun(x) == 3.0 and not constant.hess(x).any() and not constant.hessp(x, x).any()


def chain(x):
    """Residuals with a Jacobian of two diagonals."""
    return adjoint.cat([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])


@pytest.mark.parametrize("jac", ["dense", "sparse", "matrix-free"])
def test_least_squares(jac):
    solution = optimize.least_squares(chain, np.full(12, 0.5), jac)
    assert solution.x == pytest.approx(1) and solution.cost < 1e-20
    point = np.linspace(0.1, 1, 12)
    function = VectorFunction(chain, point, (), "f")
    exact = np.vstack([10 * (np.eye(12, k=1) - 2 * np.diag(point))[:-1], -np.eye(12)[:-1]])
    assert function.jac(point) == pytest.approx(exact)
    assert function.operator(point) @ np.eye(12) == pytest.approx(exact)
    assert pytest.approx(exact) == (function.operator(point).T @ np.eye(22)).T


def tridiagonal(x):
    return x**3 + adjoint.nn.functional.pad(x[1:], (0, 1)) - 2


def test_solvers_with_sparse_derivatives():
    n = 30
    exact = optimize.minimize(rosenbrock, np.full(n, 0.9), method="trust-constr", options={"maxiter": 200})
    for method in ("trust-constr", "Newton-CG"):
        solution = optimize.minimize(rosenbrock, np.full(n, 0.9), method=method, hess="sparse")
        assert solution.x == pytest.approx(exact.x, abs=1e-3)
    disc = reference.NonlinearConstraint(lambda x: x[1:] ** 2 + x[:-1] ** 2, 0, 1)
    solution, dense = (
        optimize.minimize(rosenbrock, np.full(5, 0.5), method="trust-constr", constraints=disc, hess=hess)
        for hess in ("sparse", "exact")
    )
    assert solution.x == pytest.approx(dense.x, abs=1e-4)
    for method in ("hybr", "lm"):
        assert optimize.root(tridiagonal, np.ones(n), method=method, jac="sparse").x == pytest.approx(
            optimize.root(tridiagonal, np.ones(n), method=method).x
        )

    def heat(t, u):
        return 900 * adjoint.cat([u[1:2] - 2 * u[:1], u[2:] - 2 * u[1:-1] + u[:-2], u[-2:-1] - 2 * u[-1:]]) * (1 + t)

    start = np.sin(np.linspace(0, np.pi, n))
    for method in ("BDF", "Radau"):
        solution, dense = (solve_ivp(heat, (0, 0.1), start, method, jac=jac) for jac in ("sparse", "dense"))
        assert solution.y == pytest.approx(dense.y, abs=1e-5) and solution.njev <= dense.njev + 1


def test_solvers_choose_sparse_derivatives_where_they_pay(monkeypatch):
    from adjoint.solvers.structure import derivatives

    calls = []
    original = derivatives.SparseDerivative.matrix_at
    monkeypatch.setattr(
        derivatives.SparseDerivative, "matrix_at", lambda self, *args: calls.append(self.what) or original(self, *args)
    )
    n = 150
    solution = solve_ivp(lambda t, y: -y * np.roll(y, 1), (0, 1), np.ones(n), "BDF")
    assert solution.success and "Jacobian" in calls
    calls.clear()
    solution = solve_ivp(lambda t, y: -y * y.sum() / n, (0, 1), np.ones(n), "BDF")
    assert solution.success and calls == []
    optimize.minimize(rosenbrock, np.ones(600), method="trust-constr", options={"maxiter": 2})
    assert set(calls) == {"Hessian"}
    calls.clear()
    optimize.minimize(lambda x: (x.sum() - 1) ** 2, np.ones(600), method="trust-constr", options={"maxiter": 2})
    assert calls == []


def test_least_squares_and_root_choose_sparse_jacobians_where_they_pay():
    n = 120
    for options, is_sparse in (({}, True), ({"method": "lm"}, False), ({"tr_solver": "exact"}, False)):
        solution = optimize.least_squares(chain, np.full(n, 0.9), **options)
        assert solution.x == pytest.approx(1, abs=1e-6) and sparse.issparse(solution.jac) == is_sparse
    assert not sparse.issparse(optimize.least_squares(chain, np.full(12, 0.9)).jac)
    dense = optimize.least_squares(lambda x: x**3 + x.sum() - 2, np.full(n, 0.1))
    assert not sparse.issparse(dense.jac)
    roots = [optimize.root(tridiagonal, np.ones(n), jac=jac).x for jac in ("auto", "dense")]
    assert roots[0] == pytest.approx(roots[1])
    with pytest.raises(ValueError, match="known are auto, dense and sparse"):
        optimize.root(tridiagonal, np.ones(3), jac="other")


def test_unknown_forms_of_derivatives():
    with pytest.raises(ValueError, match="goes with trust-constr and newton-cg, not with method='bfgs'"):
        optimize.minimize(rosenbrock, [1.0, 2.0], method="BFGS", hess="sparse")
    with pytest.raises(ValueError, match=r"root.*unknown jac='full'"):
        optimize.root(tridiagonal, [1.0, 2.0], jac="full")
    with pytest.raises(ValueError, match="'sparse' with Radau and BDF"):
        solve_ivp(lambda t, y: -y, (0, 1), [1.0], "LSODA", jac="sparse")


def model(x, a, b):
    return a * np.exp(-b * x)


def test_curve_fit_and_roots():
    x = np.linspace(0, 1, 30)
    y = 3 * np.exp(-2 * x) + 0.01 * np.sin(50 * x)
    ours = optimize.curve_fit(model, x, y)
    theirs = reference.curve_fit(model, x, y)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-6) and ours[1] == pytest.approx(theirs[1], rel=1e-4)
    for method in ("hybr", "lm", "krylov"):
        assert optimize.root(lambda x, a: x**3 - a, [1.0, 1.0], 8.0, method).x == pytest.approx(2, rel=1e-5)
    for options in ({"x0": 1.0}, {"x0": 1.0, "method": "halley"}, {"bracket": (0, 2)}, {"x0": 1.0, "x1": 1.5}):
        assert optimize.root_scalar(lambda x, a: x**3 - a, 2.0, **options).root == pytest.approx(2 ** (1 / 3))


def robertson(t, y, k):
    first, second = k * y[0], 1e4 * y[1] * y[2]
    third = 3e7 * y[1] ** 2
    return adjoint.stack([second - first, first - second - third, third])


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA", "RK45"])
def test_solve_ivp(method):
    end = 40.0 if method != "RK45" else 0.1
    expected = [0.7158271, 9.185535e-6, 0.2841637] if end == 40 else [0.9960777, 3.580438e-5, 0.0038865]
    solution = solve_ivp(robertson, (0, end), [1.0, 0.0, 0.0], method, args=(0.04,), rtol=1e-7, atol=1e-11)
    assert solution.y[:, -1] == pytest.approx(expected, rel=1e-4)


def test_solve_ivp_with_trees_events_and_times():
    def falls(t, y):
        return y["place"] - 0.5

    falls.terminal, falls.direction = True, -1
    solution = solve_ivp(
        lambda t, y: {"place": y["speed"], "speed": -y["place"]},
        (0, 9),
        {"place": 1.0, "speed": np.zeros(())},
        "LSODA",
        np.linspace(0, 9, 50),
        events=[falls],
        rtol=1e-9,
    )
    assert solution.t_events[0] == pytest.approx([np.pi / 3], abs=1e-4)
    assert solution.y["place"] == pytest.approx(np.cos(solution.t), abs=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optimize.minimize(lambda x: x, [1.0, 2.0]), r"minimize\(\): expected .* one real number, .* \(2,\)"),
        (lambda: optimize.minimize(rosenbrock, [1.0, 2.0], method="none"), "Unknown solver none"),
        (lambda: optimize.least_squares(chain, [1.0, 2.0], "exact"), "unknown jac='exact'"),
        (lambda: optimize.least_squares(chain, [1.0, 2.0, 3.0], jac_sparsity=np.eye(4, 3)), "pattern lacks"),
        (lambda: optimize.curve_fit(lambda x, *p: x, [1.0], [1.0]), "p0 is None"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_methods_of_the_callers_own_give_results():
    with pytest.raises(TypeError, match="must return an OptimizeResult, got int"):
        optimize.minimize(lambda x: (x * x).sum(), np.ones(2), method=lambda fun, x0, **options: 3)
