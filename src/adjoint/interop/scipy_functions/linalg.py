"""scipy.linalg over Tensors. Options that only spare time or memory (overwrite_a, check_finite ...) are accepted."""

from __future__ import annotations

import numpy

from adjoint.functions.binding import functions as _bound
from adjoint.interop.numpy_functions import FUNCTIONS, Array, function
from adjoint.interop.operands import inexact, kind_of, plain, promote, tensor_of
from adjoint.tensor.table import ops

_linalg = _bound["linalg"]


def H(x):
    """The conjugate transpose."""
    return ops.conj_transpose(x)


def _system(a, b):
    """A matrix and right-hand sides of one inexact dtype, the latter as columns, and whether they were one vector."""
    a, b = promote(inexact(tensor_of(a)), inexact(tensor_of(b)))
    vector = b.ndim == 1
    return a, (b[:, None] if vector else b), vector


def _apply_trans(a, trans):
    """The matrix of a system with `trans`: 0 or N for itself, 1 or T for its transpose, 2 or C for its conjugate."""
    if trans in (0, "N"):
        return a, False
    return (ops.transpose(a, -2, -1) if trans in (1, "T") else H(a)), True


# NumPy's functions with SciPy's further options -----------------------------------------------------------------------


@function("scipy.linalg.inv")
def inv(a: Array, overwrite_a=False, check_finite=True, **structure):
    """The inverse matrix."""
    return ops.linalg_inv(inexact(a))


@function("scipy.linalg.det")
def det(a: Array, overwrite_a=False, check_finite=True):
    """The determinant."""
    return ops.linalg_det(inexact(a))


