"""Sparse arrays: the arrays that sparse tensors hold.

A `SparseArray` is a `SparsePattern`, which says where the stored values are and is never changed, and these values.
Whatever its layout, a pattern counts the places of its values in the flattened sparse axes: so conversions between
layouts, coalescing, masks and sums are the same few functions of places.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy

from adjoint.arrays.kernels.sparse import SparseLayout
from adjoint.arrays.layout import layout, sparse_coo, sparse_csc, sparse_csr
from adjoint.arrays.libraries.numpy_namespace import xp as numpy_namespace
from adjoint.arrays.namespace import register
from adjoint.arrays.size import check_shape

NOT_FOR_NUMPY = "can't convert {kind} layout tensor to numpy. Use Tensor.to_dense() first."
UNSUPPORTED = (
    "Could not run 'aten::{name}' with arguments from the '{backend}' backend. There is no sparse form of this "
    "operation: use to_dense() first, or apply it to values()."
)
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"
UNEQUAL_BATCHES = "Expect the same number of specified elements per batch."


def unsupported_error(name: str, kind: str) -> NotImplementedError:
    """The error for an operation that has no sparse form; kind: the layout's name in messages."""
    backend = "CPU" if kind == "Strided" else f"{kind}CPU"
    return NotImplementedError(UNSUPPORTED.format(name=name, backend=backend))


# where the values are -------------------------------------------------------------------------------------------------


