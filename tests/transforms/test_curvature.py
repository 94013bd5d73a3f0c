"""Laplacians, and products with Hessians, Gauss-Newton and Fisher matrices; the memory of large Hessians."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.func import fisher, ggn, grad, hessian, hvp, jacrev, laplacian, vmap

RNG = np.random.default_rng(0)
WEIGHTS = adjoint.tensor(RNG.standard_normal((5, 4)))
POINT, VECTOR = (adjoint.tensor(RNG.standard_normal(4)) for _ in range(2))


def model(x: Any) -> Any:
    return adjoint.tanh(WEIGHTS @ x) ** 2


def scalar(x: Any) -> Any:
    return model(x).sum()


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=tolerance, atol=tolerance)


def trace() -> Any:
    return jacrev(jacrev(model))(POINT).diagonal(0, 1, 2).sum(-1)


@pytest.mark.parametrize("chunk_size", [None, 1, 3])
def test_laplacian_is_the_trace_of_the_hessian(chunk_size: int | None) -> None:
    close(laplacian(model, chunk_size=chunk_size)(POINT), trace())


def test_laplacian_by_a_matrix_and_another_argument() -> None:
    result = laplacian(lambda a, x: (a * x).exp().sum(), 1)(2.0, WEIGHTS)
    close(result, (4 * (2 * WEIGHTS).exp()).sum())


def test_laplacian_under_vmap_and_grad() -> None:
    points = adjoint.stack([POINT, VECTOR])
    close(vmap(laplacian(scalar))(points), adjoint.stack([laplacian(scalar)(x) for x in points]))
    expected = grad(lambda x: hessian(scalar)(x).diagonal().sum())(POINT)
    close(grad(laplacian(scalar))(POINT), expected)


def test_laplacian_of_arrays() -> None:
    assert laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])) == pytest.approx(18.0)


@pytest.mark.parametrize("directions", ["rademacher", "normal"])
def test_estimates_come_close(directions: str) -> None:
    adjoint.manual_seed(0)
    close(laplacian(model, samples=4000, directions=directions)(POINT), trace(), 0.2)


def test_all_axes_are_the_laplacian() -> None:
    close(laplacian(model, samples=4, directions="axes")(POINT), trace())
    adjoint.manual_seed(0)
    estimates = [laplacian(scalar, samples=1, directions="axes")(POINT).item() for _ in range(20)]
    diagonal = 4 * hessian(scalar)(POINT).diagonal().numpy()
    assert all(np.min(np.abs(diagonal - value)) < 1e-12 for value in estimates)
    assert len(set(np.round(estimates, 9))) > 1


def test_products_are_those_of_the_matrices() -> None:
    matrix = hessian(scalar)(POINT)
    close(hvp(scalar, (POINT,), (VECTOR,))[0], matrix @ VECTOR)

    def loss(y: Any) -> Any:
        return (y**4).sum()

    jacobian = jacrev(model)(POINT)
    curvature = hessian(loss)(model(POINT))
    close(ggn(model, loss, (POINT,), (VECTOR,))[0], jacobian.T @ (curvature @ (jacobian @ VECTOR)))
    close(fisher(model, (POINT,), (VECTOR,))[0], jacobian.T @ (jacobian @ VECTOR) / 5)


def test_products_of_several_primals_and_trees() -> None:
    def function(tree: Any, b: Any) -> Any:
        return (tree["a"] ** 2 * b).sum()

    of_tree, of_b = hvp(function, ({"a": POINT}, VECTOR), ({"a": VECTOR}, adjoint.zeros_like(VECTOR)))
    close(of_tree["a"], 2 * VECTOR * VECTOR)
    close(of_b, 2 * POINT * VECTOR)


def test_outer_gradients_of_products() -> None:
    gradients = grad(lambda x: hvp(lambda z: (z**3).sum(), (x,), (VECTOR,))[0].sum())(POINT)
    close(gradients, 6 * VECTOR)


def test_large_hessian_stays_within_twice_its_memory() -> None:
    n = 3000
    weights = adjoint.tensor(RNG.standard_normal((n, 3)))
    x = adjoint.tensor(RNG.standard_normal(n) / n)

    def function(x: Any) -> Any:
        return ((x @ weights) ** 3).sum() + (x**4).sum()

    hessian(function)(x[:2].repeat(n // 2))  # memory that the first call keeps does not count
    tracemalloc.start()
    try:
        result = hessian(function)(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * result.numel() * 8
    assert result.shape == (n, n)
    close(result[0], grad(lambda x: grad(function)(x)[0])(x), 1e-9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: laplacian(scalar, samples=0), ValueError, "samples must be positive, got 0"),
        (lambda: laplacian(scalar, directions="all"), ValueError, "unknown directions='all'"),
        (lambda: laplacian(scalar, samples=9, directions="axes")(POINT), ValueError, "more than the 4 axes"),
        (lambda: laplacian(scalar, chunk_size=0), ValueError, "chunk_size"),
        (lambda: laplacian(scalar)(POINT + 0j), TypeError, "x must be real"),
        (lambda: laplacian(scalar)(adjoint.tensor([1, 2])), TypeError, "got adjoint.int64"),
        (lambda: fisher(lambda x: x.sum(), (POINT,), (VECTOR,)), ValueError, "one log-likelihood for each sample"),
        (lambda: hvp(model, (POINT,), (VECTOR,)), RuntimeError, "scalar"),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
