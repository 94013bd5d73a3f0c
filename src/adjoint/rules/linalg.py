"""Linear algebra: solving, inverses, determinants, factorizations, functions of matrices.

Formulas after Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation"; a rule with another source names it. All operations work on the last two axes, with any
axes in front. H is the conjugate transpose.

Factors of a decomposition are defined only up to a sign or phase, and the formulas are right for functions that do not
depend on it. If two eigenvalues or singular values are equal, their vectors may be rotated among each other, and such a
function must not depend on the rotation either. Terms divided by the difference of the two values are omitted.
"""

from math import nan

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.kernels.linalg.errors import not_converged, not_positive_definite, singular
from adjoint.arrays.namespace import row_major, underlying
from adjoint.arrays.shapes import broadcast_shapes

from .contract import long_name, shape_text
from .declare import Array, constant, general

# checks and errors ----------------------------------------------------------------------------------------------------


def check_inexact(name, array):
    """Matrices to be factorized have floating point or complex elements."""
    if kind_of(array) in "iub":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {long_name(array)}")


def check_matrix(name, array, argument="A"):
    """Raise RuntimeError unless the array has the two axes of a matrix."""
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name, array):
    """Raise RuntimeError unless the array holds square matrices of floating point or complex numbers."""
    check_matrix(name, array)
    rows, columns = array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    check_inexact(name, array)


def square(name):
    """The check of an operation on square matrices."""
    return lambda A, *parameters: check_square(name, A._array)


def rectangular(name):
    """The check of an operation on any matrices."""

    def check(A, *parameters):
        check_matrix(name, A._array)
        check_inexact(name, A._array)

    return check


def is_singular(error):
    """True for the error that array libraries raise for a singular matrix."""
    return "ingular" in str(error)


# helpers of formulas ------------------------------------------------------------------------------------------------


def H(ops, x):
    """The conjugate transpose."""
    return ops.conj_transpose(x)


def diagonal(ops, x):
    """The diagonals of square matrices, as vectors."""
    return ops.diagonal(x, 0, x.ndim - 2, x.ndim - 1)


def on_diagonal(ops, x):
    """Diagonal matrices with given diagonals."""
    return x[..., None] * ops.identity(x, x.shape[-1], x.shape[-1])


def without_phase(ops, x, name):
    """Refuse cotangents of complex vectors that depend on their phases: x must be real."""
    if ops.is_complex_array(x) and not ops.is_negligible(ops.imag(x)):
        raise RuntimeError(
            f"{name}: The {'eigenvectors' if 'eig' in name else 'singular vectors'} in the complex case are specified "
            "up to multiplication by e^{i phi}. The specified loss function depends on this "
            f"{'quantity, so it is' if 'eig' in name else 'phase term, making it'} ill-defined."
        )


@constant(method=False, function=False)
def is_negligible(xp, input: Array):
    """True if all elements are zero but for rounding errors, or undefined."""
    return not xp.any(xp.abs(input) > 1e-2)


@is_negligible.batch_rule
def _(batch, input):
    """All members together."""
    whole = underlying(input)
    return batch.ops_for([whole]).is_negligible(whole)


# solving ------------------------------------------------------------------------------------------------------------


def _check_solve(A, B):
    a, b = A._array, B._array
    check_square("linalg.solve", a)
    check_matrix("linalg.solve", b, "B")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {long_name(a)} and B of type "
            f"{long_name(b)} instead"
        )
    check_sides("linalg.solve", a, b)


def check_sides(name, a, b, left=True):
    """Raise RuntimeError unless a @ x = b (or x @ a = b) can hold for some x."""
    if a.shape[-2] != b.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({'x'.join(map(str, a.shape[-2:]))} and {'x'.join(map(str, b.shape[-2:]))})"
        )


def _explain_solve(error, A, B):
    if not is_singular(error):
        return None
    return singular(A, "torch.linalg.solve: ", "The solver failed because the input matrix is singular.")


@general(
    core="(n,n),(n,k)->(n,k)",
    method=False,
    function=False,
    node="LinalgSolveExBackward0",
    check=_check_solve,
    explain=_explain_solve,
)
def linalg_solve(xp, A: Array, B: Array):
    """X with A X = B, B a matrix of columns."""
    return xp.linalg.solve(A, B)


