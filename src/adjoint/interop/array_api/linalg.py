"""The standard's linear algebra extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.interop.array_api.dtypes import numpy_kind
from adjoint.interop.operands import tensor_of, values_of
from adjoint.interop.table import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangle whose product with its conjugate transpose is the matrix."""
    return FUNCTIONS["linalg.cholesky"](x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The vector product in three dimensions."""
    return FUNCTIONS["linalg.cross"](x1, x2, axis=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinant."""
    return FUNCTIONS["linalg.det"](x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices."""
    return FUNCTIONS["linalg.diagonal"](x, offset=offset)


def eig(x: Tensor, /) -> Any:
    """Complex eigenvalues and eigenvectors."""
    return FUNCTIONS["linalg.eig"](x)


def eigvals(x: Tensor, /) -> Tensor:
    """Complex eigenvalues."""
    return FUNCTIONS["linalg.eigvals"](x)


def eigh(x: Tensor, /) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return FUNCTIONS["linalg.eigh"](x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of Hermitian matrices."""
    return FUNCTIONS["linalg.eigvalsh"](x)


def inv(x: Tensor, /) -> Tensor:
    """The inverse."""
    return FUNCTIONS["linalg.inv"](x)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product."""
    return FUNCTIONS["linalg.matmul"](x1, x2)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """A norm of matrices."""
    return FUNCTIONS["linalg.matrix_norm"](x, keepdims=keepdims, ord=ord)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """A matrix to a whole power."""
    return FUNCTIONS["linalg.matrix_power"](x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The number of singular values that are not nearly 0."""
    return FUNCTIONS["linalg.matrix_rank"](x, rtol=rtol)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    return FUNCTIONS["matrix_transpose"](x)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of all pairs of elements of two vectors."""
    return FUNCTIONS["linalg.outer"](x1, x2)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse."""
    return FUNCTIONS["linalg.pinv"](x, rtol=None if rtol is None else values_of(tensor_of(rtol)))


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """The product of a matrix with orthonormal columns and an upper triangle."""
    return FUNCTIONS["linalg.qr"](x, mode)


def slogdet(x: Tensor, /) -> Any:
    """Sign and logarithm of the size of the determinant."""
    return FUNCTIONS["linalg.slogdet"](x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """x with x1 x = x2."""
    return FUNCTIONS["linalg.solve"](x1, x2)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """Singular vectors and values."""
    return FUNCTIONS["linalg.svd"](x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values."""
    return FUNCTIONS["linalg.svdvals"](x)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over axes of both."""
    return FUNCTIONS["tensordot"](x1, x2, axes)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Dtype | None = None) -> Tensor:
    """The sums along diagonals of matrices."""
    return FUNCTIONS["linalg.trace"](x, offset=offset, dtype=numpy_kind(dtype))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sum of products along an axis, the first factor conjugated."""
    return FUNCTIONS["linalg.vecdot"](x1, x2, axis=axis)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """A norm over axes, taken as a vector."""
    return FUNCTIONS["linalg.vector_norm"](x, axis=axis, keepdims=keepdims, ord=ord)
