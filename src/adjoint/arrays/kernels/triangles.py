"""Matrices without the elements on one side of a diagonal, by a loop in C where there is one."""

from typing import Any

import numpy

from adjoint.arrays.kernels import products_and_sums
from adjoint.runtime.caches import memoize

#: Up to this number of elements the masks of NumPy's functions are cached.
_FEW = 4096


def tril(array: Any, k: int = 0) -> Any:
    """numpy.tril.

    >>> tril(numpy.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    return _triangle(array, k, False)


def triu(array: Any, k: int = 0) -> Any:
    """numpy.triu."""
    return _triangle(array, k, True)


def _triangle(array: Any, k: int, is_upper: bool) -> Any:
    result = products_and_sums.triangle(array, k, is_upper)
    if result is not None:
        return result
    n, m = array.shape[-2:]
    if n * m > _FEW:
        return (numpy.triu if is_upper else numpy.tril)(array, k)
    below, zero = lower_triangle(n, m, k - is_upper), numpy.zeros(1, array.dtype)
    return numpy.where(below, zero, array) if is_upper else numpy.where(below, array, zero)


@memoize(64)
def lower_triangle(n: int, m: int, k: int) -> Any:
    """True below and on a diagonal of a matrix, which must not be written to."""
    return numpy.tri(n, m, k, bool)
