"""Loops over vectors of the processor: convolution without copies of windows, softmax, normalisation, sequences.

`vectors.h` has the loops for several kinds of processor, and selects the best kind. Without a compiled form, or without
vectors in the compiler, `there` is False. Callers then use whole-array operations or matrix products, as they do for
all arrays except NumPy's of single or double precision.

The loops for softmax and normalisation return None for unsuitable arrays. A trace records each as a single step
(`macro_step`), since these loops are faster than a program's steps.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

from math import inf, prod

import numpy

from adjoint.runtime import crossovers
from adjoint.runtime.caches import memoize
from adjoint.runtime.memory import with_kept_memory
from adjoint.runtime.threads import get_num_threads

from .processor import kind_in_use

#: The loops' numbers in vectors.h.
_CONVOLVE, _CORRELATE, _SOFTMAX, _SOFTMAX_BACK, _STANDARDIZE, _STANDARDIZE_BACK = range(6)
_SEQUENCE, _PATHS, _UPDATES, _PAIRS, _STANDARDIZE_COLUMNS, _STANDARDIZE_COLUMNS_BACK = range(6, 12)
_DISTANCES, _DISTANCES_OF_COLUMNS, _SOFTMAX_COLUMNS, _SOFTMAX_COLUMNS_BACK = range(12, 16)

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))
_INT64 = numpy.dtype("int64")
_MISSING = (None,) * 11


def kinds():
    """The numbers of the kinds of processor whose loops this one can run, the best one last; empty without vectors."""
    return range(adj_processor_kind() + 1 if compiled else 0)


#: True if there are these loops.
there = len(kinds()) > 0

#: About how many positions of windows are worked on together, and at most how much memory for that.
_POSITIONS, _MEMORY = 2048, 1 << 19
#: The number of parts of the sums of `correlate`. Many sums over fewer positions are faster as matrix products.
_PARTS, _MANY_SUMS, _POSITIONS_OF_SUMS = 16, 1 << 15, 512
#: How many rows of weights lie together; it depends on the kind of processor.
_tile = 4
#: The largest memory to allocate.
_MOST_MEMORY = 1 << 26


def can_do(*arrays):
    """True if there are loops for these arrays: real, of one dtype, with 1 to 3 axes after the first two."""
    if not (compiled and there and _are_plain(arrays)) or not 3 <= arrays[0].ndim <= 5:
        return False
    return all([array.size for array in arrays])


@memoize(1024)
def _table(stack):
    """An adj_stack of vectors.h: numbers of phases and elements, lengths, results, reach; phases; elements."""
    missing = 3 - len(stack.axes)
    once = [0, 0, 1, 1]
    phases = []
    for phase in stack.phases:
        axes = [axis.grids[number] for axis, number in zip(stack.axes, phase, strict=True)]
        phases += once * missing + [number for part in axes for number in part]
    ones = [1] * missing
    numbers = [len(stack.phases), len(stack.elements), *ones, *stack.lengths, *ones, *stack.results, stack.reach]
    return numpy.array([*numbers, *phases, *[number for element in stack.elements for number in element]], numpy.int64)


@memoize(1024)
def _pieces(stack, samples, channels, rows, item, memory=_MEMORY):
    """How many samples, or rows of results of one, are worked on together; None if that takes too much memory.

    The values: the number of positions, samples at once, rows of results at once, the number of these bands, of pieces.
    """
    lengths = (1,) * (3 - len(stack.axes)) + stack.lengths
    n_rows = ((1,) * (3 - len(stack.axes)) + stack.results)[0]
    inner = prod(lengths[1:])
    pitch = lengths[0] * inner
    positions = min(_POSITIONS, memory // ((len(stack.phases) * channels + rows) * item))
    at_once = max(1, min(positions // pitch, -(-samples // 4)))
    band = n_rows if at_once > 1 or pitch <= 2 * positions else max(1, min(n_rows, positions // inner))
    n_bands = -(-n_rows // band)
    size = (at_once - 1) * pitch + band * inner
    if (size + stack.reach) * (len(stack.phases) * channels + rows) * item > _MOST_MEMORY:
        return None
    return size, at_once, band, n_bands, -(-samples // at_once) * n_bands


def convolve(x, w, bias, target, stack):
    """Write the products of windows of x with w, plus bias, into target; False, and no write, for unsuitable arrays.

    x: (N, C, *image); w: (groups, rows, C / groups, elements); bias: (groups * rows,) or None;
    target: (N, groups * rows, *results), written.
    """
    groups, rows, channels, elements = w.shape
    sizes = _pieces(stack, x.shape[0], groups * channels, rows, x.itemsize)
    if sizes is None:
        return False
    bias = None if bias is None else numpy.ascontiguousarray(bias, x.dtype)
    _run(False, x, target, _in_tiles(w), bias, None, _table(stack), (groups, channels, rows, *sizes[1:], 0),
         _threads(target.size * channels * elements))  # fmt: skip
    return True


def _threads(multiplications):
    return get_num_threads() if multiplications >= crossovers.THREADED_VECTORS else 1


def _in_tiles(w):
    """The weights in the order of their use: [group][tile of rows][channel][element][row]."""
    groups, rows, channels, elements = w.shape
    turned = w.reshape(groups, rows, channels * elements).transpose(0, 2, 1)
    if rows <= _tile:
        return numpy.ascontiguousarray(turned)
    tiles = [turned[:, :, first : first + _tile].reshape(groups, -1) for first in range(0, rows, _tile)]
    return numpy.concatenate(tiles, axis=1)


def correlate(y, x, stack, groups):
    """The sum over samples and positions of y (N, groups * rows, *results) times windows of x (N, C, *image).

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


