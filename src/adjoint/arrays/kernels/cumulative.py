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

_INT64 = numpy.dtype("int64")


def can_do(*arrays):
    """True if there are loops for these arrays."""
    if not compiled or adj_precision(arrays[0]) < 0:
        return False
    return all([adj_precision(array) == adj_precision(arrays[0]) for array in arrays[1:]])


if compiled:
    adj_import_arrays()

    def running(x, axis, products, backwards, exclusive):
        """Cumulative sums or products along an axis, from the beginning, or `backwards` from the end.

        exclusive: each result excludes its own element. An array with a negative stride along the axis is read in
        place, and the result has the same layout.
        """
        reverse = False
        if not adj_is_row_major(x):
            flip = (slice(None),) * axis + (slice(None, None, -1),)
            reverse = adj_is_row_major(x[flip])
            x = x[flip] if reverse else numpy.ascontiguousarray(x)
        y = adj_new_alike(x)
        adj_lengths_around(x, axis, cython.address(outer), cython.address(n), cython.address(inner))
        source, first, size = adj_bytes(x), adj_bytes(y), 4 if adj_precision(x) else 8
        if outer * n * inner:
            with cython.nogil:
                adj_running(size, source, outer, n, inner, products, reverse != backwards, exclusive, first)
        return y[flip] if reverse else y

    def extrema(x, axis, largest):
        """The cumulative maximum or minimum along an axis, and its last index.

        A NaN stays; its index is the index of the last NaN so far.
        """
        if not adj_is_row_major(x):
            x = numpy.ascontiguousarray(x)
        tops, indices = adj_new_alike(x), numpy.empty(x.shape, _INT64)
        adj_lengths_around(x, axis, cython.address(outer), cython.address(n), cython.address(inner))
        source, first, second = adj_bytes(x), adj_bytes(tops), adj_bytes(indices)
        size = 4 if adj_precision(x) else 8
        if outer * n * inner:
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
