"""Factorizations in LAPACK's packed forms: LU with pivots, Cholesky that may fail, LDL, Householder reflectors."""

from adjoint.arrays.shapes import broadcast_shapes

from .contract import shape_text
from .declare import Array, Constant, constant, general
from .linalg import H, check_square, cholesky_jvp, cholesky_vjp, is_singular, solution_by_pivots

# LU -----------------------------------------------------------------------------------------------------------------


@constant(method=False, function=False, core="(k)->(m)")
def lu_order(xp, pivots: Constant, rows, inverse=False):
    """The order of A's rows in L U: A[order] = L U; or the order of the rows of L U in A."""
    return xp.order_of_pivots(pivots, rows, inverse)


def in_order(ops, x, order):
    """The rows of matrices in another order; batches broadcast."""
    shape = (*broadcast_shapes(order.shape[:-1], x.shape[:-2]), *x.shape[-2:])
    return ops.gather(ops.expand(x, shape), len(shape) - 2, ops.expand(order[..., None], shape))


def _check_lu(A, pivot):
    array = A._array
    if array.ndim < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {shape_text(array.shape)} instead"
        )
    if not pivot and array.size:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@general(
    core="(m,n)->(m,n),(k),()",
    outputs=("LU", "pivots", "info"),
    differentiable=(True, False, False),
    method=False,
    function=False,
    check=_check_lu,
)
def linalg_lu_factor_ex(xp, A: Array, pivot=True):
    """L (below the diagonal) and U of A = P L U in one matrix, the pivots, and which pivot is 0 (counted from 1).

    Walter and Lehmann (2018), "Algorithmic differentiation of linear algebra functions".
    """
    return xp.lu_factor(A)


def unit_lower(ops, lu):
    """L from the packed form: (m, k)."""
    rows, columns = lu.shape[-2:]
    k = min(rows, columns)
    return ops.tril(lu[..., :k], -1) + ops.identity(lu, rows, k)


def upper(ops, lu):
    """U from the packed form: (k, n)."""
    return ops.triu(lu[..., : min(lu.shape[-2:]), :])


def _by_lower(ops, square, x, turned=False):
    """L^-1 x, or H(L)^-1 x, for the square part of the packed form."""
    triangle = H(ops, square) if turned else square
    return ops.linalg_solve_triangular(triangle, x, upper=turned, unitriangular=True)


def _by_upper(ops, square, x, turned=False):
    """x U^-1, or x H(U)^-1."""
    triangle = square if turned else H(ops, square)
    return H(ops, ops.linalg_solve_triangular(triangle, H(ops, x), upper=turned))


@linalg_lu_factor_ex.vjp("A")
def _(ops, g, y0, y1):
    g = g[0]
    rows, columns = y0.shape[-2:]
    k = min(rows, columns)
    square = y0[..., :k, :k]
    of_lower, of_upper = ops.tril(g[..., :k], -1), ops.triu(g[..., :k, :])
    lower, over = unit_lower(ops, y0), upper(ops, y0)
    below = H(ops, lower[..., :k, :]) @ of_lower[..., :k, :]
    above = of_upper[..., :k] @ H(ops, over[..., :k])
    if columns > k:
        below = below - of_upper[..., k:] @ H(ops, over[..., k:])
    if rows > k:
        above = above - H(ops, lower[..., k:, :]) @ of_lower[..., k:, :]
    inner = ops.tril(below, -1) + ops.triu(above)
    if rows > k:
        inner = ops.cat([inner, of_lower[..., k:, :]], inner.ndim - 2)
    inner = _by_upper(ops, square, inner, turned=True)
    if columns > k:
        inner = ops.cat([inner, of_upper[..., k:]], inner.ndim - 1)
    top = _by_lower(ops, square, inner[..., :k, :], turned=True)
    whole = ops.cat([top, inner[..., k:, :]], inner.ndim - 2) if rows > k else top
    return in_order(ops, whole, ops.lu_order(y1, rows, True))


@linalg_lu_factor_ex.jvp("A")
def _(ops, t, y0, y1):
    rows, columns = y0.shape[-2:]
    k = min(rows, columns)
    square = y0[..., :k, :k]
    t = in_order(ops, t, ops.lu_order(y1, rows))
    left = _by_lower(ops, square, t[..., :k, :])
    inner = _by_upper(ops, square, left[..., :k])
    below, above = ops.tril(inner, -1), ops.triu(inner)
    lower, over = unit_lower(ops, y0), upper(ops, y0)
    tangent = lower[..., :k, :] @ below + above @ over[..., :k]
    if columns > k:
        tangent = ops.cat([tangent, left[..., k:] - below @ over[..., k:]], tangent.ndim - 1)
    if rows > k:
        low = _by_upper(ops, square, t[..., k:, :]) - lower[..., k:, :] @ above
        tangent = ops.cat([tangent, low], tangent.ndim - 2)
    return tangent, None, None


@constant(method=False, function=False, core="(m,n),(k)->(m,m)")
def lu_permutation(xp, LU: Constant, pivots: Constant):
    """P of A = P L U."""
    rows = LU.shape[-2]
    order = xp.order_of_pivots(pivots, rows, True)
    shape = (*broadcast_shapes(LU.shape[:-2], order.shape[:-1]), rows, rows)
    return xp.broadcast_to(xp.eye(rows, dtype=LU.dtype)[order], shape)


# solutions and Cholesky factors, where there may be none --------------------------------------------------------------


