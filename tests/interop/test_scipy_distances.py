"""scipy.spatial.distance on Tensors: values are SciPy's, gradients agree with central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance

import adjoint
from adjoint.interop.scipy_functions.distances import METRICS
from adjoint.scipy.spatial import distance

Call = Callable[..., Any]
RNG = np.random.default_rng(2)
U, V, W = (RNG.uniform(0.2, 2.0, 4) for _ in range(3))
A, B = RNG.uniform(0.2, 2.0, (5, 4)), RNG.uniform(0.2, 2.0, (3, 4))
INVERSE = np.linalg.inv(np.cov(RNG.normal(size=(9, 4)).T))
SHORT: dict[str, tuple[Any, ...]] = {"seuclidean": (W,), "mahalanobis": (INVERSE,)}
WEIGHTED = sorted({*METRICS} - {"seuclidean", "mahalanobis", "jensenshannon"})

CASES: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    **{name: (lambda d, *v, n=name: getattr(d, n)(*v), (U, V, *SHORT.get(name, ()))) for name in METRICS},
    **{f"{name}, weighted": (lambda d, u, v, w, n=name: getattr(d, n)(u, v, w=w), (U, V, W)) for name in WEIGHTED},
    "minkowski, p": (lambda d, u, v, w: d.minkowski(u, v, 2.7, w), (U, V, W)),
    "minkowski, 1": (lambda d, u, v: d.minkowski(u, v, 1), (U, V)),
    "minkowski, inf": (lambda d, u, v: d.minkowski(u, v, np.inf), (U, V)),
    "correlation, about 0": (lambda d, u, v: d.correlation(u, v, centered=False), (U, V)),
    "jensenshannon, base": (lambda d, p, q: d.jensenshannon(p, q, 2.0, axis=1, keepdims=True), (A, A ** 2)),
    **{f"cdist, {name}": (lambda d, a, b, n=name: d.cdist(a, b, n), (A, B)) for name in METRICS},
    **{f"pdist, {name}": (lambda d, a, n=name: d.pdist(a, n), (A,)) for name in sorted({*METRICS} - {"mahalanobis"})},
    "pdist, mahalanobis": (lambda d, a: d.pdist(a, "mahalanobis"), (np.concatenate([A, B]),)),
    "cdist, minkowski, p": (lambda d, a, b, w: d.cdist(a, b, "minkowski", p=3, w=w), (A, B, W)),
    "cdist, mahalanobis, given": (lambda d, a, b, v: d.cdist(a, b, "mahalanobis", VI=v), (A, B, INVERSE)),
    "squareform": (lambda d, x: d.squareform(x), (RNG.uniform(size=6),)),
    "squareform, back": (lambda d, x: d.squareform(d.squareform(x) ** 2), (RNG.uniform(size=6),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    call, arrays = CASES[name]
    tensors = [adjoint.tensor(array, requires_grad=True) for array in arrays]
    actual, expected = call(distance, *tensors), np.asarray(call(scipy.spatial.distance, *arrays))
    assert tuple(actual.shape) == expected.shape
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    weights = RNG.normal(size=expected.shape)
    gradients = adjoint.autograd.grad(
        actual, tensors, adjoint.tensor(weights), allow_unused=True, materialize_grads=True
    )
    ways = [RNG.normal(size=array.shape) for array in arrays]
    if "mahalanobis" in name and len(arrays) == 3:
        ways[2] = ways[2] + ways[2].T
    if name.startswith("chebyshev, w"):
        ways[2][:] = 0
    ahead, behind = (
        np.asarray(call(scipy.spatial.distance, *[a + h * way for a, way in zip(arrays, ways, strict=True)]))
        for h in (1e-6, -1e-6)
    )
    slope = float(np.sum(weights * (ahead - behind))) / 2e-6
    exact = sum(float(np.sum(g.numpy() * way)) for g, way in zip(gradients, ways, strict=True))
    assert exact == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_equal_points_have_gradient_0() -> None:
    x = adjoint.tensor(A[:2], requires_grad=True)
    for metric in ("euclidean", "minkowski", "canberra", "seuclidean", "jensenshannon"):
        options = {"V": W} if metric == "seuclidean" else {"p": 3} if metric == "minkowski" else {}
        result = distance.cdist(x, x, metric, **options)
        gradient = adjoint.autograd.grad(result.sum(), x)[0]
        assert np.isfinite(gradient.numpy()).all(), metric


def test_arrays_in_arrays_out() -> None:
    gradient = adjoint.func.grad(lambda u: distance.sqeuclidean(u, V))(U)
    np.testing.assert_allclose(gradient, 2 * (U - V))


REFUSED: list[tuple[Call, type[Exception], str]] = [
    (
        lambda x: distance.cdist(x, B, "hamming"),
        TypeError,
        "the distance 'hamming' is not supported for Tensors; use one of",
    ),
    (lambda x: distance.cdist(x, U), ValueError, "must be matrices"),
    (lambda x: distance.pdist(x[0]), ValueError, "2-dimensional"),
    (lambda x: distance.minkowski(x[0], x[1], -1), ValueError, "p must be greater than 0"),
    (lambda x: distance.squareform(x[0, :2]), ValueError, "Incompatible vector size"),
    (lambda x: distance.squareform(x, force="up"), ValueError, "argument 'force'"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case: Any) -> None:
    call, error, message = case
    with pytest.raises(error, match=message):
        call(adjoint.tensor(A, requires_grad=True))
