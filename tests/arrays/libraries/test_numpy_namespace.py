"""Functions that replace NumPy's functions have NumPy's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.libraries.numpy_namespace import xp

RNG = np.random.default_rng(0)
VALUES = np.concatenate([RNG.standard_normal(3000), [np.nan, np.inf, -np.inf, -0.0, 0.0] * 10])


@pytest.mark.parametrize("kind", ["float32", "float64", "complex128", "int64"])
@pytest.mark.parametrize("n", [0, 7, 3050])
def test_where(kind: str, n: int) -> None:
    with np.errstate(invalid="ignore"):
        a, b = VALUES[:n].astype(kind), RNG.permutation(VALUES)[:n].astype(kind)
    mask = RNG.random(n) < 0.5
    pairs: list[tuple[Any, Any]] = [(a, b), (a, 0), (0, b), (a, 0.0), (a, -0.0), (1, b), (a[:1], b), (a, b[::-1])]
    for first, second in pairs:
        actual, expected = xp.where(mask, first, second), np.where(mask, first, second)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(np.signbit(actual.real), np.signbit(expected.real))


def test_where_broadcasts_and_takes_any_layout() -> None:
    mask, a, b = RNG.random((40, 50)) < 0.5, VALUES[:2000].reshape(50, 40).T, VALUES[:50]
    np.testing.assert_array_equal(xp.where(mask, a, b), np.where(mask, a, b))
    np.testing.assert_array_equal(xp.where(mask, b, 0), np.where(mask, b, 0))
    np.testing.assert_array_equal(xp.where(mask, a[0, 0], a), np.where(mask, a[0, 0], a))
    np.testing.assert_array_equal(xp.where(mask.astype(int), a, b), np.where(mask, a, b))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reducing_at_places(name: str, order: Any) -> None:
    target = np.array(RNG.normal(size=(5, 4, 3)), order=order)
    where = (RNG.integers(0, 5, (6, 1, 2)), RNG.integers(0, 4, (1, 7, 2)), np.array([0, 2]))
    values = RNG.normal(size=(7, 1))
    expected = target.copy()
    getattr(np, name).at(expected, where, values)
    xp.reduce_at(name, target, where, values)
    np.testing.assert_allclose(target, expected, rtol=1e-12)


def test_complex_numbers_of_neighbouring_parts() -> None:
    pairs = RNG.normal(size=(3, 4, 2))
    for parts in (pairs, pairs[::2, 1:], pairs[..., ::-1], np.swapaxes(pairs, 0, 1), pairs[:, :, [0, 1]].mT.copy().mT):
        result = xp.complex_of(parts[..., 0], parts[..., 1])
        np.testing.assert_array_equal(result, parts[..., 0] + 1j * parts[..., 1])
        assert not np.shares_memory(result, pairs)
