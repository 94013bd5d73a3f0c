"""Rows picked from a table, and attention's softmax."""

from math import prod

from adjoint.arrays.kernels import vectors
from adjoint.arrays.layout import sparse_coo
from adjoint.arrays.libraries.sparse_arrays import SparsePattern
from adjoint.arrays.namespace import first_outside, row_major, underlying

from .activations import require_real
from .declare import Array, Constant, constant, general, linear
from .reduce import axes_of, softmax_derivative

_HIDDEN = {"method": False, "function": False}

# embedding ----------------------------------------------------------------------------------------------------------
# The first `lead` axes of table and indices are batch axes: each member has its own table. The tables of all members
# are concatenated, and the indices count through them.


def _through_all(xp, indices, rows, lead):
    if not lead:
        return indices
    batch = indices.shape[:lead]
    first = xp.reshape(xp.arange(prod(batch), dtype=xp.int64) * rows, batch)
    return indices + first[(..., *(None,) * (indices.ndim - lead))]


def _check_embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse, lead):
    raw, rows = underlying(indices._array), weight.shape[0]
    if first_outside(raw, 0, rows) is not None:
        raise IndexError("index out of range in self")
    if sparse and scale_grad_by_freq and weight.requires_grad:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")


@linear(batching="joint", check=_check_embedding, **_HIDDEN)
def embedding(xp, weight: Array, indices: Constant, padding_idx=-1, scale_grad_by_freq=False, sparse=False, lead=0):
    """The rows of a table at the indices. padding_idx and scale_grad_by_freq change only the gradient."""
    *batch, rows, width = weight.shape
    table = xp.reshape(weight, (prod(batch) * rows, width))
    return xp.getitem(table, (_through_all(xp, indices, rows, lead),))


def _weight_cotangent(ops, g, indices, weight_shape, padding_idx, scale_grad_by_freq, sparse, lead):
    if sparse:
        return _sparse_rows(ops, g, getattr(indices, "_array", indices), weight_shape, padding_idx)
    return ops.embedding_sum(g, indices, weight_shape[lead], padding_idx, scale_grad_by_freq, lead)


def _weight_cotangent_of_batch(ops, g, indices, weight_shape, padding_idx, scale_grad_by_freq, sparse, lead):
    if scale_grad_by_freq or lead:
        return None  # each member counts its own indices
    return _weight_cotangent(ops, g, indices, weight_shape, padding_idx, False, sparse, lead)


embedding.vjp("weight", summed=_weight_cotangent_of_batch)(_weight_cotangent)


def _sparse_rows(ops, g, indices, shape, padding_idx):
    # the rows of the cotangent as a sparse gradient, one for each index
    rows, numbers = ops.reshape(g, (-1, shape[1])), indices.reshape(-1)
    if padding_idx >= 0:
        counts = numbers != padding_idx
        rows, numbers = ops.index(rows, (counts,)), numbers[counts]
    return ops.sparse_array(rows, SparsePattern(sparse_coo, tuple(shape), (numbers[None],), 1))


@embedding.batch
def _(lead):
    return {"lead": lead + 1}


@linear(batching="joint", node="EmbeddingDenseBackwardBackward0", **_HIDDEN)
def embedding_sum(xp, input: Array, indices: Constant, rows, padding_idx=-1, scale_grad_by_freq=False, lead=0):
    """A table of `rows` rows: each is the sum of the input's rows with its index, zero for padding_idx.

    With scale_grad_by_freq each is the mean of these rows.
    """
    batch, width = indices.shape[:lead], input.shape[-1]
    rows_of_indices = xp.reshape(_through_all(xp, indices, rows, lead), (-1,))
    summands = xp.reshape(input, (prod(indices.shape), width))
    if padding_idx >= 0:
        is_counted = xp.reshape(indices, (-1,)) != padding_idx
        rows_of_indices, summands = rows_of_indices[is_counted], summands[is_counted]
    tables = prod(batch) * rows
    if scale_grad_by_freq:
        summands = (
            summands / xp.astype(xp.bincount(rows_of_indices, minlength=tables)[rows_of_indices], input.dtype)[:, None]
        )
    total = xp.sum_at((tables, width), (rows_of_indices,), summands)
    return xp.reshape(total, (*batch, rows, width)) if batch else total


@embedding_sum.vjp("input")
def _(ops, g, indices, rows, padding_idx, scale_grad_by_freq, lead):
    of_rows = ops.embedding(g, indices, lead=lead)
    if scale_grad_by_freq:
        of_rows = of_rows / ops.embedding_counts(of_rows, indices, rows, lead)
    return of_rows if padding_idx < 0 else ops.where((indices == padding_idx)[..., None], 0, of_rows)


@embedding_sum.batch
def _(lead):
    return {"lead": lead + 1}


@constant(batching="joint", **_HIDDEN)
def embedding_counts(xp, like: Constant, indices: Constant, rows, lead=0):
    """How often each index occurs among the indices, with an axis of size 1 behind, in the type of another array."""
    rows_of_indices = _through_all(xp, indices, rows, lead)
    counts = xp.bincount(xp.reshape(rows_of_indices, (-1,)), minlength=prod(indices.shape[:lead]) * rows)
    return xp.astype(counts[rows_of_indices], like.dtype)[..., None]


@embedding_counts.batch
def _(lead):
    return {"lead": lead + 1}


# attention ----------------------------------------------------------------------------------------------------------


@general(axes=("dim",), **_HIDDEN)
def safe_softmax(xp, input: Array, dim):
    """softmax along an axis, and 0 where all elements are -inf, for a query without allowed keys."""
    require_real("softmax_lastdim_kernel_impl", input)
    if not input.size:
        return xp.asarray(input, copy=True)
    axis = axes_of(input, dim)
    result = vectors.softmax(input, dim, False)
    if result is not None:
        if xp.any(xp.isnan(result)):
            result = row_major(xp.where(xp.max(input, axis=axis, keepdims=True) == -xp.inf, 0, result))
        return result
    top = xp.max(input, axis=axis, keepdims=True)
    powers = xp.exp(input - xp.where(top == -xp.inf, 0, top))
    total = xp.sum(powers, axis=axis, keepdims=True)
    return row_major(powers / xp.where(total == 0, 1, total))


safe_softmax.vjp("input")(lambda ops, g, y, dim: softmax_derivative(ops, g, y, dim))
safe_softmax.jvp("input")(lambda ops, t, y, dim: softmax_derivative(ops, t, y, dim))
