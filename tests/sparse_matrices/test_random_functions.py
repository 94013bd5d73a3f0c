"""Random compositions of operations: the patterns of Jacobians and Hessians miss no entry, at several points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse as scipy_sparse

from adjoint import sparse
from adjoint.solvers.functions import ScalarFunction, VectorFunction

N = 12
MATRIX = scipy_sparse.random_array((N, N), density=0.2, rng=np.random.default_rng(0)).tocsr()


def write(x: Any, random: np.random.Generator) -> Any:
    y = np.zeros_like(x)
    start = int(random.integers(0, 6))
    y[start : start + 6] = x[:6] ** 2
    y[::2] += x[::2]
    column = y.reshape(3, 4)[:, 1]
    column *= x[0]
    y[-1] = x[1]
    return y


STEPS: list[Callable[[Any, np.random.Generator], Any]] = [
    write,
    lambda x, random: x.reshape(3, 4).T.reshape(-1),
    lambda x, random: np.roll(x, int(random.integers(1, N))),
    lambda x, random: x[::-1] * x,
    lambda x, random: np.concatenate([x[3:], x[:3] ** 2]),
    lambda x, random: x[random.integers(0, N, N)],
    lambda x, random: np.sin(x) + x[0],
    lambda x, random: 0.3 * np.cumsum(x.reshape(4, 3), axis=1).reshape(-1),
    lambda x, random: np.where(x > 0, x, x[::-1]),
    lambda x, random: np.maximum(x, np.roll(x, 1)),
    lambda x, random: np.sort(x.reshape(3, 4), axis=1).reshape(-1),
    lambda x, random: (x.reshape(3, 4) @ np.eye(4)[random.permutation(4)]).reshape(-1),
    lambda x, random: MATRIX @ x + x,
    lambda x, random: x / (1 + x.reshape(3, 4).sum(1)[:, None] ** 2).repeat(4, axis=1).reshape(-1),
    lambda x, random: 0.3 * np.einsum("ij,kj->ik", x.reshape(3, 4)[:, :2], x.reshape(6, 2)[:4]).reshape(-1),
    lambda x, random: np.tile(x[:6], 2) * x,
    lambda x, random: x[np.argsort(x)],
    lambda x, random: np.abs(x) - 0.5 * np.minimum(x, 0.2),
    lambda x, random: np.convolve(x, np.array([0.5, 0.0, 1.0]), "same"),
    lambda x, random: np.stack([x[:6], x[6:]], axis=1).reshape(-1),
    lambda x, random: np.pad(x[2:-2], 2),
    lambda x, random: np.outer(x[:3], x[3:7]).reshape(-1),
    lambda x, random: x * x.mean(),
    lambda x, random: np.exp(-(x**2)),
]


def compose(seed: int) -> Callable[[Any], Any]:
    numbers = np.random.default_rng(seed).integers(0, len(STEPS), 1 + seed % 5)

    def function(x: Any) -> Any:
        random = np.random.default_rng(seed)
        for number in numbers:
            x = STEPS[number](x, random)
        return x

    return function


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(60))
def test_no_entry_is_missed(seed: int) -> None:
    f = compose(seed)

    def total(x: Any) -> Any:
        return (f(x) ** 2).sum()

    points = np.random.default_rng(1000 + seed).standard_normal((3, N))
    J = sparse.prepare_jacobian(f, points[0], allow_constant=True)
    H = sparse.prepare_hessian(total, points[0], allow_constant=True)
    for x in points:
        np.testing.assert_allclose(J(x).toarray(), VectorFunction(f, x, (), "f", True).jac(x), atol=1e-9)
        expected = ScalarFunction(total, x, (), "f", True).hess(x)
        np.testing.assert_allclose(H(x).toarray(), expected, atol=1e-7 * max(1, np.abs(expected).max()))
    local = sparse.prepare_jacobian(f, points[0], form="local", allow_constant=True)
    np.testing.assert_allclose(local(points[0]).toarray(), J(points[0]).toarray(), atol=1e-9)
    assert local.nnz <= J.nnz