@function("scipy.linalg.pinv")
def pinv(a: Array, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    """The pseudoinverse."""
    a = inexact(a)
    values = numpy.linalg.svd(a._array, compute_uv=False)
    largest = float(values.max(initial=0.0))
    atol = 0.0 if atol is None else plain(atol)
    rtol = max(a.shape) * numpy.finfo(kind_of(a)).eps if rtol is None else plain(rtol)
    limit = atol + rtol * largest
    result = ops.linalg_pinv(a, limit / largest if largest else rtol)
    return (result, int((values > limit).sum())) if return_rank else result


FUNCTIONS["scipy.linalg.pinvh"] = FUNCTIONS["scipy.linalg.pinv"]


@function("scipy.linalg.norm")
def norm(a: Array, ord=None, axis=None, keepdims=False, check_finite=True):
    """A norm of a vector or matrix."""
    return FUNCTIONS["linalg.norm"](a, ord, axis, keepdims)


@function("scipy.linalg.solve")
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
    """x with a x = b."""
    a, b, vector = _system(a, b)
    if assume_a in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        a = _whole(a, lower, assume_a in ("sym", "symmetric"))
    elif assume_a in ("lower triangular", "upper triangular"):
        a = ops.tril(a) if assume_a[0] == "l" else ops.triu(a)
    x = ops.linalg_solve(ops.transpose(a, -2, -1) if transposed else a, b)
    return x[..., 0] if vector else x


def _whole(a, lower, symmetric):
    """The symmetric or Hermitian matrix from one triangle."""
    triangle = ops.tril(a, -1) if lower else ops.triu(a, 1)
    other = ops.transpose(triangle, -2, -1) if symmetric else H(triangle)
    diagonal = ops.diagonal(a, 0, a.ndim - 2, a.ndim - 1)
    return triangle + other + diagonal[..., None] * ops.identity(a, a.shape[-1], a.shape[-1])


@function("scipy.linalg.solve_triangular")
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    """x with a x = b for triangular a, or for its transpose."""
    a, b, vector = _system(a, b)
    a, turned = _apply_trans(a, trans)
    x = ops.linalg_solve_triangular(a, b, upper=bool(lower) == turned, unitriangular=bool(unit_diagonal))
    return x[..., 0] if vector else x


# factorizations -------------------------------------------------------------------------------------------------------


@function("scipy.linalg.cholesky")
def cholesky(a: Array, lower=False, overwrite_a=False, check_finite=True):
    """The triangular factor of a positive definite matrix, of which SciPy reads that triangle."""
    a = _whole(inexact(a), lower, False)
    factor = ops.linalg_cholesky(a, upper=False)
    return factor if lower else H(factor)


@function("scipy.linalg.cho_factor")
def cho_factor(a: Array, lower=False, overwrite_a=False, check_finite=True):
    """The argument of cho_solve()."""
    return FUNCTIONS["scipy.linalg.cholesky"](a, lower), bool(lower)


@function("scipy.linalg.cho_solve")
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """x with a x = b, from the factor of a."""
    factor, lower = c_and_lower
    factor, b, vector = _system(factor, b)
    low = factor if lower else H(factor)
    y = ops.linalg_solve_triangular(low, b, upper=False)
    x = ops.linalg_solve_triangular(H(low), y, upper=True)
    return x[..., 0] if vector else x


@function("scipy.linalg.lu")
def lu(a: Array, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """Permutation, lower and upper triangular factor; or the product of the first two, and the third."""
    p, low, up = _linalg["lu"](inexact(a))
    if permute_l:
        return p @ low, up
    if p_indices:
        return tensor_of(numpy.argmax(p._array, axis=-1)), low, up
    return p, low, up


@function("scipy.linalg.qr")
def qr(a: Array, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    """Orthonormal columns and an upper triangular factor."""
    a = inexact(a)
    if mode not in ("full", "economic", "r"):
        raise TypeError(f"qr(): mode={mode!r} is not supported for Tensors; use 'full', 'economic' or 'r'")
    order = None
    if pivoting:
        import scipy.linalg

        order = scipy.linalg.qr(a._array, mode="r", pivoting=True)[-1]
        a = ops.index_select(a, 1, tensor_of(order))
    q, r = ops.linalg_qr(a, "complete" if mode == "full" and a.shape[-2] > a.shape[-1] else "reduced")
    factors = (r,) if mode == "r" else (q, r)
    factors = factors if order is None else (*factors, tensor_of(order))
    return factors[0] if len(factors) == 1 else factors


@function("scipy.linalg.svd")
def svd(a: Array, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    """Singular vectors and values."""
    factors = ops.linalg_svd(inexact(a), full_matrices and compute_uv)
    return tuple(factors) if compute_uv else factors[1]


@function("scipy.linalg.svdvals")
def svdvals(a: Array, overwrite_a=False, check_finite=True):
    """Singular values."""
    return ops.linalg_svd(inexact(a), False)[1]


@function("scipy.linalg.polar")
def polar(a: Array, side="right"):
    """A unitary and a positive semidefinite factor."""
    u, s, vh = ops.linalg_svd(inexact(a), False)
    unitary = u @ vh
    if side == "right":
        return unitary, (H(vh) * s[..., None, :]) @ vh
    if side == "left":
        return unitary, (u * s[..., None, :]) @ H(u)
    raise ValueError("`side` must be either 'right' or 'left'")


@function("scipy.linalg.eigh")
def eigh(
    a: Array,
    b: Array = None,
    *,
    lower=True,
    eigvals_only=False,
    overwrite_a=False,
    overwrite_b=False,
    type=1,
    check_finite=True,
    subset_by_index=None,
    subset_by_value=None,
    driver=None,
):
    """Eigenvalues and vectors of a Hermitian matrix, or of a pair with a positive definite second matrix."""
    a = inexact(a)
    if subset_by_value is not None:
        raise TypeError("eigh(): subset_by_value is not supported for Tensors; select the values in the whole result")
    a = _whole(a, lower, False)
    factor = None
    if b is not None:
        a, b = promote(a, inexact(b))
        factor = ops.linalg_cholesky(_whole(b, lower, False), upper=False)
        if type == 1:
            half = ops.linalg_solve_triangular(factor, a, upper=False)
            a = H(ops.linalg_solve_triangular(factor, H(half), upper=False))
        else:
            a = H(factor) @ a @ factor
    values, vectors = ops.linalg_eigh(a, "L")
    if factor is not None:
        if type == 3:
            vectors = factor @ vectors
        else:
            vectors = ops.linalg_solve_triangular(H(factor), vectors, upper=True)
    if subset_by_index is not None:
        first, last = plain(subset_by_index)
        values, vectors = values[..., first : last + 1], vectors[..., first : last + 1]
    return values if eigvals_only else (values, vectors)


@function("scipy.linalg.eigvalsh")
def eigvalsh(
    a: Array,
    b: Array = None,
    *,
    lower=True,
    overwrite_a=False,
    overwrite_b=False,
    type=1,
    check_finite=True,
    subset_by_index=None,
    subset_by_value=None,
    driver=None,
):
    """The eigenvalues of eigh()."""
    return FUNCTIONS["scipy.linalg.eigh"](
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )


@function("scipy.linalg.eig")
def eig(
    a: Array,
    b=None,
    left=False,
    right=True,
    overwrite_a=False,
    overwrite_b=False,
    check_finite=True,
    homogeneous_eigvals=False,
):
    """Eigenvalues and right eigenvectors."""
    if b is not None or left or homogeneous_eigvals:
        raise TypeError(
            "eig(): b, left and homogeneous_eigvals are not supported for Tensors; left eigenvectors are those of a.mH"
        )
    values, vectors = ops.linalg_eig(inexact(a))
    return (values, vectors) if right else values


@function("scipy.linalg.eigvals")
def eigvals(a: Array, b=None, overwrite_a=False, overwrite_b=False, check_finite=True, homogeneous_eigvals=False):
    """Eigenvalues."""
    return FUNCTIONS["scipy.linalg.eig"](a, b, right=False)


@function("scipy.linalg.eigh_tridiagonal")
def eigh_tridiagonal(d: Array, e: Array, eigvals_only=False, select="a", *more, **options):
    """Eigenvalues and vectors of a symmetric tridiagonal matrix."""
    if select != "a":
        raise TypeError(
            f"eigh_tridiagonal(): select={select!r} is not supported for Tensors; use select='a', and select in the "
            "result"
        )
    a = FUNCTIONS["diag"](d) + FUNCTIONS["diag"](e, -1) + FUNCTIONS["diag"](e, 1)
    values, vectors = ops.linalg_eigh(inexact(a), "L")
    return values if eigvals_only else (values, vectors)


# functions of matrices ------------------------------------------------------------------------------------------------


@function("scipy.linalg.expm")
def expm(A: Array):
    """The matrix exponential."""
    return ops.linalg_matrix_exp(inexact(A))


@function("scipy.linalg.sqrtm")
def sqrtm(A: Array, disp=None, blocksize=None):
    """The square root of a matrix."""
    return ops.matrix_function(inexact(A), "sqrtm")


@function("scipy.linalg.logm")
def logm(A: Array, disp=None):
    """The logarithm of a matrix."""
    return ops.matrix_function(inexact(A), "logm")


@function("scipy.linalg.signm")
def signm(A: Array, disp=None):
    """The sign of a matrix."""
    return ops.matrix_function(inexact(A), "signm")


@function("scipy.linalg.fractional_matrix_power")
def fractional_matrix_power(A: Array, t):
    """A power of a matrix, with any real number as exponent."""
    return ops.matrix_function(inexact(A), "fractional_matrix_power", float(plain(t)))


def _exp(a, factor=1.0):
    return ops.linalg_matrix_exp(inexact(a) * factor)


def _even_and_odd(a):
    """Cosine and sine (of a real matrix, the parts of the exponential of i a)."""
    after, before = _exp(a, 1j), _exp(a, -1j)
    cosine, sine = 0.5 * (after + before), -0.5j * (after - before)
    return (cosine, sine) if kind_of(a).kind == "c" else (ops.real(cosine), ops.real(sine))


@function("scipy.linalg.cosm")
def cosm(A: Array):
    """The cosine of a matrix."""
    return _even_and_odd(A)[0]


@function("scipy.linalg.sinm")
def sinm(A: Array):
    """The sine of a matrix."""
    return _even_and_odd(A)[1]


@function("scipy.linalg.tanm")
def tanm(A: Array):
    """The tangent of a matrix."""
    cosine, sine = _even_and_odd(A)
    return ops.linalg_solve(cosine, sine)


@function("scipy.linalg.coshm")
def coshm(A: Array):
    """The hyperbolic cosine of a matrix."""
    return 0.5 * (_exp(A) + _exp(A, -1.0))


@function("scipy.linalg.sinhm")
def sinhm(A: Array):
    """The hyperbolic sine of a matrix."""
    return 0.5 * (_exp(A) - _exp(A, -1.0))


@function("scipy.linalg.tanhm")
def tanhm(A: Array):
    """The hyperbolic tangent of a matrix."""
    return ops.linalg_solve(_exp(A) + _exp(A, -1.0), _exp(A) - _exp(A, -1.0))


@function("scipy.linalg.expm_frechet")
def expm_frechet(A: Array, E: Array, method=None, compute_expm=True, check_finite=True):
    """The matrix exponential and its derivative in a direction."""
    A, E = promote(inexact(A), inexact(E))
    n = A.shape[-1]
    above = ops.cat([A, E], A.ndim - 1)
    below = ops.cat([ops.zeros_like(A), A], A.ndim - 1)
    whole = ops.linalg_matrix_exp(ops.cat([above, below], A.ndim - 2))
    derivative = whole[..., :n, n:]
    return (whole[..., :n, :n], derivative) if compute_expm else derivative


# matrix equations -----------------------------------------------------------------------------------------------------


@function("scipy.linalg.solve_sylvester")
def solve_sylvester(a, b, q):
    """x with a x + x b = q."""
    a, b, q = promote(*[inexact(tensor_of(x)) for x in (a, b, q)])
    return ops.sylvester(a, b, q)


@function("scipy.linalg.solve_continuous_lyapunov", "scipy.linalg.solve_lyapunov")
def solve_continuous_lyapunov(a, q):
    """x with a x + x a^H = q."""
    a, q = promote(inexact(tensor_of(a)), inexact(tensor_of(q)))
    return ops.sylvester(a, H(a), q)


@function("scipy.linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a, q, method=None):
    """x with a x a^H - x + q = 0."""
    return ops.stein(*promote(inexact(tensor_of(a)), inexact(tensor_of(q))))


def _riccati(discrete, a, b, q, r, e, s):
    a, b, q, r = promote(*[inexact(tensor_of(x)) for x in (a, b, q, r)])
    for matrix in (q, r):
        values = matrix._array
        difference = numpy.linalg.norm(values - values.conj().T, 1)
        if difference > 100 * numpy.spacing(numpy.linalg.norm(values, 1)):
            raise ValueError("The q and r matrices should be symmetric/hermitian.")
    if s is not None:
        # with u = v - inv(r) s^H x for the input, the costs of the state and of the input have no mixed part
        a, s = promote(a, inexact(tensor_of(s)))
        gain = ops.linalg_solve(r, H(s))
        a, q = a - b @ gain, q - s @ gain
    if e is not None:
        inverse = ops.linalg_inv(promote(a, inexact(tensor_of(e)))[1])
        a, q = a @ inverse, H(inverse) @ q @ inverse
    return ops.riccati(a, b, q, r, discrete)


@function("scipy.linalg.solve_continuous_are")
def solve_continuous_are(a, b, q, r, e=None, s=None, balanced=True):
    """The stabilizing x with a^H x e + e^H x a - (e^H x b + s) r^-1 (b^H x e + s^H) + q = 0.

    Raises ValueError if q or r is not Hermitian, as SciPy does.
    """
    return _riccati(False, a, b, q, r, e, s)


@function("scipy.linalg.solve_discrete_are")
def solve_discrete_are(a, b, q, r, e=None, s=None, balanced=True):
    """The stabilizing x with a^H x a - e^H x e - (a^H x b + s) (r + b^H x b)^-1 (b^H x a + s^H) + q = 0.

    Raises ValueError if q or r is not Hermitian, as SciPy does.
    """
    return _riccati(True, a, b, q, r, e, s)


@function("scipy.linalg.solve_banded")
def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """x with a x = b, where ab holds the diagonals of a."""
    lower, upper = plain(l_and_u)
    ab, b, vector = _system(ab, b)
    x = ops.banded_solution(ab, b, int(lower), int(upper))
    return x[:, 0] if vector else x


@function("scipy.linalg.solveh_banded")
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """x with a x = b for a Hermitian a, of which ab holds the diagonals of one triangle."""
    ab, b, vector = _system(ab, b)
    u = ab.shape[0] - 1
    n = ab.shape[1]
    conj = ops.conj if kind_of(ab).kind == "c" else (lambda x: x)
    # the rows of the other triangle: each diagonal conjugated and moved along
    if lower:
        others = [ops.roll(conj(ab[k : k + 1]), (k,), (1,)) for k in range(u, 0, -1)]
        full = ops.cat([*others, ab], 0)
    else:
        others = [ops.roll(conj(ab[u - k : u - k + 1]), (-k,), (1,)) for k in range(1, u + 1)]
        full = ops.cat([ab, *others], 0)
    if full.shape != (2 * u + 1, n):
        raise ValueError(f"solveh_banded(): ab must have the diagonals as rows, but has the shape {tuple(ab.shape)}")
    x = ops.banded_solution(full, b, u, u)
    return x[:, 0] if vector else x


@function("scipy.linalg.lstsq")
def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    """The least squares solution of smallest norm, residues, rank and singular values."""
    a, b, vector = _system(a, b)
    rows, columns = a.shape
    s = ops.linalg_svd(a, False)[1]
    cond = numpy.finfo(kind_of(a)).eps if cond is None else plain(cond)
    rank = int((s._array > cond * s._array.max(initial=0.0)).sum())
    x = ops.linalg_pinv(a, cond) @ b
    rest = b - a @ x
    residues = ops.sum(ops.real(rest * ops.conj(rest)) if kind_of(rest).kind == "c" else rest * rest, (0,))
    if rank < columns or rows <= columns:
        residues = residues[:0]
    elif vector:
        residues = residues[0]
    return (x[:, 0] if vector else x), residues, rank, s


# special matrices -----------------------------------------------------------------------------------------------------


@function("scipy.linalg.block_diag", star=tensor_of)
def block_diag(*arrs):
    """Matrices along the diagonal."""
    return _bound[""]["block_diag"](*promote(*[FUNCTIONS["atleast_2d"](a) for a in arrs]))


@function("scipy.linalg.toeplitz")
def toeplitz(c: Array, r: Array = None):
    """The matrix with first column c and first row r."""
    row = (ops.conj(c) if kind_of(c).kind == "c" else c) if r is None else r
    column, row = promote(ops.reshape(c, (-1,)), ops.reshape(row, (-1,)))
    offsets = numpy.arange(column.shape[0])[:, None] - numpy.arange(row.shape[0])[None, :]
    # the row without its first element, which c has too, comes after the column
    values = ops.cat([column, row[1:]], 0)
    return values[numpy.where(offsets >= 0, offsets, column.shape[0] - 1 - offsets)]


@function("scipy.linalg.hankel")
def hankel(c: Array, r: Array = None):
    """The matrix with first column c and last row r."""
    c = ops.reshape(c, (-1,))
    column, row = promote(c, ops.zeros_like(c) if r is None else ops.reshape(r, (-1,)))
    values = ops.cat([column, row[1:]], 0)
    return values[numpy.arange(column.shape[0])[:, None] + numpy.arange(row.shape[0])[None, :]]


@function("scipy.linalg.circulant")
def circulant(c: Array):
    """The matrix whose columns are c, moved on by one each."""
    n = c.shape[-1]
    return c[..., (numpy.arange(n)[:, None] - numpy.arange(n)[None, :]) % n]


@function("scipy.linalg.khatri_rao")
def khatri_rao(a: Array, b: Array):
    """Column by column the Kronecker products."""
    a, b = promote(a, b)
    return ops.reshape(a[:, None, :] * b[None, :, :], (-1, a.shape[1]))


@function("scipy.linalg.companion")
def companion(a: Array):
    """The matrix whose characteristic polynomial has these coefficients."""
    a = inexact(a)
    first = (-a[1:] / a[0])[None]
    n = first.shape[1]
    return ops.cat([first, tensor_of(numpy.eye(n - 1, n, dtype=kind_of(first)))], 0)


@function("scipy.linalg.solve_toeplitz")
def solve_toeplitz(c_or_cr, b, check_finite=True):
    """x with T x = b for the matrix T of toeplitz()."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return FUNCTIONS["scipy.linalg.solve"](FUNCTIONS["scipy.linalg.toeplitz"](c, r), b)


@function("scipy.linalg.matmul_toeplitz")
def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    """T x for the matrix T of toeplitz()."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    matrix, x = promote(FUNCTIONS["scipy.linalg.toeplitz"](c, r), x)
    return matrix @ x


@function("scipy.linalg.lu_factor")
def lu_factor(a: Array, overwrite_a=False, check_finite=True):
    """The argument of lu_solve(): both factors in one matrix, and the pivots, counted from 0."""
    packed, pivots = _linalg["lu_factor"](inexact(a))
    return packed, pivots - 1


@function("scipy.linalg.lu_solve")
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """x with a x = b, from the factors of a."""
    packed, pivots = lu_and_piv
    packed, b, vector = _system(packed, b)
    pivots = tensor_of(pivots) + 1
    if trans == 0:
        x = _linalg["lu_solve"](packed, pivots, b)
    elif trans == 2 or kind_of(packed).kind != "c":
        x = _linalg["lu_solve"](packed, pivots, b, adjoint=True)
    else:
        x = ops.conj(_linalg["lu_solve"](packed, pivots, ops.conj(b), adjoint=True))
    return x[..., 0] if vector else x


@function("scipy.linalg.null_space")
def null_space(A: Array, rcond=None, **options):
    """Refused: a basis of the null space is determined up to a rotation only, so it has no derivative."""
    raise TypeError("null_space(): its basis is arbitrary and has no derivative; use the projector I - pinv(A) @ A")
