"""Stacks of small matrices by the compiled loops and by NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels.products_and_sums import (
    small_determinants,
    small_inverses,
    small_solutions,
    stacked_products,
)
from adjoint.arrays.libraries.numpy_namespace import xp

compiled_only = pytest.mark.skipif(small_inverses(np.eye(2)) is None, reason="only the compiled form has these loops")

STACKS = [((), (4,)), ((4,), ()), ((4,), (4,)), ((3, 1), (1, 2)), ((2,), (3, 2)), ((0,), (0,)), ((1,), (3,))]


def matrices(rng: Any, stack: Any, m: int, n: int, dtype: Any) -> Any:
    return (rng.normal(size=(*stack, m, n)) + 3 * np.eye(m, n)).astype(dtype)


def layouts(x: Any) -> list[Any]:
    return [x, np.ascontiguousarray(x.mT).mT, x[::-1] if x.ndim > 2 else x]


def close(result: Any, expected: Any, dtype: Any) -> None:
    np.testing.assert_allclose(result, expected, rtol=2e-5 if dtype is np.float32 else 1e-12, atol=1e-6)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("first", "second"), STACKS)
@pytest.mark.parametrize("sizes", [(2, 2, 2), (1, 3, 4), (3, 1, 2), (6, 6, 6)])
def test_products(first: Any, second: Any, sizes: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    m, k, n = sizes
    for a in layouts(matrices(rng, first, m, k, dtype)):
        for b in layouts(matrices(rng, second, k, n, dtype)):
            close(xp.matmul(a, b), np.matmul(a, b), dtype)
            assert small_inverses(np.eye(2)) is None or stacked_products(a, b) is not None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("first", "second"), STACKS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8, 9, 16, 17])
def test_solutions(first: Any, second: Any, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for a in layouts(matrices(rng, first, n, n, dtype)):
        close(np.asarray(xp.linalg.det(a)), np.asarray(np.linalg.det(a)), dtype)
        close(xp.linalg.inv(a), np.linalg.inv(a), dtype)
        for n_sides in (3, 5, 9, 17):
            for b in layouts(matrices(rng, second, n, n_sides, dtype)):
                close(xp.linalg.solve(a, b), np.linalg.solve(a, b), dtype)


@compiled_only
@pytest.mark.parametrize("n", [3, 5, 16])
def test_rows_of_any_order(n: int) -> None:
    """The solution undoes each exchange of rows in the matrices and right-hand sides."""
    rng = np.random.default_rng(n)
    for n_sides in (1, 4, 6, 16):
        x = rng.normal(size=(9, n, n_sides))
        a = np.stack([(rng.normal(size=(n, n)) + 5 * np.eye(n))[rng.permutation(n)] for _ in range(9)])
        np.testing.assert_allclose(small_solutions(a, a @ x), x, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(small_inverses(a) @ a, np.broadcast_to(np.eye(n), a.shape), atol=1e-10)
        np.testing.assert_allclose(small_determinants(a), np.linalg.det(a), rtol=1e-10)


@compiled_only
def test_pivots() -> None:
    """Rows are exchanged once or several times where a pivot is 0."""
    for order in ([1, 0, 2], [1, 2, 0], [2, 1, 0]):
        a = np.diag([2.0, 3.0, 5.0])[order]
        assert small_determinants(a) == np.linalg.det(a).round()
        np.testing.assert_array_equal(small_inverses(a), np.linalg.inv(a))
        np.testing.assert_array_equal(small_solutions(a, a), np.eye(3))


@compiled_only
def test_singular_matrices_are_left_to_numpy() -> None:
    a = np.stack([np.eye(2), np.ones((2, 2))])
    assert small_inverses(a) is None and small_solutions(a, a) is None
    assert small_determinants(a).tolist() == [1, 0]
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        xp.linalg.inv(a)


@pytest.mark.parametrize(
    "a", [np.eye(17), np.eye(2, dtype=complex), np.eye(2, dtype=int), np.ones((2, 2, 3)), np.ones(2)]
)
def test_others_are_left_to_numpy(a: Any) -> None:
    assert small_inverses(a) is None and small_determinants(a) is None and small_solutions(a, a) is None


@compiled_only
def test_shapes_that_do_not_fit_are_left_to_numpy() -> None:
    ones = np.ones((2, 2, 3))
    assert stacked_products(ones, ones) is None
    assert stacked_products(np.ones((2, 2, 3)), np.ones((3, 3, 2))) is None
    assert stacked_products(ones, np.ones((2, 3, 2), np.float32)) is None
    assert small_solutions(np.eye(2), np.ones((3, 1))) is None
    assert stacked_products(np.full((1, 1, 2), np.inf), np.array([[[1.0], [-1.0]]])) is None
