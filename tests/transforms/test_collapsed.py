"""Collapsed Taylor mode: the Laplacian by kinds of operations agrees with the trace of the Hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.func import grad, hessian, jacfwd, laplacian, vmap
from adjoint.transforms.collapsed import NotCollapsed, sum_of_seconds

RNG = np.random.default_rng(0)
N = 9
WEIGHTS = adjoint.tensor(RNG.standard_normal((N, N)) / 3)
POINT = adjoint.tensor(RNG.uniform(0.3, 0.9, N))
PLANE = adjoint.tensor(RNG.standard_normal((1, 1, 3, 3)))
nn = adjoint.nn.functional


def in_place(x: Any) -> Any:
    y = (WEIGHTS @ x).clone()
    y *= x
    y[1] = y[0] * 2
    part = y[2:]
    part += x[:-2].exp()
    z = adjoint.zeros(N, dtype=adjoint.float64)
    z[1:] = y[:-1]
    return (z * y).sum()


class Cube(adjoint.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * t


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda x: (WEIGHTS @ x + 3).sum() - 2 * x[0],
    "network": lambda x: adjoint.tanh(WEIGHTS @ adjoint.tanh(WEIGHTS @ x + 0.3)).sum(),
    "products": lambda x: (x * x.flip(0) * x.roll(1)).sum(),
    "product with a matrix of both": lambda x: (x.outer(x) @ WEIGHTS @ x.outer(x)).diagonal().sum(),
    "contraction of three": lambda x: adjoint.einsum("i,j,k,ij->k", x, x.sin(), x, WEIGHTS).sum(),
    "quotient": lambda x: (x / (1 + x.flip(0) ** 2)).sum(),
    "power of both": lambda x: (x ** x.flip(0)).sum(),
    "broadcast": lambda x: (x[:, None].exp() * x[None, :] / (x.sum() + 2)).sum(),
    "elementwise with a constant": lambda x: adjoint.atan2(x, WEIGHTS).sum(),
    "kinks": lambda x: (nn.relu(x - 0.5) ** 2 + x.abs() * x + adjoint.clamp(x, 0.4, 0.6) * x).sum(),
    "selection": lambda x: adjoint.where(x > 0.5, x.exp(), x.sin()).sum() + x.max() ** 2 + x.sort().values[2] ** 3,
    "softmax": lambda x: (nn.softmax(x, 0) * x).sum() + adjoint.logsumexp(x, 0),
    "norm": lambda x: adjoint.linalg.norm(x) + x.prod() + x.var(),
    "joined": lambda x: (adjoint.cat([x, x * x]) * adjoint.stack([x.exp(), x]).reshape(-1)).sum(),
    "solution": lambda x: adjoint.linalg.solve(WEIGHTS + adjoint.diag(x) * 5, x).sum(),
    "factors": lambda x: adjoint.linalg.eigvalsh(x.outer(x) + adjoint.diag(x * 7)).exp().sum(),
    "complex numbers": lambda x: (adjoint.exp(1j * x) * x).sum().abs(),
    "convolution": lambda x: (nn.conv2d(x.reshape(1, 1, 3, 3).sin(), PLANE, padding=1) ** 2).sum(),
    "in place": in_place,
    "vmap inside": lambda x: vmap(lambda row: (row * x).sin().sum())(WEIGHTS).sum(),
    "gradient inside": lambda x: (grad(lambda y: (y**3).sin().sum())(x) * x).sum(),
    "custom function": lambda x: (Cube.apply(x * x)).sum(),
    "constant": lambda x: adjoint.ones(2, dtype=adjoint.float64).sum(),
    "argument": lambda x: x.sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_laplacian_is_the_trace_of_the_hessian(name: str) -> None:
    function = FUNCTIONS[name]
    # the custom function has no backward method
    expected = jacfwd(jacfwd(function))(POINT).trace().item()
    np.testing.assert_allclose(laplacian(function)(POINT).item(), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["network", "quotient", "softmax", "broadcast"])
def test_with_vmap_and_gradients(name: str) -> None:
    function = FUNCTIONS[name]
    points = adjoint.stack([POINT, POINT * 0.9])
    result = vmap(laplacian(function))(points)
    np.testing.assert_allclose(result.numpy(), [laplacian(function)(p).item() for p in points], rtol=1e-9)
    slope = grad(laplacian(function))(POINT)
    expected = grad(lambda x: hessian(function)(x).trace())(POINT)
    np.testing.assert_allclose(slope.numpy(), expected.numpy(), rtol=1e-8, atol=1e-10)


def test_gradient_by_captured_weights() -> None:
    weights = WEIGHTS.clone().requires_grad_()
    laplacian(lambda x: adjoint.tanh(weights @ x).sum())(POINT).backward()
    leaf = WEIGHTS.clone().requires_grad_()
    hessian(lambda x: adjoint.tanh(leaf @ x).sum())(POINT).trace().backward()
    np.testing.assert_allclose(weights.grad.numpy(), leaf.grad.numpy(), rtol=1e-9)


def test_several_results_and_single_precision() -> None:
    result = laplacian(lambda x: adjoint.tanh(WEIGHTS @ x))(POINT)
    expected = jacfwd(jacfwd(lambda x: adjoint.tanh(WEIGHTS @ x)))(POINT)
    np.testing.assert_allclose(result.numpy(), expected.diagonal(0, 1, 2).sum(-1).numpy(), rtol=1e-9)
    single = laplacian(lambda x: adjoint.tanh(WEIGHTS.float() @ x))(POINT.float())
    assert single.dtype == adjoint.float32
    np.testing.assert_allclose(single.numpy(), result.numpy(), rtol=1e-3, atol=1e-5)


def test_function_runs_once_and_keeps_no_rows() -> None:
    runs: list[Any] = []

    def function(x: Any) -> Any:
        runs.append(x)
        return (x * x).exp().sum()

    x = POINT.clone()
    laplacian(function)(x)
    assert len(runs) == 1
    assert not runs[0]._tangents and not x._tangents


def test_custom_functions_are_not_collapsed() -> None:
    with pytest.raises(NotCollapsed):
        sum_of_seconds(FUNCTIONS["custom function"], POINT, adjoint.eye(N, dtype=adjoint.float64))
