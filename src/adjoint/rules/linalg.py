"""Linear algebra: solving, inverses, determinants, factorizations, functions of matrices.

Formulas after Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation"; where another source is used the rule names it. All work on the last two axes, with any
axes in front. H stands for the conjugate transpose.

Factors of a decomposition are defined only up to a sign or phase, and the formulas are right for functions that do not
depend on it. Where two eigenvalues or singular values are equal, such a function does not depend on how the vectors
turn among themselves either: the terms that would be divided by their difference are left out.
"""

from adjoint.arrays.linalg_errors import not_positive_definite, singular

from .contract import listed, long_name
from .declare import Array, general

# checks and errors ----------------------------------------------------------------------------------------------------


def check_inexact(name, array):
    """Matrices to be factorized have floating point or complex elements."""
    if array.dtype.kind in "iub":
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {long_name(array)}"
        )


def check_matrix(name, array, argument="A"):
    """Raise RuntimeError unless the array has the two axes of a matrix."""
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name, array):
    """Raise RuntimeError unless the array holds square matrices of floating point or complex numbers."""
    check_matrix(name, array)
    rows, columns = array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
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


def quotient(ops, x, divisor):
    """x / divisor, and 0 where the divisor is 0."""
    zero = divisor == 0
    return ops.where(zero, 0, x / ops.where(zero, 1, divisor))


def diagonal(ops, x):
    """The diagonals of square matrices, as vectors."""
    return ops.diagonal(x, 0, x.ndim - 2, x.ndim - 1)


def on_diagonal(ops, x):
    """Diagonal matrices with given diagonals."""
    return x[..., None] * ops.identity(x, x.shape[-1], x.shape[-1])


def without_phase(ops, x, name):
    """Refuse cotangents of complex vectors that depend on their phases: x is what must be real."""
    if ops.is_complex_array(x) and not ops.is_negligible(ops.imag(x)):
        raise RuntimeError(
            f"{name}: The {'eigenvectors' if 'eig' in name else 'singular vectors'} in the complex case are specified "
            "up to multiplication by e^{i phi}. The specified loss function depends on this "
            f"{'quantity, so it is' if 'eig' in name else 'phase term, making it'} ill-defined."
        )


@general(method=False, function=False)
def is_negligible(xp, input: Array):
    """True if all elements are zero but for rounding errors."""
    return bool(xp.all(xp.abs(input) <= 1e-2))


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


@linalg_solve.vjp("A", "B")
def _(ops, g, A, y, needs):
    of_b = ops.linalg_solve(H(ops, A), g)
    return (-(of_b @ H(ops, y)) if needs[0] else None), of_b


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


@general(core="(n,n),(n,k)->(n,k)", method=False, function=False, check=_check_solve_triangular)
def linalg_solve_triangular(xp, A: Array, B: Array, *, upper, unitriangular=False):
    """X with A X = B for triangular A; only the named triangle of A is read."""
    return xp.solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular)


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
    moved = _triangle(ops, t, upper, unitriangular) @ y
    return -ops.linalg_solve_triangular(A, moved, upper=upper, unitriangular=unitriangular)


@linalg_solve_triangular.jvp("B")
def _(ops, t, A, upper, unitriangular):
    return ops.linalg_solve_triangular(A, t, upper=upper, unitriangular=unitriangular)


# inverses -----------------------------------------------------------------------------------------------------------


def _explain_inv(error, A):
    if not is_singular(error):
        return None
    said = "The diagonal element {pivot} is zero, the inversion could not be completed because the input matrix is singular."
    return singular(A, "linalg.inv: ", said)


@general(
    core="(n,n)->(n,n)",
    method=False,
    function=False,
    node="LinalgInvExBackward0",
    check=square("linalg.inv"),
    explain=_explain_inv,
)
def linalg_inv(xp, A: Array):
    """The inverse matrix."""
    return xp.linalg.inv(A)


@general(core="(n,n)->(n,n)", method=False, function=False)
def inverse_or_inf(xp, A: Array):
    """The inverse matrix; of a singular one the limit, which has infinite or undefined elements."""
    try:
        return xp.linalg.inv(A)
    except Exception as error:
        if not is_singular(error):
            raise
    turned = xp.conj(xp.matrix_transpose(_cofactors(xp, A)))
    with xp.errstate(divide="ignore", invalid="ignore"):
        return turned / xp.linalg.det(A)[..., None, None]


for _rule in (linalg_inv, inverse_or_inf):

    @_rule.vjp("A")
    def _(ops, g, y):
        turned = H(ops, y)
        return -(turned @ g @ turned)

    @_rule.jvp("A")
    def _(t, y):
        return -(y @ t @ y)


def _check_pinv(A, rtol):
    array = A._array
    if array.ndim < 2 or array.dtype.kind in "iub":
        raise RuntimeError(
            f"linalg.pinv({long_name(array)}{{{listed(array.shape)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )


@general(core="(m,n)->(n,m)", method=False, function=False, check=_check_pinv)
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
    a, p, w = H(ops, A), H(ops, y), H(ops, g)
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
    return ops.sum(ops.conjugated(ops.cofactors(A)) * t, (t.ndim - 2, t.ndim - 1))


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
    try:
        inverse = xp.linalg.inv(A)
    except Exception as error:
        if not is_singular(error):
            raise
    else:
        condition = xp.max(xp.abs(A), axis=(-2, -1), initial=0) * xp.max(xp.abs(inverse), axis=(-2, -1), initial=0)
        if xp.all(n * condition < xp.finfo(A.dtype).eps ** -0.5):
            return xp.conj(xp.linalg.det(A)[..., None, None] * xp.matrix_transpose(inverse))
    u, s, vh = xp.linalg.svd(A)
    phase = xp.conj(xp.linalg.det(u) * xp.linalg.det(vh))[..., None]
    return (u * (phase * _products_without(xp, s))[..., None, :]) @ vh


def _products_without(xp, s):
    """For each element of a vector the product of all others."""
    one = xp.ones_like(s[..., :1])
    before = xp.cumprod(xp.concatenate([one, s[..., :-1]], axis=-1), axis=-1)
    after = xp.cumprod(xp.concatenate([one, s[..., :0:-1]], axis=-1), axis=-1)
    return before * after[..., ::-1]


def _cofactors_derivative(ops, direction, A):
    """In the bases of singular vectors the determinant's second derivative has products of all s but two."""
    u, s, vh = ops.linalg_svd(A, False)
    phase = ops.conjugated(ops.linalg_det(u) * ops.linalg_det(vh))[..., None, None]
    pairs = ops.products_without_two(s)
    e = ops.conj_transpose(ops.conj_transpose(u) @ direction @ ops.conj_transpose(vh))
    along = ops.conjugated((pairs @ diagonal(ops, e)[..., None])[..., 0])
    return phase * (u @ (on_diagonal(ops, along) - pairs * ops.transpose(ops.conjugated(H(ops, e)), -2, -1)) @ vh)
