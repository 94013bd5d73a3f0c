"""Matrix equations and functions of matrices: of Sylvester, Stein, Riccati, banded systems, roots, logarithms.

H is the conjugate transpose.
"""

from .declare import Array, general
from .linalg import H, check_matrix, check_square

# Sylvester's equation -------------------------------------------------------------------------------------------------


def _check_sylvester(A, B, Q):
    check_square("solve_sylvester", A._array)
    check_square("solve_sylvester", B._array)
    check_matrix("solve_sylvester", Q._array, "Q")
    rows, columns = A._array.shape[-1], B._array.shape[-1]
    if Q._array.shape[-2:] != (rows, columns):
        raise RuntimeError(
            f"solve_sylvester: Q must be {rows} by {columns} as A and B are, but it is "
            f"{' by '.join(map(str, Q._array.shape[-2:]))}"
        )


@general(core="(m,m),(n,n),(m,n)->(m,n)", method=False, function=False, check=_check_sylvester)
def sylvester(xp, A: Array, B: Array, Q: Array):
    """X with A X + X B = Q."""
    return xp.solve_sylvester(A, B, Q)


@sylvester.vjp("A", "B", "Q")
def _(ops, g, A, B, y, needs):
    of_q = ops.sylvester(H(ops, A), H(ops, B), g)
    return (
        -(of_q @ H(ops, y)) if needs[0] else None,
        -(H(ops, y) @ of_q) if needs[1] else None,
        of_q,
    )


@sylvester.jvp("A")
def _(ops, t, A, B, y):
    return -ops.sylvester(A, B, t @ y)


@sylvester.jvp("B")
def _(ops, t, A, B, y):
    return -ops.sylvester(A, B, y @ t)


@sylvester.jvp("Q")
def _(ops, t, A, B):
    return ops.sylvester(A, B, t)


# Stein's equation, which is Lyapunov's in discrete time --------------------------------------------------------------


def _check_stein(A, Q):
    check_square("solve_discrete_lyapunov", A._array)
    if Q._array.shape[-2:] != A._array.shape[-2:]:
        raise RuntimeError(
            "solve_discrete_lyapunov: Q must have the shape of A, but they are "
            f"{' by '.join(map(str, Q._array.shape[-2:]))} and {' by '.join(map(str, A._array.shape[-2:]))}"
        )


@general(core="(n,n),(n,n)->(n,n)", method=False, function=False, check=_check_stein)
def stein(xp, A: Array, Q: Array):
    """X with A X H(A) - X + Q = 0."""
    return xp.solve_stein(A, Q)


@stein.vjp("A", "Q")
def _(ops, g, A, y, needs):
    of_q = ops.stein(H(ops, A), g)
    of_a = of_q @ A @ H(ops, y) + H(ops, of_q) @ A @ y if needs[0] else None
    return of_a, of_q


@stein.jvp("A")
def _(ops, t, A, y):
    return ops.stein(A, t @ y @ H(ops, A) + A @ y @ H(ops, t))


@stein.jvp("Q")
def _(ops, t, A):
    return ops.stein(A, t)


# Riccati's equation ---------------------------------------------------------------------------------------------------
# H(A) X + X A - X B inv(R) H(B) X + Q = 0, in discrete time H(A) X A - X - H(K) (R + H(B) X B) K + Q = 0, with the gain
# K = inv(R) H(B) X, or inv(R + H(B) X B) H(B) X A. If the left side changes by D, X changes by the solution of
# Lyapunov's equation for the closed loop A - B K and D, because changes of K cancel (Kleinman's theorem).


def _check_riccati(A, B, Q, R, discrete):
    check_square("riccati", A._array)
    n, m = A._array.shape[-1], B._array.shape[-1]
    for name, matrix, shape in (("B", B, (n, m)), ("Q", Q, (n, n)), ("R", R, (m, m))):
        if matrix._array.shape[-2:] != shape:
            raise RuntimeError(
                f"riccati: {name} must be {shape[0]} by {shape[1]} as A and B are, but it is "
                f"{' by '.join(map(str, matrix._array.shape[-2:]))}"
            )


@general(core="(n,n),(n,m),(n,n),(m,m)->(n,n)", method=False, function=False, check=_check_riccati)
def riccati(xp, A: Array, B: Array, Q: Array, R: Array, discrete=False):
    """The stabilizing solution of Riccati's equation for the Hermitian parts of Q and R."""
    return xp.solve_riccati(A, B, _hermitian_part(xp, Q), _hermitian_part(xp, R), discrete)


def _hermitian_part(xp, a):
    return 0.5 * (a + xp.conj(xp.swapaxes(a, -2, -1)))


def _hermitian(ops, a):
    return 0.5 * (a + H(ops, a))


def _closed_loop(ops, A, B, R, x, discrete):
    """The gain, the matrix of the closed loop, and X times that matrix in discrete time, X otherwise."""
    R = _hermitian(ops, R)
    product = H(ops, B) @ x
    gain = ops.linalg_solve(R + product @ B, product @ A) if discrete else ops.linalg_solve(R, product)
    closed = A - B @ gain
    return gain, closed, (x @ closed if discrete else x)


def _lyapunov(ops, A, Q, discrete):
    """X with A X + X H(A) + Q = 0, or A X H(A) - X + Q = 0."""
    return ops.stein(A, Q) if discrete else -ops.sylvester(A, H(ops, A), Q)


