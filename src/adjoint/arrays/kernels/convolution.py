"""Convolution on raw arrays of any library, as products of large matrices: its value and its transposes.

All three use one flat axis. Images are written into a grid with zeros around them, sample after sample, row after row.
For one kernel element, the image elements at all positions are then a contiguous, shifted part of the flat axis. The
stacked parts of all kernel elements are the right factor of one matrix product. Neighbouring rows share a margin, so
little work is wasted; results in margins are dropped.

With a stride s the image is split into s grids (per axis), each with every s-th element. A kernel element i at dilation
d reads grid (i d) mod s, shifted by (i d) // s. The transpose in the image writes these grids one by one.

Here x has shape (N, C, *image), w (O, C / groups, *kernel), y (N, O, *outputs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

from adjoint.arrays.kernels import vectors
from adjoint.arrays.namespace import row_major
from adjoint.runtime.caches import memoize

Shape = tuple[int, ...]
Index = tuple[Any, ...]


class Geometry(NamedTuple):
    """How a kernel moves over an image: one number for each axis of the image."""

    stride: Shape
    padding: Shape
    dilation: Shape

    def outputs(self, image: Shape, kernel: Shape) -> Shape:
        """The number of positions of the kernel."""
        return tuple(
            [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(image, kernel, *self, strict=True)]
        )


#: About how many elements the stacked pieces of one matrix product have: they should stay in the cache.
_PIECES = 1 << 19


# geometry, computed once for each case --------------------------------------------------------------------------------


class GridPart(NamedTuple):
    """One grid along one axis: grid[first : first + n] = source[start :: step][:n]."""

    first: int
    start: int
    step: int
    n: int

    @property
    def grid(self) -> slice:
        """The position in the grid."""
        return slice(self.first, self.first + self.n)

    @property
    def source(self) -> slice:
        """The slice of the source."""
        return slice(self.start, self.start + self.n * self.step, self.step)


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis: the grids by phase, their common length, the results, and (phase, shift) of each kernel element.

    Compared by identity, since the functions below cache it.
    """

    grids: dict[int, GridPart]
    length: int
    results: int
    elements: tuple[tuple[int, int], ...]


