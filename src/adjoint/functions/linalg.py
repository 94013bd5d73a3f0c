"""Composites over linear algebra: the functions of adjoint.linalg, and their older names on Tensor and adjoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.arrays.dtypes import finfo
from adjoint.arrays.namespace import underlying
from adjoint.arrays.shapes import normalize_dims
from adjoint.arrays.size import as_int
from adjoint.core.graph import TensorBase
from adjoint.core.operations.results import results_of
from adjoint.functions.composite import COMPOSITES, as_number, as_tensor, composite, ops, separate, torch_call
from adjoint.functions.factorizations import transpose_matrices
from adjoint.functions.reduce import check_norm_dtype
from adjoint.functions.underived import check_constants
from adjoint.rules.linalg import check_inexact, check_matrix, check_sides, check_square, on_diagonal
from adjoint.rules.special import MOST_STEPS
from adjoint.tensor.creation import randn
from adjoint.tensor.creation import zeros as zeros_tensor

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


# solving ------------------------------------------------------------------------------------------------------------


@composite(namespace="linalg", method=False)
@torch_call("linalg_solve", first="A")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of A X = B, or of X A = B if left is False.

    Args:
        A: square matrices of shape (..., n, n).
        B: matrices of shape (..., n, k), or (..., k, n) if left is False. Batch axes of A and B broadcast. B may also
            be one vector (n), or vectors (..., n) whose batch axes equal those of A.

    Raises LinAlgError for a singular matrix.

    >>> import adjoint
    >>> adjoint.linalg.solve(adjoint.tensor([[2.0, 0.0], [0.0, 4.0]]), adjoint.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    A, B = as_tensor("linalg_solve", "A", 1, A), as_tensor("linalg_solve", "B", 2, B)
    check_square("linalg.solve", A._array)
    vector = B.ndim == 1 or (B.ndim > 1 and A.ndim - 1 == B.ndim and A.shape[:-1] == B.shape)
    if vector:
        B = B[..., None]
    if left:
        result = ops.linalg_solve(A, B)
    else:
        check_matrix("linalg.solve", B._array, "B")
        check_sides("linalg.solve", A._array, B._array, left=False)
        result = transpose_matrices(ops.linalg_solve(transpose_matrices(A), transpose_matrices(B)))
    return result[..., 0] if vector else result


@composite(namespace="linalg", method=False)
@torch_call("linalg_solve_triangular", first="A")
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The solution X of A X = B for triangular A, or of X A = B if left is False.

    Args:
        A: matrices of shape (..., n, n). Only the triangle that `upper` selects is read.
        B: matrices of shape (..., n, k), or (..., k, n) if left is False.
        unitriangular: whether the diagonal of A is taken as ones.

    >>> import adjoint
    >>> adjoint.linalg.solve_triangular(adjoint.tensor([[2.0, 0.0], [2.0, 4.0]]), adjoint.ones(2, 1), upper=False)
    tensor([[0.5000],
            [0.0000]])
    """
    if left:
        return ops.linalg_solve_triangular(A, B, upper=upper, unitriangular=unitriangular)
    A = as_tensor("linalg_solve_triangular", "A", 1, A)
    B = as_tensor("linalg_solve_triangular", "B", 2, B)
    check_square("linalg.solve_triangular", A._array)
    check_matrix("linalg.solve_triangular", B._array, "B")
    check_sides("linalg.solve_triangular", A._array, B._array, left=False)
    solution_t = ops.linalg_solve_triangular(
        transpose_matrices(A), transpose_matrices(B), upper=not upper, unitriangular=unitriangular
    )
    return transpose_matrices(solution_t)