@general(
    core="(n,n),(n,k)->(n,k),()",
    outputs=("result", "info"),
    differentiable=(True, False),
    method=False,
    function=False,
)
def linalg_solve_ex(xp, A: Array, B: Array):
    """linalg_solve, and which pivot is zero (0: none); the solution is infinite or undefined there."""
    batch = broadcast_shapes(A.shape[:-2], B.shape[:-2])
    try:
        return xp.linalg.solve(A, B), xp.zeros(batch, dtype=xp.int32)
    except Exception as error:
        if not is_singular(error):
            raise
    return solution_by_pivots(xp, A, B)


@linalg_solve_ex.vjp("A", "B")
def _(ops, g, A, y0, needs):
    of_b = ops.linalg_solve_ex(H(ops, A), g[0])[0]
    return (-(of_b @ H(ops, y0)) if needs[0] else None), of_b


@linalg_solve_ex.jvp("A")
def _(ops, t, A, y0):
    return -ops.linalg_solve_ex(A, t @ y0)[0], None


@linalg_solve_ex.jvp("B")
def _(ops, t, A):
    return ops.linalg_solve_ex(A, t)[0], None


@general(
    core="(n,n)->(n,n),()",
    outputs=("L", "info"),
    differentiable=(True, False),
    method=False,
    function=False,
    shown={"y0": "L"},
    check=lambda A, upper: check_square("linalg.cholesky", A._array),
)
def linalg_cholesky_ex(xp, A: Array, *, upper=False):
    """linalg_cholesky, and the order of the leading minor that is not positive (0: none) instead of an error."""
    triangle = xp.conj(xp.matrix_transpose(A)) if upper else A
    factor, info = xp.partial_cholesky(triangle)
    return (xp.conj(xp.matrix_transpose(factor)) if upper else factor), info


@linalg_cholesky_ex.vjp("A")
def _(ops, g, y0, upper):
    return cholesky_vjp(ops, g[0], y0, upper)


@linalg_cholesky_ex.jvp("A")
def _(ops, t, y0, upper):
    return cholesky_jvp(ops, t, y0, upper), None


# solutions from a Cholesky factor -------------------------------------------------------------------------------------


@constant(method=False, function=False, core="(n,n)->(n,n)")
def unread_triangle(xp, factor: Constant, upper):
    """The triangle of a Cholesky factor that the factorization does not read."""
    return xp.tril(factor, k=-1) if upper else xp.triu(factor, k=1)


def _lower_factor(ops, factor, upper):
    """The lower triangular factor; a factor of zeros has a derivative too, as in PyTorch."""
    triangle = factor - ops.unread_triangle(factor, upper)
    return H(ops, triangle) if upper else triangle


@general(core="(n,k),(n,n)->(n,k)", method=False, function=False, node="CholeskySolveBackward0")
def cholesky_solution(xp, B: Array, factor: Array, upper=False):
    """X with (L H(L)) X = B, where `factor` is L or, if upper, H(L).

    Only one triangle of the factor is read. The derivative is the derivative of (L H(L))^-1 B for any square L.
    """
    factor_h = xp.conj(xp.matrix_transpose(factor))
    lower, over = (factor_h, factor) if upper else (factor, factor_h)
    return xp.triangular_solution(over, xp.triangular_solution(lower, B, lower=True), lower=False)


@cholesky_solution.vjp("B", "factor")
def _(ops, g, factor, y, upper, needs):
    of_b = ops.cholesky_solution(g, factor, upper)
    if not needs[1]:
        return of_b, None
    of_a = of_b @ H(ops, y)
    of_lower = -((of_a + H(ops, of_a)) @ _lower_factor(ops, factor, upper))
    return of_b, H(ops, of_lower) if upper else of_lower


@cholesky_solution.jvp("B")
def _(ops, t, factor, upper):
    return ops.cholesky_solution(t, factor, upper)


@cholesky_solution.jvp("factor")
def _(ops, t, factor, y, upper):
    change = (H(ops, t) if upper else t) @ H(ops, _lower_factor(ops, factor, upper))
    return -ops.cholesky_solution((change + H(ops, change)) @ y, factor, upper)


# without derivative ---------------------------------------------------------------------------------------------------


@general(method=False, function=False, dtypes="any", batching="joint", node="NotImplemented")
def underivable(xp, input: Array, result: Constant, error):
    """The result of an operation without derivative; a request for the derivative raises the error."""
    return result


@underivable.vjp("input")
def _(error):
    raise error


@underivable.jvp("input")
def _(error):
    raise error


@general(method=False, function=False, dtypes="any", batching="joint", node="UndefinedGradBackward0")
def independent(xp, input: Array, result: Constant):
    """The result, which belongs to the graph of the input but does not depend on it: its gradient is undefined."""
    return result


@independent.vjp("input")
def _():
    return None


@independent.jvp("input")
def _(ops, y):
    return ops.zeros_like(y)


def _check_symmetric(A, hermitian):
    check_square("torch.linalg.ldl_factor_ex", A._array)


@constant(
    core="(n,n)->(n,n),(n),()",
    outputs=("LD", "pivots", "info"),
    method=False,
    function=False,
    check=_check_symmetric,
)
def linalg_ldl_factor_ex(xp, A: Array, *, hermitian=False):
    """L and D of A = L D L^T in one matrix, the pivots, and which pivot is 0 (counted from 1)."""
    return xp.ldl_factor(A, hermitian)


@constant(core="(n,n),(n),(n,k)->(n,k)", method=False, function=False)
def linalg_ldl_solve(xp, LD: Constant, pivots: Constant, B: Constant, *, hermitian=False):
    """X with A X = B from linalg_ldl_factor_ex of A."""
    return xp.ldl_solution(LD, pivots, B, hermitian)


@constant(core="(m,n)->(m,n),(k)", outputs=("a", "tau"), method=False, function=False)
def geqrf(xp, input: Array):
    """A = Q R as reflectors below the diagonal, R above it, and the reflectors' factors."""
    return xp.geqrf(input)
