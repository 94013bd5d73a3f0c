"""Arrays of one number, and small matrices without input, as NumPy makes them and without its Python code."""

from typing import Any

import numpy

from adjoint.runtime.caches import memoize


def eye(rows: int, columns: int | None = None, *, dtype: Any = float) -> Any:
    """numpy.eye, as a copy of a cached matrix.

    >>> eye(2)
    array([[1., 0.],
           [0., 1.]])
    """
    columns = rows if columns is None else columns
    return kept_copy(_eye, rows * columns, rows, columns, dtype)


def kept_copy(make: Any, size: int, *args: Any) -> Any:
    """What a function with a cache makes for a matrix of this size: a copy, or the only one of a large matrix."""
    return make(*args).copy() if size <= _KEPT else make.__wrapped__(*args)


#: Matrices up to this number of elements are cached.
_KEPT = 1 << 10


@memoize(256)
def _eye(rows: int, columns: int, dtype: Any) -> Any:
    return numpy.eye(rows, columns, dtype=dtype)


def zeros_like(array: Any, **options: Any) -> Any:
    """numpy.zeros_like, without its Python code for usual arrays.

    >>> zeros_like(numpy.array([1.0, 2.0]))
    array([0., 0.])
    """
    if _is_made_by_rows(array, options):
        return numpy.zeros(array.shape, options.get("dtype") or array.dtype)
    return numpy.zeros_like(array, **options)


def _is_made_by_rows(array: Any, options: dict[str, Any]) -> bool:
    """True if the ..._like functions make an array that lies row by row, of no subclass."""
    return type(array) is numpy.ndarray and array.flags.c_contiguous and options.keys() <= _ORDER_AND_DTYPE


_ORDER_AND_DTYPE = {"dtype", "order"}


def ones_like(array: Any, **options: Any) -> Any:
    """numpy.ones_like, the same.

    >>> ones_like(numpy.array([1.0, 2.0]))
    array([1., 1.])
    """
    return full_like(array, 1, **options)


def full_like(array: Any, value: Any, **options: Any) -> Any:
    """numpy.full_like, the same.

    >>> full_like(numpy.array([1.0, 2.0]), 3)
    array([3., 3.])
    """
    if _is_made_by_rows(array, options):
        return fill(numpy.empty(array.shape, options.get("dtype") or array.dtype), value)
    return numpy.full_like(array, value, **options)


def fill(array: Any, value: Any) -> Any:
    """The array, with a value written to all elements as numpy.full does.

    >>> fill(numpy.empty(2), 3)
    array([3., 3.])
    """
    if type(value) is int or (type(value) is float and array.dtype.kind == "f"):
        array.fill(value)  # quicker, but it refuses what a cast takes
    else:
        numpy.copyto(array, value, casting="unsafe")
    return array
