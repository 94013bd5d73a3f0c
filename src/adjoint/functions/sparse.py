"""Sparse tensors under torch's names: making them, their parts and layouts, and the functions of torch.sparse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.layout import layout as Layout
from adjoint.arrays.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from adjoint.arrays.libraries.sparse_arrays import (
    SparseArray,
    SparsePattern,
    checked_pattern,
    compressed_pattern,
    coo_pattern,
    index_names,
    unsupported_error,
)
from adjoint.arrays.size import check_shape
from adjoint.core import errors
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.functions.composite import composite, ops
from adjoint.functions.sparse_operations import addmm as strided_addmm
from adjoint.functions.sparse_operations import (
    axes_of_sum,
    entries_of,
    is_sparse,
    layout_of,
    of_values,
    pattern_of,
    product_of_values,
    sum_along,
    transpose_matrix,
    values_of,
)
from adjoint.functions.sparse_operations import softmax as sparse_softmax
from adjoint.tensor.creation import tensor as make_tensor
from adjoint.tensor.differentiate import needing_grad
from adjoint.tensor.memory.storage import share_version

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

SPARSE_DIMS = (
    "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {n}, sparse_dim = {s}, dense_dim = {d}"
)
UNCOALESCED = "Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
NO_BLOCKSIZE = "dense_to_sparse: conversion from {a} to {b} without blocksize argument given is not supported"
BLOCKSIZE = "dense_to_sparse: conversion from {a} to {b} with blocksize argument given is not supported"
DIVISIBLE = "dense_to_sparse_{name}: tensor sparse size ({m},{n}) must be divisible by given blocksize ({p},{q})"
MASK_SIZE = "sparse_mask(): operands have incompatible sizes; self has size {a} but mask has size {b}"

sparse = composite(namespace="sparse", method=False)
method = composite(namespace=None)


# making sparse tensors ------------------------------------------------------------------------------------------------


def _as_values(values: Any, dtype: Any, device: Any) -> Tensor:
    """The values as a tensor, which keeps its history where it has one."""
    tensor: Any = values if isinstance(values, TensorBase) else make_tensor(values, dtype=dtype, device=device)
    return tensor if dtype is None else tensor.to(dtype)


def _finish(values: Tensor, pattern: SparsePattern, requires_grad: bool) -> Tensor:
    """The sparse tensor, as a leaf if it must require a gradient."""
    if not requires_grad:
        result = of_values(values, pattern)
        if result._array.values is values._array:
            share_version(result, values)
        return result
    if not errors.is_differentiable(values.dtype):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return needing_grad(new_tensor(SparseArray(pattern, values._array.copy())))


def _whole_numbers(indices: Any) -> Any:
    """Indices as an array of whole numbers of the program's own."""
    raw = indices._array if isinstance(indices, TensorBase) else numpy.asarray(indices)
    if raw.dtype.kind not in "iuf":
        raise TypeError(f"indices must be whole numbers, got dtype {raw.dtype}")
    return raw.astype(numpy.int64)


def _check_within(indices: Any, lengths: Sequence[int]) -> None:
    """Raise RuntimeError for coordinates out of range."""
    for dim, (row, n) in enumerate(zip(indices, lengths, strict=True)):
        if row.size and row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {dim}")
        if row.size and row.max() >= n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {n} but found index {row.max()}"
            )


