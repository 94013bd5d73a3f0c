"""Max pooling: the largest element of each window, and its index in the image.

There is no uncompiled form: `can_do` is then False, and `axis_maps.py` uses whole-array operations.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))


def can_do(xp, x, ndim):
    """True if there are loops for this array and this number of axes."""
    return compiled and type(x) is numpy.ndarray and x.dtype in _FLOATS and ndim <= 3 and 0 < x.size < 1 << 31


def maxima(x, tables, with_places):
    """The largest element of each window over the last one, two or three axes, or its place in the flat image."""
    if len(tables) < 3:
        return largest(x, tables, with_places)
    shape = (*x.shape[: x.ndim - 3], *[results for _, results, _ in tables])
    if 0 in shape:
        return numpy.empty(shape, numpy.int64 if with_places else x.dtype)
    # of each plane first, then of planes: the first of equal elements in the order of memory wins
    planes = largest(x, tables[1:], False)
    (depth, results, _), (rows, _, _), (columns, _, _) = tables
    outer, plane_shape = x.shape[: x.ndim - 3], planes.shape[planes.ndim - 2 :]
    lines = planes.reshape(*outer, depth, -1)
    n = lines.shape[lines.ndim - 1]
    along = [tables[0], (n, n, numpy.array([[0, n, 0, 1]]))]
    if not with_places:
        return largest(lines, along, False).reshape(*outer, results, *plane_shape)
    indices = largest(x, tables[1:], True) + rows * columns * numpy.arange(depth)[:, None, None]
    maxima_of_windows = numpy.take_along_axis(
        indices.reshape(*outer, depth * n), largest(lines, along, True).reshape(*outer, results * n), axis=-1
    )
    return maxima_of_windows.reshape(*outer, results, *plane_shape)


if compiled:

    def largest(x, tables, with_places):
        """`maxima` over one or two axes.

        tables: for each axis its length, the number of windows, and the ranges (see `AxisMap.ranges`).
        """
        x = numpy.ascontiguousarray(x)
        outer = x.shape[: x.ndim - len(tables)]
        n_rows, n_above, row_table = tables[0] if len(tables) == 2 else (1, 1, numpy.array([[0, 1, 0, 1]]))
        n_columns, n_beside, column_table = tables[len(tables) - 1]
        of_rows[0], of_rows[1], of_rows[2] = n_rows, n_above, row_table.shape[0]
        of_columns[0], of_columns[1], of_columns[2] = n_columns, n_beside, column_table.shape[0]
        shape = (*outer, *[results for _, results, _ in tables])
        tops = numpy.empty(shape, x.dtype)
        indices = numpy.empty(shape, numpy.int32)
        images = x.size // (n_rows * n_columns)
        size = x.itemsize
        source, rows, columns, first = adj_bytes(x), adj_bytes(row_table), adj_bytes(column_table), adj_bytes(tops)
        second = adj_bytes(indices)
        with cython.nogil:
            adj_maxima(
                size, source, images, cython.cast(cython.pointer(int64_t), rows), of_rows,
                cython.cast(cython.pointer(int64_t), columns), of_columns, first, second,
            )  # fmt: skip
        return indices.astype(numpy.int64) if with_places else tops