def solve_vjp(ops, g, A, y, needs):
    """The cotangents of a matrix and the right-hand sides from the cotangent of the solution y."""
    of_b = ops.linalg_solve(H(ops, A), g)
    return (-ops.matmul(of_b, H(ops, y)) if needs[0] else None), of_b


linalg_solve.vjp("A", "B")(solve_vjp)


@linalg_solve.jvp("A")
def _(ops, t, A, y):
    return -ops.linalg_solve(A, t @ y)


@linalg_solve.jvp("B")
def _(ops, t, A):
    return ops.linalg_solve(A, t)


def _check_solve_triangular(A, B, upper, unitriangular):
    check_square("linalg.solve_triangular", A._array)
    check_matrix("linalg.solve_triangular", B._array, "B")
    check_sides("linalg.solve_triangular", A._array, B._array)


@general(core="(n,n),(n,k)->(n,k)", method=False, function=False, shown={"A": "self"}, check=_check_solve_triangular)
def linalg_solve_triangular(xp, A: Array, B: Array, *, upper, unitriangular=False):
    """X with A X = B for triangular A; only the named triangle of A is read."""
    return xp.triangular_solution(A, B, lower=not upper, unit_diagonal=unitriangular)


def _triangle(ops, x, upper, unitriangular):
    """The part of A that was read."""
    return ops.triu(x, int(unitriangular)) if upper else ops.tril(x, -int(unitriangular))


@linalg_solve_triangular.vjp("A", "B")
def _(ops, g, A, y, upper, unitriangular, needs):
    of_b = ops.linalg_solve_triangular(H(ops, A), g, upper=not upper, unitriangular=unitriangular)
    if not needs[0]:
        return None, of_b
    return _triangle(ops, -(of_b @ H(ops, y)), upper, unitriangular), of_b


@linalg_solve_triangular.jvp("A")
def _(ops, t, A, y, upper, unitriangular):
    product = _triangle(ops, t, upper, unitriangular) @ y
    return -ops.linalg_solve_triangular(A, product, upper=upper, unitriangular=unitriangular)


@linalg_solve_triangular.jvp("B")
def _(ops, t, A, upper, unitriangular):
    return ops.linalg_solve_triangular(A, t, upper=upper, unitriangular=unitriangular)


# inverses -----------------------------------------------------------------------------------------------------------


def _explain_inv(error, A):
    if not is_singular(error):
        return None
    message = (
        "The diagonal element {pivot} is zero, the inversion could not be completed because the input matrix is "
        "singular."
    )
    return singular(A, "linalg.inv: ", message)


@general(
    core="(n,n)->(n,n)",
    method=False,
    function=False,
    node="LinalgInvExBackward0",
    shown={"y": "inverse"},
    check=square("linalg.inv"),
    explain=_explain_inv,
)
def linalg_inv(xp, A: Array):
    """The inverse matrix."""
    return xp.linalg.inv(A)


def solution_by_pivots(xp, A, B):
    """X with A X = B, infinite or undefined where a pivot is zero; and which one is, counted from 1 (0: none)."""
    batch = broadcast_shapes(A.shape[:-2], B.shape[:-2])
    factors, pivots, info = xp.lu_factor(A)
    shape = (*batch, *B.shape[-2:])
    order = xp.broadcast_to(xp.order_of_pivots(pivots, A.shape[-1], False)[..., None], shape)
    inner = xp.take_along_axis(xp.broadcast_to(B, shape), order, axis=-2)
    inner = xp.triangular_solution(factors, inner, lower=True, unit_diagonal=True)
    return xp.triangular_solution(factors, inner, lower=False), xp.broadcast_to(info, batch)


@general(core="(n,n)->(n,n)", method=False, function=False, node="LinalgInvExBackward0", shown={"y": "inverse"})
def inverse_or_inf(xp, A: Array):
    """The inverse matrix; for a singular one the values that its pivots give, infinite and undefined elements.

    A complex singular matrix has undefined elements only: a complex quotient by zero is not an infinity with a sign.
    """
    try:
        return xp.linalg.inv(A)
    except Exception as error:
        if not is_singular(error):
            raise
    inverse = solution_by_pivots(xp, A, xp.eye(A.shape[-1], dtype=A.dtype))[0]
    if kind_of(A) != "c":
        return inverse
    regular = xp.all(xp.isfinite(inverse), axis=(-2, -1), keepdims=True)
    return xp.where(regular, inverse, complex("nan+nanj"))