class SparsePattern:
    """The positions of the stored values of a sparse array.

    indices: for `sparse_coo` one array of shape (sparse axes, values). For a compressed layout there are two: the first
    value of each row (or column), and the column (or row) of each value. dense_dim: the number of last axes that are
    stored densely. batch_dim: the number of first axes that count compressed matrices. block: the shape of blocks.
    is_coalesced: known to be in order and without repetitions.

    An *entry* is the content of one position of the sparse axes: a number, or an array of the dense axes. Blocks and
    batches hold several entries; `places` lists the positions of all entries, in the order of the flattened values.
    """

    def __init__(
        self,
        kind: layout,
        shape: tuple[int, ...],
        indices: tuple[Any, ...],
        dense_dim: int = 0,
        batch_dim: int = 0,
        block: tuple[int, ...] = (),
        is_coalesced: bool = False,
    ) -> None:
        self.layout, self.shape, self.indices = kind, tuple(shape), indices
        self.dense_dim, self.batch_dim, self.block = dense_dim, batch_dim, block
        self.is_coalesced = is_coalesced or kind.is_compressed
        self._positions: tuple[SparsePattern, Any] | None = None

    @property
    def nnz(self) -> int:
        """The number of stored values (or blocks), of each matrix of a batch."""
        return int(self.indices[-1].shape[-1])

    @property
    def sparse_dim(self) -> int:
        """The number of sparse axes."""
        return 2 if self.layout.is_compressed else len(self.shape) - self.dense_dim

    @property
    def span(self) -> tuple[int, ...]:
        """The lengths of all axes except the dense ones."""
        return self.shape[: len(self.shape) - self.dense_dim]

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The shape of an entry."""
        return self.shape[len(self.shape) - self.dense_dim :]

    @property
    def extent(self) -> int:
        """The number of places."""
        return math.prod(self.span)

    @property
    def values_shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return (*self.shape[: self.batch_dim], self.nnz, *self.block, *self.dense_shape)

    @property
    def entries_shape(self) -> tuple[int, ...]:
        """The shape of the values as a list of entries."""
        n = math.prod(self.values_shape[: len(self.values_shape) - self.dense_dim])
        return (n, *self.dense_shape)

    @functools.cached_property
    def places(self) -> Any:
        """The place of each entry in the flattened span."""
        if not self.layout.is_compressed:
            (indices,) = self.indices
            if not self.span:
                return numpy.zeros(self.nnz, numpy.int64)
            return numpy.ravel_multi_index(tuple(indices), self.span) if indices.size else indices[0]
        starts, minor = self.indices
        height, width = self.block or (1, 1)
        m, n = self.shape[self.batch_dim : self.batch_dim + 2]
        counts = numpy.diff(starts.reshape(-1, starts.shape[-1]), axis=1)
        major = numpy.concatenate([numpy.repeat(numpy.arange(len(count)), count) for count in counts] or [starts[:0]])
        minor = minor.reshape(-1)
        rows, columns = (minor, major) if self.layout.by_columns else (major, minor)
        matrices = numpy.repeat(numpy.arange(len(counts)), self.nnz)
        corner = matrices * (m * n) + rows * (height * n) + columns * width
        inner = numpy.arange(height)[:, None] * n + numpy.arange(width)
        return (corner[:, None] + inner.reshape(-1)).reshape(-1)

    @functools.cached_property
    def coordinates(self) -> tuple[Any, ...]:
        """The place of each entry by axes."""
        return numpy.unravel_index(self.places, self.span) if self.span else ()

    @functools.cached_property
    def order(self) -> Any:
        """The order of the entries by places; None: they are in order."""
        places = self.places
        return None if bool((places[1:] >= places[:-1]).all()) else numpy.argsort(places, kind="stable")

    @functools.cached_property
    def groups(self) -> tuple[Any, Any]:
        """The distinct positions in order, and the number of each entry's position, None if all are distinct."""
        places = self.places if self.order is None else self.places[self.order]
        if bool((places[1:] > places[:-1]).all()):
            if self.order is None:
                return places, None
            numbers = numpy.empty(len(places), numpy.int64)
            numbers[self.order] = numpy.arange(len(places))
            return places, numbers
        return numpy.unique(self.places, return_inverse=True)

    @property
    def is_unique(self) -> bool:
        """Whether no place has two entries."""
        return len(self.groups[0]) == len(self.places)

    def positions_of(self, other: SparsePattern) -> tuple[Any, bool]:
        """The numbers of another pattern's places among the own different places, and whether all are there.

        A place that is not there has the number after the last one.
        """
        cache = self._positions
        if cache is None or cache[0] is not other:
            places = self.groups[0]
            if len(places) == len(other.places) and bool((places == other.places).all()):
                numbers, is_complete = numpy.arange(len(places)), True
            else:
                numbers = numpy.searchsorted(places, other.places)
                missing = numpy.append(places, -1)[numbers] != other.places
                numbers[missing] = len(places)
                is_complete = not missing.any()
            cache = self._positions = (other, (numbers, is_complete))
        return cache[1]

    @functools.cached_property
    def product_layout(self) -> SparseLayout:
        """The entries of a matrix as products take them."""
        rows, columns = self.coordinates
        return SparseLayout(self.shape, rows, columns)  # type: ignore[arg-type]

    # others that follow from it ---------------------------------------------------------------------------------------

    @functools.cached_property
    def coalesced_pattern(self) -> SparsePattern:
        """The pattern with each place once and in order; itself where that is known."""
        if self.is_coalesced:
            return self
        if self.groups[1] is None:
            return SparsePattern(self.layout, self.shape, self.indices, self.dense_dim, is_coalesced=True)
        return coo_pattern(self.shape, self.groups[0], self.dense_dim)

    @functools.cached_property
    def flat(self) -> SparsePattern:
        """The pattern with dense axes made sparse."""
        if not self.dense_dim:
            return self
        n = math.prod(self.dense_shape)
        return coo_pattern(self.shape, (self.places[:, None] * n + numpy.arange(n)).reshape(-1), 0, None)

    def permute(self, dims: tuple[int, ...]) -> SparsePattern:
        """The pattern with its axes permuted, for the same entries. The dense axes stay last."""
        kind, shape = self.layout, tuple([self.shape[d] for d in dims])
        if kind.is_compressed:
            other_kind = {sparse_csr: sparse_csc, sparse_csc: sparse_csr}[kind]
            return SparsePattern(other_kind, shape, self.indices, self.dense_dim)
        n = self.sparse_dim
        return SparsePattern(kind, shape, (self.indices[0][list(dims[:n])],), self.dense_dim)

    def to(self, kind: layout, block: tuple[int, ...] = (), dense_dim: int | None = None) -> SparsePattern:
        """The pattern in another layout, with room for the values in the order of that one."""
        dense = self.dense_dim if dense_dim is None else dense_dim
        if kind is self.layout and block == self.block and dense == self.dense_dim:
            return self.coalesced_pattern
        if kind is sparse_coo:
            return coo_pattern(self.shape, self.groups[0], dense)
        return compressed_pattern(kind, self.shape, self.groups[0], dense, block)

    def with_places_of(self, other: SparsePattern) -> SparsePattern:
        """The pattern of a sum with an array of another pattern."""
        if other is self:
            return self
        is_ordered = self.is_coalesced and other.is_coalesced
        if is_ordered and len(other.places) == len(self.places) and (other.places == self.places).all():
            return self
        if self.layout is sparse_coo and not is_ordered:
            indices = numpy.concatenate([self.indices[0], other.to_coo().indices[0]], 1)
            return SparsePattern(sparse_coo, self.shape, (indices,), self.dense_dim)
        places = numpy.union1d(self.places, other.places)
        if self.layout is sparse_coo:
            return coo_pattern(self.shape, places, self.dense_dim)
        return compressed_pattern(self.layout, self.shape, places, self.dense_dim, self.block)

    def to_coo(self) -> SparsePattern:
        """The pattern as coordinates, its entries in the same order."""
        if self.layout is sparse_coo:
            return self
        return coo_pattern(self.shape, self.places, self.dense_dim, None)

    def __repr__(self) -> str:
        return f"<{self.layout.name} pattern of {self.nnz} values, {'×'.join(map(str, self.shape))}>"


