"""Attention with several heads, and its projections."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import bool_
from adjoint.core.recorded import operations
from adjoint.functions.activations import dropout
from adjoint.functions.attention import scaled_dot_product_attention
from adjoint.functions.composite import functional, ops
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_linear = operations["linear"]

# checks of arguments --------------------------------------------------------------------------------------------------


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the arguments have an axis of samples. Raises AssertionError for ranks that do not match."""
    n = query.ndim
    assert n in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor"
    whom = f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected"
    assert key.ndim == value.ndim == n, (
        f"{whom} `key` and `value` to be {n}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
    )
    if key_padding_mask is not None:
        rank = key_padding_mask.ndim
        assert rank == n - 1, f"{whom} `key_padding_mask` to be `None` or {n - 1}-D but found {rank}-D tensor instead"
    if attn_mask is not None:
        rank = attn_mask.ndim
        assert rank in (2, 3), f"{whom} `attn_mask` to be `None`, 2-D or 3-D but found {rank}-D tensor instead"
        if n == 2 and rank == 3:
            shape = (num_heads, query.shape[0], key.shape[0])
            assert tuple(attn_mask.shape) == shape, (
                f"Expected `attn_mask` shape to be {shape} but got {attn_mask.shape}"
            )
    return bool(n == 3)


def _to_add(name: str, mask: Tensor | None, like: Tensor) -> Tensor | None:
    """The mask in the form that is added to scores: -inf where a boolean mask is True."""
    if mask is None:
        return None
    assert mask.dtype is bool_ or mask.is_floating_point(), f"only bool and floating types of {name} are supported"
    if mask.dtype is not bool_:
        return mask
    return ops.where(mask, -math.inf, ops.zeros_like(mask).to(like.dtype))


def _check_sizes(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_heads: int, separate: bool) -> None:
    width = query.shape[-1]
    assert width == embed_dim, f"was expecting embedding dimension of {embed_dim}, but got {width}"
    assert width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}"
    if separate:
        assert key.shape[:2] == value.shape[:2], (
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    else:
        assert key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}"


# parts ----------------------------------------------------------------------------------------------------------------


def _project(
    inputs: tuple[Tensor, Tensor, Tensor],
    packed: Tensor | None,
    bias: Tensor | None,
    separate: tuple[Any, Any, Any] | None,
) -> list[Tensor]:
    """The linear projections of query, key and value. Their weights may be stacked in one tensor."""
    width = inputs[0].shape[-1]
    biases = [None] * 3 if bias is None else list(bias.chunk(3))
    if separate is None:
        assert packed is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        if inputs[0] is inputs[1] is inputs[2]:
            return list(_linear(inputs[0], packed, bias).split(width, -1))
        weights = list(packed.chunk(3))
    else:
        for name, weight in zip("qkv", separate, strict=True):
            assert weight is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None"
        weights = list(separate)
    return [_linear(x, weight, b) for x, weight, b in zip(inputs, weights, biases, strict=True)]


def _by_heads(x: Tensor, samples: int, num_heads: int, head: int) -> Tensor:
    """Reshape (L, N, E) to (N * heads, L, E / heads)."""
    return x.reshape(x.shape[0], samples * num_heads, head).transpose(0, 1)


def _static(name: str, tensor: Tensor, rows: int, head: int) -> Tensor:
    assert tensor.shape[0] == rows, f"expecting {name}.size(0) of {rows}, but got {tensor.shape[0]}"
    assert tensor.shape[2] == head, f"expecting {name}.size(2) of {head}, but got {tensor.shape[2]}"
    return tensor


def _longer(mask: Tensor | None) -> Tensor | None:
    """The mask extended by one key that every query may attend to."""
    return None if mask is None else ops.constant_pad_nd(mask, (0, 1))


def _merge(attn_mask: Tensor | None, padding: Tensor | None, num_heads: int) -> Tensor | None:
    """The sum of both masks, of shape (N * heads or 1, L or 1, S)."""
    if padding is None:
        return attn_mask
    samples, sources = padding.shape
    rows = padding[:, None, None].expand(samples, num_heads, 1, sources).reshape(samples * num_heads, 1, sources)
    return rows if attn_mask is None else attn_mask + rows


def _checked_mask(mask: Tensor | None, rows: int, targets: int, sources: int) -> Tensor | None:
    if mask is None:
        return None
    shape = (targets, sources) if mask.ndim == 2 else (rows, targets, sources)
    if tuple(mask.shape) != shape:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {shape}.")
    return mask[None] if mask.ndim == 2 else mask


