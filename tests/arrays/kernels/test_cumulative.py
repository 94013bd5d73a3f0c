"""Running extrema and recurrences by the compiled loops and by whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import cumulative
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.rules import TABLE

pytestmark = pytest.mark.skipif(not cumulative.compiled, reason="only the compiled form has these loops")

LAYOUTS = [
    ((7,), 0),
    ((5, 9), 0),
    ((5, 9), 1),
    ((19, 4), 1),
    ((3, 1, 4), 1),
    ((2, 6, 5), 1),
    ((4, 3, 11), -1),
    ((3, 0), 0),
]


def both(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: Any) -> tuple[Any, Any]:
    kernel = TABLE[name].kernel(xp)
    result = kernel(*arguments)
    with monkeypatch.context() as patch:
        patch.setattr(cumulative, "can_do", lambda *_: False)
        return result, kernel(*arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_extrema(monkeypatch: pytest.MonkeyPatch, name: str, shape: Any, axis: int, dtype: Any) -> None:
    # few different values, so that several are equal; some are infinite or NaN
    x = np.random.default_rng(0).integers(-3, 3, shape).astype(dtype)
    missing = x.copy()
    missing.flat[2::4] = np.nan
    missing.flat[1::5] = -np.inf
    for array in (x, missing, missing[::-1], np.asfortranarray(missing)):
        (values, places), (expected, of_expected) = both(monkeypatch, name, array, axis % len(shape))
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(places, of_expected)
        assert (values.dtype, places.dtype) == (expected.dtype, of_expected.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS[:-1])
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrences(monkeypatch: pytest.MonkeyPatch, reverse: bool, shape: Any, axis: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    axis %= len(shape)
    links = rng.normal(size=(*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])).astype(dtype)
    x = rng.normal(size=shape).astype(dtype)
    for array in (x, x[::-1], np.asfortranarray(x)):
        before = array.copy()
        actual, expected = both(monkeypatch, "recurrence", links, array, axis, reverse)
        np.testing.assert_allclose(actual, expected, rtol=1e-4 if dtype is np.float32 else 1e-11)
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 6), (7, 5), (8, 9), (2, 3, 11), (3, 0), (0, 3), (9,)])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_and_products(monkeypatch: pytest.MonkeyPatch, name: str, shape: Any, dtype: Any) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    x.flat[3::7] = np.inf
    for array in (x, x[..., ::-1], x[::-1], np.asfortranarray(x)):
        for axis in range(x.ndim):
            with np.errstate(invalid="ignore"):
                actual, expected = both(monkeypatch, name, array, axis)
            # the order of additions is the same, so the bits are the same
            np.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 6), (7, 5), (19, 4), (2, 3, 11), (9,), (1,)])
@pytest.mark.parametrize("reverse", [False, True])
def test_exclusive_products(monkeypatch: pytest.MonkeyPatch, reverse: bool, shape: Any, dtype: Any) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for array in (x, x[..., ::-1], x[::-1], np.asfortranarray(x)):
        for axis in range(x.ndim):
            actual, expected = both(monkeypatch, "exclusive_cumprod", array, axis, reverse)
            np.testing.assert_array_equal(actual, expected, strict=True)