def index_names(kind: layout) -> tuple[str, str]:
    """The names of the two arrays of indices of a compressed layout."""
    return ("ccol_indices", "row_indices") if kind.by_columns else ("crow_indices", "col_indices")


def checked_pattern(kind: layout, indices: tuple[Any, Any], values: Any, size: Any) -> SparsePattern:
    """The pattern of a compressed tensor. Raises RuntimeError for parts that do not fit together."""
    starts, minor = indices
    names = index_names(kind)
    if starts.ndim != minor.ndim:
        raise RuntimeError(
            f"{names[0]} and {names[1]} dimensionalities must be equal but got {starts.ndim} and {minor.ndim}, "
            "respectively"
        )
    batch = starts.ndim - 1
    n_block = 2 if kind.has_blocks else 0
    if values.ndim <= batch + n_block:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {n_block}) but got "
            f"{values.ndim}"
        )
    block = tuple(values.shape[batch + 1 : batch + 1 + n_block])
    dense = tuple(values.shape[batch + 1 + n_block :])
    height, width = block or (1, 1)
    by = (width, height) if kind.by_columns else (height, width)
    if size is None:
        lengths = [(starts.shape[-1] - 1) * by[0], (int(minor.max(initial=-1)) + 1) * by[1]]
        size = (*values.shape[:batch], *(lengths[::-1] if kind.by_columns else lengths), *dense)
    shape = check_shape(f"{kind.name}_tensor", (tuple(size),))
    if len(shape) != batch + 2 + len(dense):
        raise RuntimeError(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
            f"(={batch} + 2 + {len(dense)}) but got {len(shape)}"
        )
    for axis, length in enumerate((height, width)):
        if shape[batch + axis] % length:
            raise RuntimeError(
                f"tensor shape[{batch + axis}] (={shape[batch + axis]}) must be divisible with blocksize[{axis}] "
                f"(={length}) as defined by values shape"
            )
    counts = shape[batch] // height, shape[batch + 1] // width
    n_major, n_minor = counts[::-1] if kind.by_columns else counts
    nnz = values.shape[batch]
    _check_compressed(kind, names, starts, minor, nnz, n_major, n_minor)
    return SparsePattern(kind, shape, (starts, minor), len(dense), batch, block)


