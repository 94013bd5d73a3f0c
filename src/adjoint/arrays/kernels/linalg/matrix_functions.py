"""Matrix equations and functions of matrices by SciPy, one matrix of a batch after the other."""

from typing import Any

import numpy


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """x with a @ x + x @ b = q.

    >>> solve_sylvester(numpy.array([[2.0]]), numpy.array([[1.0]]), numpy.array([[6.0]]))
    array([[2.]])
    """
    from scipy.linalg import solve_sylvester as solution

    return _one_by_one(solution, q, a, b, q)


def solve_stein(a: Any, q: Any) -> Any:
    """x with a @ x @ a^H - x + q = 0.

    >>> solve_stein(numpy.array([[0.5]]), numpy.array([[3.0]]))
    array([[4.]])
    """
    from scipy.linalg import solve_discrete_lyapunov as solution

    return _one_by_one(solution, q, a, q)


def solve_riccati(a: Any, b: Any, q: Any, r: Any, discrete: bool) -> Any:
    """The stabilizing solution of Riccati's equation, continuous or discrete in time, for Hermitian q and r.

    >>> solve_riccati(*[numpy.array([[x]]) for x in (0.0, 1.0, 4.0, 1.0)], False)
    array([[2.]])
    """
    import scipy.linalg

    solution = scipy.linalg.solve_discrete_are if discrete else scipy.linalg.solve_continuous_are
    return _one_by_one(solution, q, a, b, q, r)


def _one_by_one(solution: Any, like: Any, *operands: Any) -> Any:
    """A function applied to each matrix of batches; its results are matrices of the shape of one batch."""
    batch = numpy.broadcast_shapes(*[x.shape[:-2] for x in operands])
    spread = [numpy.broadcast_to(x, batch + x.shape[-2:]) for x in operands]
    result = numpy.empty(batch + like.shape[-2:], numpy.result_type(*operands))
    for index in numpy.ndindex(*batch if result.size else (0,)):
        result[index] = solution(*[x[index] for x in spread])
    return result


def solve_banded(diagonals: tuple[int, int], ab: Any, b: Any) -> Any:
    """x with A x = b, where ab holds the diagonals of A.

    >>> solve_banded((0, 0), numpy.array([[2.0, 4.0]]), numpy.array([[2.0], [2.0]]))
    array([[1. ],
           [0.5]])
    """
    from scipy.linalg import solve_banded as solution

    batch = numpy.broadcast_shapes(ab.shape[:-2], b.shape[:-2])
    ab, b = [numpy.broadcast_to(x, batch + x.shape[-2:]) for x in (ab, b)]
    result = numpy.empty(b.shape, numpy.result_type(ab, b))
    for index in numpy.ndindex(*batch if b.size else (0,)):
        result[index] = solution(diagonals, ab[index], b[index], check_finite=False)
    return result


def matrix_function(a: Any, name: str, power: float | None = None) -> Any:
    """A function of square matrices by its name in scipy.linalg; complex where that of one of them is.

    >>> matrix_function(numpy.diag([4.0, 9.0]), "sqrtm")
    array([[2., 0.],
           [0., 3.]])
    """
    import scipy.linalg

    if not a.size:
        return a.copy()
    function = getattr(scipy.linalg, name)
    parameters = () if power is None else (power,)
    matrices = [function(a[index], *parameters) for index in numpy.ndindex(*a.shape[:-2])]
    result = numpy.stack(matrices).reshape(a.shape)
    single = a.dtype in (numpy.float32, numpy.complex64)
    if result.dtype.kind == "c" and a.dtype.kind != "c" and not result.imag.any():
        result = result.real
    kind = ("c8" if single else "c16") if result.dtype.kind == "c" else ("f4" if single else "f8")
    return result.astype(kind, copy=False)
