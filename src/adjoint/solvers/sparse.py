"""Sparse linear systems, by SciPy's SuperLU, with derivatives of any order in the stored entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.arrays.dtypes import promote_types
from adjoint.arrays.kernels.linalg.errors import LinAlgError
from adjoint.core.operations.recorder import is_inexact
from adjoint.solvers.flattening import one_by_one, to_numpy
from adjoint.tensor.creation import as_tensor, from_numpy
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor
from adjoint.transforms.custom_functions.custom import custom
from adjoint.transforms.passing import for_solvers

#: The factors that a pattern keeps, for the values that it was solved with last.
_MOST_FACTORS = 4


class Pattern:
    """The pattern of a square sparse matrix, and its factors for the last values.

    A pattern and its transpose share their factors: the factors of A also solve with the conjugate transpose of A.
    """

    def __init__(self, rows: Tensor, columns: Tensor, n: int) -> None:
        self.rows, self.columns, self.n = rows, columns, n
        self.factors: dict[bytes, Any] = {}
        self.is_adjoint = False

    def transpose(self) -> Pattern:
        """The pattern of the transposed matrix."""
        other = Pattern(self.columns, self.rows, self.n)
        other.factors, other.is_adjoint = self.factors, not self.is_adjoint
        return other

    def solve(self, data: Tensor, b: Tensor) -> Tensor:
        """The solution, for a right-hand side of shape (n,) or (n, k)."""
        return from_numpy(self.factor(to_numpy(data)).solve(to_numpy(b), "H" if self.is_adjoint else "N"))

    def factor(self, values: np.ndarray) -> Any:
        """SuperLU's factors of the matrix with these values, or of its conjugate transpose."""
        entries = np.ascontiguousarray(values.conj() if self.is_adjoint else values)
        key = entries.tobytes()
        if key not in self.factors:
            from scipy.sparse import csc_array
            from scipy.sparse.linalg import splu

            coordinates = [to_numpy(self.rows), to_numpy(self.columns)]
            matrix = csc_array((entries, coordinates[::-1] if self.is_adjoint else coordinates), shape=(self.n, self.n))
            while len(self.factors) >= _MOST_FACTORS:
                self.factors.pop(next(iter(self.factors)))
            try:
                self.factors[key] = splu(matrix)
            except RuntimeError as error:
                raise LinAlgError(
                    f"spsolve(): the sparse matrix of shape {(self.n, self.n)} is singular ({error}): check for "
                    "empty rows and columns"
                ) from error
        return self.factors[key]


@custom
def sparse_solution(pattern: Pattern, data: Tensor, b: Tensor) -> Tensor:
    """The solution of a sparse system."""
    return one_by_one(pattern.solve, data, b)


@sparse_solution.vjp
def _(g: Tensor, pattern: Pattern, data: Tensor, y: Tensor) -> dict[str, Tensor]:
    u = sparse_solution(pattern.transpose(), data.conj(), g)
    products = u[pattern.rows] * y[pattern.columns].conj()
    return {"data": -(products.sum(1) if products.ndim > 1 else products), "b": u}


@sparse_solution.jvp
def _(t: tuple[Any, ...], pattern: Pattern, data: Tensor, y: Tensor) -> Tensor:
    _, entries, right = t
    products = y[pattern.columns] * (entries if y.ndim == 1 else ops.unsqueeze(entries, 1))
    return sparse_solution(pattern, data, right - ops.index_add(ops.zeros_like(y), 0, pattern.rows, products))


@for_solvers
def spsolve(data: Tensor, indices: Any, b: Tensor) -> Tensor:
    """Solve A x = b for a square sparse matrix, with derivatives of any order in its stored entries and in b.

    Args:
        data: the k stored entries of A.
        indices: their rows and columns, of shape (2, k); entries in the same place are added. Or a sparse array of
            SciPy's whose stored entries, in the order of its `tocoo()`, are where those of A are.
        b: of shape (n,), or (n, m) for several right-hand sides.

    The matrix is factored once (SuperLU) for the solution and its derivatives. Under `vmap`, members are solved in
    turn.

    Raises:
        LinAlgError: A is singular.
        TypeError: data or b is not floating-point or complex.
        ValueError: shapes do not fit; a position is outside of A.

    >>> import adjoint
    >>> data = adjoint.tensor([2.0, 1.0, 4.0], dtype=adjoint.float64, requires_grad=True)
    >>> b = adjoint.tensor([3.0, 4.0], dtype=adjoint.float64)
    >>> x = adjoint.implicit.spsolve(data, [[0, 0, 1], [0, 1, 1]], b)
    >>> x
    tensor([1., 1.], dtype=adjoint.float64, grad_fn=<SparseSolutionBackward>)
    >>> x.sum().backward()
    >>> data.grad
    tensor([-0.5000, -0.5000, -0.1250], dtype=adjoint.float64)
    """
    data, b = as_tensor(data), as_tensor(b)
    for what, tensor in (("data", data), ("b", b)):
        if not is_inexact(tensor._array.dtype):
            raise TypeError(f"spsolve(): {what} must be floating-point or complex, got {tensor.dtype}")
    if hasattr(indices, "tocoo"):
        stored = indices.tocoo()
        indices = np.stack([stored.row, stored.col])
    coordinates = np.asarray(indices.numpy() if hasattr(indices, "numpy") else indices)
    if data.ndim != 1 or coordinates.shape != (2, len(data)):
        raise ValueError(
            f"spsolve(): expected k entries and indices of shape (2, k), got data of shape {tuple(data.shape)} and "
            f"indices of shape {coordinates.shape}"
        )
    if b.ndim not in (1, 2):
        raise ValueError(f"spsolve(): expected b of shape (n,) or (n, m), got {tuple(b.shape)}")
    n = len(b)
    if coordinates.size and not 0 <= coordinates.min() <= coordinates.max() < n:
        raise ValueError(
            f"spsolve(): b of length {n} makes a matrix of shape {(n, n)}, but there are entries in rows "
            f"{coordinates[0].min()} to {coordinates[0].max()}, columns {coordinates[1].min()} to "
            f"{coordinates[1].max()}"
        )
    rows, columns = (from_numpy(np.ascontiguousarray(row, dtype=np.int64)) for row in coordinates)
    kind = promote_types(data.dtype, b.dtype)
    return sparse_solution(Pattern(rows, columns, n), data.to(kind), b.to(kind))