for _rule in (linalg_inv, inverse_or_inf):

    @_rule.vjp("A")
    def _(ops, g, y):
        y_h = H(ops, y)
        return -ops.matmul(ops.matmul(y_h, g), y_h)

    @_rule.jvp("A")
    def _(t, y):
        return -(y @ t @ y)


def _check_pinv(A, rtol):
    array = A._array
    if array.ndim < 2 or kind_of(array) in "iub":
        raise RuntimeError(
            f"linalg.pinv({long_name(array)}{{{shape_text(array.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )


@general(core="(m,n)->(n,m)", method=False, function=False, shown={"A": "self"}, check=_check_pinv)
def linalg_pinv(xp, A: Array, rtol=None):
    """The pseudoinverse; singular values up to rtol times the largest count as 0.

    Golub and Pereyra (1973): the derivative for constant rank.
    """
    if A.shape[-1] == 0 or A.shape[-2] == 0:
        return xp.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), dtype=A.dtype)
    if rtol is None:
        rtol = max(A.shape[-2:]) * xp.finfo(A.dtype).eps
    return xp.linalg.pinv(A, rtol=rtol)


@linalg_pinv.vjp("A")
def _(ops, g, A, y):
    p, w = H(ops, y), H(ops, g)
    # for matrices of full rank one of the projections I - A y and I - y A vanishes
    rows = w @ (y @ p)
    columns = (p @ y) @ w
    return -(p @ g @ p) + (rows - A @ (y @ rows)) + (columns - (columns @ y) @ A)


@linalg_pinv.jvp("A")
def _(ops, t, A, y):
    p, w = H(ops, y), H(ops, t)
    rows = y @ p @ w
    columns = w @ p @ y
    return -(y @ t @ y) + (rows - (rows @ A) @ y) + (columns - y @ (A @ columns))


# determinants -------------------------------------------------------------------------------------------------------


@general(core="(n,n)->()", method=False, function=False, check=square("linalg.det"))
def linalg_det(xp, A: Array):
    """The determinant."""
    return xp.linalg.det(A)


@linalg_det.vjp("A")
def _(ops, g, A):
    return g[..., None, None] * ops.cofactors(A)


@linalg_det.jvp("A")
def _(ops, t, A):
    return ops.sum(ops.conjugate(ops.cofactors(A)) * t, (t.ndim - 2, t.ndim - 1))


@general(core="(n,n)->(n,n)", method=False, function=False)
def cofactors(xp, A: Array):
    """The conjugated derivative of the determinant, finite for singular matrices too.

    For A = U S V^H these are conj(det(U) det(V^H)) U T V^H, where T holds the products of all singular values but one.
    """
    return _cofactors(xp, A)


def _cofactors(xp, A):
    n = A.shape[-1]
    if n == 0:
        return xp.zeros_like(A)
    finite = xp.all(xp.isfinite(A), axis=(-2, -1), keepdims=True)
    if not xp.all(finite):  # no algorithm for singular vectors takes such a matrix
        return xp.where(finite, _cofactors(xp, xp.where(finite, A, xp.eye(n, dtype=A.dtype))), nan)
    try:
        inverse = xp.linalg.inv(A)
    except Exception as error:
        if not is_singular(error):
            raise
    else:
        condition = n * xp.max(xp.abs(A), axis=(-2, -1)) * xp.max(xp.abs(inverse), axis=(-2, -1))
        if xp.all(condition < xp.finfo(A.dtype).eps ** -0.5):
            product = xp.linalg.det(A)[..., None, None] * xp.matrix_transpose(inverse)
            return xp.conj(product) if kind_of(product) == "c" else product
    u, s, vh = xp.linalg.svd(A)
    phase = xp.conj(xp.linalg.det(u) * xp.linalg.det(vh))[..., None]
    return (u * (phase * _products_without_one(xp, s))[..., None, :]) @ vh


def _products_without_one(xp, s):
    """For each element of a vector the product of all others."""
    one = xp.ones_like(s[..., :1])
    before = xp.cumulative_prod(xp.concat([one, s[..., :-1]], axis=-1), axis=-1)
    after = xp.cumulative_prod(xp.concat([one, xp.flip(s, axis=-1)[..., :-1]], axis=-1), axis=-1)
    return before * xp.flip(after, axis=-1)