@composite(method=False)
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor of layout sparse_coo: values at coordinates, zero elsewhere.

    Args:
        indices: of shape (sparse axes, n), a column for each value; values at the same position are added.
        values: of shape (n,), or (n, ...) with dense axes behind; gradients flow to a tensor.
        size: the shape; by default the smallest that holds all coordinates. A size alone gives a tensor without values.
        requires_grad: the result is a leaf, whose gradient is sparse.
        is_coalesced: the coordinates are in order and distinct; this is checked.

    Coordinates are always checked, also if check_invariants is False.

    Raises RuntimeError for coordinates out of range, or sizes that do not fit.

    >>> import adjoint
    >>> adjoint.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, 2.0], (2, 3)).to_dense()
    tensor([[0., 0., 1.],
            [2., 0., 0.]])
    """
    if values is None and size is None:
        indices, size = None, indices
    if values is None:
        shape = check_shape("sparse_coo_tensor", (tuple(size),))
        places, kind = numpy.zeros((len(shape), 0), numpy.int64), _as_values([], dtype, device)
        return _finish(kind, SparsePattern(sparse_coo, shape, (places,), is_coalesced=True), requires_grad)
    raw, entries = _whole_numbers(indices), _as_values(values, dtype, device)
    raw = raw[None] if raw.ndim == 1 else raw
    dense = tuple(entries.shape[1:])
    if raw.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(raw.shape)}")
    if raw.shape[1] != (entries.shape[0] if entries.ndim else 1):
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {raw.shape[1]}, nnz from values: "
            f"{entries.shape[0] if entries.ndim else 1}"
        )
    if size is None:
        if raw.size and raw.min() < 0:
            dim = int(numpy.argmax(raw.min(axis=1) < 0))
            raise RuntimeError(f"found negative index {raw[dim].min()} for dim {dim}")
        size = (*(int(row.max(initial=-1)) + 1 for row in raw), *dense)
    shape = check_shape("sparse_coo_tensor", (tuple(size),))
    if isinstance(indices, (list, tuple)) and numpy.ndim(indices) == 1 and len(shape) != 1 + len(dense):
        raise RuntimeError(SPARSE_DIMS.format(n=len(shape), s=len(indices), d=len(dense)))
    n = len(raw)
    if len(shape) != n + len(dense):
        raise RuntimeError(SPARSE_DIMS.format(n=len(shape), s=n, d=len(dense)))
    if shape[n:] != dense:
        expected = [raw.shape[1], *shape[n:]]
        raise RuntimeError(f"values has incorrect size, expected {expected}, got {list(entries.shape)}")
    _check_within(raw, shape[:n])
    pattern = SparsePattern(sparse_coo, shape, (raw,), len(dense))
    if is_coalesced:
        if pattern.groups[1] is not None:
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
        pattern = pattern.coalesced_pattern
    return _finish(entries, pattern, requires_grad)


_COMPRESSED = """A sparse tensor of layout {layout}: {what}.

    Args:
        {major}: where each {row} begins among the values, of shape (..., {row}s + 1), {of_blocks}rising from 0.
        {minor}: the {column} of each value, of shape (..., n), in order within each {row}.
        values: of shape (..., n{block}, ...), with dense axes behind; gradients flow to a tensor.
        size: the shape; without it, the least that holds all {column}s.
        requires_grad: the result is a leaf, whose gradient has the same layout.

    Axes in front are a batch of matrices with equal numbers of values. Indices are always checked.

    Raises RuntimeError for indices out of range or out of order, or sizes that do not fit.

    >>> import adjoint
    >>> adjoint.{layout}_tensor([0, 1, 2], [1, 0], {example}).to_dense()
    {result}
    """


def _compressed_constructor(name: str, kind: Layout) -> Callable[..., Tensor]:
    major, minor = index_names(kind)

    def make(
        compressed: Any,
        plain: Any,
        values: Any,
        size: Any = None,
        *,
        dtype: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        check_invariants: bool | None = None,
    ) -> Tensor:
        entries = _as_values(values, dtype, device)
        pattern = checked_pattern(kind, (_whole_numbers(compressed), _whole_numbers(plain)), entries, size)
        return _finish(entries, pattern, requires_grad)

    make.__name__ = make.__qualname__ = name
    column, row = ("row", "column") if kind.by_columns else ("column", "row")
    blocks = kind.has_blocks
    make.__doc__ = _COMPRESSED.format(
        layout=kind.name,
        what=f"{'blocks' if blocks else 'values'} {row} by {row}",
        major=major,
        minor=minor,
        row=row,
        column=column,
        of_blocks="counted in blocks, " if blocks else "",
        block=", height, width" if blocks else "",
        example="adjoint.ones(2, 1, 1)" if blocks else "[1.0, 2.0]",
        result=(
            "tensor([[0., 1.],\n            [1., 0.]])"
            if blocks
            else "tensor([[0., 2.],\n            [1., 0.]])"
            if kind.by_columns
            else "tensor([[0., 1.],\n            [2., 0.]])"
        ),
    )
    return make


sparse_csr_tensor = composite(method=False)(_compressed_constructor("sparse_csr_tensor", sparse_csr))
sparse_csc_tensor = composite(method=False)(_compressed_constructor("sparse_csc_tensor", sparse_csc))
sparse_bsr_tensor = composite(method=False)(_compressed_constructor("sparse_bsr_tensor", sparse_bsr))
sparse_bsc_tensor = composite(method=False)(_compressed_constructor("sparse_bsc_tensor", sparse_bsc))
_MAKERS = {
    sparse_csr: sparse_csr_tensor,
    sparse_csc: sparse_csc_tensor,
    sparse_bsr: sparse_bsr_tensor,
    sparse_bsc: sparse_bsc_tensor,
}


@composite(method=False)
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of a compressed layout: sparse_csr, sparse_csc, sparse_bsr or sparse_bsc.

    The other arguments are as in the function of that layout, such as sparse_csr_tensor().

    Raises RuntimeError for a missing layout, or another one.

    >>> import adjoint
    >>> adjoint.sparse_compressed_tensor([0, 1], [1], [2.0], layout=adjoint.sparse_csr).to_dense()
    tensor([[0., 2.]])
    """
    if layout not in _MAKERS:
        layout_name = "none" if layout is None else layout.kind
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout_name}")
    return _MAKERS[layout](
        compressed_indices, plain_indices, values, size, dtype=dtype, device=device, requires_grad=requires_grad
    )