@functional
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention: project query, key and value, attend in each head, join the heads, project the result.

    Args:
        query: of shape (L, N, E), or (L, E) for one sample. The result has the same shape.
        key: of shape (S, N, K), or (S, K).
        value: of shape (S, N, V), or (S, V).
        in_proj_weight: the three projections stacked, of shape (3 E, E).
        q_proj_weight, k_proj_weight, v_proj_weight: the projections as separate matrices (E, E), (E, K) and (E, V),
            used if use_separate_proj_weight is True.
        in_proj_bias: the biases of the three projections, of shape (3 E).
        bias_k, bias_v: one more key and one more value for every sample, of shape (1, 1, E).
        add_zero_attn: whether one more key and value of zeros are appended.
        dropout_p: the probability with which each weight is set to 0 while training is True.
        out_proj_weight, out_proj_bias: the last projection, of shapes (E, E) and (E).
        key_padding_mask: of shape (N, S), or (S).
        attn_mask: of shape (L, S) or (N * heads, L, S). Both masks are True where a query may not attend to a key, or
            hold numbers that are added to the scores.
        static_k, static_v: keys and values that replace the projected ones, of shape (N * heads, S, E / heads).
        need_weights: whether the weights are returned; None is returned otherwise.
        average_attn_weights: whether the weights are the mean over the heads, of shape (N, L, S), or separate for each
            head, of shape (N, heads, L, S).
        is_causal: states that attn_mask is the causal mask. The mask itself is then not read if need_weights is False
            and key_padding_mask is None.

    Returns the pair of result and weights.
    Raises AssertionError or RuntimeError for invalid shapes, dtypes or arguments.

    >>> import adjoint
    >>> x, eye = adjoint.ones(3, 1, 2), adjoint.eye(2)
    >>> output, weights = adjoint.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, adjoint.cat([eye, eye, eye]), None, None, None, False, 0.0, eye, None
    ... )
    >>> weights
    tensor([[[0.3333, 0.3333, 0.3333],
             [0.3333, 0.3333, 0.3333],
             [0.3333, 0.3333, 0.3333]]])
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key is value
        query = query[:, None]
        key, value = (query, query) if same else (key[:, None], value[:, None])
        key_padding_mask = None if key_padding_mask is None else key_padding_mask[None]
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype is not attn_mask.dtype:
        warn_caller(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead."
        )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    hinted = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if hinted else attn_mask
    padding = _to_add("key_padding_mask", key_padding_mask, query)
    mask = _to_add("attn_mask", attn_mask, query)
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    targets, samples, width = query.shape
    head = width // num_heads
    rows = samples * num_heads
    mask = _checked_mask(mask, rows, targets, key.shape[0])
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _project((query, key, value), in_proj_weight, in_proj_bias, separate)
    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k, v = ops.cat([k, bias_k.repeat(1, samples, 1)], 0), ops.cat([v, bias_v.repeat(1, samples, 1)], 0)
        mask, padding = _longer(mask), _longer(padding)
    else:
        assert bias_k is None, "bias_k is set but bias_v is None"
        assert bias_v is None, "bias_v is set but bias_k is None"
    q = _by_heads(q, samples, num_heads, head)
    k = _by_heads(k, samples, num_heads, head) if static_k is None else _static("static_k", static_k, rows, head)
    v = _by_heads(v, samples, num_heads, head) if static_v is None else _static("static_v", static_v, rows, head)
    if add_zero_attn:
        k, v = [ops.cat([x, ops.zeros_like(x[:, :1])], 1) for x in (k, v)]
        mask, padding = _longer(mask), _longer(padding)
    if padding is not None:
        for axis, size in enumerate((samples, k.shape[1])):
            padding_size = padding.shape[axis]
            assert padding_size == size, f"Expected key_padded_mask.shape[{axis}] to be {size}, but got {padding_size}"
    mask = _merge(mask, padding, num_heads)
    share = dropout_p if training else 0.0
    if need_weights:
        scores = ops.matmul(q * (1 / math.sqrt(head)), k.mT)
        weights = ops.softmax(scores if mask is None else scores + mask, -1)
        weights = dropout(weights, share) if share > 0 else weights
        output = ops.matmul(weights, v)
    else:
        weights, output = None, scaled_dot_product_attention(q, k, v, mask, share, hinted)
    output = output.transpose(0, 1).reshape(targets * samples, width)
    output = _linear(output, out_proj_weight, out_proj_bias).reshape(targets, samples, out_proj_weight.shape[0])
    if weights is not None:
        weights = weights.reshape(samples, num_heads, targets, k.shape[1])
        weights = weights.mean(1) if average_attn_weights else weights
    if batched:
        return output, weights
    return output[:, 0], None if weights is None else weights[0]
