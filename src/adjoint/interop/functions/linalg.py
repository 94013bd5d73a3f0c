"""numpy.linalg."""

from __future__ import annotations

import numpy

from adjoint.core.graph import new_tensor
from adjoint.functions.binding import functions
from adjoint.interop.functions.reductions import sum as total
from adjoint.interop.numpy_functions import Array, function
from adjoint.interop.operands import axes_of, inexact, kind_of, plain, promote, values_of
from adjoint.tensor.table import ops

_linalg = functions["linalg"]
_NONE = numpy._NoValue


def _result_of(name):
    """The named tuple that a function of NumPy gives."""
    return type(getattr(numpy.linalg, name)(numpy.eye(1)))


EigResult, EighResult, QRResult, SlogdetResult, SVDResult = map(_result_of, ("eig", "eigh", "qr", "slogdet", "svd"))


def _matrices(a, square=True):
    if a.ndim < 2:
        raise numpy.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and a.shape[-1] != a.shape[-2]:
        raise numpy.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return inexact(a)


# solving, inverting ---------------------------------------------------------------------------------------------------


@function("linalg.solve")
def solve(a: Array, b: Array):
    """x with a x = b; b is one vector, or matrices."""
    a, b = promote(_matrices(a), inexact(b))
    if b.ndim == 1:
        return ops.linalg_solve(a, b[:, None])[..., 0]
    return ops.linalg_solve(a, b)


@function("linalg.inv")
def inv(a: Array):
    """The inverse of square matrices."""
    return ops.linalg_inv(_matrices(a))


@function("linalg.pinv")
def pinv(a: Array, rcond=None, hermitian=False, *, rtol=_NONE):
    """The pseudo-inverse; singular values up to rcond times the largest count as 0."""
    a = _matrices(a, square=False)
    limit = rcond if rcond is not None else (None if rtol is _NONE else rtol)
    if limit is None:
        limit = 1e-15 if rcond is None and rtol is _NONE else max(a.shape[-2:]) * numpy.finfo(kind_of(a)).eps
    return _linalg["pinv"](a, rtol=limit, hermitian=hermitian)


@function("linalg.lstsq")
def lstsq(a: Array, b: Array, rcond=None):
    """The least squares solution, the sums of squared residuals, the rank and the singular values."""
    a, b = promote(_matrices(a, square=False), inexact(b))
    if a.ndim != 2:
        raise numpy.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if a.shape[0] != b.shape[0]:
        raise numpy.linalg.LinAlgError("Incompatible dimensions")
    rows, columns = a.shape
    right = b[:, None] if b.ndim == 1 else b
    limit = numpy.finfo(kind_of(a)).eps * max(rows, columns) if rcond is None else rcond
    limit = numpy.finfo(kind_of(a)).eps if limit == -1 else limit
    singular = ops.linalg_svd(a, False)[1]
    sizes = values_of(singular)
    rank = int((sizes > limit * sizes.max()).sum()) if sizes.size else 0
    solution = ops.matmul(ops.linalg_pinv(a, limit) if rank < columns else _of_full_rank(a), right)
    residuals = new_tensor(numpy.zeros(0, sizes.dtype))
    if rank == columns and rows > columns:
        residuals = total(ops.square(ops.abs(ops.matmul(a, solution) - right)), 0)
    return solution[:, 0] if b.ndim == 1 else solution, residuals, rank, singular


def _of_full_rank(a):
    """The pseudo-inverse where columns are independent, by a QR decomposition."""
    q, r = ops.linalg_qr(a)
    return ops.linalg_solve_triangular(r, ops.conj_transpose(q), upper=True)


@function("linalg.tensorsolve")
def tensorsolve(a: Array, b: Array, axes=None):
    """x with tensordot(a, x, x.ndim) == b."""
    return _linalg["tensorsolve"](*promote(inexact(a), inexact(b)), None if axes is None else plain(axes))


@function("linalg.tensorinv")
def tensorinv(a: Array, ind=2):
    """The inverse for tensordot(a, b, ind)."""
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    return _linalg["tensorinv"](inexact(a), ind)


# numbers of a matrix --------------------------------------------------------------------------------------------------


@function("linalg.det")
def det(a: Array):
    """The determinant."""
    return ops.linalg_det(_matrices(a))


@function("linalg.slogdet")
def slogdet(a: Array):
    """Sign and logarithm of the size of the determinant."""
    return SlogdetResult(*_linalg["slogdet"](_matrices(a)))


@function("linalg.cond")
def cond(x: Array, p=None):
    """The condition number in a norm."""
    return _linalg["cond"](_matrices(x, square=p not in (None, 2, -2)), p)


@function("linalg.matrix_rank")
def matrix_rank(A: Array, tol=None, hermitian=False, *, rtol=None):
    """The number of singular values that are not nearly 0."""
    return new_tensor(numpy.asarray(numpy.linalg.matrix_rank(values_of(A), plain(tol), hermitian, rtol=plain(rtol))))