@results_of("triangular_solve")
class _TriangularSolution(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor


@composite(name="triangular_solve")
@torch_call("triangular_solve", first="b")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> _TriangularSolution:
    """The older form of linalg.solve_triangular(): the solution X of A X = b, and a copy of A. Batch axes broadcast.

    >>> import adjoint
    >>> adjoint.triangular_solve(adjoint.ones(1, 1), adjoint.tensor([[2.0]])).solution
    tensor([[0.5000]])
    """
    A = as_tensor("triangular_solve", "A", 2, A)
    for name, matrix in (("b", b), ("A", A)):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {matrix.ndim} "
                "dimensions instead"
            )
    if b.dtype is not A.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{b.dtype.long_name} and A of type {A.dtype.long_name} instead."
        )
    check_square("triangular_solve", A._array)
    if A.shape[-1] != b.shape[-2]:
        a, c = [" by ".join(map(str, x.shape[-2:])) for x in (A, b)]
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {a} but each b matrix is {c}"
        )
    turned = transpose_matrices(A) if transpose else A
    solution = ops.linalg_solve_triangular(turned, b, upper=upper != transpose, unitriangular=unitriangular)
    cloned = ops.expand(A, (*solution.shape[:-2], *A.shape[-2:])).clone()
    return _TriangularSolution(*ops.join_results((solution, cloned), "TriangularSolveBackward0"))


@composite()
@torch_call("cholesky_solve", first="B", others={"input2": "L"})
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The solution X of (L L^H) X = B, or of (L^H L) X = B if L is upper triangular.

    Shapes: B (..., n, k), L (..., n, n).

    >>> import adjoint
    >>> adjoint.cholesky_solve(adjoint.ones(2, 1), 2 * adjoint.eye(2))
    tensor([[0.2500],
            [0.2500]])
    """
    B, L = as_tensor("cholesky_solve", "B", 1, B), as_tensor("cholesky_solve", "L", 2, L)
    for name, matrix in (("b", B), ("u", L)):
        if matrix.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {matrix.ndim} dimensions instead")
    check_square("cholesky_solve", L._array)
    if L.shape[-1] != B.shape[-2]:
        a, b = [" by ".join(map(str, x.shape[-2:])) for x in (L, B)]
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {a} but each b matrix is {b}"
        )
    return ops.cholesky_solution(B, L, upper)


@composite()
@torch_call("cholesky_inverse", first="L")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of L L^H, or of L^H L if L is upper triangular.

    >>> import adjoint
    >>> adjoint.cholesky_inverse(adjoint.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    check_square("cholesky_inverse", L._array)
    return cholesky_solve(ops.identity(L, L.shape[-1], L.shape[-1]), L, upper)


@results_of("linalg_lstsq")
class _LeastSquares(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@composite(namespace="linalg", method=False)
@torch_call("linalg_lstsq", first="A", others={"b": "B"})
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> _LeastSquares:
    """The least-squares solution X, which minimises the sum of squares of A X - B. Of several, it is the smallest.

    Args:
        A: matrices of shape (..., m, n).
        B: of shape (..., m, k) or (..., m). The solution has shape (..., n, k) or (..., n).
        rcond: singular values of at most rcond times the largest one count as zero.
        driver: the name of a LAPACK driver. All drivers compute by the pseudoinverse and give the same solution. The
            driver decides which of the other results are computed.

    Returns a named tuple (solution, residuals, rank, singular_values). A result that is not computed is empty:
        residuals: computed for m > n, by "gels" for all matrices, by "gelsd" and "gelss" if all have full rank.
        rank: computed by all drivers except "gels".
        singular_values: computed by "gelsd" and "gelss".

    The derivative holds for matrices of constant rank.
    Raises RuntimeError for shapes or dtypes that do not match, and for an unknown driver.

    >>> import adjoint
    >>> adjoint.linalg.lstsq(adjoint.tensor([[1.0], [1.0]]), adjoint.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
    vector = _check_least_squares(A, B, driver)
    columns = B[..., None] if vector else B
    solution = pinv(A, rtol=rcond) @ columns
    rank = matrix_rank(A, rtol=rcond)
    if not columns.shape[-1]:
        # as in LAPACK, which does not read the matrix then
        rank = ops.zeros_like(rank)
    # belongs to the graph as the residuals do
    residuals = ops.independent(A if A.requires_grad else B, ops.abs(ops.reshape(A.detach(), (-1,))[:0]))
    values = svdvals(A).detach() if driver in ("gelsd", "gelss") else residuals.detach()
    rows, unknowns = A.shape[-2:]
    # over all matrices, including all members under vmap
    full = bool((underlying(rank._array) == unknowns).all())
    if rows > unknowns and (driver == "gels" or (driver in ("gelsd", "gelss") and full)):
        residuals = ops.abs(A @ solution - columns).square().sum(-2)
    if driver == "gels":
        rank = ops.reshape(rank, (-1,))[:0].clone()
    solution = solution[..., 0] if vector else solution
    solution, residuals = ops.join_results((solution, residuals), "LinalgLstsqBackward0")
    return _LeastSquares(solution, residuals, rank, values)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _check_least_squares(A: Tensor, B: Tensor, driver: str | None) -> bool:
    """Check the arguments. Return whether B holds one vector for each matrix."""
    name = "torch.linalg.lstsq:"
    if A.ndim < 2:
        raise RuntimeError(f"{name} input must have at least 2 dimensions.")
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{name} input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector: bool = B.ndim < A.ndim
    axis = -1 if vector else -2
    if A.shape[-2] != B.shape[axis]:
        raise RuntimeError(f"{name} input.size(-2) should match other.size({axis})")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name} Expected input and other to have the same dtype, but got input's dtype {A.dtype.long_name} and "
            f"other's dtype {B.dtype.long_name}"
        )
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"{name} parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    return vector


