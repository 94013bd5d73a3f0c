"""The sizes above which another method is faster. A crossover changes only the time, never a result.

`python -m benchmarks.crossovers` measures them on a machine. Sizes count elements of the largest array, unless a
comment names another unit.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

#: From this size on arrays made by adjoint get reused memory, and functions that are not elementwise run as programs.
KEPT_MEMORY = 1 << 13
#: The work (cost of a program's steps, see `program/form.py`, times elements) above which a program runs without
#: Python's lock, and above which several threads run it.
UNLOCKED, THREADED = 1 << 17, 1 << 19
#: The number of multiplications above which several threads run loops over vectors.
THREADED_VECTORS = 1 << 18
#: From here on a selection without branches pays, and from here on a Fourier transform by several threads.
BRANCHLESS, THREADED_TRANSFORM = 1 << 13, 1 << 17
#: Rows shorter than the first are no rows for a program: NumPy runs the steps. Rows longer than the second do not fit a
#: tile when they are reduced. Rows shorter than the third are no rows for a program that does no more than reduce them:
#: `kernels/reductions.h` has loops for these.
SHORTEST_ROW, LONGEST_ROW, SHORTEST_LONE_ROW = 8, 1 << 15, 129
#: The number of directions from which a Laplacian by collapsed series is faster.
COLLAPSED = 8

_ndarray = numpy.ndarray
_LARGE = KEPT_MEMORY


def is_large(array):
    """True for a NumPy array for which reused memory and several threads are faster."""
    if cython.compiled:
        return type(array) is _ndarray and adj_n_elements(array) >= _LARGE
    return type(array) is _ndarray and array.size >= _LARGE


def set_large(n):
    """Set the number of elements from which an array is large, for measurements and tests; returns the earlier one."""
    global _LARGE
    before = _LARGE
    _LARGE = n
    return before
