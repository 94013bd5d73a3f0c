"""Triangles of large matrices by the loop over rows, and by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import products_and_sums
from adjoint.arrays.libraries.numpy_namespace import xp

SHAPES = [(70, 90), (90, 70), (3, 80, 60), (1, 5000), (5000, 1), (0, 5000), (5000, 0)]


@pytest.mark.parametrize("name", ["triu", "tril"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool", "complex128"])
def test_triangles(name: str, shape: Any, dtype: str) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * 9).astype(dtype)
    for array in (x, x[::-1], np.asfortranarray(x)):
        for k in (0, 1, -1, 40, -40, 10**5, -(10**5)):
            np.testing.assert_array_equal(getattr(xp, name)(array, k=k), getattr(np, name)(array, k), strict=True)


@pytest.mark.skipif(
    products_and_sums.triangle(np.ones((2, 2)), 0, True) is None, reason="only the compiled form has this loop"
)
def test_what_is_left_to_numpy() -> None:
    for array in (np.ones((2, 2)).T[::-1], np.ones(3), np.array([["a", "b"]]), np.ones((2, 2), ">f8")):
        assert products_and_sums.triangle(array, 0, True) is None
