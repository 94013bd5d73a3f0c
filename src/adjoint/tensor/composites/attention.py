"""Embeddings and attention of nn.functional."""

from __future__ import annotations

import math
from typing import Any

from adjoint.arrays.dtypes import bool_, int32, int64
from adjoint.arrays.namespace import underlying
from adjoint.core import errors
from adjoint.core.grad_mode import no_grad
from adjoint.core.graph import TensorBase
from adjoint.tensor.composites.activations import dropout
from adjoint.tensor.composites.declare import composite, ops
from adjoint.tensor.creation import arange, ones

Tensor = Any

_functional = composite(namespace="nn.functional", method=False)


def _require(function: str, **tensors: object) -> None:
    for place, (name, value) in enumerate(tensors.items()):
        if not isinstance(value, TensorBase):
            raise TypeError(errors.must_be_tensor(function, name, place, value))


# embedding ----------------------------------------------------------------------------------------------------------


@_functional
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors with a 1 at the place that each index names and 0 elsewhere, of int64.

    num_classes: the length of the vectors; -1 is one more than the largest index.
    Raises RuntimeError for an index that is negative or too large, and for other dtypes than int64.

    >>> import adjoint
    >>> adjoint.nn.functional.one_hot(adjoint.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    _require("one_hot", tensor=tensor)
    if tensor.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    raw = underlying(tensor._array)
    if not raw.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if raw.size and raw.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(raw.max()) + 1
    elif raw.size and raw.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (ops.unsqueeze(tensor, -1) == arange(num_classes)).to(int64)


def _check_indices(input: Tensor) -> None:
    if input.dtype not in (int64, int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.long_name}Tensor instead (while checking arguments for embedding)"
        )


def _renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten the rows that are used to the norm max_norm, in place and without history."""
    with no_grad():
        weight = weight.detach()
        # an index that occurs twice writes the same row twice
        places = ops.reshape(indices, (-1,))
        rows = ops.index_select(weight, 0, places)
        norms = ops.linalg_vector_norm(rows, norm_type, 1, True)
        shorter = ops.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)
        weight.index_copy_(0, places, shorter)


@_functional
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of weight (V, D) that the indices in input name, as a tensor of its shape and D.

    padding_idx: the row of this number gets no gradient. max_norm: rows that are used are first shortened to this norm,
    in place. scale_grad_by_freq: gradients are divided by how often their index occurs. sparse: has no effect, the
    gradient is dense.
    Raises IndexError for an index out of range, RuntimeError for a weight that is no matrix and for other dtypes.

    >>> import adjoint
    >>> weight = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> adjoint.nn.functional.embedding(adjoint.tensor([1, 1, 0]), weight)
    tensor([[3., 4.],
            [3., 4.],
            [1., 2.]])
    """
    _require("embedding", weight=weight, indices=input)
    if padding_idx is not None:
        rows = weight.shape[0]
        assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
        padding_idx = padding_idx % rows
    _check_indices(input)
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return _embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


def _embedding(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices)
    return ops.embedding(weight, indices, padding_idx, scale_grad_by_freq)


@composite(method=False, name="embedding")
def top_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """As nn.functional.embedding(), with the weight first.

    >>> import adjoint
    >>> adjoint.embedding(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), adjoint.tensor([1]))
    tensor([[3., 4.]])
    """
    _require("embedding", weight=weight, indices=indices)
    return _embedding(weight, indices, padding_idx, scale_grad_by_freq)


# attention ----------------------------------------------------------------------------------------------------------


def _check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    _require("scaled_dot_product_attention", query=query, key=key, value=value)
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if not query.dtype is key.dtype is value.dtype:
        kinds = [tensor.dtype.c_name for tensor in (query, key, value)]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: {} key.dtype: {} and "
            "value.dtype: {} instead.".format(*kinds)
        )
    if not (query.is_floating_point() or query.is_complex()):
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.long_name}")
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if attn_mask.dtype not in (bool_, query.dtype) and attn_mask.dtype.c_name != "float":
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype.c_name} and  query.dtype: {query.dtype.c_name} instead."
        )


def _with_query_heads(name: str, heads: Tensor, wanted: int) -> Tensor:
    """Keys or values for groups of queries: each head repeated for all queries that share it."""
    if wanted % heads.shape[-3]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return heads.repeat_interleave(wanted // heads.shape[-3], heads.ndim - 3)


@_functional
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key^T * scale + mask) @ value: for each query a mean of values, by how well their keys fit.

    Shapes: query (..., L, E), key (..., S, E), value (..., S, V); the result is (..., L, V).
    attn_mask: broadcasts to (..., L, S); True where a query may attend to a key, or numbers to be added. is_causal:
    query i may attend to keys up to i. scale: 1 / sqrt(E) unless given. dropout_p: the share of weights that are zeroed
    at random. enable_gqa: key and value have fewer heads (axis -3), each for a group of queries'.
    A query that may attend to nothing gives 0. Raises RuntimeError for shapes, dtypes and masks that do not fit.

    >>> import adjoint
    >>> q, k = adjoint.tensor([[0.0, 0.0]]), adjoint.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> adjoint.nn.functional.scaled_dot_product_attention(q, k, k)
    tensor([[0.5000, 0.5000]])
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        heads = query.shape[-3]
        key, value = _with_query_heads("key", key, heads), _with_query_heads("value", value, heads)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scores = ops.matmul(query * scale, key.mT)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=bool_).tril()
    if attn_mask is None:
        weights = ops.safe_softmax(scores, -1)
    elif attn_mask.dtype is bool_:
        weights = ops.safe_softmax(ops.where(attn_mask, scores, -math.inf), -1)
    else:
        weights = ops.safe_softmax(scores + attn_mask.to(query.dtype), -1)
    if dropout_p > 0:
        if dropout_p > 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
        weights = dropout(weights, dropout_p)
    return ops.matmul(weights, value)
