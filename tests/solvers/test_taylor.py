"""Solvers by Taylor series: odeint(method="taylor"), and Halley's method for roots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.implicit import root
from adjoint.integrate import odeint
from adjoint.solvers.convergence import ConvergenceError

START = adjoint.tensor([2.0, 0.0], dtype=adjoint.float64)


def pendulum(t: Any, y: Any) -> Any:
    return adjoint.stack([y[1], -adjoint.sin(y[0])])


def energy(y: Any) -> float:
    return float(y[1] ** 2 / 2 - adjoint.cos(y[0]))


def test_pendulum_is_solved_to_the_tolerance() -> None:
    times = [0.0, 3.0, 10.0]
    solution = odeint(pendulum, START, times, method="taylor", rtol=1e-13, atol=1e-13)
    expected = odeint(pendulum, START, times, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(solution.numpy(), expected.numpy(), atol=1e-9)
    assert abs(energy(solution[-1]) - energy(START)) < 1e-12


def test_derivatives_in_all_inputs() -> None:
    a = adjoint.tensor(-1.0, dtype=adjoint.float64, requires_grad=True)
    start = adjoint.tensor(1.5, dtype=adjoint.float64, requires_grad=True)
    end = adjoint.tensor([0.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    odeint(lambda t, y, a: a * y, start, end, a, method="taylor", rtol=1e-12)[-1].backward()
    value = np.exp(-2.0)
    np.testing.assert_allclose(start.grad.item(), value, rtol=1e-9)
    np.testing.assert_allclose(a.grad.item(), 1.5 * 2 * value, rtol=1e-9)
    np.testing.assert_allclose(end.grad[1].item(), -1.5 * value, rtol=1e-9)


@pytest.mark.parametrize("options", [{"derivative": "adjoint"}, {"snapshots": 2}])
def test_other_ways_to_derivatives(options: dict[str, Any]) -> None:
    a = adjoint.tensor(-1.0, dtype=adjoint.float64, requires_grad=True)
    start = adjoint.ones((), dtype=adjoint.float64)
    odeint(lambda t, y, a: a * y, start, [0.0, 2.0], a, method="taylor", rtol=1e-11, **options)[-1].backward()
    np.testing.assert_allclose(a.grad.item(), 2 * np.exp(-2.0), rtol=1e-7)


def test_time_backward_and_time_in_the_equation() -> None:
    solution = odeint(lambda t, y: 2 * t * y, adjoint.ones((), dtype=adjoint.float64), [1.0, 0.0], method="taylor")
    np.testing.assert_allclose(solution[-1].item(), np.exp(-1.0), rtol=1e-6)


def test_arrays() -> None:
    solution = odeint(lambda t, y: -y, np.array([1.0, 2.0]), [0.0, 1.0], method="taylor", order=20)
    np.testing.assert_allclose(solution[-1], np.array([1.0, 2.0]) * np.exp(-1.0), rtol=1e-7)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "taylor", "steps": 3}, ValueError, "steps=3 is not supported for method 'taylor'"),
        ({"method": "taylor", "order": 1}, ValueError, "order must be 2 or more, got 1"),
        ({"method": "rk4", "order": 4, "steps": 2}, ValueError, "order= is for method 'taylor'"),
        ({"method": "tailor"}, ValueError, "taylor"),
        ({"method": "taylor", "max_steps": 1}, ConvergenceError, "1 steps were not enough"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        odeint(pendulum, START, [0.0, 50.0], **options)


def test_solution_that_ends_early() -> None:
    """y' = y^2 has a pole at t = 1, so the steps become shorter and shorter."""
    with pytest.raises(ConvergenceError), np.errstate(all="ignore"):
        odeint(lambda t, y: y * y, adjoint.ones((), dtype=adjoint.float64), [0.0, 2.0], method="taylor", max_steps=200)


# Halley ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [[5.0, 3.0], [0.4, 9.0]])
def test_halley_finds_the_root_with_its_derivative(start: list[float]) -> None:
    a = adjoint.tensor([2.0, 3.0], dtype=adjoint.float64, requires_grad=True)
    x0 = adjoint.tensor(start, dtype=adjoint.float64)

    def function(x: Any, a: Any) -> Any:
        return x**3 - a + 0.1 * x.flip(0)

    solution = root(function, x0, a, method="halley")
    expected = root(function, x0, a)
    np.testing.assert_allclose(solution.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(
        adjoint.autograd.grad(solution.sum(), a)[0].numpy(),
        adjoint.autograd.grad(expected.sum(), a)[0].numpy(),
        rtol=1e-9,
    )


def test_halley_takes_fewer_steps() -> None:
    """A step has the third order. The smallest sufficient limit on steps counts them."""

    def steps(method: str) -> int:
        for limit in range(1, 30):
            try:
                root(lambda x: x.exp() - 5, adjoint.tensor([4.0], dtype=adjoint.float64), method=method, max_iter=limit)
            except ConvergenceError:
                continue
            return limit
        raise AssertionError(method)

    assert steps("halley") < steps("newton")
