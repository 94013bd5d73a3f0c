"""Idioms of NumPy code through adjoint.grad on arrays: values as on plain arrays, derivatives by differences."""

from __future__ import annotations

import pytest

from support.array_checks import check, check_jacobian
from support.numpy_idioms import IDIOMS


@pytest.mark.parametrize("name", IDIOMS)
def test_idioms(name: str) -> None:
    function, arguments = IDIOMS[name]
    assert check(function, *arguments), "no derivative differs from zero"


@pytest.mark.parametrize("name", IDIOMS)
def test_jacobians_of_idioms(name: str) -> None:
    function, arguments = IDIOMS[name]
    if name.startswith("complex_") or not check_jacobian(function, *arguments):
        pytest.skip("its result is no array of real numbers")
