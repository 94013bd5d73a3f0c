"""Sparse systems under torch's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.interop.sparse import linalg

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Solve input @ x = other for a sparse matrix, or x @ input = other; the gradient of the matrix is sparse.

    Args:
        input: a sparse tensor of shape (n, n).
        other: of shape (n,), or (n, m) for several right-hand sides; (m, n) for left=False.

    The rest is as in `adjoint.sparse.linalg.spsolve`.

    >>> import adjoint
    >>> A = adjoint.tensor([[2.0, 1.0], [0.0, 4.0]]).to_sparse_csr()
    >>> adjoint.sparse.spsolve(A, adjoint.tensor([3.0, 4.0]))
    tensor([1., 1.])
    """
    if left:
        return linalg.spsolve(input, other)
    return transpose_matrix(linalg.spsolve(transpose_matrix(input), transpose_matrix(other)))


def transpose_matrix(tensor: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    return tensor.t() if tensor.ndim == 2 else tensor
