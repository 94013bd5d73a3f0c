"""Embeddings and attention: values against NumPy, what the gradient leaves out, masks, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import adjoint

F = adjoint.nn.functional
RNG = np.random.default_rng(9)
TABLE = RNG.standard_normal((5, 3))
INDICES = np.array([[1, 2, 1], [4, 1, 0]])


def gradient(**options: Any) -> np.ndarray:
    weight = adjoint.tensor(TABLE, requires_grad=True)
    F.embedding(adjoint.tensor(INDICES), weight, **options).sum().backward()
    return weight.grad.numpy()[:, 0]


def test_embedding() -> None:
    found = F.embedding(adjoint.tensor(INDICES), adjoint.tensor(TABLE))
    np.testing.assert_array_equal(found.numpy(), TABLE[INDICES])
    np.testing.assert_array_equal(gradient(), [1, 3, 1, 0, 1])
    np.testing.assert_array_equal(gradient(padding_idx=1), [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(gradient(padding_idx=-1), [1, 3, 1, 0, 0])
    np.testing.assert_array_equal(gradient(scale_grad_by_freq=True), [1, 1, 1, 0, 1])


def test_embedding_shortens_the_rows_that_are_used() -> None:
    weight = adjoint.tensor(TABLE, requires_grad=True)
    found = F.embedding(adjoint.tensor(INDICES), weight, max_norm=0.7)
    norms = np.linalg.norm(TABLE, axis=1, keepdims=True)
    expected = TABLE * np.minimum(1, 0.7 / norms)
    expected[3] = TABLE[3]
    np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(found.detach().numpy(), expected[INDICES], rtol=1e-6)


def test_double_backward_of_a_padded_embedding() -> None:
    weight = adjoint.tensor(TABLE, requires_grad=True)
    y = F.embedding(adjoint.tensor(INDICES), weight, padding_idx=1, scale_grad_by_freq=True)
    (g,) = adjoint.autograd.grad((y * y * y).sum(), weight, create_graph=True)
    counts = np.array([1, 0, 1, 0, 1.0])[:, None]
    np.testing.assert_allclose(g.detach().numpy(), 3 * TABLE**2 * counts)
    (h,) = adjoint.autograd.grad(g.sum(), weight)
    np.testing.assert_allclose(h.numpy(), 6 * TABLE * counts)


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (0, 0)])
def test_embedding_under_vmap_is_one_run(in_dims: tuple[int | None, int | None]) -> None:
    indices = np.stack([INDICES, INDICES[::-1]]) if in_dims[0] == 0 else INDICES
    table = np.stack([TABLE, TABLE * 2]) if in_dims[1] == 0 else TABLE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = adjoint.func.vmap(F.embedding, in_dims=in_dims)(adjoint.tensor(indices), adjoint.tensor(table))
        by_member = adjoint.func.vmap(
            adjoint.func.grad(lambda w, i: (F.embedding(i, w) ** 2).sum()), in_dims=in_dims[::-1]
        )(adjoint.tensor(table), adjoint.tensor(indices))
    for k in range(2):
        i = indices[k] if in_dims[0] == 0 else indices
        w = table[k] if in_dims[1] == 0 else table
        np.testing.assert_array_equal(found[k].numpy(), w[i])
        expected = np.zeros_like(w)
        np.add.at(expected, i, 2 * w[i])
        np.testing.assert_allclose(by_member[k].numpy(), expected)


def test_one_hot() -> None:
    found = F.one_hot(adjoint.tensor(INDICES))
    assert found.dtype is adjoint.int64
    np.testing.assert_array_equal(found.numpy(), np.eye(5, dtype=int)[INDICES])
    assert F.one_hot(adjoint.tensor(INDICES), 7).shape == (2, 3, 7)


# attention ------------------------------------------------------------------------------------------------------------

Q, K, V = RNG.standard_normal((2, 4, 3, 8)), RNG.standard_normal((2, 4, 5, 8)), RNG.standard_normal((2, 4, 5, 6))


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any = 0.0, scale: float = 8**-0.5) -> np.ndarray:
    return special.softmax(q @ np.swapaxes(k, -1, -2) * scale + mask, axis=-1) @ v


def tensors(*arrays: np.ndarray) -> list[Any]:
    return [adjoint.tensor(a) for a in arrays]


def test_attention() -> None:
    q, k, v = tensors(Q, K, V)
    attend = F.scaled_dot_product_attention
    np.testing.assert_allclose(attend(q, k, v).numpy(), attention(Q, K, V))
    np.testing.assert_allclose(attend(q, k, v, scale=0.3).numpy(), attention(Q, K, V, scale=0.3))
    added = RNG.standard_normal((3, 5))
    np.testing.assert_allclose(attend(q, k, v, adjoint.tensor(added)).numpy(), attention(Q, K, V, added))
    allowed = np.tril(np.ones((3, 5), bool))
    lowered = np.where(allowed, 0, -np.inf)
    np.testing.assert_allclose(attend(q, k, v, is_causal=True).numpy(), attention(Q, K, V, lowered))
    np.testing.assert_allclose(attend(q, k, v, adjoint.tensor(allowed)).numpy(), attention(Q, K, V, lowered))
    few = attend(q, k[:, :2], v[:, :2], enable_gqa=True)
    np.testing.assert_allclose(few.numpy(), attention(Q, K[:, [0, 0, 1, 1]], V[:, [0, 0, 1, 1]]))


def test_a_query_that_may_attend_to_nothing() -> None:
    leaves = [adjoint.tensor(a, requires_grad=True) for a in (Q, K, V)]
    mask = np.ones((3, 5), bool)
    mask[1] = False
    y = F.scaled_dot_product_attention(*leaves, adjoint.tensor(mask))
    np.testing.assert_array_equal(y[..., 1, :].detach().numpy(), 0)
    firsts = adjoint.autograd.grad((y * y).sum(), leaves, create_graph=True)
    np.testing.assert_array_equal(firsts[0][..., 1, :].detach().numpy(), 0)
    seconds = adjoint.autograd.grad(sum((g * g).sum() for g in firsts), leaves)
    assert all(np.isfinite(g.detach().numpy()).all() for g in (*firsts, *seconds))


def test_dropout_of_attention_weights() -> None:
    adjoint.manual_seed(1)
    q, k, v = tensors(np.zeros((1, 4)), np.zeros((1000, 4)), np.ones((1000, 1)))
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=1.0) == 0
    assert abs(F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).item() - 1) < 0.15


W, I = adjoint.tensor(TABLE), adjoint.tensor(INDICES)
q, k, v = tensors(Q, K, V)
attend = F.scaled_dot_product_attention
ERRORS = [
    (lambda: F.embedding(I + 1, W), IndexError, "index out of range in self"),
    (lambda: F.embedding(I - 1, W), IndexError, "index out of range in self"),
    (lambda: F.embedding(W, I), RuntimeError, "scalar types: Long, Int; but got torch.DoubleTensor"),
    (lambda: F.embedding(I, W[0]), RuntimeError, "'weight' must be 2-D"),
    (lambda: F.embedding(I, W, padding_idx=5), AssertionError, "Padding_idx must be within num_embeddings"),
    (lambda: F.one_hot(I, 3), RuntimeError, "Class values must be smaller than num_classes"),
    (lambda: F.one_hot(-I), RuntimeError, "Class values must be non-negative"),
    (lambda: attend(q[0, 0, 0], k, v), RuntimeError, "at least 2 dimensional"),
    (lambda: attend(q, k, v, adjoint.ones(3, 5) > 0, is_causal=True), RuntimeError, "should not be set"),
    (lambda: attend(q, k, v, adjoint.ones(3, 5, dtype=adjoint.int64)), RuntimeError, "attn_mask.dtype: long int"),
    (lambda: attend(q, k.float(), v), RuntimeError, "to have the same dtype, but got query.dtype: double"),
    (lambda: attend(q[:, :3], k[:, :2], v[:, :2], enable_gqa=True), RuntimeError, "must divide the number of heads"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
