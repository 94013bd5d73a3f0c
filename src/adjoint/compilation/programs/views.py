"""Buffers and views: the memory of the arrays of a recording.

Each piece of memory that the recorded function used is a buffer. An array is a view of a buffer: an offset, a shape,
strides and a dtype. So slices, transposes and broadcasts cost nothing in a replay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from math import prod
from typing import Any

import numpy

from adjoint.program import plain_region, region
from adjoint.runtime.caches import memoize

byte_bounds: Callable[[Any], tuple[int, int]] = (region if region.compiled else plain_region).byte_bounds
#: The kinds of buffers. EXTERNAL: memory that was there before, read and written where it is. CONSTANT: values that are
#: the same at each call. VALUE: memory that the program fills.
EXTERNAL, CONSTANT, VALUE = "external", "constant", "value"


class Buffer:
    """One piece of memory.

    array: the NumPy array that owned it in the recording; itemsize: of its elements.
    """

    __slots__ = ("address", "array", "kind", "n_bytes", "number")

    def __init__(self, number: int, kind: str, array: Any, address: int, n_bytes: int) -> None:
        self.number, self.kind, self.array = number, kind, array
        self.address, self.n_bytes = address, n_bytes

    def __repr__(self) -> str:
        return f"b{self.number}"


class View:
    """An array: a part of a buffer."""

    __slots__ = ("_bounds", "_is_whole", "_key", "_steps", "buffer", "dtype", "offset", "shape", "strides")

    def __init__(
        self, buffer: Buffer, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> None:
        self.buffer, self.offset, self.shape, self.strides, self.dtype = buffer, offset, shape, strides, dtype
        self._bounds: tuple[int, int] | None = None
        self._is_whole: bool | None = None
        self._steps: list[tuple[int, int]] | None = None
        self._key: Any = None

    def replace(
        self,
        buffer: Buffer | None = None,
        offset: int | None = None,
        shape: tuple[int, ...] | None = None,
        strides: tuple[int, ...] | None = None,
    ) -> View:
        """The view with other fields."""
        return View(
            self.buffer if buffer is None else buffer,
            self.offset if offset is None else offset,
            self.shape if shape is None else shape,
            self.strides if strides is None else strides,
            self.dtype,
        )

    @property
    def is_whole(self) -> bool:
        """True if the view is the whole buffer, in C order."""
        if self._is_whole is None:
            self._is_whole = (
                self.offset == 0 and dense_size(self.shape, self.strides, self.dtype.itemsize) == self.buffer.n_bytes
            )
        return self._is_whole

    @property
    def bounds(self) -> tuple[int, int]:
        """The bytes of the buffer between which the elements lie."""
        if self._bounds is None:
            low, high = extent(self.shape, self.strides, self.dtype.itemsize)
            self._bounds = self.offset + low, self.offset + high
        return self._bounds

    def overlaps(self, other: View) -> bool:
        """False if the two share no element."""
        if self.buffer is not other.buffer:
            return False
        a, b = self.bounds, other.bounds
        return a[0] < b[1] and b[0] < a[1]

    def is_same(self, other: View) -> bool:
        """True if the two have the same elements in the same order."""
        if self is other:
            return True
        return (
            self.buffer is other.buffer
            and self.offset == other.offset
            and self.dtype == other.dtype
            and self.steps == other.steps
        )

    @property
    def steps(self) -> list[tuple[int, int]]:
        """Lengths and strides of the axes that have more than one element."""
        if self._steps is None:
            self._steps = [(n, stride) for n, stride in zip(self.shape, self.strides, strict=True) if n != 1]
        return self._steps

    @property
    def key(self) -> Any:
        """Equal for views of the same elements."""
        if self._key is None:
            self._key = self.buffer.number, self.offset, self.shape, self.strides, self.dtype.char
        return self._key

    def covers(self, other: View) -> bool:
        """True if all that overlaps another view of the buffer overlaps this one, too."""
        a, b = self.bounds, other.bounds
        return a[0] <= b[0] and b[1] <= a[1]


@memoize(4096)
def dense_size(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """How many bytes an array has whose elements lie in C order without gaps; -1 for others."""
    expected = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != expected:
            return -1
        expected *= n
    return expected


@memoize(4096)
def extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """The bytes between which the elements of an array lie, from its first element on."""
    if 0 in shape:
        return 0, 0
    ends = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    return sum([end for end in ends if end < 0]), sum([end for end in ends if end > 0]) + itemsize


@memoize(4096)
def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array in C order."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def bytes_of(buffer: Buffer) -> View:
    """A whole buffer as bytes."""
    return View(buffer, 0, (buffer.n_bytes,), (1,), numpy.dtype(numpy.uint8))


class Memory:
    """The buffers of a recording, found by address. All arrays of the recording are alive, so addresses are unique."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self._starts: list[int] = []
        self._sorted: list[Buffer] = []
        self._empty: dict[int, Buffer] = {}
        #: Views by the ids of their arrays; the arrays are held so that the ids stay unique.
        self.views: dict[int, View] = {}
        self._arrays: list[Any] = []

    def add(self, array: Any, kind: str, bounds: tuple[int, int]) -> Buffer:
        """A new buffer for the memory of an array; an array without elements has none, whatever it is a view of."""
        low, high = bounds
        if high != low:
            owner = array
            while isinstance(owner.base, numpy.ndarray):
                owner = owner.base
            if owner is not array:
                owner_low, owner_high = byte_bounds(owner)
                low, high = min(low, owner_low), max(high, owner_high)
        buffer = Buffer(len(self.buffers), kind, array, low, high - low)
        self.buffers.append(buffer)
        if high == low:
            self._empty[id(array)] = buffer
            return buffer
        at = bisect_right(self._starts, low)
        self._starts.insert(at, low)
        self._sorted.insert(at, buffer)
        return buffer

    def new(self, shape: tuple[int, ...], dtype: Any) -> View:
        """A view of a new buffer that no array of the recording owned."""
        strides = c_strides(shape, dtype.itemsize)
        buffer = Buffer(len(self.buffers), VALUE, None, 0, prod(shape) * dtype.itemsize)
        self.buffers.append(buffer)
        return View(buffer, 0, shape, strides, dtype)

    def _find(self, array: Any, bounds: tuple[int, int]) -> Buffer | None:
        """The buffer that an array lies in, or None."""
        low, high = bounds
        if high == low:
            return self._empty.get(id(array))
        at = bisect_right(self._starts, low) - 1
        if at >= 0:
            buffer = self._sorted[at]
            if high <= buffer.address + buffer.n_bytes:
                return buffer
        return None

    def view(self, array: Any, kind: str = CONSTANT) -> View:
        """An array as a view; memory that is not known yet becomes a buffer of this kind."""
        view = self.views.get(id(array))
        return self.enter(array, kind)[0] if view is None else view

    def enter(self, array: Any, kind: str) -> tuple[View, bool]:
        """An array as a view, and whether its memory was not known and became a buffer of this kind."""
        view = self.views.get(id(array))
        if view is not None:
            return view, False
        bounds = byte_bounds(array)
        buffer = self._find(array, bounds)
        is_new = buffer is None
        if buffer is None:
            buffer = self.add(array, kind, bounds)
        shape, strides, dtype = array.shape, array.strides, array.dtype
        # the first element lies behind the lowest one where strides are negative
        offset = bounds[0] - extent(shape, strides, dtype.itemsize)[0] - buffer.address if buffer.n_bytes else 0
        view = self.views[id(array)] = View(buffer, offset, shape, strides, dtype)
        self._arrays.append(array)
        return view, is_new

    def release(self) -> None:
        """Release the arrays of the recording, except constants."""
        for buffer in self.buffers:
            if buffer.kind != CONSTANT:
                buffer.array = None
        self.views.clear()
        self._arrays.clear()
