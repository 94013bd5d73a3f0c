"""Linear algebra with sparse matrices: systems, exponentials, eigenvalues, with derivatives in matrix and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.interop.sparse.matrix import SparseMatrix, as_matrix
from adjoint.solvers.flattening import to_numpy
from adjoint.solvers.linear import linear_solve
from adjoint.solvers.sparse import Pattern, sparse_solution
from adjoint.tensor.creation import from_numpy
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.arrays.kernels.sparse import SparseLayout
    from adjoint.tensor.tensor import Tensor

#: Terms of the exponential series after which it has converged for a matrix of norm 1, in double precision.
_TERMS = 30
#: Steps of Newton's method after the eigenvalues are known: one for each order of derivatives that is exact.
_REFINEMENTS = 2

NOT_SQUARE = "{name}: expected a square matrix, got shape {shape}"
WRONG_SIDE = "{name}: the matrix has {n} rows, but the right-hand side has shape {shape}"


def matrix_of(matrix: Any, name: str) -> SparseMatrix:
    """A square matrix: a `SparseMatrix`, a sparse tensor, or one of SciPy's. Raises ValueError if it is not square."""
    result = matrix if isinstance(matrix, SparseMatrix) else as_matrix(matrix)
    if result.shape[0] != result.shape[1]:
        raise ValueError(NOT_SQUARE.format(name=name, shape=result.shape))
    return result


def check_side(matrix: SparseMatrix, b: Any, name: str, most: int = 2) -> None:
    """Raise ValueError for a right-hand side that does not fit."""
    shape = tuple(np.shape(b) if isinstance(b, (list, tuple)) else b.shape)
    if not 1 <= len(shape) <= most or shape[0] != matrix.shape[0]:
        raise ValueError(WRONG_SIDE.format(name=name, n=matrix.shape[0], shape=shape))


def places(layout: SparseLayout) -> Pattern:
    """The layout as solvers of systems know it, with the factors that they keep."""
    if "solve" not in layout.derived_data:
        layout.derived_data["solve"] = Pattern(from_numpy(layout.rows), from_numpy(layout.columns), layout.shape[0])
    return layout.derived_data["solve"]


def spsolve(A: Any, b: Any) -> Any:
    """Solve A x = b for a sparse matrix, with derivatives of any order in its stored values and in b.

    Args:
        A: a sparse tensor, a `SparseMatrix`, or an array of SciPy's, of shape (n, n).
        b: of shape (n,), or (n, m) for several right-hand sides.

    The matrix is factored once (SuperLU) for solutions, gradients and tangents with the same values.

    Raises LinAlgError if A is singular; ValueError if shapes do not fit.

    >>> import adjoint, scipy.sparse
    >>> A = adjoint.sparse.from_scipy(scipy.sparse.csr_array([[2.0, 1.0], [0.0, 4.0]]), requires_grad=True)
    >>> x = adjoint.sparse.linalg.spsolve(A, adjoint.tensor([3.0, 4.0], dtype=adjoint.float64))
    >>> x.sum().backward()
    >>> A.values.grad
    tensor([-0.5000, -0.5000, -0.1250], dtype=adjoint.float64)
    """
    matrix = matrix_of(A, "spsolve()")
    check_side(matrix, b, "spsolve()")
    return matrix._on_tensors(
        lambda right: sparse_solution(places(matrix.layout), matrix.entries.to(right.dtype), right), b
    )


