"""Derivatives of solutions of differential equations."""

import numpy as np
import pytest

import adjoint
from adjoint import func, vmap
from adjoint.implicit import ConvergenceError, odeint
from adjoint.solvers.ode import METHODS
from adjoint.testing import assert_close

F64 = adjoint.float64


def vector(*values):
    return adjoint.tensor(values, dtype=F64)


def logistic(t, y, p):
    return p[0] * y * (1 - y / p[1])


def closed_form(q, t):
    """The logistic curve through (t[0], q[0]) with the rate q[1] and the limit q[2]."""
    y, rate, limit = q
    return limit / (1 + (limit / y - 1) * adjoint.exp(-rate * (t - t[0])))


Q, T = vector(0.5, 1.5, 2.0), vector(0.2, 0.6, 1.0)
WAYS = {
    "discrete": {},
    "adjoint": {"derivative": "adjoint", "rtol": 1e-5, "atol": 1e-7},
    "snapshots": {"snapshots": 2},
    "fixed": {"method": "rk4", "steps": 5},
    "fixed, adjoint": {"method": "rk4", "steps": 5, "derivative": "adjoint"},
    "fixed, snapshots": {"method": "rk4", "steps": 5, "snapshots": 3},
}


def solution(q, t, **options):
    return odeint(logistic, q[0], t, q[1:], **options)


SLOW = pytest.param("adjoint", marks=pytest.mark.slow)


@pytest.mark.quick(1)
@pytest.mark.parametrize("way", [SLOW if way == "adjoint" else way for way in WAYS])
def test_against_the_closed_form_in_all_modes(way):
    def loss(f):
        return lambda q, t: (f(q, t) ** 2 * vector(1.0, 2.0, -0.5)).sum()

    ours, exact = loss(lambda q, t: solution(q, t, **WAYS[way])), loss(closed_form)
    close = {"rtol": 1e-4, "atol": 1e-4}
    assert_close(solution(Q, T, **WAYS[way]), closed_form(Q, T), **close)
    for transform in (func.grad, func.jacfwd):
        assert_close(transform(ours, (0, 1))(Q, T), transform(exact, (0, 1))(Q, T), **close)
    both = adjoint.cat([Q, T])
    for transform in (lambda f: func.jacrev(func.grad(f)), lambda f: func.jacfwd(func.grad(f))):
        result, reference = (transform(lambda x, f=f: f(x[:3], x[3:]))(both) for f in (ours, exact))
        assert_close(result, reference, **close)


@pytest.mark.parametrize("way", ["discrete", "snapshots", "fixed, snapshots"])
def test_discrete_gradients_are_exact_for_what_was_computed(way):
    coarse = WAYS[way] | ({"steps": 2} if "steps" in WAYS[way] else {"rtol": 1e-2, "atol": 1e-2})
    q = Q.clone().requires_grad_()
    assert adjoint.autograd.gradcheck(lambda q: solution(q, T, **coarse), (q,), check_forward_ad="fixed" in way)


def test_snapshots_bound_what_is_kept():
    def n_kept(**options):
        q = Q.clone().requires_grad_()
        y = odeint(lambda t, y, p: p * y.sin(), adjoint.ones(50, dtype=F64), vector(0, 1), q[0], **options)
        return sum(row.nbytes for row in adjoint.autograd.graph.saved_tensors(y[-1].sum()))

    assert n_kept(method="rk4", steps=60, snapshots=4) < n_kept(method="rk4", steps=60) / 10


@pytest.mark.quick(1)
@pytest.mark.parametrize("derivative", ["discrete", "adjoint"])
def test_under_vmap(derivative):
    batch = adjoint.stack([Q, Q + 0.5, Q + 1])
    slope = func.grad(lambda q: solution(q, T, derivative=derivative, rtol=1e-9, atol=1e-11)[-1])
    assert_close(vmap(slope)(batch), adjoint.stack([slope(q) for q in batch]), rtol=1e-6, atol=1e-6)


@pytest.mark.quick(0)
@pytest.mark.parametrize("derivative", ["discrete", "adjoint"])
def test_trees_complex_states_and_time_backwards(derivative):
    def turn(t, y, p):
        return {"z": 1j * p["w"] * y["z"], "area": (y["z"].abs() ** 2) * p["k"][0] * t}

    start = {"z": adjoint.tensor([1.0 + 0j, 2j], dtype=adjoint.complex128), "area": adjoint.zeros(2, dtype=F64)}

    def value(w, k):
        y = odeint(turn, start, [0.0, -1.0], {"w": w, "k": (k, "name")}, derivative=derivative)
        return (y["z"][-1].real + y["area"][-1]).sum()

    def exact(w, k):
        return adjoint.cos(w) + 2 * adjoint.sin(w) + 5 * k / 2

    w, k = adjoint.tensor(1.3, dtype=F64), adjoint.tensor(0.7, dtype=F64)
    for transform in (func.grad, func.jacfwd):
        assert_close(transform(value, (0, 1))(w, k), transform(exact, (0, 1))(w, k), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_orders_of_the_methods(method):
    orders = {"euler": 1, "midpoint": 2, "rk4": 4}
    if method in orders:
        errors = [(solution(Q, T, method=method, steps=n) - closed_form(Q, T)).abs().max().item() for n in (4, 8)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(orders[method], abs=0.3)
    else:
        results = [solution(Q, T, method=method, rtol=r, atol=r) for r in (1e-3, 1e-9)]
        errors = [(y - closed_form(Q, T)).abs().max().item() for y in results]
        assert errors[0] < 1e-3 and errors[1] < 1e-8


def test_one_time_and_equal_times():
    assert_close(solution(Q, T[:1]), Q[:1])
    assert_close(solution(Q, vector(1.0, 1.0)), adjoint.stack([Q[0], Q[0]]))


GRAD = vector(1.0).requires_grad_()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "rk5"}, ValueError, "unknown method 'rk5'"),
        ({"method": "rk4"}, ValueError, "rk4 needs steps="),
        ({"steps": 3}, ValueError, "dopri5 chooses its steps itself"),
        ({"derivative": "none"}, ValueError, "'discrete' or 'adjoint'"),
        ({"max_steps": 2}, ConvergenceError, "2 steps were not enough from t = 0.2 to 0.6"),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error, match=message):
        solution(Q, T, **options)


def test_errors_of_arguments():
    with pytest.raises(RuntimeError, match=r"odeint\(\).*requires grad.*after t"):
        odeint(lambda t, y: GRAD * y, vector(1.0), T, derivative="adjoint")
    with pytest.raises(ValueError, match="one or more times"):
        odeint(lambda t, y: y, vector(1.0), 1.0)
    y = odeint(lambda t, y: GRAD * y, vector(1.0), vector(0.0, 1.0))[-1]
    assert_close(adjoint.autograd.grad(y.sum(), GRAD)[0], vector(np.e), rtol=1e-6, atol=1e-6)
