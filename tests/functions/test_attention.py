"""Embeddings and attention: values of NumPy, rows without a gradient, masks, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import adjoint
from adjoint.autograd import gradgradcheck

F = adjoint.nn.functional
RNG = np.random.default_rng(9)
TABLE = RNG.standard_normal((5, 3))
INDICES = np.array([[1, 2, 1], [4, 1, 0]])


def gradient(**options: Any) -> np.ndarray:
    weight = adjoint.tensor(TABLE, requires_grad=True)
    F.embedding(adjoint.tensor(INDICES), weight, **options).sum().backward()
    return weight.grad.numpy()[:, 0]


def test_embedding() -> None:
    result = F.embedding(adjoint.tensor(INDICES), adjoint.tensor(TABLE))
    np.testing.assert_array_equal(result.numpy(), TABLE[INDICES])
    np.testing.assert_array_equal(gradient(), [1, 3, 1, 0, 1])
    np.testing.assert_array_equal(gradient(padding_idx=0), [0, 3, 1, 0, 1])
    np.testing.assert_array_equal(gradient(padding_idx=1), [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(gradient(padding_idx=-1), [1, 3, 1, 0, 0])
    np.testing.assert_array_equal(gradient(scale_grad_by_freq=True), [1, 1, 1, 0, 1])


def test_embedding_shortens_the_rows_that_are_used() -> None:
    weight = adjoint.tensor(TABLE, requires_grad=True)
    result = F.embedding(adjoint.tensor(INDICES), weight, max_norm=0.7)
    norms = np.linalg.norm(TABLE, axis=1, keepdims=True)
    expected = TABLE * np.minimum(1, 0.7 / norms)
    expected[3] = TABLE[3]
    np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(result.detach().numpy(), expected[INDICES], rtol=1e-6)


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
        result = adjoint.func.vmap(F.embedding, in_dims=in_dims)(adjoint.tensor(indices), adjoint.tensor(table))
        by_member = adjoint.func.vmap(
            adjoint.func.grad(lambda w, i: (F.embedding(i, w) ** 2).sum()), in_dims=in_dims[::-1]
        )(adjoint.tensor(table), adjoint.tensor(indices))
    for k in range(2):
        i = indices[k] if in_dims[0] == 0 else indices
        w = table[k] if in_dims[1] == 0 else table
        np.testing.assert_array_equal(result[k].numpy(), w[i])
        expected = np.zeros_like(w)
        np.add.at(expected, i, 2 * w[i])
        np.testing.assert_allclose(by_member[k].numpy(), expected)


def test_one_hot() -> None:
    result = F.one_hot(adjoint.tensor(INDICES))
    assert result.dtype is adjoint.int64
    np.testing.assert_array_equal(result.numpy(), np.eye(5, dtype=int)[INDICES])
    assert F.one_hot(adjoint.tensor(INDICES), 7).shape == (2, 3, 7)


# bags -----------------------------------------------------------------------------------------------------------------

BAGS = [[1, 2, 1], [], [4, 1], [3]]
FLAT, STARTS = np.concatenate(BAGS).astype(int), np.array([0, 3, 3, 5])


def reduce_bag(bag: list[int], mode: str, but: int | None = None) -> np.ndarray:
    rows = TABLE[[i for i in bag if i != but]]
    return getattr(rows, mode)(0) if len(rows) else np.zeros(3)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode: str) -> None:
    flat, starts, table = adjoint.tensor(FLAT), adjoint.tensor(STARTS), adjoint.tensor(TABLE)
    for but in (None, 1):
        expected = [reduce_bag(bag, mode, but) for bag in BAGS]
        result = F.embedding_bag(flat, table, starts, mode=mode, padding_idx=but)
        np.testing.assert_allclose(result.numpy(), expected)
        with_end = adjoint.tensor(np.append(STARTS, 6))
        result = F.embedding_bag(flat, table, with_end, mode=mode, padding_idx=but, include_last_offset=True)
        np.testing.assert_allclose(result.numpy(), expected)
        even = F.embedding_bag(adjoint.tensor(INDICES), table, mode=mode, padding_idx=but)
        np.testing.assert_allclose(even.numpy(), [reduce_bag(list(bag), mode, but) for bag in INDICES])


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 0), (0, 3)])
def test_bags_of_one_length_are_bags_by_offsets(mode: str, shape: Any) -> None:
    rng = np.random.default_rng(0)
    indices = adjoint.from_numpy(rng.integers(0, 5, shape[::-1]).T)
    table = adjoint.from_numpy(rng.normal(size=(5, 2))).requires_grad_()
    factors = adjoint.from_numpy(rng.normal(size=shape)).requires_grad_() if mode == "sum" else None
    starts = adjoint.arange(shape[0]) * shape[1]
    even = F.embedding_bag(indices, table, mode=mode, per_sample_weights=factors)
    flat = None if factors is None else factors.reshape(-1)
    result = F.embedding_bag(indices.reshape(-1), table, starts, mode=mode, per_sample_weights=flat)
    assert even.shape == (shape[0], 2) and adjoint.allclose(even, result)
    leaves = [table] if factors is None else [table, factors]
    for one, other in zip(*[adjoint.autograd.grad(x.cos().sum(), leaves) for x in (even, result)], strict=True):
        assert adjoint.allclose(one, other)
    if all(shape):
        assert gradgradcheck(
            lambda w, *p: F.embedding_bag(indices, w, mode=mode, per_sample_weights=p[0] if p else None), leaves
        )


def test_bags_and_where_they_come_from() -> None:
    flat, starts, table = adjoint.tensor(FLAT), adjoint.tensor(STARTS), adjoint.tensor(TABLE)
    for number, mode in enumerate(("sum", "mean", "max")):
        for but in (None, 1):
            members = [[i for i in bag if i != but] for bag in BAGS]
            bags, bag_of, sizes, origins = adjoint.embedding_bag(table, flat, starts, mode=number, padding_idx=but)
            np.testing.assert_allclose(bags.numpy(), [reduce_bag(bag, mode, but) for bag in BAGS])
            assert bag_of.tolist() == [0, 0, 0, 2, 2, 3]
            assert sizes.tolist() == [len(bag) if number else 0 for bag in members]
            best = [np.take(bag, TABLE[bag].argmax(0)) if bag else np.zeros(3) for bag in members]
            np.testing.assert_array_equal(origins.numpy(), best if number == 2 else sizes.numpy())
    empty = adjoint.embedding_bag(table, flat[:0], starts[:1], mode=2)
    assert [part.tolist() for part in empty] == [[[0, 0, 0]], [], [0], [[0, 0, 0]]]


def test_gradients_of_bags() -> None:
    flat, starts = adjoint.tensor(FLAT), adjoint.tensor(STARTS)
    table, factors = adjoint.tensor(TABLE, requires_grad=True), adjoint.tensor(np.arange(6.0), requires_grad=True)
    F.embedding_bag(flat, table, starts, mode="sum", per_sample_weights=factors).sum().backward()
    np.testing.assert_allclose(table.grad[:, 0].numpy(), [0, 0 + 2 + 4, 1, 5, 3])
    np.testing.assert_allclose(factors.grad.numpy(), TABLE[FLAT].sum(1))
    (mean,) = adjoint.autograd.grad(F.embedding_bag(flat, table, starts).sum(), table)
    np.testing.assert_allclose(mean[:, 0].numpy(), [0, 2 / 3 + 1 / 2, 1 / 3, 1, 1 / 2])
    ones = adjoint.ones(3, 2, requires_grad=True)
    F.embedding_bag(adjoint.tensor([0, 1, 1]), ones, adjoint.tensor([0]), mode="max").sum().backward()
    np.testing.assert_array_equal(ones.grad.numpy(), [[1, 1], [0, 0], [0, 0]])


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


@pytest.mark.parametrize("mask", [RNG.standard_normal((3, 5)), RNG.random((4, 3, 5)) > 0.4, RNG.random(5) > 0.4])
def test_a_mask_and_a_causal_one(mask) -> None:
    earlier = np.tril(np.ones((3, 5), bool))
    scores = np.where(earlier, np.where(mask, 0, -np.inf) if mask.dtype == bool else mask, -np.inf)
    y = F.scaled_dot_product_attention(*tensors(Q, K, V), adjoint.tensor(mask), is_causal=True)
    np.testing.assert_allclose(y.numpy(), F.scaled_dot_product_attention(*tensors(Q, K, V, scores)).numpy())


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


def test_attention_without_features() -> None:
    # all keys have the same score
    value = adjoint.arange(6.0).reshape(3, 2).requires_grad_()
    result = F.scaled_dot_product_attention(adjoint.zeros(2, 0), adjoint.zeros(3, 0), value)
    assert result.tolist() == [[2.0, 3.0]] * 2
    result.sum().backward()
    np.testing.assert_allclose(value.grad.numpy(), np.full((3, 2), 2 / 3), rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 2, 4), (2, 0, 4)])
def test_several_heads_without_samples_or_targets(shape: tuple[int, ...]) -> None:
    x = adjoint.ones(*shape, requires_grad=True)
    shared = (adjoint.ones(12, 4), adjoint.zeros(12), None, None, False, 0.0, adjoint.ones(4, 4), adjoint.zeros(4))
    output, weights = F.multi_head_attention_forward(x, x, x, 4, 2, *shared)
    assert output.shape == shape and weights.shape == (shape[1], shape[0], shape[0])
    output.sum().backward()
    assert x.grad.shape == shape


def test_dropout_of_attention_weights() -> None:
    adjoint.manual_seed(1)
    q, k, v = tensors(np.zeros((1, 4)), np.zeros((1000, 4)), np.ones((1000, 1)))
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=1.0) == 0
    assert abs(F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).item() - 1) < 0.15


# several heads --------------------------------------------------------------------------------------------------------

HEADS, WIDTH = 2, 6
PACKED, BIAS, OUT = RNG.standard_normal((18, 6)), RNG.standard_normal(18), RNG.standard_normal((6, 6))


def several_heads(x: np.ndarray, y: np.ndarray, mask: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights of each head for queries (L, N, E) and keys and values (S, N, E), with an additive mask."""
    parts = zip((x, y, y), np.split(PACKED, 3), np.split(BIAS, 3), strict=True)
    split = [(a @ w.T + b).reshape(len(a), -1, HEADS, WIDTH // HEADS).transpose(1, 2, 0, 3) for a, w, b in parts]
    weights = special.softmax(split[0] @ np.swapaxes(split[1], -1, -2) / np.sqrt(WIDTH // HEADS) + mask, axis=-1)
    joined = (weights @ split[2]).transpose(2, 0, 1, 3).reshape(len(x), -1, WIDTH)
    return joined @ OUT.T, weights


def multihead(x: Any, y: Any, **options: Any) -> tuple[Any, Any]:
    packed, bias, out = tensors(PACKED, BIAS, OUT)
    return F.multi_head_attention_forward(
        x, y, y, WIDTH, HEADS, packed, bias, None, None, False, 0.0, out, None, **options
    )


def test_several_heads() -> None:
    x, y = RNG.standard_normal((3, 2, 6)), RNG.standard_normal((5, 2, 6))
    tx, ty = tensors(x, y)
    output, weights = several_heads(x, y)
    for actual, expected in zip(multihead(tx, ty), (output, weights.mean(1)), strict=True):
        np.testing.assert_allclose(actual.numpy(), expected)
    np.testing.assert_allclose(multihead(tx, ty, average_attn_weights=False)[1].numpy(), weights)
    alone, none = multihead(tx, ty, need_weights=False)
    assert none is None
    np.testing.assert_allclose(alone.numpy(), output)
    single, _ = multihead(tx[:, 0], ty[:, 0])
    np.testing.assert_allclose(single.numpy(), output[:, 0])


def test_masks_of_several_heads() -> None:
    x, y = RNG.standard_normal((3, 2, 6)), RNG.standard_normal((5, 2, 6))
    hidden = np.triu(np.ones((3, 5), bool), 1)
    padded = np.array([[False] * 5, [False] * 3 + [True] * 2])
    added = np.where(hidden, -np.inf, 0) + np.where(padded, -np.inf, 0)[:, None, None]
    output, weights = several_heads(x, y, added)
    masks = {"attn_mask": adjoint.tensor(hidden), "key_padding_mask": adjoint.tensor(padded)}
    for options in ({}, {"need_weights": False}):
        np.testing.assert_allclose(multihead(*tensors(x, y), **masks, **options)[0].numpy(), output)
    np.testing.assert_allclose(multihead(*tensors(x, y), **masks)[1].numpy(), weights.mean(1))
    # with the hint is_causal the mask itself is not read, unless another option needs it
    hint = {"attn_mask": adjoint.zeros(3, 5), "is_causal": True, "need_weights": False}
    causal = np.where(np.tril(np.ones((3, 5), bool)), 0, -np.inf)
    np.testing.assert_allclose(multihead(*tensors(x, y), **hint)[0].numpy(), several_heads(x, y, causal)[0])
    result = multihead(*tensors(x, y), **hint | {"need_weights": True})[0]
    np.testing.assert_allclose(result.numpy(), several_heads(x, y)[0])


def test_more_keys() -> None:
    """A key of zeros gets its share of the weights. A learned key is like one more key of the input."""
    x, y = tensors(RNG.standard_normal((3, 2, 6)), RNG.standard_normal((5, 2, 6)))
    packed, out = tensors(PACKED, OUT)
    extra = adjoint.tensor(RNG.standard_normal((1, 1, 6)))
    rest = (False, 0.0, out, None)
    _, weights = F.multi_head_attention_forward(x, y, y, WIDTH, HEADS, packed, None, extra, extra, *rest)
    assert weights.shape == (2, 3, 6)
    np.testing.assert_allclose(weights.sum(-1).numpy(), 1)
    zeros = adjoint.zeros(1, 1, 6, dtype=adjoint.float64)
    by_bias = F.multi_head_attention_forward(x, y, y, WIDTH, HEADS, packed, None, zeros, zeros, *rest)
    by_zeros = F.multi_head_attention_forward(x, y, y, WIDTH, HEADS, packed, None, None, None, True, *rest[1:])
    for a, b in zip(by_bias, by_zeros, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy())


W, I = adjoint.tensor(TABLE), adjoint.tensor(INDICES)
q, k, v = tensors(Q, K, V)
PAIR = adjoint.ones(3, 2, WIDTH).double(), adjoint.ones(5, 2, WIDTH).double()
attend = F.scaled_dot_product_attention
ERRORS = [
    (lambda: F.embedding(I + 1, W), IndexError, "index out of range in self"),
    (lambda: F.embedding(I - 1, W), IndexError, "index out of range in self"),
    (lambda: F.embedding(W, I), RuntimeError, "scalar types: Long, Int; but got torch.DoubleTensor"),
    (lambda: F.embedding(I, W[0]), RuntimeError, "'weight' must be 2-D"),
    (lambda: F.embedding(I, W, padding_idx=5), AssertionError, "Padding_idx must be within num_embeddings"),
    (lambda: F.embedding_bag(I[0], W), ValueError, "offsets has to be a 1D Tensor but got None"),
    (lambda: F.embedding_bag(I[0], W, adjoint.tensor([1])), RuntimeError, r"offsets\[0\] has to be 0"),
    (lambda: F.embedding_bag(I + 1, W), RuntimeError, "but found idx to be 5"),
    (lambda: F.embedding_bag(I, W, mode="mode"), ValueError, "mode has to be one of sum, mean or max"),
    (lambda: adjoint.embedding_bag(W, I, I[0]), RuntimeError, "input has to be a 1D Tensor, but got"),
    (lambda: adjoint.embedding_bag(W, I[0], I[0], mode=3), RuntimeError, "`mode` must be sum, mean, or max."),
    (lambda: F.embedding_bag(I, W[0]), ValueError, "weight has to be a 2D Tensor, but got Tensor of dimension 1"),
    (lambda: F.embedding_bag(I[None], W), ValueError, "input has to be 1D or 2D Tensor, but got Tensor of dimension 3"),
    (lambda: F.embedding_bag(I, W, I[0]), ValueError, "if input is 2D, then offsets has to be None"),
    (lambda: F.embedding_bag(I[0], W, I), ValueError, "offsets has to be a 1D Tensor"),
    (lambda: F.embedding_bag(I, W, mode="max", scale_grad_by_freq=True), ValueError, "scaling the gradient by"),
    (lambda: F.embedding_bag(I, W, mode="max", sparse=True), ValueError, "max mode does not support sparse weights"),
    (
        lambda: F.embedding_bag(I, W, mode="sum", per_sample_weights=W),
        ValueError,
        r"per_sample_weights \(adjoint.Size\(\[5, 3\]\)\) is not None, then it must have the same shape as the input",
    ),
    (
        lambda: F.embedding_bag(I, W, per_sample_weights=I.double()),
        NotImplementedError,
        r"only supported for mode='sum' \(got mode='mean'\)",
    ),
    (
        lambda: F.embedding_bag(I, W, mode="sum", per_sample_weights=I.float()),
        RuntimeError,
        r"'weight' to have the same type .* type torch.DoubleTensor does not equal torch.FloatTensor",
    ),
    (
        lambda: F.embedding_bag(I[0], W, I[0][:0], include_last_offset=True),
        RuntimeError,
        "include_last_offset: number of offset should be at least 1",
    ),
    (
        lambda: F.embedding_bag(I[0], W, adjoint.tensor([0, 9])),
        RuntimeError,
        r"offsets\[-1\] can not be greater than input's length \d but got offsets\[-1\] of 9",
    ),
    (
        lambda: F.embedding_bag(I, W, padding_idx=5),
        RuntimeError,
        "padding_idx must be within the number of embeddings, -5 through 4, but got 5",
    ),
    (lambda: multihead(q[0, 0], k), AssertionError, r"For unbatched \(2-D\) `query`"),
    (
        lambda: multihead(*PAIR, attn_mask=adjoint.ones(2, 2)),
        RuntimeError,
        r"The shape of the 2D attn_mask is .*\[2, 2\]\), but should be \(",
    ),
    (lambda: multihead(*PAIR, is_causal=True), RuntimeError, "Need attn_mask if specifying the"),
    (lambda: F.one_hot(I, 3), RuntimeError, "Class values must be smaller than num_classes"),
    (lambda: F.one_hot(-I), RuntimeError, "Class values must be non-negative"),
    (lambda: attend(q[0, 0, 0], k, v), RuntimeError, "at least 2 dimensional"),
    (lambda: attend(q, k, v, adjoint.ones(3, 5, dtype=adjoint.int64)), RuntimeError, "attn_mask.dtype: long int"),
    (lambda: attend(q, k.float(), v), RuntimeError, "to have the same dtype, but got query.dtype: double"),
    (lambda: attend(q[:, :3], k[:, :2], v[:, :2], enable_gqa=True), RuntimeError, "must divide the number of heads"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_mask_of_numbers_and_the_causal_one_are_joined() -> None:
    query, key, value = (adjoint.randn(2, 4, 3, generator=adjoint.Generator().manual_seed(k)) for k in range(3))
    mask = adjoint.linspace(-1.0, 1.0, 16).reshape(4, 4)
    causal = adjoint.where(adjoint.ones(4, 4).tril() > 0, mask, -float("inf"))
    attention = adjoint.nn.functional.scaled_dot_product_attention
    both = attention(query, key, value, mask, is_causal=True)
    adjoint.testing.assert_close(both, attention(query, key, value, causal))
