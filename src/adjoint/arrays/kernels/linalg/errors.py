"""Errors of linear algebra for unsuitable matrices, in torch's words."""

from typing import Any

import numpy


class LinAlgError(RuntimeError, numpy.linalg.LinAlgError):
    """A matrix is singular or not positive definite where an operation needs that.

    It is torch.linalg.LinAlgError under its own name, a RuntimeError, and a numpy.linalg.LinAlgError.

    >>> import adjoint
    >>> try:
    ...     adjoint.linalg.inv(adjoint.zeros(2, 2))
    ... except adjoint.linalg.LinAlgError as error:
    ...     print(type(error).__name__)
    LinAlgError
    """


def _in_batch(index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    return f"(Batch element {int(numpy.ravel_multi_index(index, shape))}): " if shape else ""


def singular_pivot(matrix: Any) -> int | None:
    """The zero pivot (from 1) of the LU decomposition of a square matrix; None if the matrix is regular.

    >>> singular_pivot(numpy.array([[1.0, 2.0], [2.0, 4.0]]))
    2
    """
    from scipy.linalg import lu

    pivots = numpy.diagonal(lu(matrix, p_indices=True)[2])
    zeros = numpy.flatnonzero(pivots == 0)
    return int(zeros[0]) + 1 if zeros.size else None


def singular(matrices: Any, subject: str, problem: str) -> LinAlgError:
    """The error for a batch of matrices with one that LAPACK calls singular.

    subject: the start of torch's message, such as "linalg.inv: ". problem: the rest, with {pivot} for the first zero
    pivot.
    """
    batch = matrices.shape[:-2]
    index, pivot = (0,) * len(batch), matrices.shape[-1]
    for candidate in numpy.ndindex(*batch):
        zero_pivot = singular_pivot(numpy.asarray(matrices[candidate]))
        if zero_pivot is not None:
            index, pivot = candidate, zero_pivot
            break
    return LinAlgError(f"{subject}{_in_batch(index, batch)}{problem.format(pivot=pivot)}")


def indefinite_minor(matrix: Any, upper: bool) -> int | None:
    """The order of the first leading minor that is not positive; None for a positive-definite matrix.

    >>> indefinite_minor(numpy.array([[1.0, 0.0], [0.0, -1.0]]), upper=False)
    2
    """
    from scipy.linalg.lapack import get_lapack_funcs

    (factorize,) = get_lapack_funcs(("potrf",), (matrix,))
    info = factorize(matrix, lower=not upper)[1]
    return int(info) if info > 0 else None


def not_positive_definite(matrices: Any, upper: bool, subject: str = "linalg.cholesky: ") -> LinAlgError:
    """The error for a batch with a matrix that is not positive-definite."""
    batch = matrices.shape[:-2]
    index, order = (0,) * len(batch), 1
    for candidate in numpy.ndindex(*batch):
        minor = indefinite_minor(numpy.asarray(matrices[candidate]), upper)
        if minor is not None:
            index, order = candidate, minor
            break
    return LinAlgError(
        f"{subject}{_in_batch(index, batch)}The factorization could not be completed because the input is not "
        f"positive-definite (the leading minor of order {order} is not positive-definite)."
    )


def not_converged(matrices: Any, function: str, values: str) -> LinAlgError:
    """The error for a batch of matrices whose eigenvalues or singular values did not converge."""
    batch = matrices.shape[:-2]
    undefined = ~numpy.isfinite(matrices).all((-2, -1))
    if undefined.any():
        index = tuple([int(i) for i in numpy.argwhere(undefined)[0]])
        why = "contained non-finite values."
    else:
        index, why = (0,) * len(batch), f"is ill-conditioned or has too many repeated {values}."
    return LinAlgError(
        f"{function}: {_in_batch(index, batch)}The algorithm failed to converge because the input matrix {why}"
    )