# rows -----------------------------------------------------------------------------------------------------------------


#: Whole-array operations handle shorter runs with one weight each, except runs of one element.
_SHORTEST_RUN = 16
#: So many columns are worked on together; the same number as in vectors.h.
_COLUMNS = 64


def _row_wise(arrays):
    """True if these loops can handle rows of these arrays. A trace records the call as one step."""
    if compiled and there and _are_plain(arrays):
        return True
    first = arrays[0]
    if not there or not _is_here(first) or first.dtype not in _FLOATS:
        return False
    if not all([type(array) is type(first) and array.dtype == first.dtype for array in arrays]):
        return False
    if type(first) is not numpy.ndarray:
        first.macro_step("a loop over rows")
    return first.size > 0


def _is_here(x):
    """True for an array of NumPy, or a symbol for one."""
    return isinstance(x, numpy.ndarray) or hasattr(type(x), "macro_step")


def softmax(x, dim, logarithm):
    """exp(x) along an axis over its sum, or the logarithm of that."""
    if not x.ndim or not _row_wise((x,)):
        return None
    x = _contiguous(x)
    out, is_last = _new_alike(x), dim == x.ndim - 1
    sizes = _plain_rows(x) if is_last else _plain_columns(x.shape, dim)
    loop = _SOFTMAX if is_last else _SOFTMAX_COLUMNS
    _run_rows(loop, logarithm, (x, None, None, None, out), sizes, 0.0, _threads(4 * x.size))
    return out


def softmax_back(g, y, dim, logarithm):
    """The Jacobian of `softmax` with the result y, transposed, times g."""
    if not _is_here(y) or not y.ndim or g.shape != y.shape or not _row_wise((y, g)):
        return None
    g, y = _contiguous(g), _contiguous(y)
    out, is_last = _new_alike(y), dim == y.ndim - 1
    sizes = _plain_rows(y) if is_last else _plain_columns(y.shape, dim)
    loop = _SOFTMAX_BACK if is_last else _SOFTMAX_COLUMNS_BACK
    _run_rows(loop, logarithm, (y, g, None, None, out), sizes, 0.0, _threads(4 * y.size))
    return out


