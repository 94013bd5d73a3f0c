"""Idioms of NumPy code through adjoint.grad on arrays: values as on plain arrays, derivatives by differences."""

from __future__ import annotations

import pytest

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
