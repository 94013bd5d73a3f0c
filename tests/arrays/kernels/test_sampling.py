"""Weighted sums of elements at positions, by the compiled loops and by whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import scatter
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.rules import TABLE
from adjoint.rules.sampling import MODES, PADDINGS

pytestmark = pytest.mark.skipif(not scatter.compiled, reason="only the compiled form has these loops")


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
    for position in (-2, 3):
        with pytest.raises(IndexError, match="outside of an image of 3 elements"):
            scatter.samples(np.ones((1, 1, 3)), np.ones((1, 1, 1)), np.array([[[position]]]))


#: Coordinates whose positions are integers, at an end, halfway between two elements, far outside, infinite or NaN.
EDGES = (-1, 1, 0, -0.75, 0.5, 1.25, -1.75, 3, -7.5, 1e9, -1e30, np.inf, -np.inf, np.nan)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lengths", [(4,), (4, 1), (5, 4), (1, 3, 4)])
def test_corners(
    monkeypatch: pytest.MonkeyPatch, lengths: Any, mode: str, padding: str, align_corners: bool, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(-2, 2, (2, 40, len(lengths))), rng.choice(EDGES, (2, 40, len(lengths)))], 1)
    points = points.astype(dtype)
    arguments = lengths, mode, padding, align_corners
    result, expected = both(monkeypatch, "grid_corners", points, *arguments)
    epsilon = np.finfo(dtype).eps
    for one, other in zip(result, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_allclose(result[0], expected[0], rtol=0, atol=100 * epsilon)
    np.testing.assert_array_equal(result[1], expected[1])
    g = rng.normal(size=result[0].shape).astype(dtype)
    gradients = []
    for replaced in (False, True):
        with monkeypatch.context() as patch:
            if replaced:
                patch.setattr(scatter, "grid_corners_back", lambda *_: None)
            leaf = adjoint.from_numpy(points).requires_grad_()
            weights, _ = adjoint.core.graph.registry.tensor_ops.grid_corners(leaf, *arguments)
            gradients.append(adjoint.autograd.grad(weights, leaf, adjoint.from_numpy(g))[0].numpy())
    np.testing.assert_allclose(*gradients, rtol=1e3 * epsilon, atol=1e3 * epsilon)
