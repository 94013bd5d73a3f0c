"""Linear maps along single axes: pooling windows, interpolation, reflecting margins.

An `AxisMap` holds, for each result, the elements along an axis of length n that it sums, and their weights. Its
transpose is an `AxisMap` again. It is applied in a few passes over whole arrays: pass t adds, for all results at once,
the t-th element that goes into each. Elements at equal distances are read by a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.kernels import max_pooling, scatter
from adjoint.arrays.kernels.products_and_sums import MAX, SUM, reduce
from adjoint.runtime.caches import memoize


class computed_once:
    """functools.cached_property without the lock that it has in Python 3.11: in a child process nobody releases it."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.compute(instance)
        return value


class Pass(NamedTuple):
    """results[into] += weight * elements[of]; with weight None the map's scale is used.

    into: a range without gaps, or one with equal gaps that has a step.
    """

    into: slice
    of: slice | numpy.ndarray
    weight: numpy.ndarray | None


class AxisMap:
    """A linear map along one axis. It is compared by identity, since the functions that make maps cache them.

    n: the number of elements. index, weight: of shape (results, passes); a weight of 0 means no element.
    """

    def __init__(self, n: int, index: Any, weight: Any = None) -> None:
        self.n = n
        self.index = numpy.asarray(index, numpy.int64)
        self.weight = numpy.ones(self.index.shape) if weight is None else numpy.asarray(weight, numpy.float64)
        self.results, self.passes = self.index.shape
        nonzero_weights = self.weight[self.weight != 0]
        #: One weight for all, or None.
        self.scale: float | None = (
            float(nonzero_weights[0])
            if nonzero_weights.size and (nonzero_weights == nonzero_weights[0]).all()
            else None
        )

    @computed_once
    def is_identity(self) -> bool:
        """True if every result is the element at its own place."""
        return (
            self.results == self.n
            and self.passes == 1
            and self.scale == 1
            and bool((self.index[:, 0] == numpy.arange(self.n)).all())
        )

    @computed_once
    def zero_fill(self) -> AxisMap:
        """A map on the results: the identity for results with elements, 0 for the others."""
        return AxisMap(self.results, numpy.arange(self.results)[:, None], (self.weight != 0).any(1)[:, None])

    @computed_once
    def is_sum(self) -> bool:
        """True if there is one result, all elements with the same weight."""
        return self.results == 1 and self.passes == self.n and self.scale is not None and bool(self.weight.all())

    @computed_once
    def bounds(self) -> numpy.ndarray | None:
        """The beginnings and ends of the element ranges of the results.

        None unless each result has a range of neighbouring elements, with one weight for all or one for each result.
        """
        has_element = self.weight != 0
        number = has_element.sum(axis=1)
        begin = self.index[:, 0]
        rows = begin[:, None] + numpy.arange(self.passes)
        even = (self.weight == self.weight[:, :1]) | ~has_element
        neighbours = has_element[:, :1].all() and (rows == self.index)[has_element].all()
        if not (self.passes and number.all() and neighbours and even.all()):
            return None
        return numpy.stack([begin, begin + number], axis=1).reshape(-1)

    @computed_once
    def spacing(self) -> tuple[int, int, int] | None:
        """The beginning of the first range of `bounds`, the distance of ranges, and their length.

        None unless all have one length and one distance.
        """
        if self.bounds is None:
            return None
        begins, ends = self.bounds[::2], self.bounds[1::2]
        steps, lengths = numpy.diff(begins), ends - begins
        if (steps != steps[:1]).any() or (lengths != lengths[0]).any():
            return None
        return int(begins[0]), int(steps[0]) if len(steps) else 0, int(lengths[0])

    @computed_once
    def is_tiling(self) -> bool:
        """True if the results have neighbouring ranges of one length, which together are all elements."""
        tiling = numpy.arange(self.n).reshape(self.results, -1) if self.results * self.passes == self.n else None
        return tiling is not None and bool((self.index == tiling).all() and self.weight.all())

    @computed_once
    def ranges(self) -> tuple[int, int, numpy.ndarray] | None:
        """n, the number of results, and for each pass (begin, end, first, step) of the summands of results[begin:end].

        A step of 0 means one element for all results. None if the elements of a pass are not equally spaced.
        """
        bounds = []
        for steps in self.steps:
            if len(steps) > 1:
                return None
            for into, of, _ in steps:
                if not isinstance(of, slice) or into.step is not None:
                    return None
                same = into.stop - into.start > 1 and of.stop == of.start + 1
                bounds.append((into.start, into.stop, of.start, 0 if same else of.step or 1))
        return self.n, self.results, numpy.array(bounds, numpy.int64).reshape(-1, 4)

    @computed_once
    def table(self) -> tuple[numpy.ndarray, numpy.ndarray, tuple[numpy.ndarray, numpy.ndarray] | None, bool]:
        """The summands of each result in the order of passes, as arguments of `scatter.axis_sums`.

        These are: the beginnings in the flat arrays, the elements, the weights in both precisions or None, and whether
        sums begin with zero. In the plain form they do, unless every result is in the first pass.
        """
        there = self.weight != 0
        starts = numpy.concatenate([[0], numpy.cumsum(there.sum(1))]).astype(numpy.int64)
        weights = None
        if self.scale is None:
            weights = self.weight[there], self.weight[there].astype(numpy.float32)
        return starts, self.index[there], weights, not (self.passes and there[:, 0].all())

    @computed_once
    def steps(self) -> tuple[tuple[Pass, ...], ...]:
        """The summands of each pass: none, or one range of results."""
        return tuple([tuple(self._ranges(t)) for t in range(self.passes)])

    def _ranges(self, t: int) -> Iterator[Pass]:
        there = numpy.flatnonzero(self.weight[:, t])
        gaps = numpy.diff(there)
        if gaps.size and gaps[0] > 1 and (gaps == gaps[0]).all() and len(_even_parts(self.index[there, t])) == 1:
            # one element at a time has gaps on both sides
            into = slice(int(there[0]), int(there[-1]) + 1, int(gaps[0]))
            weight = None if self.scale is not None else self.weight[into, t]
            yield Pass(into, _progression(self.index[there, t]), weight)
            return
        # ranges without gaps
        for run in numpy.split(there, numpy.flatnonzero(gaps > 1) + 1):
            if not run.size:
                continue
            first, index = int(run[0]), self.index[run, t]
            for begin, end in _even_parts(index):
                into = slice(first + begin, first + end)
                weight = None if self.scale is not None else self.weight[into, t]
                yield Pass(into, _progression(index[begin:end]), weight)

    @computed_once
    def transpose(self) -> AxisMap:
        """The transpose."""
        indices: tuple[Any, ...] = numpy.nonzero(self.weight)
        result, t = indices
        element, weight = self.index[result, t], self.weight[result, t]
        order = numpy.argsort(element, kind="stable")
        element, result, weight = element[order], result[order], weight[order]
        counts = numpy.bincount(element, minlength=self.n)
        position = numpy.arange(element.size) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
        shape = (self.n, max(1, int(counts.max(initial=0))))
        index, weights = numpy.zeros(shape, numpy.int64), numpy.zeros(shape)
        index[element, position] = result
        weights[element, position] = weight
        back = AxisMap(self.results, index, weights)
        back.transpose = self
        return back