class Factors:
    """The factors of a sparse matrix, for many right-hand sides; made by `splu`."""

    def __init__(self, matrix: SparseMatrix) -> None:
        self._matrix = matrix
        # computed once here, and by the pattern for each solution
        places(matrix.layout).factor(to_numpy(matrix.entries))

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        return self._matrix.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve A x = rhs, with trans="T" for the transposed matrix, with "H" for its conjugate.

        rhs: of shape (n,), or (n, m). Raises ValueError for another shape, or another value of trans.
        """
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans must be N, T, or H, got {trans!r}")
        check_side(self._matrix, rhs, "solve()")
        pattern = places(self._matrix.layout)
        if trans != "N":
            pattern = pattern.transpose()

        def solution(right: Tensor) -> Tensor:
            entries = self._matrix.entries.to(right.dtype)
            return sparse_solution(pattern, entries.conj() if trans == "H" else entries, right)

        return self._matrix._on_tensors(solution, rhs)


def splu(A: Any) -> Factors:
    """The factors of a sparse matrix (SuperLU), whose method `solve` has derivatives in the matrix and in its argument.

    A: as for `spsolve`. Raises LinAlgError if A is singular; ValueError if it is not square.

    >>> import adjoint, numpy, scipy.sparse
    >>> factors = adjoint.sparse.linalg.splu(scipy.sparse.csc_array([[2.0, 1.0], [0.0, 4.0]]))
    >>> adjoint.grad(lambda b: factors.solve(b).sum())(numpy.array([3.0, 4.0]))
    array([0.5  , 0.125])
    """
    return Factors(matrix_of(A, "splu()"))


def factorized(A: Any) -> Callable[[Any], Any]:
    """The function from b to the solution of A x = b, with derivatives in A and b; see `splu`.

    >>> import adjoint, numpy, scipy.sparse
    >>> solve = adjoint.sparse.linalg.factorized(scipy.sparse.csc_array([[2.0, 1.0], [0.0, 4.0]]))
    >>> solve(numpy.array([3.0, 4.0]))
    array([1., 1.])
    """
    return splu(A).solve


def iterative(name: str, A: Any, b: Any, rtol: float | None, maxiter: int | None, M: Any) -> Any:
    """The solution by an iterative method, with derivatives by the implicit function theorem."""
    matrix = matrix_of(A, f"{name}()")
    check_side(matrix, b, f"{name}()", 1)
    inverse = None if M is None else (lambda x, entries: M @ x) if hasattr(M, "shape") else lambda x, entries: M(x)

    def solve(right: Tensor) -> Any:
        return linear_solve(
            lambda x, entries: ops.sparse_product(entries, x, matrix.layout),
            right,
            matrix.entries.to(right.dtype),
            method=name,
            precondition=inverse,
            tol=rtol,
            max_iter=maxiter,
            allow_constant=True,
        )

    return matrix._on_tensors(solve, b)


def cg(A: Any, b: Any, *, rtol: float | None = None, maxiter: int | None = None, M: Any = None) -> Any:
    """Solve A x = b by conjugate gradients for a symmetric (Hermitian) positive definite matrix, with derivatives.

    Args:
        A, b: as for `spsolve`; b is a vector.
        rtol: how small |b - A x| / |b| has to be; 1e-12 by default (1e-5 in single precision).
        maxiter: the most iterations.
        M: the inverse of A, nearly: a sparse matrix, or a function of a vector.

    Each derivative solves one more system by the same method. Raises ConvergenceError if rtol was not reached.

    >>> import adjoint, numpy, scipy.sparse
    >>> A = scipy.sparse.diags_array([2.0, 4.0]).tocsr()
    >>> adjoint.sparse.linalg.cg(A, numpy.ones(2))
    array([0.5 , 0.25])
    """
    return iterative("cg", A, b, rtol, maxiter, M)


def gmres(A: Any, b: Any, *, rtol: float | None = None, maxiter: int | None = None, M: Any = None) -> Any:
    """Solve A x = b by the generalized minimal residual method, with derivatives; the arguments are those of `cg`.

    >>> import adjoint, numpy, scipy.sparse
    >>> A = scipy.sparse.csr_array([[2.0, 1.0], [0.0, 4.0]])
    >>> adjoint.sparse.linalg.gmres(A, numpy.array([3.0, 4.0])).round(6)
    array([1., 1.])
    """
    return iterative("gmres", A, b, rtol, maxiter, M)


def expm_multiply(A: Any, B: Any) -> Any:
    """The exponential of a sparse matrix times a vector or matrix, with derivatives of any order in both.

    The Taylor series of exp(A / s), s times over, with s the 1-norm of A; each step is recorded.

    Source: A. Al-Mohy, N. Higham, "Computing the action of the matrix exponential", SIAM J. Sci. Comput. 33 (2011)
    488-511.

    >>> import adjoint, numpy, scipy.sparse
    >>> A = scipy.sparse.csr_array([[0.0, 1.0], [0.0, 0.0]])
    >>> adjoint.sparse.linalg.expm_multiply(A, numpy.array([1.0, 2.0]))
    array([3., 2.])
    """
    matrix = matrix_of(A, "expm_multiply()")
    check_side(matrix, B, "expm_multiply()")
    sizes = np.bincount(matrix.layout.columns, np.abs(to_numpy(matrix.entries)), minlength=matrix.shape[0])
    steps = max(1, math.ceil(float(sizes.max(initial=0.0))))

    def multiply(vector: Tensor) -> Tensor:
        entries = matrix.entries.to(vector.dtype) * (1 / steps)
        kind = np.finfo(vector._array.dtype)
        for _ in range(steps):
            term = vector
            for k in range(1, _TERMS):
                term = ops.sparse_product(entries, term, matrix.layout) * (1 / k)
                vector = vector + term
                if is_negligible(term, vector, float(kind.eps)):
                    break
        return vector

    return matrix._on_tensors(multiply, B)


def is_negligible(term: Tensor, total: Tensor, eps: float) -> bool:
    """True if a term of a series is rounding beside the sum; never for batches, whose members may differ."""
    if type(term._array) is not np.ndarray:
        return False
    return float(np.abs(term._array).max(initial=0.0)) <= 1e-3 * eps * float(np.abs(total._array).max(initial=0.0))


def eigsh(A: Any, k: int = 6, *, which: str = "LM", sigma: float | None = None) -> tuple[Any, Any]:
    """k eigenvalues and eigenvectors of a sparse symmetric matrix, with derivatives in its stored values.

    Args:
        A: a sparse tensor, a `SparseMatrix`, or an array of SciPy's, real and symmetric of shape (n, n).
        k, which, sigma: as in scipy.sparse.linalg.eigsh, which finds them.

    Returns the eigenvalues, of shape (k,), in rising order, and the eigenvectors, of shape (n, k). The largest element
    of each vector is positive. Derivatives exist if the k eigenvalues differ from all others; first and second
    derivatives are right.

    Raises ValueError for a matrix that is not square or not real.

    >>> import adjoint, scipy.sparse
    >>> A = adjoint.sparse.from_scipy(scipy.sparse.diags_array([1.0, 2.0, 5.0, 7.0]).tocsr(), requires_grad=True)
    >>> values, vectors = adjoint.sparse.linalg.eigsh(A, k=1)
    >>> values.sum().backward()
    >>> A.values.grad.round(decimals=6)
    tensor([0., 0., 0., 1.], dtype=adjoint.float64)
    """
    from scipy.sparse import linalg

    operand = matrix_of(A, "eigsh()")
    if operand.values._array.dtype.kind == "c":
        raise ValueError(f"eigsh(): expected a real symmetric matrix, got {operand.dtype}")
    start = np.random.default_rng(0).standard_normal(operand.shape[0])
    matrix = operand.layout.matrix(to_numpy(operand.entries.detach()))
    eigenvalues, vectors = linalg.eigsh(matrix, k, which=which, sigma=sigma, v0=start.astype(matrix.dtype))
    order = np.argsort(eigenvalues)
    eigenvalues, vectors = eigenvalues[order], vectors[:, order]
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(k)])
    pairs = operand._on_tensors(lambda: refine(operand, eigenvalues, vectors * signs))
    return pairs[0], pairs[1:]


def refine(matrix: SparseMatrix, eigenvalues: np.ndarray, vectors: np.ndarray) -> Tensor:
    """Eigenvalues above eigenvectors, after recorded steps of Newton's method, which carry the derivatives."""
    columns = []
    for value, vector in zip(eigenvalues, vectors.T, strict=True):
        pair = from_numpy(np.concatenate([[value], vector]))
        for _ in range(_REFINEMENTS if matrix.requires_grad else 0):
            pair = newton_step(matrix, pair)
        columns.append(pair)
    return ops.stack(columns, 1)


def newton_step(matrix: SparseMatrix, pair: Tensor) -> Tensor:
    """One step for (A - value) vector = 0 and |vector|^2 = 1, by the bordered matrix at constant value and vector."""
    value, vector = pair[0], pair[1:]
    residual = ops.sparse_product(matrix.entries, vector, matrix.layout) - value * vector
    length = ops.reshape((1 - (vector * vector).sum()) * 0.5, (1,))
    n = matrix.shape[0]
    fixed = to_numpy(pair.detach())
    every = np.arange(n)
    rows = np.concatenate([matrix.layout.rows, every, every, np.full(n, n)])
    columns = np.concatenate([matrix.layout.columns, every, np.full(n, n), every])
    frame = np.concatenate([np.full(n, -fixed[0]), -fixed[1:], fixed[1:]])
    entries = ops.cat([matrix.entries.detach(), from_numpy(frame.astype(matrix.values._array.dtype))], 0)
    pattern = Pattern(from_numpy(rows), from_numpy(columns), n + 1)
    step = sparse_solution(pattern, entries, ops.cat([-residual, length], 0))
    return ops.cat([value + step[n:], vector + step[:n]], 0)