def _products_without_two(ops, s):
    """For each pair of elements of a vector the product of all others, as a symmetric matrix; 0 on the diagonal."""
    n = s.shape[-1]
    one = ops.ones_like(s[..., :1])
    framed = ops.cat([one, s, one], s.ndim - 1)
    later = ops.triu(ops.ones_like(framed[..., None] + framed[..., None, :]), 1) > 0
    # row a, column b: the product of the elements behind a up to b
    runs = ops.cumprod(ops.where(later, framed[..., None, :], 1), s.ndim)
    before, between, after = runs[..., 0, :n], runs[..., 1 : n + 1, :n], runs[..., 1 : n + 1, n]
    above = ops.triu(before[..., None] * between * after[..., None, :], 1)
    return above + ops.conj_transpose(above)


def _cofactors_derivative(ops, direction, A):
    """The directional derivative of the cofactors, a map that is its own transpose.

    For a diagonal A, the derivatives of the adjugate are products of all diagonal elements but two. The singular
    vectors make any matrix diagonal.
    """
    if not A.shape[-1]:
        return ops.zeros_like(A)
    finite = ops.isfinite(ops.sum(ops.abs(A), (A.ndim - 2, A.ndim - 1), True))
    u, s, vh = ops.linalg_svd(ops.where(finite, A, 0), False)
    phase = ops.conjugate(ops.linalg_det(u) * ops.linalg_det(vh))[..., None, None]
    inner = vh @ H(ops, direction) @ u
    pairs = _products_without_two(ops, s)
    along = ops.sum(pairs * diagonal(ops, inner)[..., None, :], (pairs.ndim - 1,))
    return ops.where(finite, phase * (u @ (on_diagonal(ops, along) - pairs * inner) @ vh), nan)


@cofactors.vjp("A")
def _(ops, g, A):
    return _cofactors_derivative(ops, g, A)


@cofactors.jvp("A")
def _(ops, t, A):
    return _cofactors_derivative(ops, t, A)


@general(
    core="(n,n)->(),()",
    outputs=("sign", "logabsdet"),
    method=False,
    function=False,
    check=square("linalg.slogdet"),
)
def linalg_slogdet(xp, A: Array):
    """Sign (or phase) and logarithm of the absolute value of the determinant."""
    return xp.linalg.slogdet(A)


@linalg_slogdet.vjp("A")
def _(ops, g, A, y0):
    factor = g[1]
    if ops.is_complex_array(A):
        factor = factor + 1j * ops.imag(ops.conj(y0) * g[0])
    return factor[..., None, None] * ops.inverse_or_inf(H(ops, A))


@linalg_slogdet.jvp("A")
def _(ops, t, A, y0):
    trace = ops.sum(diagonal(ops, ops.inverse_or_inf(A) @ t), (A.ndim - 2,))
    if not ops.is_complex_array(A):
        return ops.zeros_like(trace), trace
    return y0 * ops.imag(trace) * 1j, ops.real(trace)


# factorizations -----------------------------------------------------------------------------------------------------


def _check_cholesky(A, upper):
    check_square("linalg.cholesky", A._array)


def _explain_cholesky(error, A, upper):
    return not_positive_definite(A, upper) if "ositive definite" in str(error) else None


@general(
    core="(n,n)->(n,n)",
    method=False,
    function=False,
    node="LinalgCholeskyExBackward0",
    check=_check_cholesky,
    explain=_explain_cholesky,
)
def linalg_cholesky(xp, A: Array, *, upper=False):
    """Lower triangular L with A = L H(L), or the upper triangular H(L); only that triangle of A is read.

    Murray (2016), "Differentiation of the Cholesky decomposition".
    """
    if upper:
        factor = xp.linalg.cholesky(xp.conj(xp.matrix_transpose(A)))
        return xp.conj(xp.matrix_transpose(factor))
    return xp.linalg.cholesky(A)


def _half_triangle(ops, x):
    """The lower triangle with half the diagonal."""
    return ops.tril(x) - 0.5 * on_diagonal(ops, diagonal(ops, x))