@riccati.vjp("A", "B", "Q", "R")
def _(ops, g, A, B, R, y, discrete, needs):
    gain, closed, factor = _closed_loop(ops, A, B, R, y, discrete)
    of_q = _lyapunov(ops, closed, _hermitian(ops, g), discrete)
    of_a = 2 * factor @ of_q
    half = of_q @ H(ops, gain)
    return of_a, (-2 * factor @ half if needs[1] else None), of_q, (gain @ half if needs[3] else None)


def _riccati_jvp(change):
    """The jvp for one input, from the change of the left side along its tangent."""

    def formula(ops, t, A, B, R, y, discrete):
        gain, closed, factor = _closed_loop(ops, A, B, R, y, discrete)
        change_of_left = _hermitian(ops, change(ops, t, gain, factor))
        return _lyapunov(ops, H(ops, closed), change_of_left, discrete)

    return formula


riccati.jvp("A")(_riccati_jvp(lambda ops, t, gain, factor: 2 * H(ops, t) @ factor))
riccati.jvp("B")(_riccati_jvp(lambda ops, t, gain, factor: -2 * H(ops, t @ gain) @ factor))
riccati.jvp("Q")(_riccati_jvp(lambda ops, t, gain, factor: t))
riccati.jvp("R")(_riccati_jvp(lambda ops, t, gain, factor: H(ops, gain) @ _hermitian(ops, t) @ gain))


# banded systems -----------------------------------------------------------------------------------------------------
# Row r of the stored matrix is the diagonal whose row numbers exceed the column numbers by r - u: its element j is A[j
# + r - u, j]. Elements outside of A are never read.


def _check_banded(ab, b, lower, upper):
    rows, n = ab._array.shape[-2:]
    if rows != lower + upper + 1:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) does not equal "
            f"ab.shape[0] ({rows})"
        )
    if b._array.shape[-2] != n:
        raise ValueError(f"shapes of ab {ab._array.shape} and b {b._array.shape} are not compatible")


@general(core="(d,n),(n,m)->(n,m)", method=False, function=False, check=_check_banded)
def banded_solution(xp, ab: Array, b: Array, lower, upper):
    """x with A x = b for a matrix A with few diagonals, stored as scipy.linalg.solve_banded has it."""
    return xp.solve_banded((lower, upper), ab, b)


def _banded_adjoint(ops, ab, lower, upper):
    """The conjugate transpose, stored alike: the diagonals in reverse order, each moved along."""
    last = ab.ndim - 1
    rows = [ops.roll(ab[..., r : r + 1, :], (r - upper,), (last,)) for r in range(lower + upper, -1, -1)]
    return ops.conjugate(ops.cat(rows, last - 1))


def _banded_product(ops, ab, x, lower, upper):
    """A x."""
    n = x.shape[-2]
    total = 0 * x
    for r in range(lower + upper + 1):
        d = r - upper
        if abs(d) < n:
            first, last = max(0, -d), n - max(0, d)
            part = ab[..., r, first:last][..., None] * x[..., first:last, :]
            total = total + ops.constant_pad_nd(part, (0, 0, first + d, n - last - d))
    return total


def _banded_outer(ops, v, x, lower, upper):
    """The stored part of v H(x)."""
    n, columns = x.shape[-2], (x.ndim - 1,)
    rows = []
    for r in range(lower + upper + 1):
        d = r - upper
        first, last = min(max(0, -d), n), max(n - max(0, d), 0)
        if first >= last:
            rows.append(0 * ops.sum(x, columns))
            continue
        diagonal = ops.sum(v[..., first + d : last + d, :] * ops.conjugate(x[..., first:last, :]), columns)
        rows.append(ops.constant_pad_nd(diagonal, (first, n - last)))
    return ops.stack(rows, x.ndim - 2)


@banded_solution.vjp("ab", "b")
def _(ops, g, ab, y, lower, upper, needs):
    of_b = ops.banded_solution(_banded_adjoint(ops, ab, lower, upper), g, upper, lower)
    return (-_banded_outer(ops, of_b, y, lower, upper) if needs[0] else None), of_b


@banded_solution.jvp("ab")
def _(ops, t, ab, y, lower, upper):
    return -ops.banded_solution(ab, _banded_product(ops, t, y, lower, upper), lower, upper)


@banded_solution.jvp("b")
def _(ops, t, ab, lower, upper):
    return ops.banded_solution(ab, t, lower, upper)


# functions of matrices ------------------------------------------------------------------------------------------------


def _check_function(A, name, power):
    check_square(name, A._array)


@general(core="(n,n)->(n,n)", method=False, function=False, check=_check_function)
def matrix_function(xp, A: Array, name, power=None):
    """A function of a matrix, by its name in scipy.linalg: sqrtm, logm, signm, or fractional_matrix_power.

    Mathias (1996): the derivative in direction E is the upper right block of f([[A, E], [0, A]]).
    """
    return xp.matrix_function(A, name, power)


def _derivative(ops, A, direction, name, power):
    n = A.shape[-1]
    above = ops.cat([A, direction], A.ndim - 1)
    below = ops.cat([ops.zeros_like(A), A], A.ndim - 1)
    return ops.matrix_function(ops.cat([above, below], A.ndim - 2), name, power)[..., :n, n:]


@matrix_function.vjp("A")
def _(ops, g, A, name, power):
    # Higham (2008), "Functions of matrices", 3.2; a real matrix may have a complex root
    return H(ops, _derivative(ops, A + ops.zeros_like(g), H(ops, g), name, power))


@matrix_function.jvp("A")
def _(ops, t, A, name, power):
    return _derivative(ops, A, t, name, power)
