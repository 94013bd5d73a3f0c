"""Embeddings and attention of nn.functional."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import bool_, int32, int64
from adjoint.arrays.namespace import compute, first_outside, on_device, underlying
from adjoint.arrays.size import CPU
from adjoint.core.graph import new_tensor
from adjoint.core.modes.grad_mode import no_grad
from adjoint.functions.activations import dropout
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import composite, functional, ops, separate
from adjoint.runtime.once import warn_caller
from adjoint.tensor.creation import arange, ones

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


# embedding ----------------------------------------------------------------------------------------------------------


@functional
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """For each index a vector of int64 that is 1 at this position and 0 elsewhere.

    num_classes: the length of the vectors. -1 means the largest index plus 1.
    Raises RuntimeError for an index that is negative or too large, and for a dtype other than int64.

    >>> import adjoint
    >>> adjoint.nn.functional.one_hot(adjoint.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    require_tensors("one_hot", tensor=tensor)
    if tensor.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    raw = underlying(tensor._array)
    if not raw.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes == -1 or first_outside(raw, 0, num_classes) is not None:
        if raw.size and raw.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes != -1:
            raise RuntimeError("Class values must be smaller than num_classes.")
        num_classes = int(raw.max()) + 1
    if isinstance(tensor._array, numpy.ndarray):
        rows = numpy.zeros((tensor._array.size, num_classes), numpy.int64)
        rows[numpy.arange(tensor._array.size), tensor._array.reshape(-1)] = 1
        return new_tensor(rows.reshape(*tensor._array.shape, num_classes))
    return (ops.unsqueeze(tensor, -1) == arange(num_classes, device=tensor.device)).to(int64)


def _check_indices(function: str, input: Tensor) -> None:
    if input.dtype not in (int64, int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.long_name}Tensor instead (while checking arguments for {function})"
        )


def _renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows in use down to the norm max_norm, in place and without history."""
    with no_grad():
        weight = weight.detach()
        # an index that occurs twice writes the same row twice
        row_numbers = ops.reshape(indices, (-1,))
        rows = ops.index_select(weight, 0, row_numbers)
        norms = ops.linalg_vector_norm(rows, norm_type, 1, True)
        shorter = ops.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)
        weight.index_copy_(0, row_numbers, shorter)


@functional
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Select a row of weight for each index in input.

    Args:
        input: indices of dtype int64 or int32, of any shape.
        weight: a matrix (V, D). The result has the shape of input, followed by D.
        padding_idx: the number of a row whose gradient is 0.
        max_norm: the largest norm of a row. Longer rows among those in use are first scaled down to it, in place.
        norm_type: the order of this norm.
        scale_grad_by_freq: whether each gradient is divided by the number of times its index occurs in input.
        sparse: whether the gradient of weight is a sparse tensor (layout sparse_coo) with one row for each index.

    Raises IndexError for an index out of range, RuntimeError for a weight that is not a matrix or another dtype.

    >>> import adjoint
    >>> weight = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> adjoint.nn.functional.embedding(adjoint.tensor([1, 1, 0]), weight)
    tensor([[3., 4.],
            [3., 4.],
            [1., 2.]])
    """
    require_tensors("embedding", weight=weight, indices=input)
    if padding_idx is not None:
        rows = weight.shape[0]
        assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
        padding_idx = padding_idx % rows
    _check_indices("embedding", input)
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return _embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def _embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool = False
) -> Tensor:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", indices)
    if sparse:
        # operations on the gradient are composed there
        import adjoint.functions.sparse_operations  # noqa: F401
    return ops.embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)


@composite(method=False, name="embedding")
def top_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """nn.functional.embedding() with weight as the first argument.

    >>> import adjoint
    >>> adjoint.embedding(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), adjoint.tensor([1]))
    tensor([[3., 4.]])
    """
    require_tensors("embedding", weight=weight, indices=indices)
    return _embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)


# bags -----------------------------------------------------------------------------------------------------------------


def _check_bags(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    mode: str,
    scale_grad_by_freq: bool,
    sparse: bool,
    per_sample_weights: Tensor | None,
) -> None:
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}"
        )
    if input.ndim == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets is not None and offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is None:
        return
    if per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have "
            f"the same shape as the input ({input.shape})"
        )
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{weight.dtype.long_name}Tensor does not equal "
            f"torch.{per_sample_weights.dtype.long_name}Tensor (while checking arguments for embedding_bag)"
        )


def _starts(offsets: Tensor, n: int, include_last_offset: bool) -> Any:
    """The start of each bag, followed by the end of the last bag, as an array."""
    starts = on_device(compute(underlying(offsets._array)), CPU)
    if include_last_offset and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {starts[0]}"
        )
    if starts.size and starts[-1] > n:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of {starts[-1]}"
        )
    return starts if include_last_offset else numpy.append(starts, n)