def _check_compressed(
    kind: layout, names: tuple[str, str], starts: Any, minor: Any, nnz: int, n_major: int, n_minor: int
) -> None:
    """Raise RuntimeError for indices of a compressed tensor that do not fit together."""
    first, second = names
    rows, columns = ("columns", "nrows") if kind.by_columns else ("rows", "ncols")
    short = "ncols" if kind.by_columns else "nrows"
    if starts.shape[-1] != n_major + 1:
        raise RuntimeError(
            f"{first}.shape[-1] must be equal to the number of {rows} + 1 (={n_major + 1}), but got {starts.shape[-1]}"
        )
    if minor.shape[-1] != nnz:
        raise RuntimeError(
            f"{second}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{minor.ndim - 1}], but got "
            f"{minor.shape[-1]}"
        )
    steps = numpy.diff(starts, axis=-1)
    is_sorted = True
    if (starts[..., 0] != 0).any():
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if (starts[..., -1] != nnz).any():
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    if ((steps < 0) | (steps > n_minor)).any():
        raise RuntimeError(f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {columns}` is not satisfied.")
    if minor.size and (minor.min() < 0 or minor.max() >= n_minor):
        raise RuntimeError(f"`0 <= {second} < {columns}` is not satisfied.")
    n_matrices = math.prod(starts.shape[:-1])
    for count, row in zip(steps.reshape(n_matrices, n_major), minor.reshape(n_matrices, nnz), strict=True):
        keys = numpy.repeat(numpy.arange(n_major), count) * n_minor + row
        is_sorted = is_sorted and bool((keys[1:] > keys[:-1]).all())
    if not is_sorted:
        raise RuntimeError(
            f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {short} are sorted and distinct "
            "along the last dimension values` is not satisfied."
        )


def coo_pattern(
    shape: tuple[int, ...], places: Any, dense_dim: int = 0, is_coalesced: bool | None = True
) -> SparsePattern:
    """A pattern of coordinates from places in the flattened sparse axes."""
    span = shape[: len(shape) - dense_dim]
    coordinates = numpy.unravel_index(places, span) if span else ()
    indices = numpy.stack(coordinates) if coordinates else numpy.zeros((0, len(places)), numpy.int64)
    return SparsePattern(sparse_coo, shape, (indices,), dense_dim, is_coalesced=bool(is_coalesced))


def compressed_pattern(
    kind: layout, shape: tuple[int, ...], places: Any, dense_dim: int = 0, block: tuple[int, ...] = ()
) -> SparsePattern:
    """A compressed pattern from different places in the flattened span, with the blocks that these lie in.

    Raises RuntimeError for matrices of a batch with different numbers of values.
    """
    span = shape[: len(shape) - dense_dim]
    height, width = block or (1, 1)
    matrix, inner = numpy.divmod(places, span[-2] * span[-1])
    rows, columns = numpy.divmod(inner, span[-1])
    rows, columns = rows // height, columns // width
    n_rows, n_columns = span[-2] // height, span[-1] // width
    major, minor, n_major, n_minor = rows, columns, n_rows, n_columns
    if kind.by_columns:
        major, minor, n_major, n_minor = columns, rows, n_columns, n_rows
    keys = (matrix * n_major + major) * n_minor + minor
    if not bool((keys[1:] > keys[:-1]).all()):
        keys = numpy.unique(keys)
    major, minor = numpy.divmod(keys, max(n_minor, 1))
    batch = span[:-2]
    counts = numpy.bincount(major, minlength=math.prod(batch) * n_major).reshape(math.prod(batch), n_major)
    sizes = counts.sum(axis=1)
    if len(sizes) and (sizes != sizes[0]).any():
        raise RuntimeError(UNEQUAL_BATCHES)
    starts = numpy.zeros((len(counts), n_major + 1), numpy.int64)
    numpy.cumsum(counts, axis=1, out=starts[:, 1:])
    nnz = int(sizes[0]) if len(sizes) else 0
    indices = starts.reshape(*batch, n_major + 1), minor.reshape(*batch, nnz)
    return SparsePattern(kind, shape, indices, dense_dim, len(batch), block)


# the array ------------------------------------------------------------------------------------------------------------


