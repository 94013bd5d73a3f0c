"""A few random numbers from NumPy's generators: the same numbers, without the checks of NumPy's functions.

The caller holds the lock of the generator. The functions return None where NumPy has to draw: for many numbers, for
other types, without a compiled form, and where this version of NumPy makes other numbers of the same bits.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

from math import prod

import numpy

from adjoint.runtime.caches import memoize

_INT64 = numpy.dtype("int64")
#: So many numbers are drawn here; NumPy lets other threads run meanwhile.
_MOST = 4096

if cython.compiled:
    adj_import_arrays()


def uniform(bits, shape, dtype):
    """Numbers from [0, 1) of single or double precision, from a bit generator.

    >>> import numpy
    >>> sample = uniform(numpy.random.PCG64(1), (2,), numpy.dtype("float64"))
    >>> sample is None or (sample == numpy.random.Generator(numpy.random.PCG64(1)).random(2)).all().item()
    True
    """
    if cython.compiled and prod(shape) <= _MOST and _are_numpys():
        out = numpy.empty(shape, dtype)
        adj_draw_uniform(bits.capsule, out)
        return out
    return None


def integers(bits, shape, dtype, low, high):
    """Integers from low to high - 1, of 64 bits, from a bit generator."""
    if cython.compiled and dtype is _INT64 and 0 < high - low < 1 << 32 and prod(shape) <= _MOST and _are_numpys():
        out = numpy.empty(shape, dtype)
        adj_draw_integers(bits.capsule, out, low, high - low - 1)
        return out
    return None


@memoize(1)
def _are_numpys():
    """True if the numbers are those of this version of NumPy, as a few of each kind tell."""
    for dtype in (numpy.dtype("float32"), numpy.dtype("float64")):
        ours, numpys = numpy.random.PCG64(1), numpy.random.Generator(numpy.random.PCG64(1))
        sample = numpy.empty(3, dtype)
        if cython.compiled:
            adj_draw_uniform(ours.capsule, sample)
        if (sample != numpys.random(3, dtype=dtype)).any():
            return False
    ours, numpys = numpy.random.PCG64(1), numpy.random.Generator(numpy.random.PCG64(1))
    sample = numpy.empty(5, _INT64)
    if cython.compiled:
        adj_draw_integers(ours.capsule, sample, -3, (1 << 31) + 5)
    return bool((sample == numpys.integers(-3, (1 << 31) + 3, 5)).all())
