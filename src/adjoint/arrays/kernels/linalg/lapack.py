"""Factorizations by LAPACK that array libraries lack, for each matrix of a batch in turn.

The loop over the batch is in C if there is a compiled form (see `batched_lapack.py`), else in Python.

Pivots and `info` are those of LAPACK: pivots count from 1, info is 0 for success and i > 0 if the i-th pivot (or
leading minor) ends the factorization.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy

from adjoint.arrays.kernels import batched_lapack
from adjoint.arrays.kernels.triangles import tril
from adjoint.arrays.shapes import broadcast_shapes


def _by_columns(a: Any) -> Any:
    """A copy of matrices in one stack, each as LAPACK has it: (count, columns, rows)."""
    return numpy.array(a.mT.reshape(prod(a.shape[:-2]), a.shape[-1], a.shape[-2]), order="C")


def _by_rows(columns: Any, shape: tuple[int, ...]) -> Any:
    """The way back."""
    return numpy.ascontiguousarray(columns.mT).reshape(shape)


def _routine(name: str, like: Any) -> Callable[..., Any]:
    from scipy.linalg.lapack import get_lapack_funcs

    return get_lapack_funcs((name,), (like,))[0]  # type: ignore[no-any-return]


def lu_factor(a: Any) -> tuple[Any, Any, Any]:
    """The factors of P L U = A in one matrix (the ones on the diagonal of L are not kept), pivots and info.

    >>> lu, pivots, info = lu_factor(numpy.array([[1.0, 2.0], [2.0, 5.0]]))
    >>> lu
    array([[ 2. ,  5. ],
           [ 0.5, -0.5]])
    >>> pivots, info
    (array([2, 2], dtype=int32), array(0, dtype=int32))
    """
    batch, rank = a.shape[:-2], min(a.shape[-2:])
    factors, info = a.copy(), numpy.zeros(batch, numpy.int32)
    pivots = numpy.empty((*batch, rank), numpy.int32)
    if factors.size and batched_lapack.can_do("getrf", a):
        rows, columns = a.shape[-2:]
        matrices = _by_columns(a)
        count = matrices.shape[0]
        batched_lapack.each(
            "getrf", a.dtype, count, rows, columns, matrices, rows, pivots.reshape(count, rank), info.reshape(count)
        )
        factors = _by_rows(matrices, a.shape)
    elif factors.size:
        factorize = _routine("getrf", a)
        for index in numpy.ndindex(*batch):
            factors[index], matrices, info[index] = factorize(a[index])
            pivots[index] = matrices + 1
    return factors, pivots, info


def order_of_pivots(pivots: Any, rows: int, inverse: bool) -> Any:
    """The order in which LU's exchanges leave the rows of a matrix, or the order that undoes them.

    >>> order_of_pivots(numpy.array([3, 3]), 3, inverse=False)
    array([2, 0, 1])
    """
    if pivots.ndim == 1:
        return numpy.array(_order_of_one(pivots.tolist(), rows, inverse), numpy.int64)
    exchanges = pivots.reshape(prod(pivots.shape[:-1]), pivots.shape[-1]).T - 1
    matrices = numpy.arange(exchanges.shape[1])
    order = numpy.empty((rows, len(matrices)), numpy.int64)
    order[...] = numpy.arange(rows)[:, None]
    for i, pivot in enumerate(exchanges):
        order[i], order[pivot, matrices] = order[pivot, matrices], order[i].copy()
    result = order.T.reshape((*pivots.shape[:-1], rows))
    return numpy.argsort(result, axis=-1) if inverse else result


def _order_of_one(pivots: list[int], rows: int, inverse: bool) -> list[int]:
    order = list(range(rows))
    for i, pivot in enumerate(pivots):
        order[i], order[pivot - 1] = order[pivot - 1], order[i]
    if not inverse:
        return order
    inverse_order = [0] * rows
    for i, row in enumerate(order):
        inverse_order[row] = i
    return inverse_order


def partial_cholesky(a: Any) -> tuple[Any, Any]:
    """Lower triangular L with L H(L) = A, and info; where it is not 0 the factorization stopped before that row.

    >>> partial_cholesky(numpy.array([[4.0, 0.0], [2.0, 1.0]]))[1]
    array(2, dtype=int32)
    """
    factor, info = numpy.ascontiguousarray(tril(a)), numpy.zeros(a.shape[:-2], numpy.int32)
    if a.size and batched_lapack.can_do("potrf", a):
        columns, n = _by_columns(factor), a.shape[-1]
        count = columns.shape[0]
        batched_lapack.each("potrf", a.dtype, count, b"L", n, columns, n, info.reshape(count))
        factor = _by_rows(columns, a.shape)
    elif a.size:
        factorize = _routine("potrf", a)
        for index in numpy.ndindex(*info.shape):
            factor[index], info[index] = factorize(a[index], lower=True, clean=True)
    return factor, info


def ldl_factor(a: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """L and the block-diagonal D of A = L D L^T (or L D H(L)) in one matrix, pivots and info, by Bunch and Kaufman.

    Two equal negative pivots mark a block of two rows. Only the lower triangle of A is read.
    """
    factors, info = tril(a), numpy.zeros(a.shape[:-2], numpy.int32)
    pivots = numpy.empty(a.shape[:-1], numpy.int32)
    if a.size:
        name = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
        n = a.shape[-1]
        size = int(_routine(f"{name}_lwork", a)(n, lower=True)[0].real)
        if batched_lapack.can_do(name, a):
            columns, work = _by_columns(factors), numpy.empty((1, size), a.dtype)
            count = columns.shape[0]
            pivot_rows = pivots.reshape(count, n)
            batched_lapack.each(name, a.dtype, count, b"L", n, columns, n, pivot_rows, work, size, info.reshape(count))
            return tril(_by_rows(columns, a.shape)), pivots, info
        factorize = _routine(name, a)
        for index in numpy.ndindex(*info.shape):
            columns, pivots[index], info[index] = factorize(a[index], lower=True, lwork=size)
            factors[index] = tril(columns)
    return factors, pivots, info


def ldl_solution(factors: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """X with A X = B, from the factors of A; batches broadcast."""
    batch = numpy.broadcast_shapes(factors.shape[:-2], pivots.shape[:-1], b.shape[:-2])
    factors = numpy.broadcast_to(factors, batch + factors.shape[-2:])
    pivots = numpy.broadcast_to(pivots, batch + pivots.shape[-1:])
    result = numpy.array(numpy.broadcast_to(b, batch + b.shape[-2:]))
    for index in numpy.ndindex(*batch):
        _solve_one(factors[index], pivots[index], result[index], hermitian and b.dtype.kind == "c")
    return result


def _solve_one(factors: Any, pivots: Any, b: Any, hermitian: bool) -> None:
    # A = L D L^T is a product of interchanges and columns, undone one by one: down with L and D, up with L^T
    turned = numpy.conj if hermitian else numpy.asarray
    blocks = []
    k = 0
    while k < len(pivots):
        size = 1 if pivots[k] > 0 else 2
        blocks.append((k, size, abs(int(pivots[k])) - 1))
        k += size
    for k, size, pivot in blocks:
        end = k + size
        _swap_rows(b, end - 1, pivot)
        b[end:] -= factors[end:, k:end] @ b[k:end]
        block = factors[k:end, k:end].copy()
        if size == 2:
            block[0, 1] = turned(block[1, 0])
        with numpy.errstate(all="ignore"):
            b[k:end] = numpy.linalg.solve(block, b[k:end]) if size == 2 else b[k:end] / block
    for k, size, pivot in reversed(blocks):
        end = k + size
        b[k:end] -= turned(factors[end:, k:end].T) @ b[end:]
        _swap_rows(b, end - 1, pivot)


def _swap_rows(b: Any, i: int, j: int) -> None:
    if i != j:
        b[[i, j]] = b[[j, i]]


def geqrf(a: Any) -> tuple[Any, Any]:
    """The reflectors of A = Q R below the diagonal (their ones on it are not kept), R above, and the factors tau."""
    batch, rank = a.shape[:-2], min(a.shape[-2:])
    factors, tau = a.copy(), numpy.zeros((*batch, rank), a.dtype)
    if a.size:
        size = int(_routine("geqrf_lwork", a)(*a.shape[-2:])[0].real)
        if batched_lapack.can_do("geqrf", a):
            rows, columns = a.shape[-2:]
            matrices, work = _by_columns(a), numpy.empty((1, size), a.dtype)
            count = matrices.shape[0]
            information = numpy.empty((1, 1), numpy.intc)
            shared = tau.reshape(count, rank)
            batched_lapack.each("geqrf", a.dtype, count, rows, columns, matrices, rows, shared, work, size, information)
            return _by_rows(matrices, a.shape), tau
        factorize = _routine("geqrf", a)
        for index in numpy.ndindex(*batch):
            factors[index], tau[index], _, _ = factorize(a[index], lwork=size)
    return factors, tau


def triangular_solution(a: Any, b: Any, *, lower: bool, unit_diagonal: bool = False) -> Any:
    """x with a @ x = b for triangular a, batched over leading axes; only the named triangle of a is read.

    A zero on the diagonal gives infinite or undefined elements, as division does.

    >>> triangular_solution(numpy.array([[2.0, 7.0], [0.0, 4.0]]), numpy.array([[9.0], [4.0]]), lower=False)
    array([[1.],
           [1.]])
    """
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape, kind = batch + b.shape[-2:], a.dtype if a.dtype is b.dtype else numpy.result_type(a, b)
    if 0 in shape:
        return numpy.empty(shape, kind)
    if batched_lapack.serves("trsm", kind):
        return _triangular_solutions(a.astype(kind, copy=False), b, shape, lower, unit_diagonal)
    from scipy.linalg.blas import get_blas_funcs

    result = numpy.empty(shape, kind)
    (trsm,) = get_blas_funcs(("trsm",), (a, b))
    # BLAS reads columns: a row-major array is its transpose there, and needs no copy
    turned = numpy.matrix_transpose(numpy.broadcast_to(a, batch + a.shape[-2:]))
    sides = numpy.broadcast_to(b, result.shape)
    for index in numpy.ndindex(*batch):
        result[index] = trsm(1, turned[index], sides[index], lower=not lower, trans_a=1, diag=unit_diagonal)
    return result


def _triangular_solutions(a: Any, b: Any, shape: tuple[int, ...], lower: bool, unit_diagonal: bool) -> Any:
    # by columns, as BLAS reads them, rows of x are x.T: x.T @ a.T = b.T, solved in the place of b
    result = numpy.array(b if b.shape == shape else numpy.broadcast_to(b, shape), a.dtype, order="C")
    count, n, columns = prod(shape[:-2]), *shape[-2:]
    if a.size != count * n * n:
        a = a.reshape(1, n, n) if a.size == n * n else numpy.broadcast_to(a, (*shape[:-2], n, n))
    turned = not a.flags.c_contiguous and a.mT.flags.c_contiguous
    matrices = numpy.ascontiguousarray(a.mT if turned else a).reshape(-1, n, n)
    triangle, form = b"L" if turned == lower else b"U", b"T" if turned else b"N"
    diagonal, one = b"U" if unit_diagonal else b"N", numpy.array(1, a.dtype)
    batched_lapack.each(
        "trsm", a.dtype, count, b"R", triangle, form, diagonal, columns, n, one, matrices, n,
        result.reshape(count, n, columns), columns,
    )  # fmt: skip
    return result
