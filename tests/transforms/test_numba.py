"""Functions compiled by numba: `adjoint.custom` gives them derivatives; without it they raise an error."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import adjoint

numba = pytest.importorskip("numba")

X = np.array([0.3, 0.7, -0.1])


@numba.njit
def energy(x: Any, k: float) -> float:
    """The energy of springs between neighbours."""
    total = 0.0
    for i in range(len(x) - 1):
        total += k * (x[i + 1] - x[i]) ** 2
    return total


@numba.njit
def force(g: float, x: Any, k: float) -> Any:
    result = np.zeros_like(x)
    for i in range(len(x) - 1):
        pull = 2 * k * (x[i + 1] - x[i])
        result[i + 1] += g * pull
        result[i] -= g * pull
    return result


@numba.vectorize(["float64(float64)"])
def cube(x: float) -> float:
    return x**3


def springs() -> Any:
    function = adjoint.custom(energy)
    function.vjp("x")(force)
    function.vjp("k")(lambda g, x: g * energy(x, 1.0))
    return function


@pytest.mark.parametrize("block", [nullcontext, adjoint.scipy.patched])
def test_compiled_functions_have_derivatives_by_compiled_rules(block: Any) -> None:
    energy(X, 1.0), force(1.0, X, 1.0)  # these calls compile the functions before the block
    with block():
        gradients = adjoint.grad(lambda x, k: springs()(2 * x, k) ** 2, argnums=(0, 1))(X, 1.5)
    value = energy(2 * X, 1.5)
    assert gradients[0] == pytest.approx(2 * value * 2 * force(1.0, 2 * X, 1.5))
    assert gradients[1] == pytest.approx(2 * value * energy(2 * X, 1.0))
    assert springs()(X, 1.5) == energy(X, 1.5)


def test_values_and_gradients_of_many_compiled_calls() -> None:
    def loss(x: Any) -> Any:
        return sum(springs()(x * n, 0.5) for n in (1.0, 2.0)) + np.sum(x**2)

    gradient, value = adjoint.func.grad_and_value(loss)(X)
    assert value == pytest.approx(energy(X, 2.5) + np.sum(X**2))
    assert gradient == pytest.approx(force(1.0, X, 2.5) + 2 * X)


def test_compiled_ufuncs() -> None:
    function = adjoint.custom(cube)
    function.vjp("x")(lambda g, x: g * 3 * x * x)
    assert adjoint.hessian(lambda x: np.sum(function(x)))(X) == pytest.approx(np.diag(6 * X))
    with pytest.raises(RuntimeError, match="of which adjoint has no derivative"):
        adjoint.grad(lambda x: np.sum(cube(x)))(X)


@pytest.mark.parametrize("block", [nullcontext, adjoint.scipy.patched])
def test_without_a_rule_the_call_is_an_error(block: Any) -> None:
    with block(), pytest.raises((TypeError, numba.TypingError)):
        adjoint.grad(lambda x: energy(x, 1.0))(X)