@memoize(1024)
def _plain_columns(shape, dim):
    """The sizes of a job for the axis `dim`: matrices that follow each other, in which it is the first axis."""
    n, columns = shape[dim], prod(shape[dim + 1 :])
    parts = prod(shape[:dim]) * -(-columns // _COLUMNS)
    return columns, n, 1, n * columns, columns, 1, 0, 0, parts, False


def _contiguous(array):
    """The array, or a row-major copy of it; None stays."""
    return array if array is None or (compiled and adj_is_row_major(array)) else numpy.ascontiguousarray(array)


def _new_alike(array):
    """Memory for an array of the same shape and type, row by row."""
    return adj_new_alike(array) if compiled else numpy.empty(array.shape, array.dtype)


def _plain_rows(x):
    n = x.shape[x.ndim - 1]
    rows = x.size // n
    return rows, 1, n, n, 0, 1, 0, 0, min(rows, _PARTS), False


@memoize(1024)
def _rows_of(shape, dims, weight):
    """The layout of the axes `dims` of contiguous arrays as rows of runs, with one weight for a run or for each
    element.

    weight: its shape or None. Returns rows, runs, the length of a run, the steps from row to row and run to run, the
    number of rows after which weights repeat, the steps of weights, parts, and whether each element has its own weight.
    None if there is no such layout.
    """
    ndim = len(shape)
    outer_axes = [axis for axis in range(ndim) if axis not in dims]
    leading = [axis for axis in dims if outer_axes and axis < outer_axes[0]]
    trailing = [axis for axis in dims if axis not in leading]
    if outer_axes and outer_axes != list(range(outer_axes[0], outer_axes[0] + len(outer_axes))):
        return None
    rows = prod([shape[axis] for axis in outer_axes])
    length = prod([shape[axis] for axis in trailing])
    of_kept, of_trailing = [tuple([(weight or shape)[axis] for axis in axes]) for axes in (outer_axes, trailing)]
    ones, full = (1,) * len(trailing), tuple([shape[axis] for axis in trailing])
    if leading:
        runs = prod([shape[axis] for axis in leading])
        fits = weight is None or (
            all([weight[axis] == 1 for axis in leading])
            and of_kept == tuple([shape[axis] for axis in outer_axes])
            and of_trailing == ones
        )
        if not fits or 1 < length < _SHORTEST_RUN:
            return None
        parts = min(rows, _PARTS) if length > 1 else -(-rows // _COLUMNS)
        return rows, runs, length, length, rows * length, rows, 1, 0, parts, False
    if weight is not None and all([n == 1 for n in of_kept]) and of_trailing == full:
        return rows, 1, length, length, 0, 1, 0, 0, min(rows, _PARTS), True
    if weight is None:
        return rows, 1, length, length, 0, 1, 0, 0, min(rows, _PARTS), False
    # weights for the last kept axis and the first reduced axis
    period, runs = prod(of_kept), prod(of_trailing)
    begin = next((i for i, n in enumerate(of_kept) if n != 1), len(outer_axes))
    end = next((i for i, n in enumerate(of_trailing) if n != full[i]), len(trailing))
    if of_kept[begin:] != tuple([shape[axis] for axis in outer_axes[begin:]]) or any(
        [n != 1 for n in of_trailing[end:]]
    ):
        return None
    length //= runs
    if length < _SHORTEST_RUN:
        return None
    return rows, runs, length, runs * length, length, period, runs, 1, min(rows, _PARTS), False


def _layout(x, weight, bias, dims):
    """The layout for arrays; None also if these loops do not handle them."""
    parameters = [array for array in (weight, bias) if array is not None]
    if not there or not _is_here(x) or len({array.shape for array in parameters}) > 1:
        return None
    shape = tuple(parameters[0].shape) if parameters else None
    rows = _rows_of(tuple(x.shape), tuple(dims), shape) if x.size and dims else None
    return rows if rows is not None and _row_wise((x, *parameters)) else None


def _are_columns(sizes):
    """True if a run is one element, so that rows are columns of a matrix."""
    _, runs, length, *_ = sizes
    return length == 1 and runs > 1


def _are_last(dims, ndim):
    """True for the last axes."""
    return tuple(dims) == tuple(range(ndim - len(dims), ndim))


def _is_dense(x):
    """True for an array whose elements lie in their order; also for a symbol."""
    return type(x) is not numpy.ndarray or x.flags.c_contiguous


@memoize(1024)
def _means_shape(shape, dims):
    return tuple([1 if axis in dims else n for axis, n in enumerate(shape)])


def standardize(x, weight, bias, dims, eps):
    """(x - mean) / sqrt(var + eps) * weight + bias with mean and variance over axes; the mean; the variance."""
    sizes = _layout(x, weight, bias, dims)
    if sizes is None or not (_are_last(dims, x.ndim) or _is_dense(x)):
        # a result that is not normalized over rows is laid out as the input is
        return None
    x, weight, bias = _contiguous(x), _contiguous(weight), _contiguous(bias)
    out, dtype, shape = _new_alike(x), x.dtype, _means_shape(x.shape, tuple(dims))
    mean, var = numpy.empty(shape, dtype), numpy.empty(shape, dtype)
    loop = _STANDARDIZE_COLUMNS if _are_columns(sizes) else _STANDARDIZE
    _run_rows(loop, 0, (x, None, weight, bias, out, mean, var), sizes, eps, _threads(4 * x.size))
    return out, mean, var


def standardize_back(g, x, weight, bias_shape, mean, var, dims, eps, needs):
    """Cotangents of x, weight and bias from the cotangents of the three results of `standardize`."""
    of_output, of_mean, of_var = g
    sizes = _layout(x, weight, None, dims)
    if sizes is None or not _row_wise((x, of_output, of_mean, of_var, mean, var)):
        return None
    shape = bias_shape if weight is None else weight.shape
    if (weight is None and shape) or (bias_shape and tuple(bias_shape) != tuple(shape)):
        return None
    contiguous = [None if a is None else numpy.ascontiguousarray(a) for a in (x, of_output, weight, mean, var)]
    x, of_output, weight, mean, var = contiguous
    of_mean, of_var = numpy.ascontiguousarray(of_mean), numpy.ascontiguousarray(of_var)
    out = numpy.empty(x.shape, x.dtype) if needs[0] else None
    rows, runs, length, _, _, period, _, of_run, parts, per_element = sizes
    columns = _are_columns(sizes)
    sums = numpy.zeros((2, parts, length) if per_element else (2, rows, 1 if columns else runs), x.dtype)
    arrays = (x, of_output, weight, None, out, mean, var, of_mean, of_var, sums[0], sums[1])
    loop = _STANDARDIZE_COLUMNS_BACK if columns else _STANDARDIZE_BACK
    _run_rows(loop, 0, arrays, sizes, eps, _threads(4 * x.size))
    if weight is None:
        return out, None, None
    if per_element:
        sums = sums.sum(axis=1)
    elif of_run:
        sums = sums.reshape(2, rows // period, period * runs).sum(axis=1)
    else:
        sums = sums.sum(axis=2)
    return out, sums[0].reshape(shape), sums[1].reshape(shape)


def squared_distances(x, dims, keepdims, divisor):
    """The sums of squared distances from the mean over axes, divided by a positive number.

    None if the axes are neither rows nor columns.
    """
    if type(x) is not numpy.ndarray or not x.size or not _is_dense(x):
        return None
    sizes = _rows_of(x.shape, dims, None)
    columns = sizes is not None and _are_columns(sizes)
    if sizes is None or (sizes[1] > 1 and not columns) or not _row_wise((x,)):
        return None
    out = numpy.empty(_means_shape(x.shape, tuple(dims)) if keepdims else _without_axes(x.shape, dims), x.dtype)
    loop = _DISTANCES_OF_COLUMNS if columns else _DISTANCES
    _run_rows(loop, 0, (x, None, None, None, out), sizes, 0.0, _threads(2 * x.size))
    if compiled:
        adj_divide_by(out, divisor)
    return out


@memoize(1024)
def _without_axes(shape, dims):
    return tuple([n for axis, n in enumerate(shape) if axis not in dims])


# sequences ------------------------------------------------------------------------------------------------------------

#: The cells in the order of vectors.h: for each how many parts the sums of its gates have, and how many gates it keeps.
_CELLS = {"lstm": (4, 4), "gru": (3, 4), "tanh": (1, 0), "relu": (1, 0)}
#: So many samples advance together.
_SAMPLES = 64


@memoize(256)
def _ends(sizes, rows, batch):
    """The ends of the rows of each time step, with 0 in front; None if the rows do not fit."""
    if sizes is None:
        return numpy.arange(0, rows + 1, batch) if batch and rows % batch == 0 else None
    ends = numpy.cumsum((0, *sizes))
    return ends if sum(sizes) == rows and max(sizes) == batch else None


def _rows_alike(*arrays):
    """Plain arrays of one floating type, none of them empty, each in rows, or None; None among them stays.

    A trace records the call as one step.
    """
    dtype = None
    for array in arrays:
        if array is None:
            continue
        if type(array) is not numpy.ndarray:
            if there and hasattr(type(array), "macro_step"):
                array.macro_step("a loop over sequences")
            return None
        dtype = array.dtype if dtype is None else dtype
        if not array.size or array.dtype != dtype:
            return None
    if not there or dtype not in _FLOATS:
        return None
    return [None if array is None else numpy.ascontiguousarray(array) for array in arrays]


def run_sequence(cell, input_part, weight, bias, states, sizes, reverse):
    """The states after each moment and the saved gates, as `rules/recurrent.py` says; None for other arrays."""
    hidden, memory = (*states, None)[:2]
    arrays = _rows_alike(input_part, weight, bias, hidden, memory)
    if arrays is None or [array.ndim for array in (input_part, weight, hidden)] != [2, 2, 2]:
        return None
    input_part, weight, bias, hidden, memory = arrays
    (parts, n_gates), (batch, n), rows = _CELLS[cell], hidden.shape, input_part.shape[0]
    ends = _ends(sizes, rows, batch)
    if ends is None or input_part.shape[1] != parts * n or weight.shape != (parts * n, n):
        return None
    if any([array is not None and array.shape != hidden.shape for array in states]):
        return None
    if bias is not None and bias.shape != (parts * n,):
        return None
    widths = [n] * len(states) + [n_gates * n] * (n_gates > 0)
    results = [with_kept_memory(numpy.empty, ((rows, width), input_part.dtype)) for width in widths]
    hiddens, memories = results[0], results[1] if len(states) == 2 else None
    gates = results[len(states)] if n_gates else None
    arrays = (input_part, weight, bias, hidden, memory, hiddens, memories, gates) + (None,) * 7
    _run_moments(list(_CELLS).index(cell), False, reverse, arrays, ends, (batch, n), _threads(input_part.size * n))
    return tuple(results)


def run_sequence_back(cell, of_states, weight, states, results, sizes, reverse):
    """The cotangents of the input's and the state's parts, the states before, and the first states' cotangents.

    of_states: cotangents of the states among the results, or None. Returns None for other arrays.
    """
    (hidden, memory), (of_hiddens, of_memories) = (*states, None)[:2], (*of_states, None)[:2]
    (parts, n_gates), n_states = _CELLS[cell], len(states)
    memories, gates = results[1] if n_states == 2 else None, results[n_states] if n_gates else None
    arrays = (weight, hidden, memory, results[0], memories, gates, of_hiddens, of_memories)
    arrays = _rows_alike(*arrays)
    if arrays is None or [array.ndim for array in (weight, hidden, results[0])] != [2, 2, 2]:
        return None
    weight, hidden, memory, hiddens, memories, gates, of_hiddens, of_memories = arrays
    (batch, n), rows = hidden.shape, hiddens.shape[0]
    ends = _ends(sizes, rows, batch)
    if ends is None or weight.shape != (parts * n, n) or hiddens.shape != (rows, n):
        return None
    of_input_part, befores = [with_kept_memory(numpy.empty, ((rows, width), hidden.dtype)) for width in (parts * n, n)]
    of_before = numpy.empty_like(of_input_part) if cell == "gru" else of_input_part
    of_first = [numpy.empty_like(hidden) for _ in states]
    arrays = (
        None,
        weight,
        None,
        hidden,
        memory,
        hiddens,
        memories,
        gates,
        of_hiddens,
        of_memories,
        of_input_part,
        of_before,
    )
    arrays += (of_first[0], of_first[1] if n_states == 2 else None, befores)
    _run_moments(list(_CELLS).index(cell), True, reverse, arrays, ends, (batch, n), _threads(of_input_part.size * n))
    return of_input_part, of_before, befores, *of_first


# paths ----------------------------------------------------------------------------------------------------------------


def run_paths(log_probs, states, skip, last, steps, g=None, zero_infinity=False):
    """The losses of connectionist temporal classification, or, given their cotangents, the cotangents of log_probs.

    Arrays as in `rules/losses.py`; None for others.
    """
    arrays = _rows_alike(log_probs, skip, last, g)
    if arrays is None or log_probs.ndim != 3 or type(steps) is not numpy.ndarray or steps.dtype != _INT64:
        return None
    if skip.shape != states.shape or last.shape != states.shape or len(states) != log_probs.shape[1]:
        return None
    if steps.shape != states.shape[:1] or (g is not None and g.shape != steps.shape):
        return None
    out = numpy.empty(steps.shape if g is None else log_probs.shape, log_probs.dtype)
    _run_paths(tuple(arrays), numpy.ascontiguousarray(states), numpy.ascontiguousarray(steps), out, zero_infinity)
    return out


# steps of optimizers --------------------------------------------------------------------------------------------------

#: The formulas that `run_updates` has.
DESCEND, ADAPT = range(2)
#: So many elements of an array are changed by one thread.
_PIECE = 1 << 14


def run_updates(rule, numbers, decay, shrink, maximize, nesterov, rows):
    """Update parameters and state by gradients, as in `optim/elementwise/optimizers.py`; False for other arrays.

    numbers: the numbers of the formula, in the order of updates_loops.h; rows: for each parameter a list of its arrays.
    """
    return there and _run_updates(rule, numbers, decay, shrink, maximize, nesterov, rows)


# pairs ----------------------------------------------------------------------------------------------------------------

#: The norms in the order of vectors.h.
_NORMS = (2, 1, inf)


@memoize(16)
def pairs(n):
    """The numbers of the first and the second of each pair of n points: (0, 1), (0, 2) ... (1, 2) ..."""
    return numpy.triu_indices(n, 1)


def run_pairs(x, p, y=None, g=None):
    """The distances of all pairs of points, or, given their cotangents, the points' cotangents; None for others."""
    arrays = _rows_alike(x, y, g)
    if arrays is None or p not in _NORMS or x.ndim != 2 or x.shape[0] < 2:
        return None
    x, y, g = arrays
    n = x.shape[0]
    out = numpy.empty((n * (n - 1) // 2,) if g is None else x.shape, x.dtype)
    _run_pairs(_NORMS.index(p), x, out if g is None else y, g, out)
    return out


if there:

    def use_kind(number):
        """Use the loops of another kind, for comparisons; returns which were used."""
        global _kind, _tile
        if number not in kinds():
            raise ValueError(f"use_kind(): this processor has the kinds {list(kinds())}, got {number}")
        before = _kind
        _kind, _tile = number, 8 if number == 2 else 4
        return before

    def kind_used():
        """The number of the kind whose loops are used."""
        return _kind

    adj_import_arrays()
    _kind = 0
    use_kind(kind_in_use(kinds()))

    def _run(correlate, source, target, weights, bias, totals, table, sizes, threads):
        job.stack = cython.cast("const adj_stack *", adj_bytes_or_null(table))
        job.source, job.target = adj_bytes_or_null(source), adj_bytes_or_null(target)
        job.weights, job.bias = adj_bytes_or_null(weights), adj_bytes_or_null(bias)
        job.totals = adj_bytes_or_null(totals)
        job.samples = source.shape[0]
        job.groups, job.channels, job.rows, job.at_once, job.band, job.n_bands, job.n_pieces, job.parts = sizes
        strides = _steps(source), _steps(target)
        for i in range(5):
            job.source_strides[i], job.target_strides[i] = strides[0][i], strides[1][i]
        job.next, job.failed = 0, 0
        size = source.itemsize
        work = adj_loop_of(_CORRELATE if correlate else _CONVOLVE, size, _kind)
        share(work, cython.address(job), threads if job.n_pieces > 1 else 1)
        if job.failed:
            raise MemoryError("no memory for the windows at work")

    def _are_plain(arrays):
        """True for arrays of NumPy's of one floating type, of which the first is not empty."""
        precision = adj_precision(arrays[0])
        for array in arrays:
            if adj_precision(array) != precision:
                return False
        return precision >= 0 and adj_n_elements(arrays[0]) > 0

    def _run_rows(number, mode, arrays, sizes, eps, threads):
        """Run a loop on rows; arrays in the order of adj_rows_job, None for missing ones."""
        x, g, weight, bias, out, mean, var, of_mean, of_var, moments, totals = arrays + _MISSING[len(arrays) :]
        job.x, job.g = adj_bytes_or_null(x), adj_bytes_or_null(g)
        job.weight, job.bias = adj_bytes_or_null(weight), adj_bytes_or_null(bias)
        job.out, job.mean, job.var = adj_bytes_or_null(out), adj_bytes_or_null(mean), adj_bytes_or_null(var)
        job.of_mean, job.of_var = adj_bytes_or_null(of_mean), adj_bytes_or_null(of_var)
        job.moments, job.totals = adj_bytes_or_null(moments), adj_bytes_or_null(totals)
        job.rows, job.runs, job.length, job.row_step, job.run_step = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
        job.period, job.weight_row, job.weight_run = sizes[5], sizes[6], sizes[7]
        job.parts, job.per_element = sizes[8], sizes[9]
        job.mode, job.eps, job.next = mode, eps, 0
        size = 4 if adj_precision(x) == 1 else 8
        work = adj_loop_of(number, size, _kind)
        share(work, cython.address(job), threads if job.parts > 1 else 1)

    def _run_moments(cell, is_back, reverse, arrays, ends, sizes, threads):
        """Run a network over sequences; arrays in the order of adj_sequence_job, None for missing ones."""
        input_part, weight, bias, hidden, memory, hiddens, memories, gates = arrays[:8]
        of_hiddens, of_memories, of_input_part, of_before, of_hidden, of_memory, befores = arrays[8:]
        job.input_part, job.weight, job.bias = (
            adj_bytes_or_null(input_part),
            adj_bytes_or_null(weight),
            adj_bytes_or_null(bias),
        )
        job.hidden, job.memory = adj_bytes_or_null(hidden), adj_bytes_or_null(memory)
        job.hiddens, job.memories = adj_bytes_or_null(hiddens), adj_bytes_or_null(memories)
        job.gates, job.befores = adj_bytes_or_null(gates), adj_bytes_or_null(befores)
        job.of_hiddens, job.of_memories = adj_bytes_or_null(of_hiddens), adj_bytes_or_null(of_memories)
        job.of_input_part, job.of_before = adj_bytes_or_null(of_input_part), adj_bytes_or_null(of_before)
        job.of_hidden, job.of_memory = adj_bytes_or_null(of_hidden), adj_bytes_or_null(of_memory)
        job.next, job.failed = 0, 0
        job.cell, job.is_back, job.reverse = cell, is_back, reverse
        job.samples, job.units = sizes
        job.ends, job.moments = cython.cast("int64_t *", adj_bytes_or_null(ends)), ends.size - 1
        job.piece = min(_SAMPLES, max(_tile, -(-job.samples // threads)))
        size = weight.itemsize
        work = adj_loop_of(_SEQUENCE, size, _kind)
        share(work, cython.address(job), threads)
        if job.failed:
            raise MemoryError("no memory for the sequences at work")

    def _run_paths(arrays, states, steps, out, zero_infinity):
        log_probs, skip, last, g = arrays
        job.log_probs, job.skip, job.last = (
            adj_bytes_or_null(log_probs),
            adj_bytes_or_null(skip),
            adj_bytes_or_null(last),
        )
        job.g, job.out = adj_bytes_or_null(g), adj_bytes_or_null(out)
        job.states = cython.cast("int64_t *", adj_bytes_or_null(states))
        job.steps = cython.cast("int64_t *", adj_bytes_or_null(steps))
        job.moments, job.samples, job.classes = log_probs.shape
        job.length, job.next, job.failed, job.zero_infinity = states.shape[1], 0, 0, zero_infinity
        size = log_probs.itemsize
        work = adj_loop_of(_PATHS, size, _kind)
        share(work, cython.address(job), min(job.samples, _threads(16 * job.moments * states.size)))
        if job.failed:
            raise MemoryError("no memory for the paths at work")

    def _run_updates(rule, numbers, decay, shrink, maximize, nesterov, rows):
        kind, count, total = adj_precision(rows[0][0]), 0, 0
        for row in rows:
            n = adj_n_elements(row[0])
            if not adj_is_writable_rows(row[1]):
                row[1] = numpy.array(row[1], order="C")
            for array in row:
                if adj_precision(array) != kind or adj_n_elements(array) != n or not adj_is_writable_rows(array):
                    return False
            count += 1 + n // _PIECE
            total += n
        if kind < 0:
            return False
        job.rows = cython.cast("adj_update *", malloc(count * cython.sizeof(adj_update)))
        if job.rows == cython.NULL:
            raise MemoryError("no memory for a step")
        job.rule, job.decay, job.shrink, job.maximize, job.nesterov = rule, decay, shrink, maximize, nesterov
        for k in range(len(numbers)):
            job.numbers[k] = numbers[k]
        item, most, each = 4 if kind else 8, _PIECE, 0
        for row in rows:
            n, first = adj_n_elements(row[0]), 0
            while first < n:
                for k in range(5):
                    job.rows[each].at[k] = adj_bytes_or_null(row[k]) + first * item if k < len(row) else cython.NULL
                job.rows[each].n = min(most, n - first)
                first += most
                each += 1
        job.n_rows, job.next = each, 0
        work = adj_loop_of(_UPDATES, item, _kind)
        share(work, cython.address(job), _threads(4 * total))
        free(job.rows)
        return True

    def _run_pairs(norm, x, y, g, out):
        job.x, job.y = adj_bytes_or_null(x), adj_bytes_or_null(y)
        job.g, job.out = adj_bytes_or_null(g), adj_bytes_or_null(out)
        job.points, job.coordinates = x.shape
        job.norm, job.failed = norm, 0
        size = x.itemsize
        work = adj_loop_of(_PAIRS, size, _kind)
        share(work, cython.address(job), 1)
        if job.failed:
            raise MemoryError("no memory for the points at work")
