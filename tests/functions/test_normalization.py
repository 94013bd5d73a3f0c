"""Normalisation: values against NumPy, running statistics, precision, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint

F = adjoint.nn.functional
RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 6, 3, 2)) + 2
W, B = RNG.standard_normal(6), RNG.standard_normal(6)
PLACE = (slice(None), None, None)


def standardize(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def close(actual: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


def tensors(*arrays: np.ndarray) -> list[Any]:
    return [adjoint.tensor(a) for a in arrays]


def test_values() -> None:
    x, w, b = tensors(X, W, B)
    scale, shift = W[PLACE], B[PLACE]
    close(F.batch_norm(x, None, None, w, b, training=True), standardize(X, (0, 2, 3)) * scale + shift)
    close(F.instance_norm(x, weight=w, bias=b, eps=0.1), standardize(X, (2, 3), 0.1) * scale + shift)
    groups = standardize(X.reshape(4, 2, 18), (2,)).reshape(X.shape)
    close(F.group_norm(x, 2, w, b), groups * scale + shift)
    close(F.group_norm(x, 2), groups)
    v, c = RNG.standard_normal((2, 3, 2))
    close(F.layer_norm(x, (3, 2), *tensors(v, c)), standardize(X, (2, 3)) * v + c)
    close(F.layer_norm(x, [2], eps=0.1), standardize(X, (3,), 0.1))
    root = np.sqrt((X * X).mean((2, 3), keepdims=True) + 1e-3)
    close(F.rms_norm(x, (3, 2), adjoint.tensor(v), eps=1e-3), X / root * v)


@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_local_response_norm(size: int) -> None:
    padded = np.zeros((4, 6 + size, 3, 2))
    padded[:, size // 2 : size // 2 + 6] = X * X
    means = sum(padded[:, i : i + 6] for i in range(size)) / size
    close(F.local_response_norm(adjoint.tensor(X), size, 0.5, 0.6, 2.0), X / (2 + 0.5 * means) ** 0.6)
    whole = np.round(4 * X).astype(int)
    shares = F.local_response_norm(adjoint.tensor(whole), 1, 0.5, 0.6, 2.0)
    np.testing.assert_allclose(shares.numpy(), whole / (2 + 0.5 * whole**2) ** 0.6, 1e-6)
    halves = F.local_response_norm(adjoint.ones(1, 3, 1, dtype=adjoint.int64), 2, 0.5, 1.0)
    np.testing.assert_allclose(halves.flatten().numpy(), [1.0, 1 / 1.5, 1 / 1.5], 1e-6)


def test_running_statistics() -> None:
    mean, var = adjoint.tensor(np.full(6, 3.0)), adjoint.tensor(np.full(6, 4.0))
    x = adjoint.tensor(X, requires_grad=True)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    close(mean, 0.75 * 3 + 0.25 * X.mean((0, 2, 3)))
    close(var, 0.75 * 4 + 0.25 * X.var((0, 2, 3), ddof=1))
    assert not mean.requires_grad
    before = mean.clone()
    y = F.batch_norm(x, mean, var, eps=0.1)
    close(y, (X - mean.numpy()[PLACE]) / np.sqrt(var.numpy()[PLACE] + 0.1))
    assert adjoint.equal(mean, before)
    mean, var = adjoint.zeros(6, dtype=adjoint.float64), adjoint.ones(6, dtype=adjoint.float64)
    F.instance_norm(x, mean, var, momentum=0.25)
    close(mean, 0.25 * X.mean((0, 2, 3)))
    close(var, 0.75 + 0.25 * X.var((2, 3), ddof=1).mean(0))
    close(
        F.instance_norm(x, mean, var, use_input_stats=False),
        F.batch_norm(x, mean, var).detach().numpy(),
    )


def test_gradients_of_weight_and_bias() -> None:
    x, w, b = adjoint.tensor(X), adjoint.tensor(W, requires_grad=True), adjoint.tensor(B, requires_grad=True)
    g = RNG.standard_normal(X.shape)
    F.batch_norm(x, None, None, w, b, training=True).backward(adjoint.tensor(g))
    close(w.grad, (g * standardize(X, (0, 2, 3))).sum((0, 2, 3)))
    close(b.grad, g.sum((0, 2, 3)))
    bias = adjoint.zeros(2, dtype=adjoint.float64, requires_grad=True)
    F.layer_norm(x, (2,), None, bias).backward(adjoint.tensor(g))
    close(bias.grad, g.sum((0, 1, 2)))


def test_large_mean() -> None:
    """The variance uses differences from the mean, since a difference of squares would lose digits."""
    x = adjoint.tensor(RNG.standard_normal((2, 1000)) + 3000, dtype=adjoint.float32)
    expected = standardize(x.numpy().astype(np.float64), (1,))
    np.testing.assert_allclose(F.layer_norm(x, (1000,)).numpy(), expected, atol=2e-3)


@pytest.mark.parametrize("kind", [adjoint.float16, adjoint.bfloat16])
def test_half_precision(kind: Any) -> None:
    x = adjoint.tensor(X).to(kind)
    for function in (
        lambda x: F.layer_norm(x, (2,), adjoint.ones(2)),
        lambda x: F.batch_norm(x, adjoint.zeros(6), adjoint.ones(6), training=True),
        lambda x: F.group_norm(x, 3),
        lambda x: F.rms_norm(x, (2,), eps=1e-5),
    ):
        result = function(x)
        assert result.dtype is kind
        assert adjoint.equal(result, function(x.to(adjoint.float32)).to(kind))


@pytest.mark.parametrize("kind", [adjoint.float16, adjoint.bfloat16])
def test_gradients_where_half_precision_cannot_hold_the_variance(kind: Any) -> None:
    x, g = adjoint.tensor(1000 * X).to(kind), adjoint.tensor(X).to(kind)
    for function in (
        lambda x: F.layer_norm(x, (3, 2)),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.instance_norm(x),
        lambda x: F.group_norm(x, 3),
        lambda x: F.rms_norm(x, (2,)),
    ):
        actual, expected = (
            adjoint.autograd.grad(function(each), each, g.to(each.dtype))[0]
            for each in (x.requires_grad_(), x.float().detach().requires_grad_())
        )
        assert actual.dtype is kind and actual.abs().max() > 0
        assert adjoint.equal(actual, expected.to(kind))


def test_per_sample_under_vmap() -> None:
    x, w = adjoint.tensor(RNG.standard_normal((3, 4, 6))), adjoint.tensor(RNG.standard_normal((3, 6)))
    result = adjoint.func.vmap(lambda x, w: F.layer_norm(x, (6,), w))(x, w)
    close(result, standardize(x.numpy(), (2,)) * w.numpy()[:, None])
    shared = adjoint.func.vmap(lambda x: F.group_norm(x, 2, w[0]))(x[:, :, :, None].movedim(1, 2).movedim(2, 1))
    assert shared.shape == (3, 4, 6, 1)


x = adjoint.tensor(X)
ERRORS = [
    (lambda: F.batch_norm(x, None, None), RuntimeError, "running_mean must be defined in evaluation mode"),
    (lambda: F.batch_norm(x[:1, :, :1, :1], None, None, training=True), ValueError, "more than 1 value per channel"),
    (lambda: F.batch_norm(x, None, *tensors(W), training=True), ValueError, "either both be None or neither be None"),
    (lambda: F.instance_norm(x, *tensors(W)), ValueError, "either both be None or neither be None"),
    (lambda: F.batch_norm(x, *tensors(W[:2], W[:2])), RuntimeError, "running_mean should contain 6 elements not 2"),
    (lambda: F.batch_norm(x, None, None, training=True, eps=0.0), ValueError, "eps must be positive during training"),
    (lambda: F.instance_norm(x[:, :, 0, 0]), ValueError, "Expected more than 1 spatial element"),
    (lambda: F.instance_norm(x, use_input_stats=False), RuntimeError, "to be defined when use_input_stats is false"),
    (lambda: F.layer_norm(x, (4,)), RuntimeError, r"Given normalized_shape=\[4\], expected input with shape \[\*, 4\]"),
    (lambda: F.layer_norm(x, 2), TypeError, "must be tuple of ints, not int"),
    (lambda: F.layer_norm(x, (2,), adjoint.ones(2)), RuntimeError, r"mixed dtype \(CPU\)"),
    (lambda: F.rms_norm(x, (2,), adjoint.ones(3)), RuntimeError, "Expected weight to be of same shape"),
    (lambda: F.group_norm(x, 4), RuntimeError, "divisible by num_groups"),
    (lambda: F.group_norm(x, 2, adjoint.ones(2)), RuntimeError, "vector of size equal to the number of channels"),
    (lambda: F.local_response_norm(x[0, 0], 2), ValueError, "Expected 3D or higher dimensionality"),
    (lambda: F.layer_norm(adjoint.ones(2, 2, dtype=adjoint.int64), (2,)), NotImplementedError, "LayerNormKernelImpl"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def normal(*shape: int) -> adjoint.Tensor:
    return adjoint.tensor(np.random.default_rng(len(shape)).normal(size=shape))


def test_normalisations_with_their_parameters_first() -> None:
    x, w, b = normal(2, 4, 3), normal(4), normal(4) + 1
    m, v = normal(4), normal(4) ** 2 + 1
    same = np.testing.assert_array_equal
    same(adjoint.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, True), F.batch_norm(x, m, v, w, b))
    same(adjoint.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True), F.instance_norm(x, None, None, w, b))
    same(adjoint.group_norm(x, 2, w, b, 1e-5, False), F.group_norm(x, 2, w, b))
    same(adjoint.layer_norm(x, (3,), b[:3], None, 1e-5, False), F.layer_norm(x, (3,), b[:3]))
    same(adjoint.bilinear(w, b, normal(2, 4, 4)), F.bilinear(w, b, normal(2, 4, 4)))
    y = adjoint.ones(3)
    assert adjoint.alpha_dropout(y, 0.5, False) is y
    assert adjoint.alpha_dropout_(y, 0.5, True) is y


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (2, 3, 0), (2, 0, 4), (0, 0)])
def test_batch_norm_without_elements(shape: tuple[int, ...], training: bool) -> None:
    x, weight, bias = [adjoint.ones(n, requires_grad=True) for n in (shape, shape[1], shape[1])]
    mean, var = adjoint.zeros(shape[1]), adjoint.ones(shape[1])
    result = adjoint.nn.functional.batch_norm(x, mean, var, weight, bias, training)
    assert result.shape == shape and result.requires_grad
    assert mean.tolist() == [0] * shape[1] and var.tolist() == [1] * shape[1]
    for leaf, gradient in zip((x, weight, bias), adjoint.autograd.grad(result.sum(), (x, weight, bias)), strict=True):
        assert gradient.shape == leaf.shape and not gradient.any()


@pytest.mark.parametrize("function", [F.batch_norm, F.instance_norm])
@pytest.mark.parametrize("batched", [(False, False), (True, False), (False, True)])
def test_statistics_of_one_member_are_not_updated_by_a_batch(function, batched):
    x = adjoint.randn(3, 4, 2, 5)
    kwargs = {"training": True} if function is F.batch_norm else {"use_input_stats": True}
    running = [adjoint.ones(3, 2) if each else adjoint.ones(2) for each in batched]
    in_dims = (0, *[0 if each else None for each in batched])
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input while the running_mean"):
        adjoint.vmap(lambda x, mean, var: function(x, mean, var, **kwargs), in_dims)(x, *running)
    assert all(bool((each == 1).all()) for each in running)
    running = [adjoint.ones(3, 2), adjoint.ones(3, 2)]
    results = adjoint.vmap(lambda x, mean, var: function(x, mean, var, **kwargs))(x, *running)
    alone = [adjoint.ones(2), adjoint.ones(2)]
    assert adjoint.allclose(results[1], function(x[1], *alone, **kwargs), atol=1e-6)
    assert all(adjoint.allclose(each[1], one) for each, one in zip(running, alone, strict=True))
