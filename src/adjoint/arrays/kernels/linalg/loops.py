"""NumPy's loops of LAPACK on plain matrices of double precision, without the Python code around them.

For a small matrix that code takes as long as LAPACK. Each function here takes the arguments of NumPy's function of its
name. It returns None where that has to do it: for other arrays, and where a factorization fails, which NumPy reports.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy

from adjoint.arrays.kernels.triangles import triu

#: NumPy's module of the loops, whose name it does not promise.
_loops: Any = getattr(numpy.linalg, "_umath_linalg", None)
_FLOAT64 = numpy.dtype(numpy.float64)


def _is_plain(matrices: Any) -> bool:
    return type(matrices) is numpy.ndarray and matrices.dtype is _FLOAT64 and matrices.ndim > 1 and matrices.size > 0


def _by_loops(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function of plain matrices that runs loops; it gives None where one fails."""
    strict = numpy.errstate(invalid="raise", over="ignore", divide="ignore", under="ignore")(run)

    @wraps(run)
    def call(a: Any, *args: Any, **options: Any) -> Any:
        try:
            return strict(a, *args, **options) if _is_plain(a) else None
        except (FloatingPointError, AttributeError):
            # a matrix without this factorization, or another version of NumPy
            return None

    return call


@_by_loops
def cholesky(a: Any) -> Any:
    """numpy.linalg.cholesky.

    >>> factor = cholesky(numpy.array([[4.0, 0.0], [2.0, 2.0]]))
    >>> factor is None or factor.tolist() == [[2.0, 0.0], [1.0, 1.0]]
    True
    """
    return _loops.cholesky_lo(a, signature="d->d") if a.shape[-1] == a.shape[-2] else None


@_by_loops
def eigh(a: Any, UPLO: str = "L") -> Any:
    """numpy.linalg.eigh."""
    if a.shape[-1] != a.shape[-2] or UPLO not in ("L", "U"):
        return None
    return (_loops.eigh_lo if UPLO == "L" else _loops.eigh_up)(a, signature="d->dd")


@_by_loops
def svd(a: Any, full_matrices: bool = True) -> Any:
    """numpy.linalg.svd with both kinds of vectors."""
    return (_loops.svd_f if full_matrices else _loops.svd_s)(a, signature="d->ddd")


@_by_loops
def qr(a: Any, mode: str = "reduced") -> Any:
    """numpy.linalg.qr with both factors."""
    if mode not in ("reduced", "complete"):
        return None
    rows, columns = a.shape[-2:]
    is_complete = mode == "complete" and rows > columns
    factors = a.copy()
    tau = _loops.qr_r_raw(factors, signature="d->d")
    q = (_loops.qr_complete if is_complete else _loops.qr_reduced)(factors, tau, signature="dd->d")
    return q, triu(factors[..., : rows if is_complete else min(rows, columns), :])
