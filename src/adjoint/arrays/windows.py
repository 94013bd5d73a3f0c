"""Maxima of windows, what goes back to where they were, and sums of rows: loops that NumPy has no quick form of.

There is no uncompiled form: `can_do` is then False, and `axis_maps.py` does the same with whole arrays.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))


def can_do(xp, x, ndim):
    """True if these loops are there for such an array and this number of axes."""
    return compiled and type(x) is numpy.ndarray and x.dtype in _FLOATS and ndim <= 3 and 0 < x.size < 1 << 31


def maxima(x, tables, with_places):
    """The largest element of each window over the last one, two or three axes, or its place in the flat image."""
    if len(tables) < 3:
        return largest(x, tables, with_places)
    shape = (*x.shape[: x.ndim - 3], *[results for _, results, _ in tables])
    if 0 in shape:
        return numpy.empty(shape, numpy.int64 if with_places else x.dtype)
    # of each plane first, then of planes: so the first of equal elements in the order of memory is found
    planes = largest(x, tables[1:], False)
    (depth, results, _), (rows, _, _), (columns, _, _) = tables
    outer, inside = x.shape[: x.ndim - 3], planes.shape[planes.ndim - 2 :]
    lines = planes.reshape(*outer, depth, -1)
    n = lines.shape[lines.ndim - 1]
    along = [tables[0], (n, n, numpy.array([[0, n, 0, 1]]))]
    if not with_places:
        return largest(lines, along, False).reshape(*outer, results, *inside)
    places = largest(x, tables[1:], True) + rows * columns * numpy.arange(depth)[:, None, None]
    found = numpy.take_along_axis(
        places.reshape(*outer, depth * n), largest(lines, along, True).reshape(*outer, results * n), axis=-1
    )
    return found.reshape(*outer, results, *inside)


if compiled:

    def largest(x, tables, with_places):
        """What `maxima` does over one or two axes.

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
        places = numpy.empty(shape, numpy.int32)
        images = x.size // (n_rows * n_columns)
        size = x.itemsize
        source, rows, columns, first = adj_bytes(x), adj_bytes(row_table), adj_bytes(column_table), adj_bytes(tops)
        second = adj_bytes(places)
        with cython.nogil:
            adj_maxima(
                size, source, images, cython.cast(cython.pointer(int64_t), rows), of_rows,
                cython.cast(cython.pointer(int64_t), columns), of_columns, first, second,
            )  # fmt: skip
        return places.astype(numpy.int64) if with_places else tops

    def spread(g, places, n_images, n):
        """Zeros for so many images of n elements, with elements of g added at places in each flat image."""
        g, places = numpy.ascontiguousarray(g), numpy.ascontiguousarray(places, numpy.int64)
        out = numpy.zeros((n_images, n), g.dtype)
        if not g.size:
            return out
        if places.min() < 0 or places.max() >= n:
            raise IndexError(f"a place lies outside of an image of {n} elements")
        images, size, each, length = n_images, g.itemsize, g.size // n_images, n
        source, first, second = adj_bytes(g), adj_bytes(places), adj_bytes(out)
        with cython.nogil:
            adj_spread(size, source, first, images, each, length, second)
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
