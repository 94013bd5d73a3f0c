"""The sizes from which on another way of doing the same pays. A crossover changes time alone, never a result.

`python -m benchmarks.crossovers` measures them on a machine. Sizes count elements of the largest array, unless a
comment names another unit.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

#: From here on arrays that adjoint makes get memory that is kept when they die, and functions that are not elementwise
#: are worth noting as programs.
KEPT_MEMORY = 1 << 13
#: Work, as the cost of a program's steps (`program/form.py`) times elements, from which on a program runs without
#: Python's lock, and from which on several threads run it.
UNLOCKED, THREADED = 1 << 17, 1 << 19
#: Multiplications from which on loops over vectors are run by several threads.
THREADED_VECTORS = 1 << 18
#: From here on a selection without branches pays, and from here on a Fourier transform by several threads.
BRANCHLESS, THREADED_TRANSFORM = 1 << 13, 1 << 17
#: Rows shorter than the first are no rows for a program: NumPy runs the steps. Rows longer than the second do not fit a
#: tile when they are reduced. Rows shorter than the third are no rows for a program that does no more than reduce them:
#: `kernels/reductions.h` has loops for these.
SHORTEST_ROW, LONGEST_ROW, SHORTEST_LONE_ROW = 8, 1 << 15, 129
#: Directions from which on a Laplacian by collapsed series pays.
COLLAPSED = 8

_ndarray = numpy.ndarray
_LARGE = KEPT_MEMORY


def is_large(array):
    """True for an array of NumPy for which it pays to keep memory and to use several threads."""
    if cython.compiled:
        return type(array) is _ndarray and adj_n_elements(array) >= _LARGE
    return type(array) is _ndarray and array.size >= _LARGE


def set_large(n):
    """Set the number of elements from which an array is large, for measurements and tests; returns the earlier one."""
    global _LARGE
    before = _LARGE
    _LARGE = n
    return before
