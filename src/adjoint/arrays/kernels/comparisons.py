"""Comparisons of whole arrays: equality, membership, and the k largest or smallest elements.

There is no uncompiled form: `compiled` is then False, and the callers use whole-array operations.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

_ndarray = numpy.ndarray
_BOOL, _INT64 = numpy.dtype(bool), numpy.dtype(numpy.int64)
#: Whether a dtype is floating, and its size in bytes. For bools any byte but 0 means True.
_KINDS = {
    numpy.dtype(name): (name.startswith("float"), numpy.dtype(name).itemsize)
    for name in (
        "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    )
}  # fmt: skip
#: From so many elements on, other threads run meanwhile.
_MANY = 1 << 12


if compiled:

    def are_same(array, other):
        """True if the elements of two arrays of one shape are equal; None where there is no loop for them."""
        kind = _kind(array, other)
        if kind is None:
            return None
        floating, size = kind
        n = adj_n_elements(array)
        first, second = adj_bytes(array), adj_bytes(other)
        if n < _MANY:
            return adj_same(floating, size, first, second, n)
        with cython.nogil:
            result = adj_same(floating, size, first, second, n)
        return result

    def are_among(elements, tests, inverted):
        """For each element whether it is among some tests (or not, if `inverted`); None where there is no loop.

        All pairs are compared, so that one of the arrays should be small.
        """
        kind = _kind(elements, tests)
        if kind is None:
            return None
        floating, size = kind
        out = numpy.empty(elements.shape, _BOOL)
        n, m = adj_n_elements(elements), adj_n_elements(tests)
        first, second, third = adj_bytes(elements), adj_bytes(tests), adj_bytes(out)
        adj_among(floating, size, first, n, second, m, inverted, third)
        return out

    def places_of_first(array, k, largest):
        """The indices of the k largest (or smallest) elements along the last axis, in order; None without a loop.

        Equal elements keep their order, and NaN is the largest number.
        """
        kind = _kind(array, array)
        ndim: cython.int = array.ndim
        if kind is None or array.dtype.kind == "u" or not 0 < k <= ADJ_MOST_FIRST or not ndim:
            return None
        n: cython.Py_ssize_t = array.shape[ndim - 1]
        if k > n:
            return None
        floating, size = kind
        places = numpy.empty((*array.shape[: ndim - 1], k), _INT64)
        elements, numbers = adj_bytes(array), cython.cast(cython.pointer(int64_t), adj_bytes(places))
        rows: cython.Py_ssize_t = adj_n_elements(array) // n
        with cython.nogil:
            adj_first(floating, size, elements, rows, n, k, largest, numbers)
        return places

    def _kind(array, other):
        """Whether elements of both arrays are of one floating type, and their size; None where there is no loop."""
        if type(array) is not _ndarray or type(other) is not _ndarray or array.dtype is not other.dtype:
            return None
        return _KINDS.get(array.dtype) if array.flags.c_contiguous and other.flags.c_contiguous else None
