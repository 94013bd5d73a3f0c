"""Matrices without the elements on one side of a diagonal, by a loop in C where there is one."""

from typing import Any

import numpy

from adjoint.arrays.kernels import products_and_sums
from adjoint.runtime.caches import cached

#: Up to this number of elements the masks of NumPy's functions are cached.
_FEW = 4096


def tril(array: Any, k: int = 0) -> Any:
    """numpy.tril.

    >>> tril(numpy.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    result = products_and_sums.triangle(array, k, False)
    if result is not None:
        return result
    n, m = array.shape[-2:]
    if n * m > _FEW:
        return numpy.tril(array, k)
    return numpy.where(lower_triangle(n, m, k), array, numpy.zeros(1, array.dtype))


def triu(array: Any, k: int = 0) -> Any:
    """numpy.triu."""
    result = products_and_sums.triangle(array, k, True)
    if result is not None:
        return result
    n, m = array.shape[-2:]
    if n * m > _FEW:
        return numpy.triu(array, k)
    return numpy.where(lower_triangle(n, m, k - 1), numpy.zeros(1, array.dtype), array)


@cached(64)
def lower_triangle(n: int, m: int, k: int) -> Any:
    """True below and on a diagonal of a matrix, which must not be written to."""
    return numpy.tri(n, m, k, bool)