def cholesky_vjp(ops, g, y, upper):
    """The cotangent of a matrix from the cotangent of its triangular factor y."""
    if upper:
        g, y = H(ops, g), H(ops, y)
    y_h = H(ops, y)
    lower = ops.tril(y_h @ g)
    inner = 0.5 * (lower + H(ops, ops.tril(lower, -1)))
    # H(L)^-1 inner L^-1
    left = ops.linalg_solve_triangular(y_h, inner, upper=True)
    return H(ops, ops.linalg_solve_triangular(y_h, H(ops, left), upper=True))


def cholesky_jvp(ops, t, y, upper):
    """The tangent of the triangular factor y from the tangent of the matrix."""
    if upper:
        y = H(ops, y)
    left = ops.linalg_solve_triangular(y, t, upper=False)
    inner = ops.linalg_solve_triangular(y, H(ops, left), upper=False)
    tangent = y @ _half_triangle(ops, H(ops, inner))
    return H(ops, tangent) if upper else tangent


linalg_cholesky.vjp("A")(cholesky_vjp)
linalg_cholesky.jvp("A")(cholesky_jvp)


def _check_eigh(A, UPLO):
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_square("linalg.eigh", A._array)


@general(
    core="(n,n)->(n),(n,n)",
    outputs=("eigenvalues", "eigenvectors"),
    method=False,
    function=False,
    check=_check_eigh,
)
def linalg_eigh(xp, A: Array, UPLO="L"):
    """Ascending eigenvalues and the eigenvectors, as columns, of Hermitian matrices; one triangle of A is read."""
    return xp.linalg.eigh(A, UPLO=UPLO.upper())


def gaps(values):
    """Element i, j: value j - value i."""
    return values[..., None, :] - values[..., None]


@linalg_eigh.vjp("A")
def _(ops, g, y0, y1):
    inner = H(ops, y1) @ g[1]
    without_phase(ops, diagonal(ops, inner), "linalg_eigh_backward")
    # only the skew part can come from a change of the vectors, which stay orthonormal
    turning = ops.divide_or_zero(0.5 * (inner - H(ops, inner)), gaps(y0))
    return y1 @ (turning + on_diagonal(ops, g[0])) @ H(ops, y1)


@linalg_eigh.jvp("A")
def _(ops, t, y0, y1):
    inner = H(ops, y1) @ t @ y1
    return ops.real(diagonal(ops, inner)), y1 @ ops.divide_or_zero(inner, gaps(y0))


def _explain_eig(error, A):
    if "infs or NaNs" in str(error):
        return RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return None


