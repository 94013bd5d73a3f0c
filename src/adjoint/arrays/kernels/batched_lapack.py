"""Batched LAPACK and BLAS: a routine is called once for each matrix of a batch, in a loop of C.

SciPy's Python functions take a few microseconds for each matrix, too much for a small one. The capsules of
`scipy.linalg.cython_lapack` and `cython_blas` hold the addresses of the same routines for compiled code. All arguments
of these routines are addresses, so that one loop serves them all.

There is no uncompiled form: `can_do` is then False, and `lapack.py` calls SciPy's functions for each matrix.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

from importlib import import_module

import numpy

from adjoint.runtime.caches import memoize

#: How BLAS names the types of elements, by NumPy's letters.
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}

#: The routines that are called from here: SciPy's module, and how many arguments they take.
_ROUTINES = {
    "trsm": ("blas", 11),
    "getrf": ("lapack", 6),
    "potrf": ("lapack", 5),
    "sytrf": ("lapack", 8),
    "hetrf": ("lapack", 8),
    "geqrf": ("lapack", 8),
}

_enabled = True


def set_enabled(enabled):
    """Switch the loops on or off, for comparisons; returns the earlier setting."""
    global _enabled
    before = _enabled
    _enabled = enabled
    return before


def can_do(name, *arrays):
    """True if this routine can be called for batches of these matrices."""
    kind = arrays[0].dtype
    return all([type(array) is numpy.ndarray and array.dtype == kind for array in arrays]) and serves(name, kind)


def serves(name, kind):
    """True if this routine can be called for matrices of this type."""
    return compiled and _enabled and kind.char in _LETTERS and _capsule(name, kind.char) is not None


@memoize(None)
def _capsule(name, kind):
    """The capsule with the address of a routine; None if its signature is unexpected."""
    module, n = _ROUTINES[name]
    try:
        capsules = import_module(f"scipy.linalg.cython_{module}").__pyx_capi__
    except (ImportError, AttributeError):
        return None
    capsule = capsules.get(_LETTERS[kind] + name)
    # the capsule's text is the routine's signature; its integers have to be C's
    text = str(capsule)
    return capsule if text.count(",") == n - 1 and text.count("int *") >= 2 and "long" not in text else None


def each(name, kind, count, *arguments):
    """Call a routine for elements of a type `count` times.

    An array argument has one part for each call along its first axis, or a single part for all calls. Letters and
    numbers are equal for all calls. Numbers that are no elements are C ints.
    """
    operands = [_argument(value) if type(value) in _KINDS else value for value in arguments]
    steps = [array.strides[0] if array.ndim and array.shape[0] == count else 0 for array in operands]
    _run(_capsule(name, numpy.dtype(kind).char), tuple(operands), tuple(steps), count)


#: Types of arguments that are no arrays.
_KINDS = {int: numpy.intc, bytes: "S1"}


@memoize(1024)
def _argument(value):
    """A number or letter in memory that a routine reads."""
    array = numpy.array(value, _KINDS[type(value)])
    array.flags.writeable = False
    return array


if compiled:

    def _run(capsule, arrays, steps, count):
        n = len(arrays)
        for i in range(n):
            places[i] = adj_bytes(arrays[i])
            strides[i] = steps[i]
        routine = adj_routine_address(capsule)
        with cython.nogil:
            is_supported = adj_each(routine, n, places, strides, count)
        if not is_supported:
            raise TypeError(f"no routine with {n} arguments is called from here")
