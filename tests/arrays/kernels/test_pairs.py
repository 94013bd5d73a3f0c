"""Distances of all pairs of points by loops over vectors and by whole arrays."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import vectors
from adjoint.rules import distances

pytestmark = pytest.mark.skipif(
    not vectors.there, reason="only the compiled form on processors with vectors has these loops"
)


def distances_and_gradient(points: Any, p: float, g: Any) -> list[Any]:
    leaf = adjoint.from_numpy(points).requires_grad_()
    y = adjoint.pdist(leaf, p)
    return [y.detach().numpy(), adjoint.autograd.grad(y, leaf, adjoint.from_numpy(g))[0].numpy()]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2, 2.0, inf])
@pytest.mark.parametrize("shape", [(2, 1), (3, 4), (17, 2), (40, 19), (2, 0), (1, 3), (0, 3)])
def test_pairs(monkeypatch: pytest.MonkeyPatch, kind: int, shape: Any, p: float, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=shape).astype(dtype)
    points[1:2] = points[:1]
    points[3:5] = np.round(points[3:5])
    g = rng.normal(size=shape[0] * (shape[0] - 1) // 2).astype(dtype)
    result = distances_and_gradient(points, p, g)
    turned = distances_and_gradient(np.asfortranarray(points), p, g)
    with monkeypatch.context() as patch:
        patch.setattr(distances, "run_pairs", lambda *_: None)
        plain = distances_and_gradient(points, p, g)
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    for one, same, other in zip(result, turned, plain, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, same)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("p", [1, 2, inf])
def test_special_values(p: float) -> None:
    points = np.array([[0.0, 1.0], [np.nan, 0.0], [np.inf, 2.0], [0.0, 1.0]])
    result = vectors.run_pairs(points, p)
    np.testing.assert_array_equal(result, [np.nan, np.inf, 0, np.nan, np.nan, np.inf])
    assert vectors.run_pairs(points, 3) is None and vectors.run_pairs(np.ones((3, 2), int), p) is None
