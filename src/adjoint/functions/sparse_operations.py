"""Operations on sparse tensors, composed of operations on their values.

The values of a sparse tensor are an ordinary tensor, and its pattern is constant. `values_of` and `of_values` convert
between both, and are recorded. So an operation here needs a few lines on values, and has derivatives of every order.
The core passes every operation with a sparse argument to `compose`. The table `_COMPOSED` lists the composed
operations; all others raise.
"""

from __future__ import annotations

import copyreg
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.layout import SPARSE_LAYOUTS, sparse_coo, strided
from adjoint.arrays.libraries.sparse_arrays import (
    SparseArray,
    SparsePattern,
    checked_pattern,
    compressed_pattern,
    coo_pattern,
    empty_like,
    unsupported_error,
)
from adjoint.arrays.shapes import normalize_dim
from adjoint.core import errors
from adjoint.core.graph import TensorBase, bump_version, compose_operations, new_tensor
from adjoint.core.in_place import check_writable
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.functions.composite import as_tensor, ops
from adjoint.tensor.memory.storage import share_version

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

ADD_SIZES = "add: expected sizes of 'self' and 'other' to match, but {a} != {b}"
ADD_NUMBER = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
DIVISOR = "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
FLOOR_DIVISOR = (
    "Sparse floor division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
)
ZEROTH_POWER = "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense"
MISMATCH = "mat1 and mat2 shapes cannot be multiplied ({a} and {b})"
MV_MISMATCH = "mv: expected self.size(-1) == vec.size(-1)"
COPY = "copy_() between dense and sparse Tensors is not implemented! Found self type = {own} and src type = {other}"
OTHER_SHAPE = "mul(sparse, dense): the dense operand of shape {b} does not broadcast to the sparse one of shape {a}"
KEEP_DIM = "reduction operations on CSR tensors with keepdim=False is unsupported"


# between a tensor and its values --------------------------------------------------------------------------------------


def is_tensor(value: Any) -> TypeGuard[Tensor]:
    """True for a tensor."""
    return isinstance(value, TensorBase)


def is_sparse(value: Any) -> bool:
    """True for a tensor of a sparse layout."""
    return isinstance(value, TensorBase) and type(value._array) is SparseArray


def layout_of(tensor: Tensor) -> Any:
    """The layout of a tensor."""
    return tensor._array.layout if is_sparse(tensor) else strided


def pattern_of(tensor: Tensor) -> SparsePattern:
    """The places of the values of a sparse tensor, each place once."""
    pattern = tensor._array.pattern
    return pattern if pattern.is_unique else pattern.coalesced_pattern


def values_of(tensor: Tensor, pattern: SparsePattern | None = None) -> Tensor:
    """The elements of a sparse tensor at its own positions, or at the positions of a pattern, in the shape of the
    values.

    They are taken at the tensor's own positions, so that its gradient has the same pattern.
    """
    source = pattern_of(tensor)
    values = ops.elements_at(tensor, source)
    if values._array is tensor._array.values:
        # a write into the values writes into the tensor
        share_version(values, tensor)
    return values if pattern is None or pattern is source else values_at(values, source, pattern)


def values_at(values: Tensor, source: SparsePattern, target: SparsePattern) -> Tensor:
    """Values of one pattern at the positions of another; zero at positions that are missing in the first."""
    if source.dense_dim != target.dense_dim:
        flat = values_at(ops.reshape(values, (-1,)), source.flat, target.flat)
        return ops.reshape(flat, target.values_shape)
    entries = ops.reshape(values, source.entries_shape)
    if source.groups[1] is not None:
        entries = ops.index(entries, (source.order,))
    positions, is_complete = source.positions_of(target)
    if not is_complete:
        entries = ops.cat([entries, ops.zeros_like(new_tensor(entries._array[:1]))], 0) if len(entries) else None
        if entries is None:
            return new_tensor(numpy.zeros(target.values_shape, values._array.dtype))
    return ops.reshape(ops.index(entries, (positions,)), target.values_shape)


def entries_of(tensor: Tensor, pattern: SparsePattern | None = None) -> Tensor:
    """The elements of a sparse tensor as a list of entries."""
    pattern = pattern_of(tensor) if pattern is None else pattern
    return ops.reshape(values_of(tensor, pattern), pattern.entries_shape)


