"""`SparseMatrix`: a sparse array of SciPy's whose stored values may have a derivative."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.arrays.kernels.sparse import SparseLayout
from adjoint.arrays.layout import sparse_coo
from adjoint.arrays.libraries.sparse_arrays import SparsePattern
from adjoint.core.graph import TensorBase
from adjoint.core.operations.recorder import is_inexact
from adjoint.functions.sparse import to_dense
from adjoint.functions.sparse_operations import entries_of, is_sparse, of_values, pattern_of
from adjoint.tensor.creation import as_tensor, from_numpy
from adjoint.tensor.differentiate import needing_grad
from adjoint.tensor.protocol_hooks import values
from adjoint.tensor.table import ops
from adjoint.transforms.passing import Leaving, any_held

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

FORMATS = ("csr", "csc", "coo", "bsr", "dia")


class SparseMatrix:
    """A sparse matrix: its stored values and their positions; made by `from_scipy`.

    `@` and `dot` multiply with vectors and matrices: Tensors, differentiable arrays, NumPy's arrays. `*` and `/` take
    numbers, `+` and `-` matrices. `values` has the stored values, in the order and shape of SciPy's `data`, and its
    gradient has the same: it is never dense.
    """

    # SciPy and NumPy leave products to this class
    __array_priority__ = 2000
    __array_ufunc__ = None

    def __init__(
        self, layout: SparseLayout, data: Tensor, order: Any, source: Any, entries: Tensor | None = None
    ) -> None:
        self.layout, self.values, self.order = layout, data, order
        self._source, self._entries = source, entries

    # parts ----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.layout.shape

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return self.layout.nnz

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.values.dtype

    @property
    def requires_grad(self) -> bool:
        """Whether the values need a gradient."""
        return self.values.requires_grad

    @property
    def grad(self) -> Any:
        """The gradient of the values as an array of SciPy's of the matrix's format; None before a backward pass."""
        return None if self.values.grad is None else self.like_source(self.values.grad._array)

    @property
    def entries(self) -> Tensor:
        """The values in the order of the layout, as a vector."""
        if self._entries is not None:
            return self._entries
        flat = self.values if self.values.ndim == 1 else ops.reshape(self.values, (-1,))
        return flat if self.order is None else ops.index_select(flat, 0, from_numpy(self.order))

    def like_source(self, data: Any) -> Any:
        """An array of SciPy's in the source's format, with other stored values."""
        if self._source is None:
            return self.layout.matrix(np.asarray(data))
        result = self._source.copy()
        result.data = np.array(data)
        return result

    def to_scipy(self) -> Any:
        """The matrix as an array of SciPy's, without derivatives."""
        return self.like_source(self.values.detach()._array)

    def to_dense(self) -> Tensor:
        """The matrix as a dense Tensor, with derivatives."""
        return to_dense(self.to_tensor())

    def to_tensor(self) -> Tensor:
        """The matrix as a sparse tensor of layout sparse_coo, with derivatives."""
        return of_values(self.entries, coo_of(self.layout))

    def with_values(self, data: Any) -> SparseMatrix:
        """The matrix with other stored values, a Tensor or differentiable array in the shape of `values`.

        Raises ValueError for another shape.
        """
        tensor = as_tensor(values.take(data))
        if tuple(tensor.shape) != tuple(self.values.shape):
            raise ValueError(f"with_values(): expected shape {tuple(self.values.shape)}, got {tuple(tensor.shape)}")
        result = SparseMatrix(self.layout, tensor, self.order, self._source)
        result._is_of_arrays = any_held([data])
        return result

    #: Values came from a differentiable array, so that products are some, too.
    _is_of_arrays = False

    # products ---------------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseMatrix) or hasattr(other, "tocoo"):
            raise TypeError(PRODUCT_OF_SPARSE)
        return self._on_tensors(lambda x: ops.sparse_product(self.entries, x, self.layout), other)

    def __rmatmul__(self, other: Any) -> Any:
        layout = self.layout.transpose()
        return self._on_tensors(
            lambda x: transpose_matrix(ops.sparse_product(self.entries, transpose_matrix(x), layout)), other
        )

    def dot(self, other: Any) -> Any:
        """Equals `@`."""
        return self @ other

    @property
    def T(self) -> SparseMatrix:
        """The transposed matrix, with the same values."""
        result = SparseMatrix(self.layout.transpose(), self.values, self.order, None, self._entries)
        result._is_of_arrays = self._is_of_arrays
        return result

    def _on_tensors(self, function: Callable[..., Tensor], *operands: Any) -> Any:
        """A function of Tensors for Tensors, differentiable arrays, and plain arrays."""
        is_of_tensors = any(isinstance(x, TensorBase) for x in operands)
        is_held = self._is_of_arrays or any_held(operands)
        tensors: list[Any] = [x if isinstance(x, TensorBase) else as_tensor(values.take(x)) for x in operands]
        kind = np.result_type(self.values._array.dtype, *[x._array.dtype for x in tensors])
        result = function(*[x if x._array.dtype == kind else x.to(as_tensor(np.zeros(0, kind)).dtype) for x in tensors])
        if is_of_tensors or (self.values.requires_grad and not is_held):
            return result
        return Leaving(is_held).result(result)

    # arithmetic -------------------------------------------------------------------------------------------------------

    def _scale(self, factor: Any, by: Callable[[Tensor, Any], Tensor]) -> SparseMatrix:
        if not is_scalar(factor):
            raise TypeError(NO_NUMBER.format(kind=type(factor).__name__))
        has_array = any_held([factor])
        result = SparseMatrix(self.layout, by(self.values, values.take(factor)), self.order, self._source)
        result._is_of_arrays = self._is_of_arrays or has_array
        return result

    def __mul__(self, factor: Any) -> SparseMatrix:
        return self._scale(factor, lambda entries, number: entries * number)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> SparseMatrix:
        return self._scale(divisor, lambda entries, number: entries / number)

    def __neg__(self) -> SparseMatrix:
        return self * -1.0

    def __add__(self, other: Any) -> SparseMatrix:
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> SparseMatrix:
        return self._sum(other, -1)

    def __rsub__(self, other: Any) -> SparseMatrix:
        return (-self)._sum(other, 1)

    def _sum(self, other: Any, sign: int) -> SparseMatrix:
        """The sum with another sparse matrix: concatenated stored values; equal positions are added later."""
        if hasattr(other, "tocoo"):
            other = from_scipy(other)
        if not isinstance(other, SparseMatrix):
            raise TypeError(f"SparseMatrix: expected a sparse matrix, got {type(other).__name__}; use to_dense()")
        if other.shape != self.shape:
            raise ValueError(f"SparseMatrix: expected equal shapes, got {self.shape} and {other.shape}")
        entries = other.entries if sign == 1 else -other.entries
        if other.layout is self.layout:
            result = SparseMatrix(self.layout, self.entries + entries, None, None)
        else:
            key = ("sum", id(other.layout))
            if key not in self.layout.derived_data:
                rows = np.concatenate([self.layout.rows, other.layout.rows])
                columns = np.concatenate([self.layout.columns, other.layout.columns])
                # the other layout is cached with its sum, so that its id stays unique
                self.layout.derived_data[key] = (SparseLayout(self.shape, rows, columns), other.layout)
            result = SparseMatrix(self.layout.derived_data[key][0], ops.cat([self.entries, entries], 0), None, None)
        result._is_of_arrays = self._is_of_arrays or other._is_of_arrays
        return result

    def sum(self, axis: int | None = None) -> Any:
        """The sum of all values, or of each column (axis 0) or row (axis 1)."""
        if axis is None:
            return self._on_tensors(lambda: ops.sum(self.entries, 0))
        axis = axis % 2
        places, n = (self.layout.columns, self.shape[1]) if axis == 0 else (self.layout.rows, self.shape[0])
        zeros = from_numpy(np.zeros(n, self.values._array.dtype))
        return self._on_tensors(lambda: ops.index_add(zeros, 0, from_numpy(places), self.entries))

    def __repr__(self) -> str:
        suffix = ", requires_grad=True" if self.requires_grad else ""
        return f"<SparseMatrix of {self.shape[0]}×{self.shape[1]}, {self.nnz} stored values, {self.dtype}{suffix}>"


