"""Loops over vectors of the processor: convolution of images without laying out what their windows see.

`vectors.h` has the loops, for several kinds of processor, of which the best is picked. There is no uncompiled form, nor
one for compilers without vectors: `there` is then False, and `convolution.py` does the same with matrix products.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

from functools import lru_cache
from math import prod

import numpy

from . import blocks

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))


def kinds():
    """The numbers of the kinds of processor whose loops this one can run, the best one last; empty without vectors."""
    return range(adj_best_kind() + 1 if compiled else 0)


#: True if there are these loops.
there = len(kinds()) > 0

#: From this number of multiplications on a second thread is asked.
_THREADED = 1 << 18
#: About how many positions of windows are worked on together, and at most how much memory for that.
_POSITIONS, _MEMORY = 2048, 1 << 19
#: The sums of `correlated` are made in so many parts. Many sums over fewer positions are quicker as matrix products.
_PARTS, _MANY_SUMS, _POSITIONS_OF_SUMS = 16, 1 << 15, 512
#: How many rows of weights lie together; it depends on the kind of processor.
_tile = 4
#: More memory than this is not taken.
_MOST_MEMORY = 1 << 26


def can_do(*arrays):
    """True if these loops are there for such arrays: real ones of one type, with 1 to 3 axes after the first two."""
    first = arrays[0]
    return (
        there
        and all([type(array) is numpy.ndarray and array.flags.aligned and array.size for array in arrays])
        and first.dtype in _FLOATS
        and all([array.dtype == first.dtype for array in arrays])
        and 3 <= first.ndim <= 5
    )


@lru_cache(1024)
def _table(stack):
    """What vectors.h calls an adj_stack: numbers of phases and elements, lengths, results, reach; phases; elements."""
    missing = 3 - len(stack.axes)
    once = [0, 0, 1, 1]
    phases = []
    for phase in stack.phases:
        places = [axis.grids[number] for axis, number in zip(stack.axes, phase, strict=True)]
        phases += once * missing + [number for place in places for number in place]
    ones = [1] * missing
    numbers = [len(stack.phases), len(stack.elements), *ones, *stack.lengths, *ones, *stack.results, stack.reach]
    return numpy.array([*numbers, *phases, *[number for element in stack.elements for number in element]], numpy.int64)


@lru_cache(1024)
def _pieces(stack, samples, channels, rows, item, memory=_MEMORY):
    """How many samples, or rows of results of one, are worked on together; None if that takes too much memory.

    In full: the number of positions, samples at once, rows of results at once, the number of such bands, of pieces.
    """
    lengths = (1,) * (3 - len(stack.axes)) + stack.lengths
    n_rows = ((1,) * (3 - len(stack.axes)) + stack.results)[0]
    inner = prod(lengths[1:])
    pitch = lengths[0] * inner
    positions = min(_POSITIONS, memory // ((len(stack.phases) * channels + rows) * item))
    at_once = max(1, min(positions // pitch, -(-samples // 4)))
    band = n_rows if at_once > 1 or pitch <= 2 * positions else max(1, min(n_rows, positions // inner))
    n_bands = -(-n_rows // band)
    found = (at_once - 1) * pitch + band * inner
    if (found + stack.reach) * (len(stack.phases) * channels + rows) * item > _MOST_MEMORY:
        return None
    return found, at_once, band, n_bands, -(-samples // at_once) * n_bands


def convolve(x, w, bias, target, stack):
    """Write into target what windows see of x times w, plus bias; returns False, and does nothing, where it cannot.

    x: (N, C, *image); w: (groups, rows, C / groups, elements); bias: (groups * rows,) or None;
    target: (N, groups * rows, *results), written.
    """
    groups, rows, channels, elements = w.shape
    sizes = _pieces(stack, x.shape[0], groups * channels, rows, x.itemsize)
    if sizes is None:
        return False
    _run(False, x, target, _in_tiles(w), bias, None, _table(stack), (groups, channels, rows, *sizes[1:], 0),
         _threads(target.size * channels * elements))  # fmt: skip
    return True


def _threads(multiplications):
    return blocks.get_num_threads() if multiplications >= _THREADED else 1


def _in_tiles(w):
    """The weights in the order in which they are used: [group][tile of rows][channel][element][row]."""
    groups, rows, channels, elements = w.shape
    turned = w.reshape(groups, rows, channels * elements).transpose(0, 2, 1)
    tiles = [turned[:, :, first : first + _tile].reshape(groups, -1) for first in range(0, rows, _tile)]
    return numpy.ascontiguousarray(tiles[0] if len(tiles) == 1 else numpy.concatenate(tiles, axis=1))


def correlated(y, x, stack, groups):
    """The sum over samples and positions of y (N, groups * rows, *results) times what windows see of x (N, C, *image).

    (groups, rows, C / groups, elements), or None where it cannot be done.
    """
    rows, channels = y.shape[1] // groups, x.shape[1] // groups
    elements = len(stack.elements)
    sizes = _pieces(stack, x.shape[0], groups * channels, rows, x.itemsize, 2 * _MEMORY)
    if sizes is None:
        return None
    if rows * channels * elements > _MANY_SUMS and sizes[0] < _POSITIONS_OF_SUMS:
        return None
    parts = min(_PARTS, sizes[4])
    totals = numpy.zeros((parts, groups, rows, -(-channels * elements // 3) * 3), x.dtype)
    _run(True, x, y, None, None, totals, _table(stack), (groups, channels, rows, *sizes[1:], parts),
         _threads(y.size * channels * elements))  # fmt: skip
    total = totals.sum(axis=0)[:, :, : channels * elements]
    return total.reshape(groups, rows, channels, elements)


def _steps(array):
    """Strides in elements: of samples, channels and three axes of the image."""
    strides = [step // array.itemsize for step in array.strides]
    return strides[:2] + [0] * (5 - array.ndim) + strides[2:]


if there:

    def use_kind(number):
        """Use the loops of another kind, for comparisons; returns which were used."""
        global _kind, _tile
        if number not in kinds():
            raise ValueError(f"use_kind(): this processor has the kinds {list(kinds())}, got {number}")
        before = _kind
        _kind, _tile = number, 8 if number == 2 else 4
        return before

    _kind = 0
    use_kind(max(kinds()))

    def _run(correlate, source, target, weights, bias, totals, table, sizes, threads):
        job.stack = cython.cast("const adj_stack *", adj_place(table))
        job.source, job.target = adj_place(source), adj_place(target)
        job.weights = adj_place(weights) if weights is not None else cython.NULL
        job.bias = adj_place(bias) if bias is not None else cython.NULL
        job.totals = adj_place(totals) if totals is not None else cython.NULL
        job.samples = source.shape[0]
        job.groups, job.channels, job.rows, job.at_once, job.band, job.n_bands, job.n_pieces, job.parts = sizes
        strides = _steps(source), _steps(target)
        for i in range(5):
            job.source_strides[i], job.target_strides[i] = strides[0][i], strides[1][i]
        job.next, job.failed = 0, 0
        size = source.itemsize
        if correlate:
            work = adj_correlate_of(size, _kind)
        else:
            work = adj_convolve_of(size, _kind)
        share(work, cython.address(job), threads if job.n_pieces > 1 else 1)
        if job.failed:
            raise MemoryError("no memory for the windows at work")
