"""Scatter: elements added at places of images, and rows added to rows.

There is no uncompiled form: `compiled` and `can_do` are then False, and the callers do the same with whole arrays.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))


def can_do(values):
    """True if there are loops for these values."""
    return compiled and type(values) is numpy.ndarray and values.dtype in _FLOATS


if compiled:

    def add_elements(g, indices, n_images, n):
        """Zeros for so many images of n elements, with elements of g added at places in each flat image."""
        g, indices = numpy.ascontiguousarray(g), numpy.ascontiguousarray(indices, numpy.int64)
        out = numpy.zeros((n_images, n), g.dtype)
        if not g.size:
            return out
        if indices.min() < 0 or indices.max() >= n:
            raise IndexError(f"a place lies outside of an image of {n} elements")
        images, size, each, length = n_images, g.itemsize, g.size // n_images, n
        source, first, second = adj_bytes(g), adj_bytes(indices), adj_bytes(out)
        with cython.nogil:
            adj_add_elements(size, source, first, images, each, length, second)
        return out

    def add_rows(values, rows, n):
        """n rows, each the sum of those of `values` (m, width) for which `rows` (m,) has its number."""
        values, rows = numpy.ascontiguousarray(values), numpy.ascontiguousarray(rows, numpy.int64)
        out = numpy.zeros((n, values.shape[1]), values.dtype)
        if rows.size and (rows.min() < 0 or rows.max() >= n):
            raise IndexError(f"a row lies outside of an array of {n} rows")
        size, length, width = values.itemsize, rows.size, values.shape[1]
        source, first, second = adj_bytes(values), adj_bytes(rows), adj_bytes(out)
        with cython.nogil:
            adj_add_rows(size, source, first, length, width, second)
        return out