@general(
    core="(n,n)->(n),(n,n)",
    outputs=("eigenvalues", "eigenvectors"),
    method=False,
    function=False,
    check=square("linalg.eig"),
    explain=_explain_eig,
)
def linalg_eig(xp, A: Array):
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, always complex."""
    kind = xp.result_type(A.dtype, xp.complex64)
    values, vectors = xp.linalg.eig(A)
    return xp.astype(values, kind), xp.astype(vectors, kind)


@linalg_eig.vjp("A")
def _(ops, g, y0, y1):
    vectors_h = H(ops, y1)
    inner = vectors_h @ g[1]
    diagonal_part = diagonal(ops, inner)
    without_phase(ops, diagonal_part, "linalg_eig_backward")
    # the vectors keep their length
    inner = inner - (vectors_h @ y1) * ops.real(diagonal_part)[..., None, :]
    core = ops.divide_or_zero(inner, ops.conj(gaps(y0))) + on_diagonal(ops, g[0])
    return ops.linalg_solve(vectors_h, core @ vectors_h)


def _explain_svd(error, A, full_matrices):
    return not_converged(A, "linalg.svd", "singular values") if "converge" in str(error) else None


@general(
    core="(m,n)->(m,k),(k),(k,n)",
    outputs=("U", "S", "Vh"),
    method=False,
    function=False,
    shown={"A_shape": None},
    keeps=("full_matrices",),
    check=rectangular("linalg.svd"),
    explain=_explain_svd,
)
def linalg_svd(xp, A: Array, full_matrices=True):
    """A = U diag(S) Vh with descending S; the vectors that full_matrices adds get no gradient.

    Townsend (2016), "Differentiating the singular value decomposition"; Wan and Zhang (2019) for complex matrices.
    """
    u, s, vh = xp.linalg.svd(A, full_matrices=full_matrices)
    # as in torch, V lies in rows
    return u, s, xp.matrix_transpose(row_major(xp.matrix_transpose(vh)))


@linalg_svd.vjp("A")
def _(ops, g, y0, y1, y2, A_shape):
    rows, columns = A_shape[-2:]
    k = min(rows, columns)
    u, s, vh = y0[..., :, :k], y1, y2[..., :k, :]
    gu, gs, gvh = g[0][..., :, :k], g[1], g[2][..., :k, :]
    left, right = H(ops, u) @ gu, vh @ H(ops, gvh)
    squares = gaps(s * s)
    core = ops.divide_or_zero(left - H(ops, left), squares) * s[..., None, :]
    core = core + s[..., None] * ops.divide_or_zero(right - H(ops, right), squares) + on_diagonal(ops, gs)
    if ops.is_complex_array(u):
        without_phase(ops, diagonal(ops, left) + diagonal(ops, right), "svd_backward")
        # as in torch both vectors turn, each by half of the angle
        angle = ops.imag(diagonal(ops, left) - diagonal(ops, right))
        core = core + 1j * on_diagonal(ops, ops.divide_or_zero(0.5 * angle, s))
    result = u @ core @ vh
    if rows > k:
        result = result + ops.divide_or_zero(gu - u @ left, s[..., None, :]) @ vh
    if columns > k:
        result = result + u @ ops.divide_or_zero(gvh - H(ops, right) @ vh, s[..., None])
    return result


_QR_MODES = ("reduced", "r", "complete")


def _check_qr(A, mode):
    if mode not in _QR_MODES:
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix("linalg.qr", A._array)
    check_inexact("linalg.qr", A._array)


@general(
    core="(m,n)->(m,k),(k,n)",
    outputs=("Q", "R"),
    method=False,
    function=False,
    shown={"A_shape": None},
    check=_check_qr,
)
def linalg_qr(xp, A: Array, mode="reduced"):
    """A = Q R with orthonormal columns of Q and upper triangular R.

    Walter and Lehmann (2018), "Algorithmic differentiation of linear algebra functions"; Roberts and Roberts (2020)
    for wide matrices.
    """
    if mode == "r":
        return xp.zeros((0,), dtype=A.dtype), xp.linalg.qr(A, mode="r")
    return xp.linalg.qr(A, mode=mode)


@linalg_qr.vjp("A")
def _(ops, g, y0, y1, A_shape, mode):
    rows, columns = A_shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    gq, gr = g[0], ops.triu(g[1])
    if rows >= columns:
        return _tall_qr(ops, gq, gr, y0, y1)
    # the columns behind the square part are Q times theirs in R
    square_part = _tall_qr(ops, gq + y0 @ (y1[..., rows:] @ H(ops, gr[..., rows:])), gr[..., :rows], y0, y1[..., :rows])
    return ops.cat([square_part, y0 @ gr[..., rows:]], len(A_shape) - 1)


def _tall_qr(ops, gq, gr, q, r):
    inner = r @ H(ops, gr) - H(ops, gq) @ q
    lower = ops.tril(inner, -1)
    mirrored = lower + H(ops, lower) + on_diagonal(ops, ops.real(diagonal(ops, inner)))
    return H(ops, ops.linalg_solve_triangular(r, H(ops, gq + q @ mirrored), upper=True))


# functions of matrices ----------------------------------------------------------------------------------------------


@general(core="(n,n)->(n,n)", method=False, function=False, shown={"A": "self"}, check=square("linalg.matrix_exp"))
def linalg_matrix_exp(xp, A: Array):
    """The matrix exponential.

    Mathias (1996): the derivative in direction E is the upper right block of exp([[A, E], [0, A]]).
    """
    return xp.expm(A)


def _exp_derivative(ops, A, direction):
    n = A.shape[-1]
    above = ops.cat([A, direction], A.ndim - 1)
    below = ops.cat([ops.zeros_like(A), A], A.ndim - 1)
    return ops.linalg_matrix_exp(ops.cat([above, below], A.ndim - 2))[..., :n, n:]


@linalg_matrix_exp.vjp("A")
def _(ops, g, A):
    return _exp_derivative(ops, H(ops, A), g)


@linalg_matrix_exp.jvp("A")
def _(ops, t, A):
    return _exp_derivative(ops, A, t)