def _grid_part(first: int, start: int, step: int, available: int, length: int) -> GridPart:
    """The part of a source with `available` elements that fits into a grid from `first` (which may be negative) on."""
    if first < 0:
        start, first = start - first * step, 0
    return GridPart(first, start, step, max(0, min(length - first, -((start - available) // step))))


def _axis(raw: dict[int, tuple[int, int, int, int]], results: int, elements: tuple[tuple[int, int], ...]) -> Axis:
    """The axis with grids as short as the reads of all elements allow."""
    reach = max(shift for _, shift in elements)
    whole = results + reach
    grids = {phase: _grid_part(*bounds, whole) for phase, bounds in raw.items()}
    before = min(g.first for g in grids.values())
    behind = min(whole - g.first - g.n for g in grids.values())
    # a read beyond the end sees the margin before the next row
    return Axis(grids, max(results, whole - min(before, behind)), results, elements)


@memoize(1024)
def _reading_axis(n: int, k: int, o: int, s: int, p: int, d: int) -> Axis:
    """An axis of the image as the kernel reads it from o positions."""
    elements = tuple([(i * d % s, i * d // s) for i in range(k)])
    raw = {}
    for phase in {phase for phase, _ in elements}:
        first = -((phase - p) // s)
        raw[phase] = (first, first * s + phase - p, s, n)
    return _axis(raw, o, elements)


class Back(NamedTuple):
    """The position of one grid of the transpose's results in the image, and its kernel elements."""

    image: slice
    axis: Axis
    elements: tuple[int, ...]


@memoize(1024)
def _writing_axis(n: int, k: int, o: int, s: int, p: int, d: int) -> tuple[Back, ...]:
    """An axis of the image as the transpose writes it: for each phase, which elements see which part of o positions."""
    backs = []
    reach = (k - 1) * d // s
    # if the stride exceeds the image, there are only as many phases as elements
    for start in range(min(s, n)):
        phase = (start + p) % s
        low = -((phase - p) // s)
        results = -((start - n) // s)
        elements = tuple([i for i in range(k) if i * d % s == phase])
        shifts = tuple([(0, reach - i * d // s) for i in elements])
        # position m of this phase reads position m - shift of the element in y; y begins after a margin of the grid
        axis = _axis({0: (reach - low, 0, 1, o)}, results, shifts) if elements else Axis({}, 0, results, ())
        backs.append(Back(slice(start, n, s), axis, elements))
    return tuple(backs)


@dataclass(frozen=True, eq=False)
class Stack:
    """Several axes together: for each kernel element its grid's number and its shift in the flat axis.

    Compared by identity, as an axis: the many numbers would take longer to hash than a small image to convolve.
    """

    axes: tuple[Axis, ...]
    phases: tuple[Shape, ...]
    elements: tuple[tuple[int, int], ...]
    lengths: Shape
    reach: int

    @property
    def results(self) -> Shape:
        """How many results there are along each axis."""
        return tuple([axis.results for axis in self.axes])


@memoize(1024)
def _stack(axes: tuple[Axis, ...]) -> Stack:
    lengths = tuple([axis.length for axis in axes])
    steps = [prod(lengths[i + 1 :]) for i in range(len(lengths))]
    phases: dict[Shape, int] = {}
    elements = []
    for element in product(*[axis.elements for axis in axes]):
        phase = tuple([phase for phase, _ in element])
        shift = sum([shift * step for (_, shift), step in zip(element, steps, strict=True)])
        elements.append((phases.setdefault(phase, len(phases)), shift))
    return Stack(axes, tuple(phases), tuple(elements), lengths, max(shift for _, shift in elements))


@memoize(1024)
def _reading(image: Shape, kernel: Shape, outputs: Shape, geometry: Geometry) -> Stack:
    """An image as the kernel reads it from some positions."""
    return _stack(tuple([_reading_axis(*numbers) for numbers in zip(image, kernel, outputs, *geometry, strict=True)]))


@memoize(1024)
def _reading_all(image: Shape, kernel: Shape, geometry: Geometry) -> tuple[Shape, Stack]:
    """The numbers of all positions, and the image as the kernel reads it from them."""
    outputs = geometry.outputs(image, kernel)
    return outputs, _reading(image, kernel, outputs, geometry)


#: A part of an image, of the kernel, and the outputs as the part's elements see them.
Part = tuple[Index, Index, Stack | None]


@memoize(1024)
def _writing(image: Shape, kernel: Shape, outputs: Shape, geometry: Geometry) -> Sequence[Part]:
    """The image as the transpose writes it: for each phase the part of the image and of the kernel, and the outputs.

    The last is None if no element of the kernel belongs to the phase.
    """
    whole = (slice(None), slice(None))
    axes = [_writing_axis(*numbers) for numbers in zip(image, kernel, outputs, *geometry, strict=True)]
    parts: list[Part] = []
    for backs in product(*axes):
        part: Index = (*whole, *[back.image for back in backs])
        if all(back.elements for back in backs):
            elements: Index = (*whole, *[_every(back.elements) for back in backs], ...)
            parts.append((part, elements, _stack(tuple([back.axis for back in backs]))))
        else:
            parts.append((part, (), None))
    return parts


def _every(numbers: tuple[int, ...]) -> slice:
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    return slice(numbers[0], numbers[-1] + 1, step)


# grids and windows ----------------------------------------------------------------------------------------------------


def _grids(xp: Any, source: Any, stack: Stack, groups: int) -> list[Any]:
    """The samples of `source` written into grids of shape (groups, channels, flat axis)."""
    n, channels = source.shape[:2]
    flat = n * prod(stack.lengths)
    turned = xp.permute_dims(source, (1, 0, *range(2, source.ndim)))
    grids = []
    for phase in stack.phases:
        grid = xp.zeros((channels, flat + stack.reach), dtype=source.dtype)
        axes = [axis.grids[number] for axis, number in zip(stack.axes, phase, strict=True)]
        if all(part.n for part in axes):
            grid_view = xp.reshape(grid[:, :flat], (channels, n, *stack.lengths))
            here = tuple([part.grid for part in axes])
            there = tuple([part.source for part in axes])
            whole = (slice(None), slice(None))
            xp.setitem(grid_view, (*whole, *here), xp.getitem(turned, (*whole, *there)))
        grids.append(xp.reshape(grid, (groups, channels // groups, flat + stack.reach)))
    return grids


def _windows_of(xp: Any, grids: list[Any], stack: Stack, begin: int, end: int) -> Any:
    """The windows of all channels at some of the positions: (groups, K * channels, positions)."""
    windows = [grids[number][:, :, begin + shift : end + shift] for number, shift in stack.elements]
    return windows[0] if len(windows) == 1 else xp.concat(windows, axis=1)


def _parts(stack: Stack, samples: int, channels: int) -> Iterator[tuple[int, int]]:
    """The flat axis in parts, which are several only where one sample is too large for one product."""
    flat = samples * prod(stack.lengths)
    n = -(-flat * channels * len(stack.elements) // (2 * _PIECES)) if samples == 1 and len(stack.elements) > 1 else 1
    for i in range(n):
        yield flat * i // n, flat * (i + 1) // n


def _multiply(xp: Any, matrix: Any, grids: list[Any], stack: Stack, samples: int) -> Any:
    """matrix (groups, rows, K * channels) times the windows at all positions."""
    groups, channels = grids[0].shape[:2]
    if 2 * matrix.shape[1] < channels and len(stack.elements) > 1:
        return _multiplied_first(xp, matrix, grids, stack, samples)
    products = [
        xp.matmul(matrix, _windows_of(xp, grids, stack, begin, end))
        for begin, end in _parts(stack, samples, groups * channels)
    ]
    return products[0] if len(products) == 1 else xp.concat(products, axis=2)


def _multiplied_first(xp: Any, matrix: Any, grids: list[Any], stack: Stack, samples: int) -> Any:
    """`_multiply` for results with few rows: each element's product is shifted instead of its windows."""
    flat = samples * prod(stack.lengths)
    groups, rows = matrix.shape[:2]
    each = xp.reshape(matrix, (groups, rows, len(stack.elements), grids[0].shape[1]))
    total = None
    for number, grid in enumerate(grids):
        elements = [(e, shift) for e, (of, shift) in enumerate(stack.elements) if of == number]
        factors = xp.concat([each[:, :, e, :] for e, _ in elements], axis=1)
        products = xp.matmul(factors, grid)
        for row, (_, shift) in enumerate(elements):
            term = products[:, row * rows : (row + 1) * rows, shift : shift + flat]
            if total is None:
                total = xp.asarray(term, copy=True)
            else:
                total += term
    return total


def _products(xp: Any, matrix: Any, source: Any, stack: Stack, bias: Any) -> Any:
    """matrix times the windows of source, plus bias: (N, groups * rows, *results), a view."""
    groups, rows = matrix.shape[:2]
    n = source.shape[0]
    whole = _multiply(xp, matrix, _grids(xp, source, stack, groups), stack, n)
    if bias is not None:
        whole += xp.reshape(bias, (groups, rows, 1))
    result = xp.reshape(whole, (groups * rows, n, *stack.lengths))
    result = result[(slice(None), slice(None), *[slice(n) for n in stack.results])]
    return xp.permute_dims(result, (1, 0, *range(2, result.ndim)))


def _samples(source: Any, stack: Stack, rows: int) -> Iterator[slice]:
    """Groups of samples for one matrix product each."""
    n = source.shape[0]
    elements = len(stack.elements)
    each = prod(stack.lengths) * max(rows, min(2 * rows, source.shape[1]) * elements, source.shape[1])
    count = max(1, min(n, round(n * each / _PIECES)))
    for i in range(count if n else 0):
        yield slice(n * i // count, n * (i + 1) // count)


def _by_vectors(*arrays: Any) -> bool:
    """True if the loops of `vectors` are there for these arrays."""
    return bool(vectors.can_do(*arrays))


# the operation and its transposes -------------------------------------------------------------------------------------


def _elements_first(xp: Any, w: Any, groups: int) -> Any:
    """The kernel as one matrix per group: (groups, O / groups, K * C / groups)."""
    turned = xp.permute_dims(w, (0, *range(2, w.ndim), 1))
    return xp.reshape(turned, (groups, w.shape[0] // groups, prod(w.shape[1:])))


def convolution(xp: Any, x: Any, w: Any, bias: Any, geometry: Geometry, groups: int) -> Any:
    """y[n, o, p] = bias[o] + the sum over c and i of w[o, c, i] x[n, c, p * stride + i * dilation - padding].

    >>> import numpy
    >>> from adjoint.arrays.libraries.numpy_namespace import xp
    >>> x, w = numpy.arange(5.0).reshape(1, 1, 5), numpy.ones((1, 1, 3))
    >>> convolution(xp, x, w, None, Geometry((2,), (1,), (1,)), 1)
    array([[[1., 6., 7.]]])
    """
    outputs, stack = _reading_all(tuple(x.shape[2:]), tuple(w.shape[2:]), geometry)
    y = xp.empty((x.shape[0], w.shape[0], *outputs), dtype=x.dtype)
    if _by_vectors(x, w, y):
        weights = w.reshape(groups, w.shape[0] // groups, w.shape[1], len(stack.elements))
        if vectors.convolve(x, weights, bias, y, stack):
            return y
    matrix = _elements_first(xp, w, groups)
    for part in _samples(x, stack, w.shape[0]):
        y[part, ...] = _products(xp, matrix, x[part, ...], stack, bias)
    return y


def transpose(xp: Any, y: Any, w: Any, bias: Any, image: Shape, geometry: Geometry, groups: int) -> Any:
    """The transpose of `convolution` in x, for an image of the given size, plus a bias for each channel of x."""
    kernel = tuple(w.shape[2:])
    n, per_group = y.shape[0], w.shape[1]
    x = xp.empty((n, groups * per_group, *image), dtype=y.dtype)
    # (groups, C / groups, *kernel, O / groups)
    turned = xp.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
    turned = xp.permute_dims(turned, (0, 2, *range(3, turned.ndim), 1))
    by_vectors = _by_vectors(y, w, x)
    for where, elements, stack in _writing(tuple(image), kernel, tuple(y.shape[2:]), geometry):
        target = x[where]
        if stack is None:
            target[...] = 0 if bias is None else xp.reshape(bias, (-1, *(1,) * len(image)))
            continue
        # a phase has every so many-th element of the kernel
        part = turned[elements]
        if by_vectors:
            weights = xp.permute_dims(xp.reshape(part, (groups, per_group, len(stack.elements), -1)), (0, 1, 3, 2))
            if vectors.convolve(y, weights, bias, target, stack):
                continue
        matrix = xp.reshape(part, (groups, per_group, prod(part.shape[2:])))
        for samples in _samples(y, stack, x.shape[1]):
            target[samples, ...] = _products(xp, matrix, y[samples, ...], stack, bias)
    return x


def weight(xp: Any, y: Any, x: Any, kernel: Shape, geometry: Geometry, groups: int) -> Any:
    """The transpose of `convolution` in w, for a kernel of the given size, without conjugation.

    It is the sum over n and p of y[n, o, p] x[n, c, p * stride + i * dilation - padding].
    """
    outputs = tuple(y.shape[2:])
    rows, channels = y.shape[1] // groups, x.shape[1] // groups
    stack = _reading(tuple(x.shape[2:]), kernel, outputs, geometry)
    if _by_vectors(x, y):
        result = vectors.correlate(y, x, stack, groups)
        if result is not None:
            return row_major(result.reshape(groups * rows, channels, *kernel))
    total = xp.zeros((groups, rows, len(stack.elements) * channels), dtype=y.dtype)
    for part in _samples(x, stack, y.shape[1]):
        grids = _grids(xp, x[part, ...], stack, groups)
        n = part.stop - part.start
        spread = xp.zeros((y.shape[1], n, *stack.lengths), dtype=y.dtype)
        by_channel = xp.permute_dims(y[part, ...], (1, 0, *range(2, y.ndim)))
        spread[(slice(None), slice(None), *[slice(n) for n in outputs])] = by_channel
        spread = xp.reshape(spread, (groups, rows, n * prod(stack.lengths)))
        for begin, end in _parts(stack, n, x.shape[1]):
            windows = _windows_of(xp, grids, stack, begin, end)
            total += xp.matmul(spread[:, :, begin:end], xp.permute_dims(windows, (0, 2, 1)))
    w = xp.reshape(total, (groups * rows, *kernel, channels))
    return row_major(xp.permute_dims(w, (0, w.ndim - 1, *range(1, w.ndim - 1))))
