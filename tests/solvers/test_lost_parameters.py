"""Solvers in a differentiated function raise an error if their solution would silently be a constant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.scipy import integrate, optimize

X = np.array([1.0, 2.0])
T = np.arange(1.0, 4.0)

#: Functions of x whose solvers return plain numbers, which have no derivative.
LOSING: dict[str, Any] = {
    "minimize": lambda x: adjoint.optimize.minimize(lambda z: ((z - x) ** 2).sum(), X).x.sum(),
    "minimize without gradients": lambda x: adjoint.optimize.minimize(
        lambda z: ((z - x) ** 2).sum(), X, method="nelder-mead"
    ).x.sum(),
    "minimize with args": lambda x: adjoint.optimize.minimize(lambda z, a: ((z - a) ** 2).sum(), X, args=(x,)).x.sum(),
    "minimize with a constraint": lambda x: adjoint.optimize.minimize(
        lambda z: (z**2).sum(), X, constraints={"type": "eq", "fun": lambda z: z[:1] - x[0]}, method="slsqp"
    ).x.sum(),
    "root": lambda x: adjoint.optimize.root(lambda z: z - x, X).x.sum(),
    "root_scalar": lambda x: adjoint.optimize.root_scalar(lambda z: z - x[0], x0=0.5).root,
    "least_squares": lambda x: adjoint.optimize.least_squares(lambda z: z - x, X).x.sum(),
    "curve_fit": lambda x: adjoint.optimize.curve_fit(lambda t, a: a * t * x[0], T, T, p0=[1.0])[0].sum(),
    "solve_ivp": lambda x: adjoint.integrate.solve_ivp(lambda t, y: -x[0] * y, (0.0, 1.0), X).y[0, -1],
    "solve_ivp from": lambda x: adjoint.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x).y[0, -1],
    "quad of floats": lambda x: integrate.quad(lambda t: math.sin(x[0] * t), 0, 1)[0],
    "brentq of floats": lambda x: optimize.brentq(lambda z: float(z - x[0]), 0, 3),
}


@pytest.mark.parametrize("transform", [adjoint.grad, adjoint.func.jacfwd])
@pytest.mark.parametrize("name", LOSING)
def test_a_solution_that_would_be_a_constant_is_an_error(name: str, transform: Any) -> None:
    with pytest.raises(RuntimeError, match="would be lost"):
        transform(lambda x: LOSING[name](x) + (0 * x).sum())(X)


@pytest.mark.parametrize("name", LOSING)
def test_constants_are_given_by_detach(name: str) -> None:
    gradient = adjoint.grad(lambda x: LOSING[name](adjoint.numpy.detach(x)) * x[1])(X)
    assert gradient == pytest.approx([0.0, LOSING[name](X)])


def test_outside_of_differentiated_functions_parameters_may_require_gradients() -> None:
    w = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    solution = adjoint.optimize.minimize(lambda z: ((z - w) ** 2).sum(), adjoint.zeros(2, dtype=adjoint.float64))
    assert solution.x == pytest.approx([1.0, 2.0])
    with adjoint.no_grad():
        gradient = adjoint.grad(lambda x: x.sum() * without_derivatives(x))(X)
    assert gradient == pytest.approx([3.0, 3.0])


def without_derivatives(x: Any) -> Any:
    with adjoint.no_grad():
        return adjoint.optimize.minimize(lambda z: ((z - x) ** 2).sum(), X).x.sum()
