"""Interpolation along one axis, as linear maps: nearest elements, lines, cubics, and filters that avoid aliasing.

Result i lies at (i + 1/2) * scale - 1/2 on the axis, or at i * scale where the corners are aligned. Positions and
weights are computed in the precision of the image, so that places agree with torch's where they are close to a limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from adjoint.arrays.kernels.axis_maps import AxisMap
from adjoint.runtime.caches import memoize

Float = type[numpy.floating[Any]]


def scale_of(n: int, results: int, align_corners: bool, factor: float | None, kind: Float) -> Any:
    """The distance of neighbouring results on an axis of n elements."""
    if align_corners:
        return kind(n - 1) / kind(results - 1) if results > 1 else kind(0)
    return kind(1.0 / factor) if factor else kind(n) / kind(results)


@memoize(512)
def nearest(n: int, results: int, factor: float | None, exact: bool, quick: bool = False) -> AxisMap:
    """The element at the place of each result, rounded down; `exact` starts from the middle of the result.

    `quick` ignores the factor where the result is as long or twice as long, as torch does for images of two axes.
    """
    scale = scale_of(n, results, False, factor, numpy.float32)
    i = numpy.arange(results)
    if exact:
        index = numpy.floor((i.astype(numpy.float32) + numpy.float32(0.5)) * scale)
    elif quick and results in (n, 2 * n):
        index = i * n // results
    else:
        index = numpy.floor(i.astype(numpy.float32) * scale)
    return AxisMap(n, numpy.minimum(index.astype(numpy.int64), n - 1)[:, None])


def _positions(results: int, scale: Any, align_corners: bool, kind: Float) -> Any:
    i = numpy.arange(results).astype(kind)
    return i * scale if align_corners else scale * (i + kind(0.5)) - kind(0.5)


@memoize(512)
def lines(n: int, results: int, align_corners: bool, factor: float | None, single: bool) -> AxisMap:
    """The line between two neighbours; before the first element and behind the last, these."""
    kind: Any = numpy.float32 if single else numpy.float64
    scale = scale_of(n, results, align_corners, factor, kind)
    position = numpy.maximum(_positions(results, scale, align_corners, kind), 0)
    left = numpy.minimum(position.astype(numpy.int64), n - 1)
    right = numpy.minimum(left + 1, n - 1)
    part = numpy.clip(position - left.astype(kind), 0, 1)
    return AxisMap(n, numpy.stack([left, right], 1), numpy.stack([1 - part, part], 1))


def _cubic(x: Any, a: float) -> Any:
    """The cubic convolution kernel of Keys with parameter a, at x >= 0."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return numpy.where(x <= 1, near, numpy.where(x < 2, far, 0))


@memoize(512)
def cubics(n: int, results: int, align_corners: bool, factor: float | None, single: bool) -> AxisMap:
    """Cubic convolution of four neighbours; the first and last element are repeated beyond the ends."""
    kind: Any = numpy.float32 if single else numpy.float64
    scale = scale_of(n, results, align_corners, factor, kind)
    position = _positions(results, scale, align_corners, kind)
    left = numpy.floor(position)
    part = (position - left)[:, None]
    weight = _cubic(abs(part - numpy.arange(-1, 3).astype(kind)), -0.75)
    index = left.astype(numpy.int64)[:, None] + numpy.arange(-1, 3)
    return AxisMap(n, index.clip(0, n - 1), weight)


def _triangle(x: Any) -> Any:
    return numpy.maximum(1 - abs(x), 0)


def _keys(x: Any) -> Any:
    return _cubic(abs(x), -0.5)


def _lanczos(x: Any) -> Any:
    return numpy.where(abs(x) < 3, numpy.sinc(x) * numpy.sinc(x / 3), 0)


#: Filters without aliasing: the function and the size of its support.
FILTERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "bilinear": (_triangle, 2),
    "bicubic": (_keys, 4),
    "lanczos": (_lanczos, 6),
}


@memoize(512)
def antialias_filter(
    n: int, results: int, align_corners: bool, factor: float | None, single: bool, mode: str
) -> AxisMap:
    """A filter as wide as the distance of results, if that is more than one element; the weights add up to 1."""
    kind: Any = numpy.float32 if single else numpy.float64
    function, size = FILTERS[mode]
    scale = scale_of(n, results, align_corners, factor, kind)
    wide = max(scale, kind(1))
    support = kind(size / 2) * wide
    middle = scale * (numpy.arange(results).astype(kind) + kind(0.5))
    start = numpy.maximum((middle - support + kind(0.5)).astype(numpy.int64), 0)
    end = numpy.minimum((middle + support + kind(0.5)).astype(numpy.int64), n)
    index = start[:, None] + numpy.arange(int((end - start).max(initial=1)))
    in_window = index < end[:, None]
    weight = numpy.where(in_window, function((index - middle[:, None] + kind(0.5)) / wide), 0)
    return AxisMap(n, numpy.where(in_window, index, 0), weight / weight.sum(1, keepdims=True))


@memoize(512)
def in_fixed_point(of: AxisMap) -> AxisMap:
    """A map with weights in fixed point, of as few bits as 16 can hold, as Pillow and torch take them for bytes."""
    weight = of.weight.copy()
    for i in range(1, of.passes):
        # an element that is repeated beyond the end has one weight, which is rounded once
        again = of.index[:, i] == of.index[:, i - 1]
        weight[again, i] += weight[again, i - 1]
        weight[again, i - 1] = 0
    largest, bits = abs(weight).max(initial=0), 0
    while bits < 22 and 0.5 + largest * 2 ** (bits + 1) < 2**15:
        bits += 1
    return AxisMap(of.n, of.index, numpy.trunc(weight * 2**bits + numpy.copysign(0.5, weight)) / 2**bits)