#: Up to how many ranges elements are read by slices; if they lie in more, they are picked one by one.
_FEW = 5


def _even_parts(index: numpy.ndarray) -> list[tuple[int, int]]:
    """Parts of a range with equally spaced indices; the whole range if there would be many parts."""
    parts, begin, n = [], 0, index.size
    turns = numpy.flatnonzero(numpy.diff(index, 2)) + 2
    for turn in turns[: 2 * _FEW].tolist():
        # the step to the next part belongs to neither
        if turn - begin > 1:
            parts.append((begin, turn))
            begin = turn
    parts.append((begin, n))
    return parts if turns.size <= 2 * _FEW and len(parts) <= _FEW else [(0, n)]


def _progression(index: numpy.ndarray) -> slice | numpy.ndarray:
    """Indices at equal distances as a slice; the same index again and again as a slice of one element."""
    first, step = int(index[0]), int(index[1] - index[0]) if index.size > 1 else 1
    if (numpy.diff(index) != step).any():
        return index
    if step == 0:
        return slice(first, first + 1)
    end = first + step * index.size
    return slice(first, None if end < 0 else end, step)


def _at(axis: int, where: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + (where, ...)


def _pick(xp: Any, x: Any, axis: int, of: Any) -> Any:
    return xp.getitem(x, _at(axis, of)) if isinstance(of, slice) else xp.take(x, of, axis=axis)


def _term(xp: Any, x: Any, axis: int, step: Pass) -> Any:
    term = _pick(xp, x, axis, step.of)
    if step.weight is None:
        return term
    weight = xp.asarray(step.weight, dtype=_real(xp, x))
    return term * xp.reshape(weight, (-1, *(1,) * (x.ndim - axis - 1)))


def _combine(xp: Any, x: Any, axis: int, passes: Sequence[Sequence[Pass]], n: int, add: str, zero: Any) -> Any:
    """All passes together. Results that the first one does not reach begin with `zero`."""
    shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
    covered = bool(passes) and sum([len(range(n)[step.into]) for step in passes[0]]) == n
    total = xp.empty(shape, dtype=x.dtype) if covered else xp.full(shape, zero, dtype=x.dtype)
    for number, steps in enumerate(passes):
        for step in steps:
            index, term = _at(axis, step.into), _term(xp, x, axis, step)
            if covered and not number:
                xp.setitem(total, index, term)
            else:
                xp.combine(add, total, index, term)
    return total


def _real(xp: Any, x: Any) -> Any:
    return xp.real(x).dtype if kind_of(x) == "c" else x.dtype


@memoize(1024)
def _order(maps: tuple[AxisMap, ...]) -> tuple[float, bool, tuple[int, ...], tuple[int, ...]]:
    """Properties that do not depend on the array: the product of all scales, whether there are more results than
    elements, the maps that sum all elements, and the other maps in order, where the axis that shrinks most comes first.
    """
    scale = prod([axis_map.scale for axis_map in maps if axis_map.scale is not None])
    larger = prod([axis_map.results for axis_map in maps]) > prod([axis_map.n for axis_map in maps])
    sums_of_all = tuple([i for i, axis_map in enumerate(maps) if axis_map.is_sum])
    others = [i for i, axis_map in enumerate(maps) if not axis_map.is_identity and not axis_map.is_sum]
    return scale, larger, sums_of_all, tuple(sorted(others, key=lambda i: maps[i].results / max(maps[i].n, 1)))


def sums(xp: Any, x: Any, maps: Sequence[AxisMap]) -> Any:
    """Each map applied along its axis, the last map along the last axis.

    >>> from adjoint.arrays.libraries.numpy_namespace import xp
    >>> sums(xp, numpy.arange(6.0), (windows(6, 2, 2, 0, 1, 3),))
    array([1., 5., 9.])
    """
    first = x.ndim - len(maps)
    scale, larger, sums_of_all, others = _order(tuple(maps))
    result = x * scale if larger and scale != 1 else x
    if sums_of_all:
        axes = tuple([first + i for i in sums_of_all])
        result = xp.sum(result, axis=axes, keepdims=True, dtype=result.dtype)
    for i in others:
        axis_map = maps[i]
        if axis_map.passes > 8 and axis_map.passes == axis_map.n and (axis_map.weight != 0).all():
            result = _dense(xp, result, first + i, axis_map)
        elif axis_map.passes > 8 and type(result) is numpy.ndarray and axis_map.bounds is not None:
            result = _by_bounds(result, first + i, axis_map)
        else:
            quick = scatter.axis_sums(result, first + i, axis_map.table) if scatter.compiled else None
            if quick is None:
                quick = _combine(xp, result, first + i, axis_map.steps, axis_map.results, "add", 0)
            result = quick
    if not larger and scale != 1:
        return result * scale
    return xp.asarray(x, copy=True) if result is x else result


#: Up to this number of results are reduced one by one, in whole slices.
_FEW_RESULTS = 8


def _by_slices(kind: int, ufunc: numpy.ufunc, x: Any, axis: int, bounds: Any) -> Any:
    """Reduces ranges of neighbouring elements along an axis, one by one."""
    result = numpy.empty((*x.shape[:axis], len(bounds) // 2, *x.shape[axis + 1 :]), x.dtype)
    for i, (begin, end) in enumerate(bounds.reshape(-1, 2).tolist()):
        elements_of, into = x[_at(axis, slice(begin, end))], result[_at(axis, slice(i, i + 1))]
        quick = reduce(kind, elements_of, axis, True)
        if quick is None:
            ufunc.reduce(elements_of, axis, x.dtype, into, keepdims=True)
        else:
            into[...] = quick
    return result


def _by_bounds(x: Any, axis: int, axis_map: AxisMap) -> Any:
    """Sums of neighbouring elements, many for each result."""
    bounds: Any = axis_map.bounds
    few = axis_map.results <= _FEW_RESULTS
    total = _by_slices(SUM, numpy.add, x, axis, bounds) if few else _by_steps(x, axis, bounds)
    if axis_map.scale is None:
        total *= axis_map.weight[:, 0].astype(total.real.dtype).reshape(-1, *(1,) * (x.ndim - axis - 1))
    return total


def _by_steps(x: Any, axis: int, bounds: Any) -> Any:
    n = x.shape[axis]
    if bounds[-1] == n:
        bounds = bounds[:-1]
    if bounds.max() == n:
        # several end where the axis does, which NumPy has no index for
        x = numpy.concatenate([x, numpy.zeros_like(x[_at(axis, slice(1))])], axis=axis)
    # NumPy sums from each bound to the next if that is larger: every other sum is read
    return numpy.add.reduceat(x, bounds, axis=axis)[_at(axis, slice(0, None, 2))]


def _dense(xp: Any, x: Any, axis: int, axis_map: AxisMap) -> Any:
    """A map whose every result depends on every element, as a matrix product."""
    matrix = numpy.empty((axis_map.results, axis_map.n))
    numpy.put_along_axis(matrix, axis_map.index, 1.0 if axis_map.scale is not None else axis_map.weight, axis=1)
    factor = xp.asarray(matrix, dtype=_real(xp, x))
    if axis == x.ndim - 1:
        return xp.matmul(x, xp.matrix_transpose(factor))
    behind = x.shape[axis + 1 :]
    rows = xp.reshape(x, (*x.shape[: axis + 1], prod(behind)))
    return xp.reshape(xp.matmul(factor, rows), (*x.shape[:axis], axis_map.results, *behind))


# windows --------------------------------------------------------------------------------------------------------------


@memoize(1024)
def windows(n: int, kernel: int, stride: int, padding: int, dilation: int, results: int) -> AxisMap:
    """The elements under a kernel at each of its positions; positions in the padding have no element."""
    index = numpy.arange(results)[:, None] * stride - padding + numpy.arange(kernel) * dilation
    in_bounds = (index >= 0) & (index < n)
    return AxisMap(n, numpy.where(in_bounds, index, 0), in_bounds)


def counts(n: int, kernel: int, stride: int, padding: int, results: int, count_padding: bool) -> Any:
    """The number of elements under a kernel at each position, with or without padding."""
    start = numpy.arange(results) * stride - padding
    end = numpy.minimum(start + kernel, n + padding)
    if not count_padding:
        start, end = numpy.maximum(start, 0), numpy.minimum(end, n)
    return end - start


@memoize(1024)
def means(n: int, kernel: int, stride: int, padding: int, results: int, count_padding: bool) -> AxisMap:
    """The elements under a kernel at each of its positions, divided by their number."""
    plain = windows(n, kernel, stride, padding, 1, results)
    number = counts(n, kernel, stride, padding, results, count_padding)
    return AxisMap(n, plain.index, plain.weight / number[:, None])


@memoize(1024)
def adaptive(n: int, results: int) -> AxisMap:
    """Windows of about equal size that cover an axis: i begins at i n / results rounded down, and ends rounded up."""
    i = numpy.arange(results)
    start, end = i * n // results, -((i + 1) * n // -results)
    index = start[:, None] + numpy.arange(int((end - start).max(initial=1)))
    in_window = index < end[:, None]
    return AxisMap(n, numpy.where(in_window, index, 0), in_window)


@memoize(1024)
def adaptive_means(n: int, results: int) -> AxisMap:
    """The means over these windows."""
    plain = adaptive(n, results)
    return AxisMap(n, plain.index, plain.weight / plain.weight.sum(1, keepdims=True))


@memoize(1024)
def picks(n: int, index: tuple[int, ...]) -> AxisMap:
    """Single elements."""
    return AxisMap(n, numpy.asarray(index, numpy.int64).reshape(-1, 1))


#: Windows are handled one by one up to this number, if they have this number of elements.
_FEW_WINDOWS, _LARGE_WINDOW = 64, 64


def _are_few_and_large(x: Any, maps: Sequence[AxisMap]) -> bool:
    return (
        type(x) is numpy.ndarray
        and x.size > 0
        and prod([axis_map.results for axis_map in maps]) <= _FEW_WINDOWS
        and prod([axis_map.passes for axis_map in maps]) >= _LARGE_WINDOW
        and all(axis_map.bounds is not None for axis_map in maps)
    )


def _largest_of_few(x: Any, maps: Sequence[AxisMap]) -> Any:
    """The largest element of each window, NaN if it has one."""
    for axis, axis_map in enumerate(maps, x.ndim - len(maps)):
        x = _by_slices(MAX, numpy.maximum, x, axis, axis_map.bounds)
    return x


def _places_of_few(x: Any, maps: Sequence[AxisMap]) -> Any:
    """The index of the largest element of each window, the first of several; None if there is a NaN."""
    outer = x.shape[: x.ndim - len(maps)]
    result = _places_at_equal_distances(x, maps, outer)
    if result is None:
        result = _places_one_by_one(x, maps, outer)
    image = x.reshape(*outer, -1)
    missing = x.dtype.kind == "f" and numpy.isnan(numpy.take_along_axis(image, result.reshape(*outer, -1), -1)).any()
    return None if missing else result


def _places_at_equal_distances(x: Any, maps: Sequence[AxisMap], outer: Any) -> Any:
    """The same result for equally spaced windows of one size, from one strided array; None for others."""
    spacings = [axis_map.spacing for axis_map in maps]
    if None in spacings or not x.flags.c_contiguous:
        return None
    counts, lengths = [axis_map.results for axis_map in maps], [length for _, _, length in spacings]
    if prod(counts) * prod(lengths) > 2 * prod(x.shape[len(outer) :]):
        return None
    strides = x.strides[len(outer) :]
    steps = [step * stride for (_, step, _), stride in zip(spacings, strides, strict=True)]
    start = sum([begin * stride for (begin, _, _), stride in zip(spacings, strides, strict=True)])
    shape = (*outer, *counts, *lengths)
    windows: Any = numpy.ndarray(shape, x.dtype, x, start, (*x.strides[: len(outer)], *steps, *strides))
    first = windows.reshape(*outer, *counts, -1).argmax(axis=-1)
    result: Any = 0
    size = 1
    for k in reversed(range(len(maps))):
        begin, step, length = spacings[k]
        along = numpy.arange(begin, begin + counts[k] * step, step) if step else numpy.array([begin])
        along = along.reshape(-1, *(1,) * (len(maps) - 1 - k))
        first, at = divmod(first, length) if k else (None, first)
        result = result + (at + along) * size
        size *= maps[k].n
    return result


def _places_one_by_one(x: Any, maps: Sequence[AxisMap], outer: Any) -> Any:
    result = numpy.empty((*outer, *[axis_map.results for axis_map in maps]), numpy.int64)
    bounds: Any = [axis_map.bounds for axis_map in maps]
    for window in numpy.ndindex(*result.shape[len(outer) :]):
        begins, ends = [[int(along[2 * i + k]) for along, i in zip(bounds, window, strict=True)] for k in (0, 1)]
        window_slices = [slice(*pair) for pair in zip(begins, ends, strict=True)]
        elements_under = x[(..., *window_slices)].reshape(*outer, -1)
        first = elements_under.argmax(axis=-1)
        position: Any = 0
        lengths = [end - begin for begin, end in zip(begins, ends, strict=True)]
        for axis_map, begin, at in zip(maps, begins, numpy.unravel_index(first, lengths), strict=True):
            position = position * axis_map.n + begin + at
        result[(..., *window)] = position
    return result


def maxima(xp: Any, x: Any, maps: Sequence[AxisMap]) -> Any:
    """The largest element of each window, NaN if it has one."""
    if _are_few_and_large(x, maps):
        return _largest_of_few(x, maps)
    ranges = [axis_map.ranges for axis_map in maps]
    if max_pooling.can_do(xp, x, len(maps)) and None not in ranges:
        return max_pooling.maxima(x, ranges, False)
    first = x.ndim - len(maps)
    lowest = -xp.inf if kind_of(x) == "f" else xp.iinfo(x.dtype).min
    result = x
    for i, axis_map in enumerate(maps):
        if not axis_map.is_identity:
            result = _combine(xp, result, first + i, axis_map.steps, axis_map.results, "maximum", lowest)
    return xp.asarray(x, copy=True) if result is x else result


class Element(NamedTuple):
    """One element of the windows over several axes, where it is there: index tuples into results and elements."""

    into: tuple[Any, ...]
    of: tuple[Any, ...]
    number: int


@memoize(256)
def elements(maps: tuple[AxisMap, ...]) -> tuple[Element, ...]:
    """All elements of the windows in the order of memory."""
    result = []
    for number, along in enumerate(product(*[result.steps for result in maps])):
        for parts in product(*along):
            of = tuple([part.of for part in parts])
            result.append(Element((..., *[part.into for part in parts]), of, number))
    return tuple(result)


def elements_under(xp: Any, x: Any, element: Element) -> Any:
    """The view of one element of all windows."""
    first = x.ndim - len(element.of)
    if all(isinstance(of, slice) for of in element.of):
        return xp.getitem(x, (..., *element.of))
    for i, of in enumerate(element.of):
        x = _pick(xp, x, first + i, of)
    return x


@memoize(256)
def _places(maps: tuple[AxisMap, ...]) -> numpy.ndarray:
    """The flat index of each element of each window, the last one twice: (windows * (elements + 1),)."""
    flat = numpy.zeros((1, 1), numpy.int64)
    for axis_map in maps:
        along = axis_map.index[None, :, None, :]
        flat = (flat[:, None, :, None] * axis_map.n + along).reshape(
            flat.shape[0] * axis_map.results, flat.shape[1] * axis_map.passes
        )
    return numpy.concatenate([flat, flat[:, -1:]], axis=1).reshape(-1)


@memoize(256)
def zero_fills(maps: tuple[AxisMap, ...]) -> tuple[AxisMap, ...] | None:
    """Maps that make results of windows without elements 0; None where each window has one."""
    filled_maps = tuple(axis_map.zero_fill for axis_map in maps)
    return None if all(axis_map.is_identity for axis_map in filled_maps) else filled_maps


def places_of_maxima(xp: Any, x: Any, maps: tuple[AxisMap, ...]) -> Any:
    """The flat index of the largest element of each window: the first of several, or the last NaN.

    A window without elements gets an arbitrary index of the image.
    """
    places = _places_of_few(x, maps) if _are_few_and_large(x, maps) else None
    if places is not None:
        return places
    ranges = [axis_map.ranges for axis_map in maps]
    if max_pooling.can_do(xp, x, len(maps)) and None not in ranges:
        places = max_pooling.maxima(x, ranges, True)
        return places if zero_fills(maps) is None else numpy.maximum(places, 0)
    y = maxima(xp, x, maps)
    count = prod([axis_map.passes for axis_map in maps])
    kind = xp.uint8 if count < 256 else xp.int64
    # the first element of value y has the highest mark
    marks = xp.zeros(y.shape, dtype=kind)
    undefined = xp.isnan(y) if kind_of(x) == "f" else None
    if undefined is not None and not xp.any(undefined):
        undefined = None
    for element in elements(maps):
        mark = count - element.number
        values, part = elements_under(xp, x, element), xp.getitem(marks, element.into)
        equal = xp.astype(values == xp.getitem(y, element.into), kind)
        part = xp.maximum(part, equal * mark)
        if undefined is not None:
            part = xp.where(xp.isnan(values), mark, part)
        xp.setitem(marks, element.into, xp.astype(part, kind))
    first = xp.arange(prod([axis_map.results for axis_map in maps])) * (count + 1) + count
    shape = y.shape[y.ndim - len(maps) :]
    return xp.getitem(xp.asarray(_places(maps)), (xp.reshape(first, shape) - xp.astype(marks, xp.int64),))
