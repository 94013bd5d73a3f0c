"""Weighted sums of elements at places by the compiled loops and by whole arrays."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import scatter
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.rules import TABLE

pytestmark = pytest.mark.skipif(not scatter.compiled, reason="these loops are compiled")


def both(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: Any) -> tuple[Any, Any]:
    kernel = TABLE[name].kernel(xp)
    result = kernel(*arguments)
    with monkeypatch.context() as patch:
        patch.setattr(scatter, "can_do", lambda *_: False)
        return result, kernel(*arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(2, 3, 6, 5, 4), (1, 1, 1, 1, 1), (0, 3, 6, 5, 4), (2, 3, 6, 0, 4), (2, 0, 6, 5, 4)])
def test_sums_of_elements(monkeypatch: pytest.MonkeyPatch, shape: Any, dtype: Any) -> None:
    images, channels, size, results, per_result = shape
    rng = np.random.default_rng(0)
    image, weight, g = (
        rng.normal(size=s).astype(dtype)
        for s in ((images, channels, size), (images, results, per_result), (images, channels, results))
    )
    places = rng.integers(-1, size, weight.shape)
    for name, arguments in (
        ("sample", (image, weight, places)),
        ("sample", (image[..., ::-1], np.asfortranarray(weight), places)),
        ("sample_input", (g, weight, places, size)),
        ("sample_weight", (g, image, places)),
    ):
        result, expected = both(monkeypatch, name, *arguments)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)


def test_places_outside_are_refused() -> None:
    for place in (-2, 3):
        with pytest.raises(IndexError, match="outside of an image of 3 elements"):
            scatter.samples(np.ones((1, 1, 3)), np.ones((1, 1, 1)), np.array([[[place]]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_corners(monkeypatch: pytest.MonkeyPatch, n_axes: int, dtype: Any) -> None:
    wholes = np.random.default_rng(0).integers(-3, 7, (2, 9, n_axes)).astype(dtype)
    wholes[0, 0, 0], wholes[0, 1, 0] = -(2.0**31), 1e9
    steps = tuple(product((0, 1), repeat=n_axes))
    result, expected = both(monkeypatch, "corner_places", wholes, (3, 4, 5)[:n_axes], steps)
    np.testing.assert_array_equal(result, expected)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
