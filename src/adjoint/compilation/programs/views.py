"""Buffers and views: where the arrays of a recording lie.

Each piece of memory that the recorded function used is a buffer. An array is a view of one: an offset, a shape, strides
and a dtype. So slices, transposes and broadcasts cost nothing in a replay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy

from adjoint.program import plain_region, region

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

    __slots__ = ("_bounds", "_is_whole", "_steps", "buffer", "dtype", "offset", "shape", "strides")

    def __init__(
        self, buffer: Buffer, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> None:
        self.buffer, self.offset, self.shape, self.strides, self.dtype = buffer, offset, shape, strides, dtype
        self._bounds: tuple[int, int] | None = None
        self._is_whole: bool | None = None
        self._steps: list[tuple[int, int]] | None = None

    def replace(self, **fields: Any) -> View:
        """The view with other fields."""
        values = {name: getattr(self, name) for name in ("buffer", "offset", "shape", "strides", "dtype")}
        return View(**(values | fields))

    @property
    def is_whole(self) -> bool:
        """True if the view is the whole buffer, in C order."""
        if self._is_whole is None:
            expected = self.dtype.itemsize
            dense = self.offset == 0
            for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
                dense = dense and (n == 1 or stride == expected)
                expected *= n
            self._is_whole = dense and expected == self.buffer.n_bytes
        return self._is_whole

    @property
    def bounds(self) -> tuple[int, int]:
        """The bytes of the buffer between which the elements lie."""
        if self._bounds is None:
            low = high = self.offset
            for n, stride in zip(self.shape, self.strides, strict=True):
                if stride < 0:
                    low += (n - 1) * stride
                else:
                    high += (n - 1) * stride
            empty = 0 in self.shape
            self._bounds = (self.offset, self.offset) if empty else (low, high + self.dtype.itemsize)
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
        #: Views by the arrays that they were made of, which are held so that their numbers stay theirs.
        self._views: dict[int, View] = {}
        self._held: list[Any] = []

    def add(self, array: Any, kind: str) -> Buffer:
        """A new buffer for the memory of an array; an array without elements has none, whatever it is a view of."""
        low, high = byte_bounds(array)
        if high != low:
            owner = array
            while isinstance(owner.base, numpy.ndarray):
                owner = owner.base
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
        dtype = numpy.dtype(dtype)
        strides, step = [], dtype.itemsize
        for n in reversed(shape):
            strides.append(step)
            step *= n
        buffer = Buffer(len(self.buffers), VALUE, None, 0, step)
        self.buffers.append(buffer)
        return View(buffer, 0, shape, tuple(reversed(strides)), dtype)

    def find(self, array: Any) -> Buffer | None:
        """The buffer that an array lies in, or None."""
        low, high = byte_bounds(array)
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
        view = self._views.get(id(array))
        if view is not None:
            return view
        buffer = self.find(array)
        if buffer is None:
            buffer = self.add(array, kind)
        offset = array.__array_interface__["data"][0] - buffer.address if buffer.n_bytes else 0
        view = self._views[id(array)] = View(buffer, offset, array.shape, array.strides, array.dtype)
        self._held.append(array)
        return view

    def release(self) -> None:
        """Let go of the arrays of the recording; those of constants stay."""
        for buffer in self.buffers:
            if buffer.kind != CONSTANT:
                buffer.array = None
        self._views.clear()
        self._held.clear()

    def knows(self, array: Any) -> bool:
        """True if the memory of an array belongs to a buffer."""
        return id(array) in self._views or self.find(array) is not None