# inverses and determinants ------------------------------------------------------------------------------------------


@composite(namespace="linalg", method=False)
@torch_call("linalg_inv", first="A")
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices (..., n, n). Raises LinAlgError for a singular one.

    >>> import adjoint
    >>> adjoint.linalg.inv(adjoint.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return ops.linalg_inv(A)


@composite()
@torch_call("inverse")
def inverse(input: Tensor) -> Tensor:
    """Alias of linalg.inv().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.linalg.inv).
    """
    return ops.linalg_inv(input)


@composite(namespace="linalg", method=False)
@torch_call("linalg_pinv", first="A")
def pinv(
    A: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """The pseudoinverse of matrices (..., m, n), of shape (..., n, m).

    Args:
        rtol: singular values of at most rtol times the largest one count as zero.
        atol: singular values of at most atol count as zero. rtol and atol may each be a tensor with one number for each
            matrix.
        rcond: an older name of rtol.
        hermitian: whether A is Hermitian, so that only its lower triangle is read. The gradient is that of a general
            matrix nevertheless, as in PyTorch.

    >>> import adjoint
    >>> adjoint.linalg.pinv(adjoint.tensor([[1.0], [1.0]]))
    tensor([[0.5000, 0.5000]])
    """
    if hermitian:
        check_square("linalg.eigh", A._array)
        A = _by_lower_triangle(A.detach()) + (A - A.detach())
    relative = rcond if rtol is None else rtol
    check_constants("linalg_pinv", atol=atol, rtol=relative)
    if atol is not None and A.numel():
        # the bound is a fraction of each matrix's own largest singular value
        largest = svdvals(A).detach()[..., 0]
        share = ops.where(largest == 0, 0, atol / ops.where(largest == 0, 1, largest))
        if relative is None:
            relative = ops.where(share > 0, 0.0, max(A.shape[-2:]) * finfo(largest.dtype).eps)
        relative = underlying(ops.maximum(share, relative + share * 0)._array)
    elif isinstance(relative, TensorBase):
        relative = underlying(relative._array)
    return ops.linalg_pinv(A, relative)


def _by_lower_triangle(A: Tensor) -> Tensor:
    """The Hermitian matrices that have these lower triangles."""
    below = ops.tril(A, -1)
    diagonal = ops.diagonal(A, 0, -2, -1)
    return below + ops.conj_transpose(below) + on_diagonal(ops, ops.real(diagonal) if A.is_complex() else diagonal)


@composite()
@torch_call("pinverse")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Alias of linalg.pinv().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.linalg.pinv).
    """
    return ops.linalg_pinv(input, rcond)


@composite(namespace="linalg", method=False)
@torch_call("linalg_det", first="A")
def det(A: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n). The gradient is finite for singular matrices too.

    >>> import adjoint
    >>> adjoint.linalg.det(adjoint.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return ops.linalg_det(A)


@composite(name="det")
@torch_call("det")
def det_method(input: Tensor) -> Tensor:
    """Alias of linalg.det().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.linalg.det).
    """
    return ops.linalg_det(input)


@composite(namespace="linalg", method=False)
@torch_call("linalg_slogdet", first="A")
def slogdet(A: Tensor) -> Any:
    """The sign and the logarithm of the absolute value of the determinants of square matrices.

    Returns a named tuple (sign, logabsdet). The sign of a complex determinant is a number of modulus 1. A singular
    matrix gives (0, -inf).

    >>> import adjoint
    >>> adjoint.linalg.slogdet(adjoint.eye(2)).sign
    tensor(1.)
    """
    return ops.linalg_slogdet(A)


@results_of("slogdet")
class _Slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


@composite(name="slogdet")
@torch_call("slogdet")
def slogdet_method(input: Tensor) -> Any:
    """Alias of linalg.slogdet().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.linalg.slogdet).
    """
    return _Slogdet(*ops.linalg_slogdet(input))


@composite()
@torch_call("logdet")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinants of square matrices. It is NaN for a negative real determinant and -inf for 0.

    >>> import adjoint
    >>> adjoint.logdet(adjoint.eye(3))
    tensor(0.)
    """
    A = as_tensor("logdet", "input", 1, input)
    check_square("logdet", A._array)
    sign, size = ops.linalg_slogdet(A)
    if A.is_complex():
        # zero has no phase
        return ops.where(sign == 0, size + complex(0, math.nan), ops.log(sign) + size)
    return ops.where(sign == -1, math.nan, size)