NO_NUMBER = "SparseMatrix: expected a number, got {kind}; use to_dense() for products of elements"
PRODUCT_OF_SPARSE = (
    "SparseMatrix: the product of two sparse matrices is not supported; multiply them one after the other with a "
    "vector or a matrix, A @ (B @ x), or use to_dense()"
)


def coo_of(layout: SparseLayout) -> SparsePattern:
    """The places of a layout as the pattern of a sparse tensor."""
    if "pattern" not in layout.derived_data:
        layout.derived_data["pattern"] = SparsePattern(
            sparse_coo, layout.shape, (np.stack([layout.rows, layout.columns]),)
        )
    return layout.derived_data["pattern"]


def transpose_matrix(tensor: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    return ops.permute(tensor, (1, 0)) if tensor.ndim == 2 else tensor


def is_scalar(value: Any) -> bool:
    """True for a number, and for an array or Tensor of no axes."""
    return isinstance(value, (int, float, complex, np.number)) or getattr(value, "ndim", None) == 0


def from_scipy(matrix: Any, requires_grad: bool = False) -> SparseMatrix:
    """A sparse array of SciPy's as an operand of differentiable functions.

    Args:
        matrix: of format csr, csc, coo, bsr or dia, in single or double precision, real or complex; its data is shared
            where the format allows. Whole numbers become double precision.
        requires_grad: the stored values need a gradient, which has the matrix's own places.

    Raises TypeError for something else; ValueError for another format, or an array of another number of axes.

    >>> import adjoint, numpy, scipy.sparse
    >>> A = scipy.sparse.csr_array(numpy.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> S = adjoint.sparse.from_scipy(A, requires_grad=True)
    >>> x = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    >>> (S @ x).sum().backward()
    >>> x.grad
    tensor([3., 3.], dtype=adjoint.float64)
    >>> S.grad.toarray()
    array([[1., 0.],
           [1., 2.]])

    In a function of arrays, `A @ x` of a constant A needs `from_scipy(A)`:

    >>> M = adjoint.sparse.from_scipy(A)
    >>> adjoint.grad(lambda x: ((M @ x) ** 2).sum())(numpy.ones(2))
    array([22., 30.])
    """
    if not hasattr(matrix, "tocoo"):
        raise TypeError(f"from_scipy(): expected a sparse array of SciPy's, got {type(matrix).__name__}")
    if matrix.format not in FORMATS:
        raise ValueError(f"from_scipy(): expected one of the formats {', '.join(FORMATS)}, got {matrix.format}")
    if matrix.ndim != 2:
        raise ValueError(f"from_scipy(): expected a matrix, got an array of shape {matrix.shape}")
    data = from_numpy(matrix.data)
    if not is_inexact(matrix.data.dtype):
        data = from_numpy(matrix.data.astype(np.float64))
    if requires_grad:
        data = needing_grad(data)
    return SparseMatrix(*places_of(matrix, data), matrix)


def as_matrix(matrix: Any) -> SparseMatrix:
    """A sparse tensor, or an array of SciPy's, as an operand; the values of a tensor keep their history."""
    if not is_sparse(matrix):
        return from_scipy(matrix)
    pattern = pattern_of(matrix)
    if matrix.ndim != 2 or pattern.dense_dim:
        raise ValueError(
            f"expected a sparse matrix, got shape {tuple(matrix.shape)} with {pattern.dense_dim} dense axes"
        )
    return SparseMatrix(pattern.product_layout, entries_of(matrix, pattern), None, None)


#: The matrices of plain products `A @ x`, by the id of A, as long as A lives.
_operands: dict[int, tuple[Any, SparseMatrix]] = {}


def operand_of(matrix: Any) -> SparseMatrix:
    """The matrix as an operand, cached for the next product while its arrays stay the same."""
    if isinstance(matrix, SparseMatrix):
        return matrix
    key = id(matrix)
    parts = arrays_of(matrix)
    if key in _operands:
        old_parts, operand = _operands[key]
        if len(old_parts) == len(parts) and all(one is other for one, other in zip(old_parts, parts, strict=True)):
            return operand
    operand = from_scipy(matrix)
    # the operand keeps no reference to the matrix, so that it is forgotten with it
    operand._source = None
    if key not in _operands:
        weakref.finalize(matrix, _operands.pop, key, None)
    _operands[key] = (parts, operand)
    return operand


def arrays_of(matrix: Any) -> list[Any]:
    """The arrays of a matrix."""
    names = ("data", "indices", "indptr", "row", "col", "offsets")
    return [getattr(matrix, name) for name in names if hasattr(matrix, name)]


def places_of(matrix: Any, data: Tensor) -> tuple[SparseLayout, Tensor, Any]:
    """The layout of a matrix's values, the values, and their order in the layout (None: as they are stored)."""
    shape = tuple(map(int, matrix.shape))
    if matrix.format == "coo":
        return SparseLayout(shape, matrix.row, matrix.col), data, None  # type: ignore[arg-type]
    if matrix.format in ("csr", "csc"):
        owners = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
        places = (owners, matrix.indices) if matrix.format == "csr" else (matrix.indices, owners)
        return SparseLayout(shape, *places), data, None  # type: ignore[arg-type]
    numbers = matrix.copy()
    # numbers from 1, since the conversion drops zeros and positions outside of the matrix
    numbers.data = np.arange(1, matrix.data.size + 1).reshape(matrix.data.shape)
    stored = numbers.tocoo()
    return SparseLayout(shape, stored.row, stored.col), data, stored.data - 1  # type: ignore[arg-type]
