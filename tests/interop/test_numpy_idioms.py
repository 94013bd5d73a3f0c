"""Idioms of NumPy code through adjoint.grad on arrays: NumPy's values, and derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from support.array_checks import check, check_jacobian, is_of_real_numbers
from support.numpy_idioms import IDIOMS

OF_REAL_NUMBERS = [name for name, (function, arguments) in IDIOMS.items() if is_of_real_numbers(function, *arguments)]


@pytest.mark.parametrize("name", IDIOMS)
def test_idioms(name: str) -> None:
    function, arguments = IDIOMS[name]
    assert check(function, *arguments), "no derivative differs from zero"


@pytest.mark.parametrize("name", OF_REAL_NUMBERS)
def test_jacobians_of_idioms(name: str) -> None:
    function, arguments = IDIOMS[name]
    check_jacobian(function, *arguments)


def _written_backward(x: Any) -> Any:
    array = np.zeros((2, 3), like=x)[::-1, ::-1]
    array[0] = x[:3]
    array[1, ::-1] = x[3:] ** 2
    array.T[0] *= 2
    return array


BACKWARD: dict[str, Callable[[Any], Any]] = {
    "vdot": lambda x: np.vdot(x, x[::-1]),
    "flip": lambda x: x[::-1] ** 3 * np.flip(x),
    "sorted": lambda x: np.sort(x)[::-1].reshape(2, 3)[::-1, ::-1].T ** 3,
    "rot90": lambda x: np.rot90(x.reshape(2, 3)) * x.reshape(3, 2),
    "copy": lambda x: x.reshape(2, 3)[::-1].copy(order="K")[:, ::-2] * x[:4].reshape(2, 2),
    "written": _written_backward,
}


@pytest.mark.parametrize("name", BACKWARD)
def test_hessians_of_arrays_that_run_backward(name: str) -> None:
    def total(x: Any) -> Any:
        return np.sum(BACKWARD[name](x) ** 2)

    x = np.linspace(0.2, 1.3, 6)
    steps = 1e-6 * np.eye(6)
    columns = [(adjoint.grad(total)(x + step) - adjoint.grad(total)(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(adjoint.hessian(total)(x), np.stack(columns, 1), rtol=1e-6, atol=1e-6)
