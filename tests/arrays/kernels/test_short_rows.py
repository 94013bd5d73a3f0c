"""Ufuncs of arrays that broadcast along short rows give NumPy's results. They copy repeated elements into rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.libraries import numpy_namespace
from adjoint.arrays.libraries.numpy_namespace import by_long_rows

SHAPES = [
    ((20, 1, 3), (1, 30, 3)),
    ((20, 1, 3), (30, 3)),
    ((20, 1, 1), (30, 3)),
    ((1, 20, 1, 2), (5, 1, 30, 2)),
    ((600, 1), (1, 3)),
    ((1, 600, 1), (2, 1, 3)),
]


def layouts(x: Any) -> list[Any]:
    return [x, np.asfortranarray(x), x[..., ::-1], np.repeat(x, 2, axis=0)[::2]]


@pytest.mark.parametrize("size", [1, 100, 1 << 15])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_results(monkeypatch: pytest.MonkeyPatch, first: Any, second: Any, dtype: Any, size: int) -> None:
    monkeypatch.setattr(numpy_namespace, "_WRITTEN_OUT", size)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=first).astype(dtype), rng.normal(size=second).astype(dtype)
    for a in layouts(x):
        for b in layouts(y):
            for ufunc in (np.subtract, np.less):
                for left, right in ((a, b), (b, a)):
                    expected, result = ufunc(left, right), by_long_rows(ufunc, left, right)
                    np.testing.assert_array_equal(result, expected)
                    assert result.dtype == expected.dtype
                    tensors = [adjoint.from_numpy(array.copy()) for array in (left, right)]
                    np.testing.assert_array_equal(tensors[0] - tensors[1], left - right)


def test_pieces() -> None:
    """The arrays have more elements than one piece of long rows."""
    x, y = np.arange(600.0).reshape(300, 1, 2), np.arange(800.0).reshape(1, 400, 2)
    np.testing.assert_array_equal(by_long_rows(np.multiply, x, y), x * y)
    np.testing.assert_array_equal(by_long_rows(np.multiply, x[None], y), x[None] * y)
