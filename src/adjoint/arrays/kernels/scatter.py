"""Scatter: elements added at places of images, rows added to rows, and weighted sums of elements at places.

There is no uncompiled form: `compiled` and `can_do` are then False, and the callers do the same with whole arrays.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))


def can_do(*values):
    """True if there are loops for these values."""
    first = values[0]
    return compiled and all(
        [type(array) is numpy.ndarray and array.dtype == first.dtype and array.dtype in _FLOATS for array in values]
    )


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
        arrays = [numpy.ascontiguousarray(array) for array in (image, weights, results)]
        places = numpy.ascontiguousarray(places, numpy.int64)
        result = arrays[(2, 1, 0)[which]]
        if not places.size:
            if which == ADJ_SAMPLES:
                result[...] = 0
            return result
        if places.size and (places.min() < -1 or places.max() >= shape[len(shape) - 1]):
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

    def corner_places(wholes, lengths, steps):
        """The places in a flat image of points and their neighbours, -1 outside.

        wholes: whole numbers (.., ndim); lengths: those of the axes; steps: (n_steps, ndim). The result: (.., n_steps).
        """
        wholes = numpy.ascontiguousarray(wholes, numpy.float64)
        lengths, steps = numpy.array(lengths, numpy.int64), numpy.ascontiguousarray(steps, numpy.int64)
        out = numpy.empty((*wholes.shape[: wholes.ndim - 1], steps.shape[0]), numpy.int64)
        n_steps, ndim = steps.shape
        n = wholes.size // ndim
        first, second, third, fourth = adj_bytes(wholes), adj_bytes(lengths), adj_bytes(steps), adj_bytes(out)
        with cython.nogil:
            adj_corner_places(
                cython.cast("const double *", first), n, ndim, cython.cast("const int64_t *", second),
                cython.cast("const int64_t *", third), n_steps, cython.cast("int64_t *", fourth),
            )  # fmt: skip
        return out