# parts of a sparse tensor ---------------------------------------------------------------------------------------------


def _expect(self: Tensor, name: str, what: str, is_right: Callable[[Any], bool]) -> SparsePattern:
    """The pattern of a tensor whose layout has the requested part. Raises RuntimeError for other layouts."""
    kind = layout_of(self)
    if not is_right(kind):
        raise RuntimeError(f"{name} expected {what} tensor layout but got {kind.kind}")
    return self._array.pattern


def _is_coo(kind: Any) -> bool:
    return kind is sparse_coo


def _expect_coo(self: Tensor, name: str) -> SparsePattern:
    return _expect(self, name, "sparse coordinate", _is_coo)


@method
def indices(self: Tensor) -> Tensor:
    """The coordinates of a coalesced sparse_coo tensor, of shape (sparse axes, values).

    Raises RuntimeError for another layout, and for a tensor that is not coalesced.

    >>> import adjoint
    >>> adjoint.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    pattern = _expect_coo(self, "indices")
    if not pattern.is_coalesced:
        raise RuntimeError(UNCOALESCED.format(name="indices"))
    return new_tensor(pattern.indices[0])


@method
def values(self: Tensor) -> Tensor:
    """The values of a sparse tensor; gradients flow back to it. A sparse_coo tensor must be coalesced.

    Raises RuntimeError for a strided tensor, and for one that is not coalesced.

    >>> import adjoint
    >>> adjoint.eye(2).to_sparse_csr().values()
    tensor([1., 1.])
    """
    pattern = _expect(self, "values", "sparse", lambda kind: kind is not strided)
    if not pattern.is_coalesced:
        raise RuntimeError(UNCOALESCED.format(name="values"))
    return values_of(self, pattern)


def _stored_array(self: Tensor, name: str) -> SparseArray:
    """The array of a sparse_coo tensor."""
    if layout_of(self) is not sparse_coo:
        raise unsupported_error(name, layout_of(self).kind)
    return self._array


@composite(namespace=None, name="_indices")
def stored_indices(self: Tensor) -> Tensor:
    """The coordinates of a sparse_coo tensor as they are stored, also where places repeat.

    Raises NotImplementedError for another layout.
    """
    return new_tensor(_stored_array(self, "_indices").pattern.indices[0])


@composite(namespace=None, name="_values")
def stored_values(self: Tensor) -> Tensor:
    """The values of a sparse_coo tensor as they are stored, without history.

    Raises NotImplementedError for another layout.
    """
    values = new_tensor(_stored_array(self, "_values").values)
    share_version(values, self)
    return values


@method
def _nnz(self: Tensor) -> int:
    """The number of stored values of a sparse tensor, or of blocks.

    Raises NotImplementedError for a strided tensor.

    >>> import adjoint
    >>> adjoint.eye(3).to_sparse()._nnz()
    3
    """
    if not is_sparse(self):
        raise unsupported_error("_nnz", "Strided")
    return self._array.pattern.nnz


@method
def sparse_dim(self: Tensor) -> int:
    """The number of sparse axes; 0 for a strided tensor.

    A compressed tensor has 2.

    >>> import adjoint
    >>> adjoint.ones(2, 3).to_sparse(1).sparse_dim()
    1
    """
    return self._array.pattern.sparse_dim if is_sparse(self) else 0


@method
def dense_dim(self: Tensor) -> int:
    """The number of dense axes, which come after the sparse ones.

    All axes of a strided tensor are dense.

    >>> import adjoint
    >>> adjoint.ones(2, 3).to_sparse(1).dense_dim()
    1
    """
    return self._array.pattern.dense_dim if is_sparse(self) else self.ndim


@method
def is_coalesced(self: Tensor) -> bool:
    """Whether a sparse_coo tensor is known to have its coordinates in order, each once; see coalesce().

    Raises RuntimeError for another layout.

    >>> import adjoint
    >>> adjoint.sparse_coo_tensor([[0, 0]], [1.0, 2.0]).is_coalesced()
    False
    """
    return _expect_coo(self, "is_coalesced").is_coalesced


@method
def coalesce(self: Tensor) -> Tensor:
    """The sparse_coo tensor with its coordinates in order, and values in the same place added; itself if it is so.

    Raises RuntimeError for another layout.

    >>> import adjoint
    >>> adjoint.sparse_coo_tensor([[1, 1]], [1.0, 2.0]).coalesce().values()
    tensor([3.])
    """
    pattern = _expect_coo(self, "coalesce").coalesced_pattern
    return (
        self
        if pattern.is_coalesced and pattern is self._array.pattern
        else of_values(values_of(self, pattern), pattern)
    )


_PART = """The {what} of a {layouts} tensor.

    Raises RuntimeError for another layout.

    >>> import adjoint
    >>> adjoint.eye(2).{to}().{name}()
    {result}
    """


def _part(name: str, number: int, by_columns: bool) -> None:
    side = "column" if by_columns else "row"

    def part(self: Tensor) -> Tensor:
        pattern = _expect(
            self, name, f"sparse {side} compressed", lambda k: k.is_compressed and k.by_columns is by_columns
        )
        return new_tensor(pattern.indices[number])

    part.__name__ = part.__qualname__ = name
    part.__doc__ = _PART.format(
        what=f"places among the values where {side}s begin" if number == 0 else f"{name[:3].rstrip('_')} indices",
        layouts="sparse_csc or sparse_bsc" if by_columns else "sparse_csr or sparse_bsr",
        to="to_sparse_csc" if by_columns else "to_sparse_csr",
        name=name,
        result="tensor([0, 1, 2])" if number == 0 else "tensor([0, 1])",
    )
    method(part)


_part("crow_indices", 0, False)
_part("col_indices", 1, False)
_part("ccol_indices", 0, True)
_part("row_indices", 1, True)


# between layouts ------------------------------------------------------------------------------------------------------


@method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor in strided layout; a strided tensor itself.

    masked_grad: the gradient has values where the tensor has (default), or, if False, everywhere; both in its layout.

    >>> import adjoint
    >>> adjoint.eye(2).to_sparse().to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    if is_sparse(self):
        source = self._array.pattern
        pattern = whole_pattern(source) if masked_grad is False else source.coalesced_pattern
        dense = ops.strided_of(self, pattern)
    else:
        dense = self
    return dense if dtype is None else dense.to(dtype)


def whole_pattern(pattern: SparsePattern) -> SparsePattern:
    """A pattern of the same layout with all places."""
    places = numpy.arange(pattern.extent)
    if pattern.layout is sparse_coo:
        return coo_pattern(pattern.shape, places, pattern.dense_dim)
    return compressed_pattern(pattern.layout, pattern.shape, places, pattern.dense_dim, pattern.block)


def _convert(self: Tensor, kind: Layout, block: Any = None, dense: int | None = None) -> Tensor:
    """The tensor in a sparse layout."""
    source = layout_of(self)
    if source is kind and block is None:
        return self
    dense = (self._array.pattern.dense_dim if is_sparse(self) else 0) if dense is None else dense
    size = tuple(block) if block is not None else ()
    _check_conversion(self, kind, source, size, dense)
    if is_sparse(self):
        pattern = self._array.pattern.to(kind, size, dense)
        return of_values(values_of(self, pattern), pattern)
    span = tuple(self.shape[: self.ndim - dense])
    raw = self._array.reshape(math.prod(span), math.prod(self.shape[len(span) :]))
    places = numpy.flatnonzero((raw != 0).any(axis=1))
    shape = tuple(self.shape)
    make = (
        coo_pattern(shape, places, dense)
        if kind is sparse_coo
        else compressed_pattern(kind, shape, places, dense, size)
    )
    return ops.sparse_of(self, make)


def _check_conversion(self: Tensor, kind: Layout, source: Layout, block: tuple[int, ...], dense: int) -> None:
    """Raise RuntimeError for a conversion that does not exist."""
    if kind.has_blocks and len(block) != 2:
        raise RuntimeError(NO_BLOCKSIZE.format(a=source.kind, b=kind.kind))
    if block and not kind.has_blocks:
        raise RuntimeError(BLOCKSIZE.format(a=source.kind, b=kind.kind))
    n = self.ndim - dense
    if kind.is_compressed and n < 2:
        raise RuntimeError(
            f"to_{kind.name}: expected a tensor of at least two axes that are not dense, got shape {list(self.shape)} "
            f"and {dense} dense axes"
        )
    if block and (self.shape[n - 2] % block[0] or self.shape[n - 1] % block[1]):
        sizes = {"m": self.shape[n - 2], "n": self.shape[n - 1], "p": block[0], "q": block[1]}
        raise RuntimeError(DIVISIBLE.format(name=kind.name[7:], **sizes))


def _at(dense: Tensor, pattern: SparsePattern) -> Tensor:
    """A strided tensor at the places of a pattern; its gradient is strided."""
    entries = ops.index(ops.reshape(dense, (pattern.extent, *pattern.dense_shape)), (pattern.places,))
    return of_values(entries, pattern)


@method
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The tensor in a sparse layout, sparse_coo unless another is named, with values where it is not zero.

    Args:
        sparse_dim: the number of sparse axes of a sparse_coo tensor; the axes behind are stored whole.
        layout: another layout. blocksize: the shape of blocks, for sparse_bsr and sparse_bsc.
        dense_dim: the number of axes at the end that are stored whole.

    Gradients flow to the tensor. Raises RuntimeError for sizes that do not fit.

    >>> import adjoint
    >>> adjoint.eye(2).to_sparse()
    tensor(indices=tensor([[0, 1],
                           [0, 1]]),
           values=tensor([1., 1.]),
           size=(2, 2), nnz=2, layout=adjoint.sparse_coo)
    """
    if sparse_dim is not None and is_sparse(self):
        if sparse_dim != self._array.pattern.sparse_dim:
            raise RuntimeError(
                f"to_sparse: conversion from {layout_of(self).kind} to Sparse with sparse_dim argument "
                "!=self.sparse_dim() is not supported"
            )
        sparse_dim = None
    if sparse_dim is not None:
        if not 0 <= sparse_dim <= self.ndim:
            raise RuntimeError(
                f"dense_to_sparse: sparse_dim argument must be in [0,{self.ndim}] range, but {sparse_dim} is given"
            )
        dense_dim = self.ndim - sparse_dim
    return _convert(self, sparse_coo if layout is None else layout, blocksize, dense_dim)