@function("linalg.norm")
def norm(x: Array, ord=None, axis=None, keepdims=False):
    """A norm of vectors or matrices."""
    x = inexact(x)
    if axis is None and (ord is None or (ord == 2 and x.ndim == 1) or (ord in ("f", "fro") and x.ndim == 2)):
        # of all elements, whatever the number of axes
        return ops.linalg_vector_norm(x, 2, tuple(range(x.ndim)), keepdims)
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return ops.linalg_vector_norm(x, 2 if ord is None else float(ord), axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord not in (None, "fro", "f", "nuc", 1, -1, 2, -2, numpy.inf, -numpy.inf):
        raise ValueError(f"Invalid norm order {ord!r} for matrices.")
    if ord in (None, "f", "fro"):
        return ops.linalg_vector_norm(x, 2, axes, keepdims)
    return _linalg["matrix_norm"](x, ord, axes, keepdims)


@function("linalg.vector_norm")
def vector_norm(x: Array, /, *, axis=None, keepdims=False, ord=2):
    """A norm over axes, taken as a vector."""
    axes, x = axes_of(axis, x.ndim), inexact(x)
    if axis is not None and not axes:
        # each element for itself
        return ops.linalg_vector_norm(ops.unsqueeze(x, -1), float(ord), (x.ndim,), False)
    return ops.linalg_vector_norm(x, float(ord), axes, keepdims)


@function("linalg.matrix_norm")
def matrix_norm(x: Array, /, *, keepdims=False, ord="fro"):
    """A norm of the matrices in the last two axes."""
    return norm(_matrices(x, square=False), ord, (-2, -1), keepdims)


@function("linalg.matrix_power")
def matrix_power(a: Array, n):
    """A square matrix to a whole power."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        _matrices(a)
    if not isinstance(n, (int, numpy.integer)):
        raise TypeError("exponent must be an integer")
    return _linalg["matrix_power"](inexact(a) if n < 0 else a, int(n))


# factorizations -------------------------------------------------------------------------------------------------------


@function("linalg.cholesky")
def cholesky(a: Array, /, *, upper=False):
    """The lower (or upper) triangle whose product with its conjugate transpose is the matrix."""
    return _linalg["cholesky"](_matrices(a), upper=upper)


@function("linalg.qr")
def qr(a: Array, mode="reduced"):
    """The product of a matrix with orthonormal columns and an upper triangle."""
    a = _matrices(a, square=False)
    if mode == "raw":
        raise NotImplementedError("numpy.linalg.qr(mode='raw') gives LAPACK's own form, which has no derivative here")
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    # the derivative of r needs q
    q, r = ops.linalg_qr(a, "reduced" if mode == "r" else mode)
    return r if mode == "r" else QRResult(q, r)


@function("linalg.svd")
def svd(a: Array, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular vectors and values: u, s and vh."""
    a = _matrices(a, square=False)
    if not compute_uv:
        return _linalg["svdvals"](a)
    return SVDResult(*_linalg["svd"](a, full_matrices))


@function("linalg.svdvals")
def svdvals(x: Array, /):
    """Singular values, the largest first."""
    return _linalg["svdvals"](_matrices(x, square=False))


@function("linalg.eigh")
def eigh(a: Array, UPLO="L"):
    """Eigenvalues and eigenvectors of Hermitian matrices; only one triangle is read."""
    return EighResult(*_linalg["eigh"](_matrices(a), _triangle(UPLO)))


@function("linalg.eigvalsh")
def eigvalsh(a: Array, UPLO="L"):
    """Eigenvalues of Hermitian matrices, in ascending order."""
    return _linalg["eigvalsh"](_matrices(a), _triangle(UPLO))


def _triangle(UPLO):
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper()


#: Until NumPy 2.5 a real matrix with real eigenvalues has real results.
_HAS_REAL_RESULTS = numpy.lib.NumpyVersion(numpy.__version__) < "2.5.0"


def _is_real(a, values):
    """True if NumPy gives real eigenvalues and eigenvectors of a matrix."""
    return _HAS_REAL_RESULTS and kind_of(a).kind != "c" and not values_of(values).imag.any()


@function("linalg.eig")
def eig(a: Array):
    """Eigenvalues and eigenvectors, complex; before NumPy 2.5 real for a real matrix with real eigenvalues."""
    a = _matrices(a)
    values, vectors = ops.linalg_eig(a)
    return EigResult(values.real, vectors.real) if _is_real(a, values) else EigResult(values, vectors)


@function("linalg.eigvals")
def eigvals(a: Array):
    """Eigenvalues, complex; before NumPy 2.5 real for a real matrix with real eigenvalues."""
    a = _matrices(a)
    values = _linalg["eigvals"](a)
    return values.real if _is_real(a, values) else values
