"""Cumulative sums, products and extrema along an axis, indices of extrema, and linear recurrences.

There is no uncompiled form: `can_do` is then False, and the kernels in `rules` use whole-array operations.
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
        """Cumulative sums or products along an axis, from the beginning, or `backwards` from the end.

        exclusive: each result excludes its own element. An array with a negative stride along the axis is read in
        place, and the result has the same layout.
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
        """The cumulative maximum or minimum along an axis, and its last index.

        A NaN stays; its index is the index of the last NaN so far.
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