def _conversion(name: str, kind: Layout) -> None:
    what = "blocks of shape blocksize" if kind.has_blocks else "values"

    def to_plain(self: Tensor, dense_dim: int | None = None) -> Tensor:
        return _convert(self, kind, None, dense_dim)

    def to_blocks(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
        return _convert(self, kind, blocksize, dense_dim)

    convert = to_blocks if kind.has_blocks else to_plain
    convert.__name__ = convert.__qualname__ = name
    size = "(1, 2)" if kind.has_blocks else ""
    convert.__doc__ = f"""The tensor in the layout {kind.name}, with {what} where it is not zero.

    dense_dim: the number of axes at the end that are stored whole. Gradients flow to the tensor.

    Raises RuntimeError for a tensor of fewer than two other axes, and for sizes that do not fit.

    >>> import adjoint
    >>> adjoint.eye(2).{name}({size}).layout
    adjoint.{kind.name}
    """
    method(convert)


_conversion("to_sparse_csr", sparse_csr)
_conversion("to_sparse_csc", sparse_csc)
_conversion("to_sparse_bsr", sparse_bsr)
_conversion("to_sparse_bsc", sparse_bsc)


@method
def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor in the layout sparse_coo, with its nonzero values.

    It equals to_sparse().

    >>> import adjoint
    >>> adjoint.eye(2).to_sparse_csr().to_sparse_coo().layout
    adjoint.sparse_coo
    """
    return _convert(self, sparse_coo)


@method
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor at the places where a sparse tensor has values, in its layout.

    Gradients flow to the tensor, and none to the mask.

    Raises RuntimeError for another shape, NotImplementedError for a strided mask.

    >>> import adjoint
    >>> adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(adjoint.eye(2).to_sparse()).values()
    tensor([1., 4.])
    """
    if not is_sparse(mask):
        raise unsupported_error("sparse_mask", layout_of(mask).kind)
    if self.shape != mask.shape:
        raise RuntimeError(MASK_SIZE.format(a=list(self.shape), b=list(mask.shape)))
    pattern = pattern_of(mask)
    return of_values(values_of(self, pattern), pattern) if is_sparse(self) else _at(self, pattern)


# the functions of torch.sparse ----------------------------------------------------------------------------------------


@sparse
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices, at least one of them sparse; the gradient of a sparse matrix is sparse.

    The result is dense if one of them is, else sparse. `mat1 @ mat2` has the same value, but a dense gradient, as in
    torch.

    reduce: the reduction of the products of each element, if the first matrix is sparse_csr: "sum", "mean", "amax",
    "amin" or "prod" over its values.

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import adjoint
    >>> s = adjoint.eye(2).to_sparse().requires_grad_()
    >>> adjoint.sparse.mm(s, adjoint.ones(2, 3)).sum().backward()
    >>> s.grad.to_dense()
    tensor([[3., 0.],
            [0., 3.]])
    """
    if reduce is not None:
        return _reduced_product(mat1, mat2, reduce)
    if not (is_sparse(mat1) or is_sparse(mat2)):
        return ops.mm(mat1, mat2)
    return product_of_values(mat1, mat2)


_REDUCTIONS = {"sum": None, "mean": None, "prod": "prod", "amax": "amax", "amin": "amin"}


def _reduced_product(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """A product of matrices with another reduction than a sum over the values of each row."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if layout_of(mat1) is not sparse_csr or is_sparse(mat2):
        raise unsupported_error("_sparse_mm_reduce_impl", layout_of(mat1).kind)
    if reduce in ("sum", "mean"):
        total = product_of_values(mat1, mat2)
        counts = numpy.maximum(numpy.diff(mat1._array.pattern.indices[0]), 1)
        return total if reduce == "sum" else total / new_tensor(counts[:, None]).to(total.dtype)
    pattern = pattern_of(mat1)
    rows, columns = pattern.coordinates
    terms = ops.unsqueeze(entries_of(mat1, pattern), 1) * ops.index(mat2, (columns,))
    zeros = ops.zeros_like(terms.new_zeros(mat1.shape[0], mat2.shape[1]))
    return zeros.index_reduce(0, new_tensor(rows), terms, _REDUCTIONS[reduce], include_self=False)


@sparse
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * mat1 @ mat2, with a sparse mat1, whose gradient is sparse.

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import adjoint
    >>> adjoint.sparse.addmm(adjoint.ones(2, 2), adjoint.eye(2).to_sparse(), adjoint.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])
    """
    if not is_sparse(mat1):
        return strided_addmm(mat, mat1, mat2, beta, alpha)
    product = product_of_values(mat1, mat2)
    if mat.ndim < 2 or tuple(mat.shape) != tuple(product.shape):
        mat = ops.expand(mat, tuple(product.shape))
    return ops.add(mat if beta == 1 else ops.mul(mat, beta), product, alpha=alpha)


@sparse
def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) at the places of a sparse_csr matrix, without the rest of the product.

    Raises RuntimeError for shapes that do not fit, NotImplementedError for another layout.

    >>> import adjoint
    >>> adjoint.sparse.sampled_addmm(adjoint.eye(2).to_sparse_csr(), adjoint.ones(2, 3), adjoint.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if layout_of(input) not in (sparse_csr, sparse_csc) or is_sparse(mat1) or is_sparse(mat2):
        raise unsupported_error("sparse_sampled_addmm", layout_of(input).kind)
    if mat1.shape[-1] != mat2.shape[-2]:
        sizes = ["x".join(map(str, m.shape)) for m in (mat1, mat2)]
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({sizes[0]} and {sizes[1]})")
    for axis, matrix in ((-2, mat1), (-1, mat2)):
        if input.shape[axis] != matrix.shape[axis]:
            name = "mat1" if axis == -2 else "mat2"
            raise RuntimeError(f"sampled_addmm: self.shape[{axis}] must match {name}.shape[{axis}]")
    pattern = pattern_of(input)
    sampled = ops.sampled_product(mat1, transpose_matrix(mat2), pattern.product_layout)
    return of_values(ops.add(ops.mul(entries_of(input, pattern), beta), sampled, alpha=alpha), pattern)


@sparse
def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse_coo tensor, of all elements or along axes; its gradient is sparse.

    dim: an axis or several. The result is sparse if a sparse axis remains. dtype: the dtype of the result.

    Raises RuntimeError for another layout or a repeated axis, and IndexError for an axis out of range.

    >>> import adjoint
    >>> adjoint.sparse.sum(adjoint.tensor([[0.0, 1.0], [0.0, 2.0]]).to_sparse(), 0).to_dense()
    tensor([0., 3.])
    """
    _expect_coo(input, "coalesce")
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        return ops.sum_all(values_of(input))
    return sum_along(input, axes_of_sum(input, dim))