class SparseArray:
    """Values at the places of a pattern, and zero elsewhere.

    >>> pattern = coo_pattern((2, 3), numpy.array([1, 5]))
    >>> SparseArray(pattern, numpy.array([2.0, 4.0])).to_dense()
    array([[0., 2., 0.],
           [0., 0., 4.]])
    """

    __slots__ = ("pattern", "values")
    #: It is no view.
    base = None

    def __init__(self, pattern: SparsePattern, values: Any) -> None:
        self.pattern, self.values = pattern, values

    @property
    def layout(self) -> layout:
        """The kind of storage."""
        return self.pattern.layout

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""
        return self.pattern.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.pattern.shape)

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return math.prod(self.pattern.shape)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.values.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one value."""
        return int(self.values.dtype.itemsize)

    def tolist(self) -> Any:
        """Raises RuntimeError, as the elements have no memory of their own."""
        raise RuntimeError(NO_STORAGE)

    @property
    def entries(self) -> Any:
        """The values as a list of entries."""
        return self.values.reshape(self.pattern.entries_shape)

    def with_values(self, values: Any) -> SparseArray:
        """Other values at the same places."""
        return SparseArray(self.pattern, values)

    def copy(self) -> SparseArray:
        """The array with a copy of the values; patterns are never changed."""
        return self.with_values(self.values.copy())

    def astype(self, dtype: Any) -> SparseArray:
        """The values in another type."""
        return self.with_values(self.values.astype(dtype))

    def coalesce(self) -> SparseArray:
        """The array with each place once, in order."""
        target = self.pattern.coalesced_pattern
        return self if target is self.pattern else SparseArray(target, self.at(target))

    def at(self, target: SparsePattern) -> Any:
        """The elements at the places of a pattern, in the shape of its values."""
        source, entries = self.pattern, self.entries
        if source is target and source.is_unique:
            return self.values
        if source.dense_dim != target.dense_dim:
            return SparseArray(source.flat, entries.reshape(-1)).at(target.flat).reshape(target.values_shape)
        places, numbers = source.groups
        if numbers is not None:
            entries = numpy_namespace.sum_at((len(places), *source.dense_shape), (numbers,), entries)
        positions, is_complete = source.positions_of(target)
        if not is_complete:
            entries = numpy.concatenate([entries, numpy.zeros((1, *source.dense_shape), entries.dtype)])
        return entries[positions].reshape(target.values_shape)

    def to_dense(self) -> Any:
        """A dense array."""
        pattern = self.pattern
        shape = (pattern.extent, *pattern.dense_shape)
        return numpy_namespace.sum_at(shape, (pattern.places,), self.entries).reshape(pattern.shape)

    def add_to(self, array: Any) -> Any:
        """Add the values to a dense array, in place."""
        source = self.coalesce()
        if source.pattern.span:
            # each place is there once
            array[source.pattern.coordinates] += source.entries
        else:
            array += source.entries.sum(axis=0)
        return array

    def item(self) -> Any:
        """The one element."""
        return self.to_dense().item()

    # arithmetic of cotangents -----------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseArray):
            return self.add_to(numpy.array(other, numpy.result_type(self.dtype, other.dtype)))
        pattern = self.pattern.with_places_of(other.pattern)
        if pattern is self.pattern and pattern.layout is other.layout and pattern.dense_dim == other.pattern.dense_dim:
            return self.with_values(self.values + other.values)
        if pattern.layout is sparse_coo and len(pattern.places) == len(self.entries) + len(other.entries):
            return SparseArray(pattern, numpy.concatenate([self.entries, other.entries]))
        return SparseArray(pattern, self.at(pattern) + other.at(pattern))

    __radd__ = __add__

    def __neg__(self) -> SparseArray:
        return self.with_values(-self.values)

    def __mul__(self, factor: Any) -> SparseArray:
        if numpy.ndim(factor) == 0:
            return self.with_values(self.values * factor)
        return self.with_values(self.values * dense_at(numpy.broadcast_to(factor, self.shape), self.pattern))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> SparseArray:
        return self.with_values(self.values / divisor)

    def __eq__(self, other: object) -> Any:
        raise unsupported_error("eq.Tensor", self.layout.kind)

    __hash__ = object.__hash__

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(NOT_FOR_NUMPY.format(kind=self.layout.kind))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        # NumPy's arrays come here: dense + sparse, dense += sparse and dense * sparse
        if method != "__call__" or kwargs or ufunc not in (numpy.add, numpy.multiply):
            return NotImplemented
        left, right = inputs
        if out is not None:
            return self.add_to(out[0]) if ufunc is numpy.add and left is out[0] else NotImplemented
        sparse, other = (left, right) if left is self else (right, left)
        return sparse + other if ufunc is numpy.add else sparse * other

    def __repr__(self) -> str:
        return f"SparseArray({self.pattern!r}, {self.values!r})"


def dense_at(array: Any, pattern: SparsePattern) -> Any:
    """The elements of a dense array at the places of a pattern, in the shape of its values."""
    entries = array[pattern.coordinates] if pattern.span else array[None].repeat(pattern.nnz, 0)
    return entries.reshape(pattern.values_shape)


# the namespace --------------------------------------------------------------------------------------------------------


class SparseNamespace:
    """The functions of an array library that the core uses; operations are composed of operations on values."""

    __name__ = "sparse"
    #: Slices share no memory.
    views = False

    def asarray(self, array: Any) -> Any:
        """The array itself."""
        return array

    def real(self, array: Any) -> Any:
        """The real parts."""
        return array.with_values(array.values.real)

    def ones_like(self, array: Any, dtype: Any = None) -> Any:
        """A dense array of ones."""
        return numpy.ones(array.shape, dtype or array.dtype)

    def zeros_like(self, array: Any, dtype: Any = None) -> Any:
        """An array without values."""
        return empty_like(array, dtype)

    empty_like = zeros_like

    def zeros(self, shape: tuple[int, ...], dtype: Any = None) -> Any:
        """A dense array of zeros."""
        return numpy.zeros(shape, dtype)

    def may_share_memory(self, first: Any, second: Any) -> bool:
        """False: values are written by those who own them."""
        return False

    def isnan(self, array: Any) -> Any:
        """A mask of values that are NaN."""
        return numpy.isnan(array.values)

    def isfinite(self, array: Any) -> Any:
        """A mask of values that are finite."""
        return numpy.isfinite(array.values)

    def kernel_of(self, rule: Any) -> Callable[..., Any]:
        """The kernel of a rule in a backward pass on raw arrays: on dense arrays, NumPy's."""
        kernel = rule.kernel_on(numpy_namespace)
        raw_kernel = _RAW.get(rule.name)

        def call(*args: Any, **options: Any) -> Any:
            if rule.name in TAKES_SPARSE or not any(isinstance(value, SparseArray) for value in args):
                return kernel(*args, **options)
            if raw_kernel is None:
                raise unsupported_error(rule.name, next(a for a in args if isinstance(a, SparseArray)).layout.kind)
            return raw_kernel(*args, **options)

        return call


#: The operations whose kernels take sparse arrays themselves.
TAKES_SPARSE = frozenset(("elements_at", "sparse_array", "sparse_of", "strided_of"))
#: Operations that formulas apply to sparse cotangents.
_RAW: dict[str, Callable[..., Any]] = {
    "conj": lambda array: array.with_values(array.values.conj()),
    "neg": lambda array: -array,
    "cast": lambda array, dtype: array.astype(dtype.numpy),
    "clone": lambda array, *options: array.copy(),
    "real": lambda array: array.with_values(array.values.real),
    "mul": lambda first, second: first * second,
}


def empty_like(array: Any, dtype: Any = None) -> SparseArray:
    """A sparse array of coordinates of the same shape and dtype, without values."""
    pattern = array.pattern
    kind = array.dtype if dtype is None else dtype
    none = numpy.zeros(0, numpy.int64)
    if pattern.layout is sparse_coo:
        target = coo_pattern(pattern.shape, none, pattern.dense_dim)
    else:
        target = compressed_pattern(pattern.layout, pattern.shape, none, pattern.dense_dim, pattern.block)
    return SparseArray(target, numpy.zeros(target.values_shape, kind))


register(SparseArray, SparseNamespace())