def _largest(rows: Tensor, counts: Tensor) -> Tensor:
    """The largest element among the counted rows (B, n, D) of each bag, the first of equal ones; else 0."""
    counts = counts[..., None]
    if not rows.shape[1]:
        return ops.sum(rows, 1)
    largest = ops.max(ops.where(counts, rows, -math.inf), 1, False).values
    return ops.where(counts.any(1), largest, 0)


def _in_rows(starts: Any) -> tuple[Any, Any]:
    """Bags of different lengths as rows of equal length: positions of their indices, and a mask of valid positions."""
    lengths = numpy.maximum(numpy.diff(starts), 0)
    column = numpy.arange(lengths.max(initial=0))
    there = column < lengths[:, None]
    return numpy.where(there, starts[:-1, None] + column, 0), there


@functional
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of weight that each bag of indices selects; 0 for an empty bag.

    Args:
        input: the indices. Each row of an array (B, n) is a bag; an array (n) is divided into bags by offsets.
        weight: a matrix (V, D). The result has shape (B, D).
        offsets: the position in input at which each bag begins.
        mode: "sum", "mean" or "max".
        per_sample_weights: a factor for each selected row, of the shape of input, for mode "sum".
        include_last_offset: whether offsets ends with one more entry, the end of the last bag.
        padding_idx: an index that is ignored.
        max_norm, norm_type, scale_grad_by_freq, sparse: as in embedding().

    Raises ValueError or RuntimeError for invalid shapes, dtypes or indices.

    >>> import adjoint
    >>> weight = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> adjoint.nn.functional.embedding_bag(adjoint.tensor([0, 1, 1]), weight, adjoint.tensor([0, 1]), mode="sum")
    tensor([[1., 2.],
            [6., 8.]])
    """
    require_tensors("embedding_bag", weight=weight, indices=input)
    if weight.dtype is int64 and input.is_floating_point():
        warn_caller(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        input, weight = weight, input
    _check_bags(input, weight, offsets, mode, scale_grad_by_freq, sparse, per_sample_weights)
    _check_indices("embedding_bag", input)
    size = weight.shape[0]
    if padding_idx is not None and not -size <= padding_idx < size:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{size} through {size - 1}, but got {padding_idx}"
        )
    outside = first_outside(underlying(input._array), 0, size)
    if outside is not None:
        raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {outside}")
    padding = -1 if padding_idx is None else padding_idx % size
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return _bags(
        input, weight, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding, sparse
    )


def _bags(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    scale_grad_by_freq: bool,
    mode: str,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding: int,
    sparse: bool,
) -> Tensor:
    rows = _embedding(weight, input, padding, scale_grad_by_freq, sparse)
    if offsets is None and padding < 0 and mode != "max":
        return _whole_bags(rows, mode, per_sample_weights)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[..., None]
    if mode == "max":
        counts = input != padding if padding >= 0 else ops.ones_like(input) > 0
        if offsets is None:
            return _largest(rows, counts)
        arrays = _in_rows(_starts(offsets, input.shape[0], include_last_offset))
        positions, in_bag = [on_device(array, rows.device) for array in arrays]
        return _largest(ops.index(rows, (positions,)), ops.index(counts, (positions,)) & new_tensor(in_bag))
    numbers = None
    if padding >= 0:
        counts = input != padding
        rows, numbers = ops.where(counts[..., None], rows, 0), counts.to(weight.dtype)
    if offsets is None:
        sums, numbers = [ops.sum(x, 1) for x in (rows, numbers)]
    else:
        starts = _starts(offsets, input.shape[0], include_last_offset)
        # the elements after the last bag go into one more, which is dropped
        bags = numpy.searchsorted(starts, numpy.arange(input.shape[0]), side="right") - 1
        bags = on_device(bags, rows.device)
        numbers = ops.ones_like(input).to(weight.dtype) if numbers is None else numbers
        sums, numbers = [ops.sum_at(x, (starts.size, *x.shape[1:]), (bags,))[:-1] for x in (rows, numbers)]
        sums = separate(sums)
    return sums if mode == "sum" else sums / ops.clamp(numbers, min=1)[..., None]


def _whole_bags(rows: Tensor, mode: str, per_sample_weights: Tensor | None) -> Tensor:
    """The sums or means of the rows (B, n, D) of bags in which every index counts."""
    if per_sample_weights is not None:
        return separate(ops.matmul(per_sample_weights[:, None], rows)[:, 0])
    sums = ops.sum(rows, 1)
    return sums if mode == "sum" else sums / max(rows.shape[1], 1)


_MODES = ("sum", "mean", "max")


@composite(method=False, name="embedding_bag")
def top_embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """nn.functional.embedding_bag() with weight first, one-dimensional indices, and the mode as a number.

    mode: 0 is the sum, 1 the mean, 2 the maximum.

    Returns four tensors: the reduced bags; the number of the bag of each index; the number of indices that count in
    each bag (not computed for mode 0); and the index that each element of the result comes from for mode 2, or the
    third result again for the other modes.

    >>> import adjoint
    >>> weight = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> adjoint.embedding_bag(weight, adjoint.tensor([0, 1, 1]), adjoint.tensor([0, 1]))[:2]
    (tensor([[1., 2.],
            [6., 8.]]), tensor([0, 1, 1]))
    """
    if mode not in range(3):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    require_tensors("embedding_bag", weight=weight, indices=indices, offsets=offsets)
    if indices.ndim != 1:
        raise RuntimeError(f"input has to be a 1D Tensor, but got Tensor of dimension {indices.ndim}")
    bags = embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, _MODES[mode], sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip
    starts = _starts(offsets, indices.shape[0], include_last_offset)
    bag_of = numpy.searchsorted(starts, numpy.arange(indices.shape[0]), side="right") - 1
    bag_of, positions, in_bag = [on_device(array, indices.device) for array in (bag_of, *_in_rows(starts))]
    picked_rows = ops.index(indices, (positions,))
    counted = new_tensor(in_bag)
    if padding_idx is not None:
        counted = counted & (picked_rows != padding_idx % len(weight))
    sizes = counted.sum(1) if mode else ops.zeros_like(offsets[: len(bags)])
    origins = sizes.clone()
    if mode == 2:
        rows = ops.where(counted[..., None], ops.embedding(weight.detach(), picked_rows), -math.inf)
        origins = _origins(rows, ops.where(counted, picked_rows, 0))
    return bags, new_tensor(bag_of).to(indices.dtype), sizes, origins


def _origins(rows: Tensor, indices: Tensor) -> Tensor:
    """The index (B, n) of the row (B, n, D) that holds each largest element of its bag; 0 for an empty bag."""
    if not rows.shape[1]:
        return ops.sum(rows, 1).to(indices.dtype)
    return ops.gather(indices, 1, ops.max(rows, 1, False).indices)


# attention ----------------------------------------------------------------------------------------------------------


def _check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    require_tensors("scaled_dot_product_attention", query=query, key=key, value=value)
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
    if attn_mask.dtype not in (bool_, query.dtype) and attn_mask.dtype.c_name != "float":
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype.c_name} and  query.dtype: {query.dtype.c_name} instead."
        )


def _with_query_heads(heads: Tensor, n_heads: int) -> Tensor:
    """Keys or values with as many heads as the queries: each head is repeated for the queries that share it."""
    if n_heads % heads.shape[-3]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return heads.repeat_interleave(n_heads // heads.shape[-3], heads.ndim - 3)


def _causal(n_queries: int, n_keys: int, mask: Tensor | None) -> Tensor:
    """The mask that lets query i attend to the keys 0 to i, joined with another one."""
    earlier = ones(n_queries, n_keys, dtype=bool_, device=None if mask is None else mask.device).tril()
    if mask is None:
        return earlier
    return mask & earlier if mask.dtype is bool_ else ops.where(earlier, mask, -math.inf)


@functional
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
    """softmax(query @ key^T * scale + mask) @ value: for each query the mean of the values, weighted by the keys.

    Args:
        query: of shape (..., L, E).
        key: of shape (..., S, E).
        value: of shape (..., S, V). The result has shape (..., L, V).
        attn_mask: broadcasts to (..., L, S). A boolean mask is True where a query may attend to a key; a mask of
            numbers is added to the scores.
        dropout_p: the probability with which each weight is set to 0.
        is_causal: whether query i attends only to the keys 0 to i; a mask may exclude further keys.
        scale: the factor of the scores, by default 1 / sqrt(E).
        enable_gqa: whether key and value may have fewer heads (axis -3) than query. A group of query heads then shares
            one head of key and value.

    The result is 0 for a query that may attend to no key. Raises RuntimeError for invalid shapes, dtypes or masks.

    >>> import adjoint
    >>> q, k = adjoint.tensor([[0.0, 0.0]]), adjoint.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> adjoint.nn.functional.scaled_dot_product_attention(q, k, k)
    tensor([[0.5000, 0.5000]])
    """
    _check_attention(query, key, value, attn_mask)
    if enable_gqa:
        heads = query.shape[-3]
        key, value = _with_query_heads(key, heads), _with_query_heads(value, heads)
    if scale is None:
        scale = 1 / math.sqrt(max(1, query.shape[-1]))
    scores = ops.matmul(query * scale, key.mT)
    if is_causal:
        attn_mask = _causal(query.shape[-2], key.shape[-2], attn_mask)
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
