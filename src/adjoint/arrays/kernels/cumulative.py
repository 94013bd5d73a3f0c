"""Cumulative sums, products and extrema along an axis, the places of extrema, and linear recurrences.

There is no uncompiled form: `can_do` is then False, and the kernels in `rules` do the same with whole arrays.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

from math import prod

import numpy

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))


def can_do(*arrays):
    """True if there are loops for these arrays."""
    first = arrays[0]
    return compiled and all(
        [type(array) is numpy.ndarray and array.dtype == first.dtype and array.dtype in _FLOATS for array in arrays]
    )


if compiled:

    def running(x, axis, products, backwards, exclusive):
        """The sums, or products, of all elements along an axis up to each, or from each on `backwards`.

        exclusive: without the element itself. An array that lies in memory the other way round along the axis is worked
        on where it lies, and so does the result.
        """
        flip = (slice(None),) * axis + (slice(None, None, -1),)
        reverse = not x.flags.c_contiguous and x[flip].flags.c_contiguous
        x = x[flip] if reverse else numpy.ascontiguousarray(x)
        y = numpy.empty(x.shape, x.dtype)
        outer, n, inner = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
        source, first, size = adj_bytes(x), adj_bytes(y), x.itemsize
        if x.size:
            with cython.nogil:
                adj_running(size, source, outer, n, inner, products, reverse != backwards, exclusive, first)
        return y[flip] if reverse else y

    def extrema(x, axis, largest):
        """The largest, or smallest, of all elements along an axis up to each, and the last place where it is.

        A NaN stays, and its place is that of the last one so far.
        """
        x = numpy.ascontiguousarray(x)
        tops, indices = numpy.empty(x.shape, x.dtype), numpy.empty(x.shape, numpy.int64)
        outer, n, inner = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
        source, first, second, size = adj_bytes(x), adj_bytes(tops), adj_bytes(indices), x.itemsize
        if x.size:
            with cython.nogil:
                adj_extrema(size, source, outer, n, inner, largest, first, second)
        return tops, indices

    def recurrence(links, x, axis, reverse):
        """y with y[k + 1] = x[k + 1] + links[k] * y[k] along an axis; in reverse y[k] = x[k] + links[k] * y[k + 1]."""
        links, y = numpy.ascontiguousarray(links), numpy.array(x, order="C")
        outer, n, inner = prod(y.shape[:axis]), y.shape[axis], prod(y.shape[axis + 1 :])
        source, first, size = adj_bytes(links), adj_bytes(y), y.itemsize
        if y.size:
            with cython.nogil:
                adj_recurrence(size, source, outer, n, inner, reverse, first)
        return y
