"""Scatter: adds elements to images and rows to rows, reads and sums along one axis, and computes weighted sums.

There is no uncompiled form: `compiled` and `can_do` are then False, and the callers use whole-array operations.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

from adjoint.runtime.memory import with_kept_memory

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))
_INT64 = numpy.dtype("int64")


def can_do(*values):
    """True if there are loops for these values."""
    return compiled and _are_of_one_kind(values)


if compiled:
    adj_import_arrays()

    def _are_of_one_kind(values):
        """True for arrays of NumPy's of one floating type."""
        precision = adj_precision(values[0])
        for array in values:
            if adj_precision(array) != precision:
                return False
        return precision >= 0

    def add_elements(g, indices, n_images, n):
        """Zeros for so many images of n elements, with elements of g added at places in each flat image."""
        if not _are_of_one_kind((g,)):
            raise TypeError(f"expected an array of float32 or float64, got {type(g).__name__}")
        g, indices = numpy.ascontiguousarray(g), numpy.ascontiguousarray(indices, numpy.int64)
        out = numpy.zeros((n_images, n), g.dtype)
        if not g.size:
            return out
        if indices.size != g.size:
            raise ValueError(f"{g.size} elements need as many places, got {indices.size}")
        if indices.min() < 0 or indices.max() >= n:
            raise IndexError(f"a place lies outside of an image of {n} elements")
        images, size, each, length = n_images, g.itemsize, g.size // n_images, n
        source, first, second = adj_bytes(g), adj_bytes(indices), adj_bytes(out)
        with cython.nogil:
            adj_add_elements(size, source, first, images, each, length, second)
        return out

    def add_rows(values, rows, shape, n):
        """Zeros of a shape, n rows in memory, with each row of `values` added to the row numbered in `rows`.

        None if a number is out of range.
        """
        _check_rows(values, rows)
        out = numpy.zeros(shape, values.dtype)
        return out if add_rows_to(out, values, rows, n) else None

    def add_rows_to(out, values, rows, n):
        """Add each row of `values` to the row numbered in `rows` of a row-major array, n rows in memory.

        False, and no change, if a number is out of range.
        """
        _check_rows(values, rows)
        if not adj_is_row_major(values):
            values = numpy.ascontiguousarray(values)
        if rows.dtype is not _INT64 or not adj_is_row_major(rows):
            rows = numpy.ascontiguousarray(rows, numpy.int64)
        length = adj_n_elements(rows)
        if not adj_all_within(adj_bytes(rows), length, 0, n):
            return False
        size, width = 4 if adj_precision(values) else 8, adj_n_elements(values) // length if length else 0
        fits = adj_is_row_major(out) and adj_precision(out) == adj_precision(values)
        if not fits or adj_n_elements(out) < n * width:
            raise ValueError(f"{n} rows of {width} elements do not fit in an array of shape {out.shape}")
        source, first, second = adj_bytes(values), adj_bytes(rows), adj_bytes(out)
        with cython.nogil:
            adj_add_rows(size, source, first, length, width, second)
        return True

    def _check_rows(values, rows):
        if not _are_of_one_kind((values,)) or type(rows) is not numpy.ndarray:
            raise TypeError(
                f"expected an array of float32 or float64 and one of ints, got {type(values).__name__} and "
                f"{type(rows).__name__}"
            )

    def are_within(numbers, least, limit):
        """True if all of some integers, an array of NumPy's, are at least `least` and below `limit`; None: unknown."""
        if type(numbers) is not numpy.ndarray or numbers.dtype is not _INT64 or not adj_is_row_major(numbers):
            return None
        return adj_all_within(adj_bytes(numbers), adj_n_elements(numbers), least, limit)

    def take_along(array, index, axis):
        """The elements of an array that an index names along one axis; None where this has no loop for them."""
        return adj_take_along(array, index, axis)

    def put_along(array, index, axis, values):
        """Write values, an array, to the places that an index names along one axis; False where this has no loop."""
        return adj_write_along(ADJ_PUT, array, index, axis, values)

    def add_along(array, index, axis, values):
        """Add values, an array, at the places that an index names along one axis; False where this has no loop."""
        return adj_write_along(ADJ_ADD, array, index, axis, values)

    def axis_sums(x, axis, table):
        """A linear map along one axis, given as `AxisMap.table`.

        None for arrays without a loop, and after a floating point error.
        """
        if type(x) is not numpy.ndarray or x.dtype not in _FLOATS or not x.size:
            return None
        starts, elements, weights, from_zero = table
        if not x.flags.c_contiguous:
            x = numpy.ascontiguousarray(x)
        shape, size = x.shape, x.itemsize
        job.outer = job.inner = 1
        for i in range(len(shape)):
            if i < axis:
                job.outer *= shape[i]
            elif i > axis:
                job.inner *= shape[i]
        job.n, job.m, job.from_zero = shape[axis], starts.size - 1, from_zero
        if not adj_all_within(adj_bytes(elements), elements.size, 0, job.n):
            raise IndexError(f"an element lies outside of an axis of {job.n}")
        out = numpy.empty((*shape[:axis], job.m, *shape[axis + 1 :]), x.dtype)
        if weights is not None:
            weights = weights[size == 4]
        first, second = adj_bytes(starts), adj_bytes(elements)
        job.starts = cython.cast(cython.pointer(int64_t), first)
        job.elements = cython.cast(cython.pointer(int64_t), second)
        job.weights = adj_bytes_or_null(weights)
        first, second = adj_bytes(x), adj_bytes(out)
        with cython.nogil:
            failed = adj_axis_sums(size, cython.address(job), first, second)
        # NumPy is to report the error
        return None if failed else out

    def samples(image, weights, places):
        """The sums of elements of images (.., C, S) at places (.., P, T) times weights (.., P, T): (.., C, P)."""
        results = numpy.empty((*image.shape[: image.ndim - 1], places.shape[places.ndim - 2]), image.dtype)
        return _sample(ADJ_SAMPLES, places, image, weights, results, image.shape)

    def sampled_weights(image, places, results):
        """The transpose in the weights: sums over channels of results times elements."""
        weights = numpy.zeros(places.shape, image.dtype)
        return _sample(ADJ_SAMPLED_WEIGHTS, places, image, weights, results, image.shape)

    def sampled_images(weights, places, results, size):
        """The transpose in the images of `size` elements: sums of results times weights."""
        image = numpy.zeros((*results.shape[: results.ndim - 1], size), results.dtype)
        return _sample(ADJ_SAMPLED_IMAGES, places, image, weights, results, image.shape)

    def _sample(which, places, image, weights, results, shape):
        if not _are_of_one_kind((image, weights, results)) or type(places) is not numpy.ndarray:
            raise TypeError("expected arrays of float32 or of float64, and an array of places")
        arrays = [numpy.ascontiguousarray(array) for array in (image, weights, results)]
        places = numpy.ascontiguousarray(places, numpy.int64)
        result = arrays[(2, 1, 0)[which]]
        if not places.size:
            if which == ADJ_SAMPLES:
                result[...] = 0
            return result
        if not adj_all_within(adj_bytes(places), places.size, -1, shape[len(shape) - 1]):
            raise IndexError(f"a place lies outside of an image of {shape[len(shape) - 1]} elements")
        n.channels, n.size = shape[len(shape) - 2], shape[len(shape) - 1]
        n.results, n.places = places.shape[places.ndim - 2], places.shape[places.ndim - 1]
        n.images = places.size // (n.results * n.places)
        item, kind = image.itemsize, which
        first, second, third = adj_bytes(arrays[0]), adj_bytes(arrays[1]), adj_bytes(arrays[2])
        fourth = adj_bytes(places)
        with cython.nogil:
            adj_sample(item, kind, n, fourth, first, second, third)
        return result

    def _grid_corners(points, g, lengths, mode, padding, align_corners, out, places):
        job.ndim, job.mode, job.padding, job.align = len(lengths), mode, padding, align_corners
        for i in range(job.ndim):
            job.lengths[i] = lengths[i]
        job.n = points.size // job.ndim
        item = points.itemsize
        first, second, third = adj_bytes(points), adj_bytes_or_null(g), adj_bytes(out)
        fourth = adj_bytes_or_null(places)
        with cython.nogil:
            adj_grid_corners(item, cython.address(job), first, second, third, fourth)


#: So many elements lie around a point along one axis, by the numbers of the modes in sampling.h.
_AROUND = (2, 1, 4)


def grid_corners(points, lengths, mode, padding, align_corners):
    """The weights and places of the corners around points (.., P, k), as `rules/sampling.py` says."""
    points = numpy.ascontiguousarray(points)
    shape = (*points.shape[: points.ndim - 1], _AROUND[mode] ** len(lengths))
    weights, places = [with_kept_memory(numpy.empty, (shape, kind)) for kind in (points.dtype, _INT64)]
    _grid_corners(points, None, lengths, mode, padding, align_corners, weights, places)
    return weights, places


def grid_corners_back(points, g, lengths, mode, padding, align_corners):
    """The cotangent of the points from the cotangent of the weights; None for arrays without loops."""
    if not can_do(points, g) or not points.size:
        return None
    points, g = numpy.ascontiguousarray(points), numpy.ascontiguousarray(g)
    out = numpy.empty(points.shape, points.dtype)
    _grid_corners(points, g, lengths, mode, padding, align_corners, out, None)
    return out