# factorizations -----------------------------------------------------------------------------------------------------


@composite(namespace="linalg", method=False)
@torch_call("linalg_cholesky", first="A")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The Cholesky factor of Hermitian positive-definite matrices: lower triangular L with A = L L^H.

    With upper=True it is L^H. Raises LinAlgError if a matrix is not positive-definite.

    >>> import adjoint
    >>> adjoint.linalg.cholesky(adjoint.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    return ops.linalg_cholesky(A, upper=upper)


@composite(name="cholesky")
@torch_call("cholesky")
def cholesky_method(input: Tensor, upper: bool = False) -> Tensor:
    """Older form of linalg.cholesky().

    upper: whether to return the conjugate transpose of the lower factor.
    Raises LinAlgError unless A is positive-definite.

    >>> import adjoint
    >>> adjoint.cholesky(adjoint.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return ops.linalg_cholesky(input, upper=upper)


@composite(namespace="linalg", method=False)
@torch_call("linalg_eigh", first="A")
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, in ascending order, and their eigenvectors as columns.

    Only one triangle of A is read. The derivative exists for functions that do not depend on the sign or phase of the
    eigenvectors. For another function of complex eigenvectors the backward pass raises RuntimeError.

    Returns a named tuple (eigenvalues, eigenvectors).

    >>> import adjoint
    >>> adjoint.linalg.eigh(adjoint.tensor([[0.0, 1.0], [1.0, 0.0]])).eigenvalues
    tensor([-1.,  1.])
    """
    return ops.linalg_eigh(A, UPLO)


@composite(namespace="linalg", method=False)
@torch_call("linalg_eigvalsh", first="A")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order.

    >>> import adjoint
    >>> adjoint.linalg.eigvalsh(adjoint.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return ops.linalg_eigh(A, UPLO)[0]


@composite(namespace="linalg", method=False)
@torch_call("linalg_eig", first="A")
def eig(A: Tensor) -> Any:
    """The eigenvalues and eigenvectors of square matrices. The eigenvectors are columns of norm 1.

    Both results are complex, and the eigenvalues come in no particular order.
    Returns a named tuple (eigenvalues, eigenvectors).

    >>> import adjoint
    >>> adjoint.linalg.eig(adjoint.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    return ops.linalg_eig(A)


@composite(namespace="linalg", method=False)
@torch_call("linalg_eigvals", first="A")
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex and in no particular order.

    >>> import adjoint
    >>> adjoint.linalg.eigvals(adjoint.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
    return ops.linalg_eig(A)[0]


@composite(namespace="linalg", method=False)
@torch_call("linalg_qr", first="A")
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """The QR decomposition A = Q R: the columns of Q are orthonormal, R is upper triangular.

    Args:
        mode: "reduced" gives Q of shape (m, k) and R of shape (k, n) with k = min(m, n). "complete" gives (m, m) and
            (m, n). "r" computes only R. The derivative exists for "reduced", and for "complete" if m <= n.

    Returns a named tuple (Q, R).

    >>> import adjoint
    >>> adjoint.linalg.qr(adjoint.ones(3, 2)).R.shape
    adjoint.Size([2, 2])
    """
    return ops.linalg_qr(A, mode)


@results_of("qr")
class _Qr(NamedTuple):
    Q: Tensor
    R: Tensor


@composite(name="qr")
@torch_call("qr")
def qr_method(input: Tensor, some: bool = True) -> Any:
    """Older form of linalg.qr().

    some: whether the factors have the shapes (m, k) and (k, n) with k = min(m, n). Otherwise Q is square.

    >>> import adjoint
    >>> adjoint.qr(adjoint.tensor([[3.0, 0.0], [4.0, 5.0]])).R.abs()
    tensor([[5., 4.],
            [0., 3.]])
    """
    return _Qr(*ops.linalg_qr(input, "reduced" if some else "complete"))


@composite(namespace="linalg", method=False)
@torch_call("linalg_svd", first="A")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """The singular value decomposition A = U diag(S) Vh. The singular values S are in descending order.

    Returns a named tuple (U, S, Vh). With full_matrices, U has shape (..., m, m) and Vh (..., n, n). Otherwise U has
    k = min(m, n) columns and Vh has k rows. The derivative exists for functions that do not depend on the sign or phase
    of the singular vectors. Raises RuntimeError for any `driver` except None.

    >>> import adjoint
    >>> adjoint.linalg.svd(adjoint.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    _refuse_driver(driver)
    return ops.linalg_svd(A, full_matrices)


def _refuse_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@composite(namespace="linalg", method=False)
@torch_call("linalg_svdvals", first="A")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices, in descending order. Raises RuntimeError for any `driver` except None.

    >>> import adjoint
    >>> adjoint.linalg.svdvals(adjoint.tensor([[1.0, 0.0], [0.0, 2.0]]))
    tensor([2., 1.])
    """
    _refuse_driver(driver)
    return ops.linalg_svd(A, False)[1]


@results_of("svd")
class _Svd(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


@composite(name="svd")
@torch_call("svd")
def svd_method(input: Tensor, some: bool = True, compute_uv: bool = True) -> _Svd:
    """Older form of linalg.svd(). It returns V, where linalg.svd() returns the conjugate transpose Vh.

    some: whether to omit the columns of U and V that belong to no singular value.
    compute_uv: if False, U and V are filled with zeros.

    >>> import adjoint
    >>> adjoint.svd(adjoint.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    tensor([3., 2.])
    """
    if not compute_uv:
        rows, columns = input.shape[-2:]
        zeros = [zeros_tensor((*input.shape[:-2], n, n), dtype=input.dtype) for n in (rows, columns)]
        return _Svd(zeros[0], svdvals(input), zeros[1])
    u, s, vh = ops.linalg_svd(input, not some)
    return _Svd(u, s, ops.conj_transpose(vh))


# singular values of matrices of low rank ------------------------------------------------------------------------------


@composite(method=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """An approximate singular value decomposition A - M = U diag(S) V^H with q singular values.

    The method multiplies A by random vectors: Halko, Martinsson and Tropp (2009), "Finding structure with randomness",
    algorithms 4.4 and 5.1.

    Args:
        A: matrices of shape (..., m, n). The result is accurate if their rank is not much larger than q.
        q: the number of singular values.
        niter: the number of multiplications by A and its conjugate transpose. Each makes large singular values dominate
            more strongly.
        M: a matrix to subtract, such as the mean of the rows. It broadcasts.

    Shapes: U (..., m, k), S (..., k), V (..., n, k), where k = min(m, n, q).

    >>> import adjoint
    >>> U, S, V = adjoint.svd_lowrank(adjoint.ones(4, 3), q=2)
    >>> S[0]
    tensor(3.4641)
    """
    if M is not None:
        A = A - M
    if niter is not None and niter > MOST_STEPS:
        raise ValueError(f"niter may be at most {MOST_STEPS}, as it counts the steps of a loop, but got {niter}")
    rows, columns = A.shape[-2:]
    is_wide = rows < columns
    if is_wide:
        A = A.mH
    Q = _random_basis(A, 6 if q is None else q, 2 if niter is None else niter)
    inner, S, Vh = ops.linalg_svd(Q.mH @ A, False)
    U, V = Q @ inner, Vh.mH
    return (V, S, U) if is_wide else (U, S, V)


def _random_basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns that approximately span the columns of A."""
    Q = ops.linalg_qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device))[0]
    for _ in range(niter):
        Q = ops.linalg_qr(A.mH @ Q)[0]
        Q = ops.linalg_qr(A @ Q)[0]
    return Q


@composite(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of the data A (..., m, n), by svd_lowrank().

    Column i of V is the direction of component i, and S[i] ** 2 / (m - 1) is the variance along it.

    Args:
        q: the number of components, at most min(m, n). None means 6, or min(m, n) if this is smaller.
        center: whether to subtract the mean of the m rows first.

    Raises ValueError for q out of range and for a negative niter.

    >>> import adjoint
    >>> U, S, V = adjoint.pca_lowrank(adjoint.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), q=1)
    >>> S
    tensor([2.])
    """
    least = min(A.shape[-2:])
    q = min(6, least) if q is None else q
    if not 0 <= q <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A, q, niter, A.mean(-2, True) if center else None)


# functions of matrices ----------------------------------------------------------------------------------------------


@composite(namespace="linalg", method=False)
@torch_call("linalg_matrix_exp", first="A")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices (..., n, n).

    >>> import adjoint
    >>> adjoint.linalg.matrix_exp(adjoint.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return ops.linalg_matrix_exp(A)


@composite(name="matrix_exp")
@torch_call("matrix_exp")
def matrix_exp_method(input: Tensor) -> Tensor:
    """Alias of linalg.matrix_exp().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.linalg.matrix_exp).
    """
    return ops.linalg_matrix_exp(input)


@composite(namespace="linalg", method=False)
@torch_call("linalg_matrix_power", first="A")
def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices, by repeated squaring. A negative n takes powers of the inverse.

    >>> import adjoint
    >>> adjoint.linalg.matrix_power(adjoint.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    A = as_tensor("linalg_matrix_power", "A", 1, A)
    check_matrix("linalg.matrix_power", A._array)
    n = as_int("linalg_matrix_power", "n", 2, n)
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    if n < 0:
        A, n = ops.linalg_inv(A), -n
    if n == 0:
        return ops.fill(A, 0) + ops.identity(A, rows, rows)
    if n == 1:
        return ops.clone(A)
    result = None
    while True:
        if n % 2:
            result = A if result is None else result @ A
        n //= 2
        if not n:
            assert result is not None
            return result
        A = A @ A


@composite(name="matrix_power")
@torch_call("matrix_power")
def matrix_power_method(input: Tensor, n: int) -> Tensor:
    """Alias of linalg.matrix_power().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.linalg.matrix_power).
    """
    return matrix_power(input, n)


@composite(namespace="linalg", method=False)
@torch_call("linalg_matrix_rank", first="A")
def matrix_rank(
    A: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """The number of singular values above atol and above rtol times the largest one.

    Args:
        atol, rtol: each may be a tensor with one number for each matrix. If neither rtol nor a positive atol is given,
            rtol is the precision of the dtype times the larger of m and n.
        tol: an older name of atol.
        hermitian: whether A is Hermitian, so that only its lower triangle is read.

    Raises RuntimeError for less than two axes, and if hermitian is True and the matrices are not square.

    >>> import adjoint
    >>> adjoint.linalg.matrix_rank(adjoint.ones(3, 3))
    tensor(1)
    """
    check_matrix("torch.linalg.matrix_rank", A._array, "input")
    if hermitian:
        check_square("linalg.eigh", A._array)
        A = _by_lower_triangle(A.detach())
    values = svdvals(A.detach())
    if not values.shape[-1]:
        return values.sum(-1).long()
    if tol is None and atol is None and rtol is None:
        return (values > values[..., :1] * (max(A.shape[-2:]) * _epsilon(A))).sum(-1)
    largest = values[..., 0]
    bound = tol if atol is None else atol
    atol = ops.zeros_like(largest) + (0.0 if bound is None else bound)
    if rtol is None:
        rtol = ops.where(atol > 0, 0.0, max(A.shape[-2:]) * _epsilon(A))
    threshold = ops.maximum(largest * rtol, atol)
    return (values > threshold[..., None]).sum(-1)


def _epsilon(A: Tensor) -> float:
    return float(2.0**-23 if A.dtype.itemsize == (8 if A.is_complex() else 4) else 2.0**-52)


# norms --------------------------------------------------------------------------------------------------------------

_BY_SINGULAR_VALUES = {2: "amax", -2: "amin", "nuc": "sum"}
_BY_SUMS = {1: (0, "amax"), -1: (0, "amin"), math.inf: (1, "amax"), -math.inf: (1, "amin")}


@composite(namespace="linalg", method=False)
@torch_call("linalg_matrix_norm", first="A")
def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Tensor:
    """The norms of matrices.

    Args:
        ord: "fro" is the Frobenius norm and "nuc" the sum of the singular values. 2 and -2 are the largest and smallest
            singular value. 1 and -1 are the largest and smallest sum of the absolute values in a column, inf and -inf
            those in a row.
        dim: the two axes of the matrices.

    >>> import adjoint
    >>> adjoint.linalg.matrix_norm(adjoint.ones(2, 2))
    tensor(2.)
    """
    A, ord = as_tensor("linalg_matrix_norm", "A", 1, A), as_number(ord)
    if not (ord == "fro" or ord in _BY_SINGULAR_VALUES or ord in _BY_SUMS):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    check_matrix("linalg.matrix_norm", A._array)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = [normalize_dims(d, A.ndim) for d in dim]
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    check_inexact("linalg.matrix_norm", A._array)
    if dtype is not None:
        check_norm_dtype("linalg.matrix_norm", A.dtype, dtype)
        A = A.to(dtype)
    if ord == "fro":
        return ops.linalg_vector_norm(A, 2, (rows, columns), keepdim)
    if ord in _BY_SUMS:
        summed, reduction = _BY_SUMS[ord]
        summed_axis, other = ((rows, columns), (columns, rows))[summed]
        sums = ops.sum(ops.abs(A), (summed_axis,), True)
        result = _reduce(sums, reduction, other)
    else:
        matrices = ops.permute(A, (*[i for i in range(A.ndim) if i not in (rows, columns)], rows, columns))
        values = _reduce(svdvals(matrices), _BY_SINGULAR_VALUES[ord], A.ndim - 2)
        result = ops.reshape(values, tuple([1 if i in (rows, columns) else n for i, n in enumerate(A.shape)]))
    batch = [n for i, n in enumerate(A.shape) if i not in (rows, columns)]
    return separate(result if keepdim else ops.reshape(result, tuple(batch)))


def _reduce(values: Tensor, reduction: str, axis: int) -> Tensor:
    """Reduce one axis to size 1. The largest of no values is the constant 0."""
    if reduction == "amax" and not values.shape[axis]:
        return ops.sum(values.detach(), (axis,), True)
    return getattr(ops, reduction)(values, (axis,), True)


@composite(namespace="linalg", method=False)
@torch_call("linalg_norm", first="A")
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Tensor:
    """The norms of vectors or matrices.

    Args:
        ord: the order, as in vector_norm() or matrix_norm(). None is the square root of the sum of squares.
        dim: one axis for vectors, two axes for matrices. None means all axes; if ord is also given, A must then have
            one or two axes.

    >>> import adjoint
    >>> adjoint.linalg.norm(adjoint.tensor([3.0, 4.0]))
    tensor(5.)
    """
    A = as_tensor("linalg_norm", "A", 1, A)
    axes = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if axes is not None and len(axes) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(axes)}")
    if ord is None:
        return _vector_norm(A, 2, axes, keepdim, dtype)
    if axes is None and A.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    of_vectors = (A.ndim if axes is None else len(axes)) == 1 and not isinstance(ord, str)
    if of_vectors:
        return _vector_norm(A, ord, axes, keepdim, dtype)
    return matrix_norm(A, ord, (0, 1) if axes is None and A.ndim == 2 else axes or (0,), keepdim, dtype=dtype)


def _vector_norm(A: Tensor, ord: Any, axes: tuple[int, ...] | None, keepdim: bool, dtype: Dtype | None) -> Tensor:
    if dtype is None and type(ord) in (int, float):
        return ops.linalg_vector_norm(A, ord, axes, keepdim)
    return COMPOSITES["linalg", "vector_norm"].function(A, ord, axes, keepdim, dtype=dtype)


@composite(method=False)
@torch_call()
def frobenius_norm(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over one or two axes, or over all axes if none is given.

    >>> import adjoint
    >>> adjoint.frobenius_norm(adjoint.tensor([[3.0, 4.0]]), dim=1)
    tensor([5.])
    """
    axes = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(axes) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(axes)} dimensions instead.")
    return _vector_norm(input, 2, axes, keepdim, None)