def of_values(values: Tensor, pattern: SparsePattern) -> Tensor:
    """The sparse tensor with these values, in their shape or as entries."""
    if tuple(values._array.shape) != pattern.values_shape:
        values = ops.reshape(values, pattern.values_shape)
    return ops.sparse_array(values, pattern)


def at_places(dense: Tensor, pattern: SparsePattern) -> Tensor:
    """The entries of a dense tensor at the places of a pattern; axes of length 1, or none, are broadcast."""
    shape = (1,) * (len(pattern.shape) - dense.ndim) + tuple(dense.shape)
    n = len(pattern.span)
    wide = ops.reshape(dense, shape) if dense.ndim < len(shape) else dense
    if not n:
        return ops.expand(ops.unsqueeze(wide, 0), (pattern.nnz, *shape))
    zeros = numpy.zeros_like(pattern.places)
    places = [zeros if length == 1 else c for length, c in zip(shape, pattern.coordinates, strict=False)]
    return ops.index(wide, tuple(places))


def strided_form(tensor: Tensor) -> Tensor:
    """A sparse tensor as a dense one, with a dense gradient."""
    return ops.strided_of(tensor, None)


# elementwise ----------------------------------------------------------------------------------------------------------


def add(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """input + alpha * other: sparse for two sparse tensors, else dense."""
    if not (is_tensor(input) and is_tensor(other)):
        raise RuntimeError(ADD_NUMBER)
    if not (is_sparse(input) and is_sparse(other)):
        dense, sparse = (other, input) if is_sparse(input) else (input, other)
        first, second = strided_form(sparse), dense
        return ops.add(first, second, alpha=alpha) if sparse is input else ops.add(second, first, alpha=alpha)
    if input.shape != other.shape:
        raise RuntimeError(ADD_SIZES.format(a=list(input.shape), b=list(other.shape)))
    pattern = pattern_of(input).with_places_of(pattern_of(other))
    pattern = pattern if pattern.is_unique else pattern.coalesced_pattern
    return of_values(ops.add(values_of(input, pattern), values_of(other, pattern), alpha=alpha), pattern)


def sub(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """input - alpha * other."""
    return add(input, other, -alpha)


def mul(input: Any, other: Any) -> Tensor:
    """The product, which has values where the sparse operands do."""
    if not is_sparse(input):
        input, other = other, input
    pattern = pattern_of(input)
    if is_sparse(other):
        if other.shape != input.shape:
            raise RuntimeError(
                "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of "
                "sparse dimensions, and shape of sparse dimensions"
            )
        pattern = common_pattern(pattern, pattern_of(other))
        return of_values(ops.mul(values_of(input, pattern), values_of(other, pattern)), pattern)
    if is_tensor(other) and other.ndim:
        entries = ops.mul(entries_of(input, pattern), at_places(fitting(input, other), pattern))
        return of_values(entries, pattern)
    return of_values(ops.mul(values_of(input, pattern), other), pattern)


def fitting(sparse: Tensor, dense: Tensor) -> Tensor:
    """The dense factor of a sparse tensor, if it broadcasts to that. Raises RuntimeError if not."""
    shape, dense_shape = tuple(sparse.shape), tuple(dense.shape)
    if len(dense_shape) > len(shape) or any(
        n not in (1, m) for n, m in zip(dense_shape[::-1], shape[::-1], strict=False)
    ):
        raise RuntimeError(OTHER_SHAPE.format(a=list(shape), b=list(dense_shape)))
    return dense


def common_pattern(first: SparsePattern, second: SparsePattern) -> SparsePattern:
    """The pattern of the places that both have, in the layout of the first."""
    positions, is_complete = second.positions_of(first)
    if is_complete:
        return first
    places = first.places[positions < len(second.groups[0])]
    if first.layout is sparse_coo:
        return coo_pattern(first.shape, numpy.unique(places), first.dense_dim)
    return compressed_pattern(first.layout, first.shape, numpy.unique(places), first.dense_dim, first.block)


def division(name: str, message: str) -> Callable[..., Tensor]:
    """A division of a sparse tensor by a number."""

    def divide(input: Any, other: Any, *more: Any) -> Tensor:
        if not is_sparse(input) or (isinstance(other, TensorBase) and (other.ndim or is_sparse(other))):
            raise RuntimeError(message.format(shape=list(other.shape)))
        pattern = pattern_of(input)
        return of_values(getattr(ops, name)(values_of(input, pattern), other, *more), pattern)

    return divide


def power(input: Any, exponent: Any) -> Tensor:
    """The values to the power of a number that is not zero."""
    if not is_sparse(input) or isinstance(exponent, TensorBase):
        raise unsupported_error("pow.Tensor_Tensor", "Sparse")
    if exponent == 0:
        raise RuntimeError(ZEROTH_POWER)
    pattern = input._array.pattern.coalesced_pattern
    return of_values(ops.pow(values_of(input, pattern), exponent), pattern)


def on_values(name: str) -> Callable[..., Tensor]:
    """A function of the values that leaves zeros zero."""

    def apply(input: Tensor, *more: Any) -> Tensor:
        pattern = pattern_of(input)
        return of_values(getattr(ops, name)(values_of(input, pattern), *more), pattern)

    return apply


def of_dense_result(name: str, dim: int) -> Callable[..., Tensor]:
    """A reduction of all elements in which zeros are neutral; dim: the position of the argument with the axes."""

    def apply(input: Tensor, *more: Any) -> Tensor:
        if more[dim : dim + 1] not in ((), (None,)):
            raise unsupported_error(name, input._array.layout.kind)
        return getattr(ops, name)(ops.reshape(values_of(input), (-1,)), *more)

    return apply


def refusal(message: str, kind: type[Exception] = RuntimeError) -> Callable[..., Any]:
    """An operation that raises torch's error."""

    def refuse(*values: Any) -> Any:
        raise kind(message)

    return refuse


def view(input: Tensor, shape: Sequence[int], *more: Any) -> Tensor:
    """The tensor itself, anew, for its own shape; there are no views of others."""
    if tuple(shape) != tuple(input.shape):
        raise unsupported_error("view", layout_of(input).kind)
    return of_values(values_of(input), pattern_of(input))


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along an axis that a vector of indices names."""
    input = as_coo(input)
    pattern = pattern_of(input)
    dim, n = normalize_dim(dim, input.ndim), pattern.sparse_dim
    numbers = index._array.reshape(-1)
    length = input.shape[dim]
    if numbers.size and (numbers.min() < 0 or numbers.max() >= length):
        wrong = numbers[(numbers < 0) | (numbers >= length)][0]
        raise IndexError(f"index_select(): index contains {wrong} that is out of range for tensor of size {length}")
    shape = (*input.shape[:dim], len(numbers), *input.shape[dim + 1 :])
    values = values_of(input, pattern)
    if dim >= n:
        elements = ops.index_select(values, dim - n + 1, index)
        return of_values(elements, SparsePattern(sparse_coo, shape, pattern.indices, pattern.dense_dim))
    (indices,) = pattern.indices
    sources, targets = meetings(numbers, indices[dim], length)
    rows = indices[:, targets].copy()
    rows[dim] = sources
    elements = ops.index(values, (targets,))
    return of_values(elements, SparsePattern(sparse_coo, shape, (rows,), pattern.dense_dim))


def meetings(first: Any, second: Any, n: int) -> tuple[Any, Any]:
    """All pairs of positions at which two vectors of numbers below n have equal numbers."""
    order = numpy.argsort(second, kind="stable")
    counts = numpy.bincount(second, minlength=n)
    starts = numpy.cumsum(counts) - counts
    repeats = counts[first]
    places = numpy.repeat(numpy.arange(len(first)), repeats)
    steps = numpy.arange(len(places)) - numpy.repeat(numpy.cumsum(repeats) - repeats, repeats)
    return places, order[starts[first[places]] + steps]


def zero(input: Tensor) -> Tensor:
    """A sparse tensor without values."""
    return new_tensor(empty_like(input._array))


def copy(input: Tensor, other: Tensor) -> Tensor:
    """The source of copy_(): another sparse tensor."""
    if not (is_sparse(input) and is_sparse(other)):
        names = [t.type().replace("adjoint.", "torch.sparse." if is_sparse(t) else "torch.") for t in (input, other)]
        raise RuntimeError(COPY.format(own=names[0], other=names[1]))
    return ops.cast(other, input.dtype)


# products -------------------------------------------------------------------------------------------------------------


def product_of_values(a: Tensor, b: Tensor) -> Tensor:
    """A product of two matrices, or a matrix and a vector, with one sparse operand, whose gradient is sparse too."""
    if not is_sparse(a):
        return transpose_matrix(product_of_values(transpose_matrix(b), transpose_matrix(a)))
    check_product(a, b)
    if is_sparse(b):
        return sparse_times_sparse(a, b)
    pattern = pattern_of(a)
    return ops.sparse_product(entries_of(a, pattern), b, pattern.product_layout)


def transpose_matrix(tensor: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    return ops.transpose(tensor, 0, 1) if tensor.ndim == 2 else tensor


def check_product(a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError for shapes or dtypes that do not fit."""
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[1] != b.shape[0]:
        sizes = ["x".join(map(str, t.shape)) for t in (a, b)]
        raise RuntimeError(MV_MISMATCH if b.ndim == 1 else MISMATCH.format(a=sizes[0], b=sizes[1]))
    if a.dtype is not b.dtype:
        kinds = [t.dtype.long_name for t in (a, b)]
        raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}")
    if pattern_of(a).dense_dim:
        raise RuntimeError(f"mm: expected a matrix without dense axes, got one with {a._array.pattern.dense_dim}")


def sparse_times_sparse(a: Tensor, b: Tensor) -> Tensor:
    """The product of two sparse matrices, a sparse one."""
    left, right = pattern_of(a), pattern_of(b)
    rows, inner = left.coordinates
    # one term for each pair of a value of a and one in the row of b that it meets
    firsts, seconds = meetings(inner, right.coordinates[0], a.shape[1])
    places, target = numpy.unique(rows[firsts] * b.shape[1] + right.coordinates[1][seconds], return_inverse=True)
    shape = (a.shape[0], b.shape[1])
    result = coo_pattern(shape, places)
    if left.layout is not sparse_coo and not left.block:
        result = compressed_pattern(left.layout, shape, places)
    terms = ops.mul(ops.index(entries_of(a, left), (firsts,)), ops.index(entries_of(b, right), (seconds,)))
    sums = ops.sum_at(terms, (len(places),), (target.reshape(-1),))
    if result.layout.by_columns:
        sums = ops.index(sums, (numpy.searchsorted(places, result.places),))
    return of_values(sums, result)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """A product; as in torch, the gradient of a sparse operand is dense if the other operand is dense."""
    if is_sparse(a) and is_sparse(b):
        return product_of_values(a, b)
    sparse, dense = (a, b) if is_sparse(a) else (b, a)
    if is_grad_enabled() and sparse.requires_grad:
        if sparse is a and dense.ndim <= 2:
            check_product(a, b)
        return ops.matmul(strided_form(a), b) if sparse is a else ops.matmul(a, strided_form(b))
    if dense.ndim <= 2:
        return product_of_values(a, b)
    return with_batch(sparse, dense, sparse is a)


def with_batch(sparse: Tensor, dense: Tensor, is_first: bool) -> Tensor:
    """The product of a sparse matrix with each matrix of a dense batch."""
    if not is_first:
        return ops.transpose(with_batch(transpose_matrix(sparse), ops.transpose(dense, -2, -1), True), -2, -1)
    *batch, n, k = dense.shape
    columns = ops.permute(ops.reshape(dense, (-1, n, k)), (1, 0, 2))
    product = product_of_values(sparse, ops.reshape(columns, (n, -1)))
    parts = ops.permute(ops.reshape(product, (sparse.shape[0], -1, k)), (1, 0, 2))
    return ops.reshape(parts, (*batch, sparse.shape[0], k))


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * mat1 @ mat2, for a dense input."""
    if is_sparse(input):
        raise unsupported_error("addmm", layout_of(input).kind)
    return ops.add(ops.mul(input, beta), matmul(mat1, mat2), alpha=alpha)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    if is_sparse(input) or weight.ndim != 2:
        raise unsupported_error("linear", "Sparse")
    if is_grad_enabled() and weight.requires_grad:
        return ops.linear(input, strided_form(weight), bias)
    product = matmul(input, transpose_matrix(weight))
    return product if bias is None else ops.add(product, bias)


# shapes ---------------------------------------------------------------------------------------------------------------


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Permutes the axes; sparse axes stay before dense ones."""
    dims = tuple([normalize_dim(d, input.ndim) for d in dims])
    pattern = pattern_of(input)
    n = pattern.sparse_dim
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    if dims == tuple(range(input.ndim)):
        return input
    if pattern.layout.has_blocks or pattern.batch_dim or (pattern.layout.is_compressed and input.ndim > 2):
        raise unsupported_error("permute", pattern.layout.kind)
    if sorted(dims[:n]) != list(range(n)):
        raise RuntimeError("permute(sparse_coo): sparse and dense dimensions cannot be mixed")
    values = values_of(input, pattern)
    if pattern.dense_dim:
        values = ops.permute(values, (0, *[d - n + 1 for d in dims[n:]]))
    return of_values(values, pattern.permute(dims))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    dims = list(range(input.ndim))
    first, second = normalize_dim(dim0, input.ndim), normalize_dim(dim1, input.ndim)
    dims[first], dims[second] = dims[second], dims[first]
    return permute(input, dims)


def t(input: Tensor) -> Tensor:
    """The matrix transposed."""
    return permute(input, range(input.ndim)[::-1])


def as_coo(input: Tensor) -> Tensor:
    """The tensor as coordinates with the same values."""
    pattern = pattern_of(input)
    return input if pattern.layout is sparse_coo else of_values(entries_of(input, pattern), pattern.to_coo())


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The part at an index of an axis; a dense tensor if no sparse axis remains."""
    input = as_coo(input)
    pattern = pattern_of(input)
    dim, n = normalize_dim(dim, input.ndim), pattern.sparse_dim
    length = input.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    index %= length
    shape = (*input.shape[:dim], *input.shape[dim + 1 :])
    values = values_of(input, pattern)
    (indices,) = pattern.indices
    if dim >= n:
        elements = ops.getitem_select(values, (slice(None),) * (dim - n + 1) + (index,))
        return of_values(elements, SparsePattern(sparse_coo, shape, (indices,), pattern.dense_dim - 1))
    numbers = numpy.flatnonzero(indices[dim] == index)
    elements = ops.index(values, (numbers,))
    if n == 1:
        return ops.sum(elements, 0)
    rest = numpy.delete(indices[:, numbers], dim, 0)
    return of_values(elements, SparsePattern(sparse_coo, shape, (rest,), pattern.dense_dim))


def getitem_select(input: Tensor, index: tuple[Any, ...]) -> Tensor:
    """input[index], for an index of numbers, full slices and an Ellipsis."""
    items = list(index)
    if any(item is Ellipsis for item in items):
        position = next(k for k, item in enumerate(items) if item is Ellipsis)
        items[position : position + 1] = [slice(None)] * (input.ndim - len(items) + 1)
    if any(not isinstance(item, int) and item != slice(None) for item in items):
        raise unsupported_error("as_strided", layout_of(input).kind)
    for dim, item in reversed(list(enumerate(items))):
        if isinstance(item, int):
            input = (
                select(input, dim, item)
                if is_sparse(input)
                else ops.getitem_select(input, (slice(None),) * dim + (item,))
            )
    return input


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along an axis."""
    return tuple([select(input, dim, k) for k in range(input.shape[dim])])


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new axis of length 1, a sparse one where it stands among these."""
    input = as_coo(input)
    pattern = pattern_of(input)
    dim, n = normalize_dim(dim, input.ndim + 1), pattern.sparse_dim
    shape = (*input.shape[:dim], 1, *input.shape[dim:])
    values = values_of(input, pattern)
    if dim > n:
        wider = SparsePattern(sparse_coo, shape, pattern.indices, pattern.dense_dim + 1)
        return of_values(ops.unsqueeze(values, dim - n + 1), wider)
    indices = numpy.insert(pattern.indices[0], dim, 0, axis=0)
    return of_values(values, SparsePattern(sparse_coo, shape, (indices,), pattern.dense_dim))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenates sparse tensors along a sparse axis."""
    if not all(map(is_sparse, tensors)):
        raise RuntimeError(
            "Concatenating sparse tensors, but a dense tensor was found at position "
            + str(next(k for k, x in enumerate(tensors) if not is_sparse(x)))
            + "."
        )
    tensors = [as_coo(x) for x in tensors]
    patterns = [pattern_of(x) for x in tensors]
    dim = normalize_dim(dim, tensors[0].ndim)
    n = patterns[0].sparse_dim
    frames = [(*x.shape[:dim], *x.shape[dim + 1 :]) for x in tensors]
    if len(set(frames)) > 1 or any(p.sparse_dim != n for p in patterns) or dim >= n:
        raise RuntimeError(
            "All tensors must have the same shape, but for the axis of concatenation, and the same sparse axes, this "
            f"one among them; got {[tuple(x.shape) for x in tensors]} and dim={dim}"
        )
    starts = numpy.cumsum([0, *(x.shape[dim] for x in tensors)])
    parts = []
    for start, pattern in zip(starts, patterns, strict=False):
        indices = pattern.indices[0].copy()
        indices[dim] += start
        parts.append(indices)
    shape = (*tensors[0].shape[:dim], int(starts[-1]), *tensors[0].shape[dim + 1 :])
    whole = SparsePattern(sparse_coo, shape, (numpy.concatenate(parts, 1),), patterns[0].dense_dim)
    return of_values(ops.cat([values_of(x, p) for x, p in zip(tensors, patterns, strict=True)], 0), whole)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Sparse tensors along a new axis."""
    return cat([unsqueeze(x, dim) for x in tensors], dim)


# reductions -----------------------------------------------------------------------------------------------------------


def sum_all(input: Tensor, *more: Any) -> Tensor:
    """The sum of all elements; its gradient is dense, as in torch."""
    if is_grad_enabled() and input.requires_grad:
        return ops.sum_all(strided_form(input))
    return ops.sum_all(values_of(input))


def sum_along(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The sum over several axes: sparse, or dense where no sparse axis remains."""
    pattern = pattern_of(input)
    n = pattern.sparse_dim
    entries = values_of(input, pattern)
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        entries = ops.sum(entries, tuple(dense))
    rest = [d for d in range(n) if d not in dims]
    dense_shape = tuple(entries.shape[1:])
    if not rest:
        return ops.sum(entries, 0)
    span = tuple([input.shape[d] for d in rest])
    (indices,) = pattern.indices
    flat = numpy.ravel_multi_index(tuple(indices[rest]), span)
    places, groups = numpy.unique(flat, return_inverse=True)
    sums = ops.sum_at(entries, (len(places), *dense_shape), (groups.reshape(-1),))
    return of_values(sums, coo_pattern(span + dense_shape, places, len(dense_shape)))


def axes_of_sum(input: Tensor, dim: Any) -> list[int]:
    """The axes of a sum, counted from the front. Raises for one out of range, or named twice."""
    dims = [normalize_dim(d, input.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def sum_over(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Tensor.sum(dim) of a sparse tensor."""
    if dim is None or dim == ():
        return sum_all(input)
    dims = axes_of_sum(input, dim)
    if input._array.layout is not sparse_coo and not keepdim:
        raise RuntimeError(KEEP_DIM)
    result = sum_along(as_coo(input), dims)
    for d in sorted(dims) if keepdim else ():
        result = ops.unsqueeze(result, d)
    return result


def groups_along(pattern: SparsePattern, dim: int) -> tuple[Any, int]:
    """The number of the line along a sparse axis that each entry lies in, and how many lines have entries."""
    others = [d for d in range(pattern.sparse_dim) if d != dim]
    if not others:
        return numpy.zeros(pattern.nnz, numpy.int64), 1
    span = tuple([pattern.shape[d] for d in others])
    lines = numpy.ravel_multi_index(tuple(pattern.indices[0][others]), span)
    groups, numbers = numpy.unique(lines, return_inverse=True)
    return numbers.reshape(-1), len(groups)


def softmax(input: Tensor, dim: int, is_log: bool) -> Tensor:
    """softmax over the stored values along an axis, or its logarithm; places without a value count as -inf."""
    dim = normalize_dim(dim, input.ndim)
    pattern = input._array.pattern.coalesced_pattern
    values = values_of(input, pattern)
    if dim >= pattern.sparse_dim:
        function = ops.log_softmax if is_log else ops.softmax
        return of_values(function(values, dim - pattern.sparse_dim + 1), pattern)
    numbers, n = groups_along(pattern, dim)
    raw = values._array
    tops = numpy.full((n, *raw.shape[1:]), -math.inf, raw.dtype)
    numpy.maximum.at(tops, numbers, raw)
    shifted = ops.sub(values, new_tensor(tops[numbers]))
    powers = ops.exp(shifted)
    totals = ops.sum_at(powers, (n, *raw.shape[1:]), (numbers,))
    if is_log:
        return of_values(ops.sub(shifted, ops.index(ops.log(totals), (numbers,))), pattern)
    return of_values(ops.true_divide(powers, ops.index(totals, (numbers,))), pattern)


# the table ------------------------------------------------------------------------------------------------------------

#: Functions with f(0) = 0, which apply to the values.
_OF_VALUES = (
    "abs", "asin", "asinh", "atan", "atanh", "cast", "ceil", "clone", "deg2rad", "erf", "erfinv", "expm1", "floor",
    "frac", "imag", "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num", "neg", "rad2deg", "real", "relu",
    "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "conj", "mul_number",
)  # fmt: skip
#: The operations from which all others are composed.
_DIRECT = frozenset(("elements_at", "sparse_array", "sparse_of", "strided_of"))

_COMPOSED: dict[str, Callable[..., Any]] = {
    **{name: on_values(name) for name in _OF_VALUES},
    "any": of_dense_result("any", 0),
    "linalg_vector_norm": of_dense_result("linalg_vector_norm", 1),
    "expand": refusal("expand is unsupported for Sparse tensors"),
    "reshape": refusal("reshape is not implemented for sparse tensors"),
    "written_at": refusal("Cannot assign to a sparse tensor", TypeError),
    "index_select": index_select,
    "view": view,
    "add": add,
    "addmm": addmm,
    "cat": cat,
    "clone_with_strides": lambda input, *layout: ops.clone(input),
    "copy": copy,
    "floor_divide": division("floor_divide", FLOOR_DIVISOR),
    "getitem_select": getitem_select,
    "linear": linear,
    "matmul": matmul,
    "mm": matmul,
    "mul": mul,
    "mv": matmul,
    "permute": permute,
    "pow": power,
    "rsub": lambda input, other, alpha=1: sub(other, input, alpha),
    "stack": stack,
    "sub": sub,
    "sum": sum_over,
    "sum_all": sum_all,
    "t": t,
    "transpose": transpose,
    "true_divide": division("true_divide", DIVISOR),
    "unbind": unbind,
    "unsqueeze": unsqueeze,
    "zero": zero,
}


def compose(operation: Any, values: Sequence[Any], in_place: bool) -> Any:
    """An operation with a sparse argument; NotImplemented for operations whose kernels take sparse arrays.

    Raises NotImplementedError for an operation that has no sparse form.
    """
    name = operation.name
    if name in _DIRECT:
        return NotImplemented
    if in_place and not is_sparse(values[0]):
        return into_dense(operation, values)
    function = _COMPOSED.get(name)
    if function is None:
        kinds = [x for value in values for x in (value if isinstance(value, (tuple, list)) else (value,))]
        raise unsupported_error(name + "_" * in_place, next(layout_of(x).kind for x in kinds if is_sparse(x)))
    values = [as_operand(name, k, value) for k, value in enumerate(values)]
    if not in_place:
        return function(*values)
    return write_in_place(values[0], name, function, values)


def as_operand(name: str, position: int, value: Any) -> Any:
    """An argument with raw arrays as tensors."""
    if isinstance(value, numpy.generic):
        return value.item()
    return as_tensor(name, "input", position + 1, value) if isinstance(value, (numpy.ndarray, SparseArray)) else value


def write_in_place(tensor: Tensor, name: str, function: Callable[..., Tensor], values: Sequence[Any]) -> Tensor:
    """A sparse tensor after an operation in place: it has the values, and the history, of the result."""
    if is_grad_enabled():
        errors.check_in_place(tensor, 0)
    result = function(*values)
    if not is_sparse(result):
        raise RuntimeError(ADD_NUMBER)
    errors.check_in_place_result(name, tensor._array, result._array)
    kind = from_numpy_dtype(tensor._array.dtype)
    result = result if result.dtype is kind else ops.cast(result, kind)
    tensor._array = result._array
    tensor._node, tensor._output_nr = result._node, result._output_nr
    bump_version(tensor)
    return tensor


def into_dense(operation: Any, values: Sequence[Any]) -> Tensor:
    """A dense tensor after an operation in place with a sparse one."""
    name, tensor = operation.name, values[0]
    other: Any = values[1] if len(values) > 1 else None
    if name in ("add", "sub") and is_sparse(other):
        return add_into(tensor, other, values[2] if name == "add" else -values[2])
    if name == "copy":
        copy(tensor, other)
    result = compose(operation, values, False)
    return tensor.copy_(strided_form(result) if is_sparse(result) else result)


def add_into(tensor: Any, other: Tensor, factor: Any) -> Tensor:
    """A dense tensor after `factor` times a sparse one was added to it: only its places are read and written."""
    if tensor.shape != other.shape:
        raise RuntimeError(ADD_SIZES.format(a=list(tensor.shape), b=list(other.shape)))
    array, kind = tensor._array, tensor._array.dtype
    errors.check_in_place_result("add", array, other._array)
    if (is_grad_enabled() and (tensor.requires_grad or other.requires_grad)) or current().unusual:
        pattern = pattern_of(other)
        entries = ops.cast(ops.mul(entries_of(other, pattern), factor), tensor.dtype)
        if not pattern.span:
            return tensor.add_(ops.sum(entries, 0))
        return tensor.index_put_(tuple(map(new_tensor, pattern.coordinates)), entries, accumulate=True)
    check_writable(tensor)
    errors.check_overlap(array)
    values = other._array if factor == 1 else other._array * factor
    (values if values.dtype == kind else values.astype(kind)).add_to(array)
    bump_version(tensor)
    return tensor


def parts_of(array: SparseArray) -> tuple[Any, tuple[Any, ...]]:
    """A sparse array as a pickle holds it: plain parts, and the function that puts them together."""
    p = array.pattern
    return rebuilt, (p.layout.name, p.shape, p.indices, p.dense_dim, p.batch_dim, p.block, p.is_coalesced, array.values)


def rebuilt(
    name: str, shape: Any, indices: Any, dense_dim: int, batch_dim: int, block: Any, is_coalesced: bool, values: Any
) -> SparseArray:
    """A sparse array from a pickle. Raises ValueError for parts that do not fit together."""
    kind = next((each for each in SPARSE_LAYOUTS if each.name == name), None)
    numbers = (*shape, *block, dense_dim, batch_dim)
    arrays = (*indices, values)
    if kind is None or not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"a sparse tensor has a layout and a shape, got {name!r} and {shape}")
    if not all(type(array) is numpy.ndarray for array in arrays) or len(indices) != 1 + kind.is_compressed:
        raise ValueError("a sparse tensor has arrays of indices and of values")
    if any(array.dtype != numpy.int64 or not array.ndim for array in indices):
        raise ValueError(f"indices of a sparse tensor of shape {shape} do not fit together: they are arrays of int64")
    if kind.is_compressed:
        # positions are computed from the indices, so the indices must be checked first
        try:
            checked_pattern(kind, tuple(indices), values, shape)
        except RuntimeError as error:
            wrong = f"indices of a sparse tensor of shape {shape} do not fit together or are out of range"
            raise ValueError(f"{wrong}: {error}") from error
    pattern = SparsePattern(
        kind, tuple(shape), tuple(indices), dense_dim, batch_dim, tuple(block), is_coalesced is True
    )
    if values.shape != pattern.values_shape:
        raise ValueError(f"indices and values of a sparse tensor of shape {shape} do not fit together")
    places = pattern.places
    is_whole = places.shape == pattern.entries_shape[:1]
    if not is_whole or (places.size and not 0 <= places.min() <= places.max() < pattern.extent):
        raise ValueError(f"indices of a sparse tensor are out of range for shape {shape}")
    return SparseArray(pattern, values)


rebuilt.checks_arguments = True
compose_operations(SparseArray, compose)
# unpickling an array imports this module with it
copyreg.pickle(SparseArray, parts_of)