_SOFTMAX = """{what} along an axis of a sparse_coo tensor, over its stored values; the result has the same places.

    dim: a sparse or a dense axis. dtype: the input is converted to it first.

    Raises NotImplementedError for another layout, IndexError for an axis out of range.

    >>> import adjoint
    >>> adjoint.sparse.{name}(adjoint.tensor([[1.0, 0.0], [2.0, 2.0]]).to_sparse(), 1).to_dense()
    {result}
    """


def _declare_softmax(name: str, what: str, result: str) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        if layout_of(input) is not sparse_coo:
            raise unsupported_error(f"_sparse_{name}", layout_of(input).kind)
        return sparse_softmax(input if dtype is None else input.to(dtype), dim, name == "log_softmax")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _SOFTMAX.format(what=what, name=name, result=result)
    return sparse(function)


softmax = _declare_softmax("softmax", "softmax", "tensor([[1.0000, 0.0000],\n            [0.5000, 0.5000]])")
log_softmax = _declare_softmax(
    "log_softmax", "The logarithm of softmax", "tensor([[ 0.0000,  0.0000],\n            [-0.6931, -0.6931]])"
)


@sparse
def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None) -> Tensor:
    """A sparse matrix with the rows of a matrix along its diagonals.

    Args:
        diagonals: of shape (k, n), or (n,) for one diagonal; element j of a row goes to column j.
        offsets: the k diagonals' numbers, of dtype int64, positive above the main diagonal.
        shape: the shape of the matrix. layout: sparse_coo (default), sparse_csr or sparse_csc.

    Gradients flow to the diagonals. Raises RuntimeError for sizes that do not fit, or equal offsets.

    >>> import adjoint
    >>> adjoint.sparse.spdiags(adjoint.ones(1, 3), adjoint.tensor([1]), (3, 3)).to_dense()
    tensor([[0., 1., 0.],
            [0., 0., 1.],
            [0., 0., 0.]])
    """
    rows = ops.unsqueeze(diagonals, 0) if diagonals.ndim == 1 else diagonals
    steps = offsets._array.reshape(-1)
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if offsets.dtype.long_name != "Long":
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype.long_name}")
    if len(steps) != rows.shape[0]:
        raise RuntimeError(f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({len(steps)})")
    if len(set(steps.tolist())) != len(steps):
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout.kind}")
    numbers, columns = numpy.meshgrid(numpy.arange(len(steps)), numpy.arange(rows.shape[1]), indexing="ij")
    lines = columns - steps[:, None]
    in_bounds = (columns < shape[1]) & (lines >= 0) & (lines < shape[0])
    entries = ops.index(rows, (numbers[in_bounds], columns[in_bounds]))
    pattern = SparsePattern(sparse_coo, tuple(shape), (numpy.stack([lines[in_bounds], columns[in_bounds]]),))
    result = of_values(entries, pattern)
    return result if layout is None else _convert(result, layout)