@composite(method=False)
@torch_call()
def nuclear_norm(input: Tensor, dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices; see linalg.matrix_norm().

    >>> import adjoint
    >>> adjoint.nuclear_norm(adjoint.eye(3))
    tensor(3.)
    """
    return matrix_norm(input, "nuc", dim, keepdim)


@composite(namespace="linalg", method=False)
@torch_call("linalg_cond", first="A")
def cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """The condition number of matrices (..., m, n): norm(A) * norm(inv(A)). It is infinite for a singular matrix.

    Args:
        p: the order of the norm. None or 2 gives the largest singular value divided by the smallest, -2 the smallest
            divided by the largest; both take matrices of any shape. The other orders are those of matrix_norm(), for
            square matrices.

    >>> import adjoint
    >>> adjoint.linalg.cond(adjoint.eye(2))
    tensor(1.)
    """
    check_matrix("linalg.cond", A._array)
    p = as_number(p)
    if not (p is None or p in (2, -2, "fro", "nuc") or p in _BY_SUMS):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not A.numel():
        return ops.sum(ops.abs(A.detach()), (A.ndim - 2, A.ndim - 1), False)
    if p is None or p in (2, -2):
        values = svdvals(A)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    number = matrix_norm(A, p) * matrix_norm(ops.inverse_or_inf(A), p)
    return ops.where(ops.isnan(number), math.inf, number)
