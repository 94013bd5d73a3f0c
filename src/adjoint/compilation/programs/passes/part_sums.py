"""Sums of arrays that are zero except in a part, such as cotangents of slices: each part is added in place.

Without this module such an array is filled with zeros, a part gets values, and a sum reads the whole. Instead the sum's
memory is filled with zeros once, and the values are added to its parts. The result is equal to the last bit if no
element lies in all parts. Then each element has 0.0 added, which turns -0.0 into 0.0; the initial zeros have the same
effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from adjoint.compilation.programs.views import View
from adjoint.program.form import COPY, FLOATS

#: An instruction to be: the kernel, its operands, and where its result goes. An operand that is 0.0 is None.
Plan = tuple[Any, list[Any], View]


class Sum(NamedTuple):
    """A sum whose instructions wait for further terms.

    terms: the terms, as (part, values or a number); the part is None for a whole array. plans: the plain form of the
    sum.
    """

    terms: list[tuple[View | None, Any]]
    plans: list[Plan]


class PartSums:
    """The sums of a program.

    n_writes, n_reads: how often steps write to a buffer, and read it, by number. is_final: whether the values in a
    buffer change no more.
    """

    def __init__(self, n_writes: dict[int, int], n_reads: dict[int, int], is_final: Callable[[Any], bool]) -> None:
        self._n_writes, self._n_reads, self._is_final = n_writes, n_reads, is_final
        #: The buffers that hold only zeros; for buffers with values in a part, the part and the values.
        self._zeros: set[int] = set()
        self._parts: dict[int, tuple[View, Any]] = {}
        #: The sums that wait, by the numbers of their buffers.
        self.waiting: dict[int, Sum] = {}

    def note_fill(self, out: View) -> None:
        """Note that a whole buffer is filled with 0.0."""
        if self._n_writes.get(out.buffer.number) == 2 and out.dtype.char in FLOATS:
            self._zeros.add(out.buffer.number)

    def note_copy(self, source: Any, out: View) -> None:
        """Note that a part gets values, or a number."""
        number = out.buffer.number
        if number in self._zeros:
            self._zeros.discard(number)
            is_number = type(source) is not View
            if source.dtype == out.dtype and (
                is_number or (source.shape == out.shape and self._is_final(source.buffer))
            ):
                self._parts[number] = out, source

    def add(self, operands: list[Any], out: View) -> bool:
        """Let a sum wait that has a part among its operands; False for any other sum."""
        first, second = operands
        if not (self._parts or self.waiting) or type(first) is not View or type(second) is not View:
            return False
        if not out.is_whole or any(operand.shape != out.shape for operand in (first, second)):
            return False
        part = self._part_of(second)
        if part is None:
            first, part = second, self._part_of(first)
        if part is None or not first.is_whole or first.dtype != out.dtype:
            return False
        before = self._before(first, out)
        if before is None:
            return False
        plan: Plan = (numpy.add, operands, out)
        self.waiting[out.buffer.number] = Sum([*before.terms, part], [*before.plans, plan])
        return True

    def _part_of(self, operand: View) -> tuple[View, Any] | None:
        """The part of an operand that this sum alone reads, and its values."""
        number = operand.buffer.number
        return self._parts.get(number) if operand.is_whole and self._n_reads.get(number) == 1 else None

    def _before(self, first: View, out: View) -> Sum | None:
        """The sum that goes on; None where it cannot."""
        number = first.buffer.number
        in_place = first.buffer is out.buffer
        if number in self.waiting and (in_place or self._n_reads.get(number) == 1):
            return self.waiting.pop(number)
        part = self._part_of(first)
        if part is not None:
            return Sum([part], [])
        return Sum([(None, first)], []) if not in_place and self._is_final(first.buffer) else None

    def due(self, views: list[View]) -> Iterator[Plan]:
        """The instructions of waiting sums that contain some of the views."""
        for view in views:
            waiting = self.waiting.pop(view.buffer.number, None)
            if waiting is not None:
                yield from self._plans(waiting)

    def _plans(self, waiting: Sum) -> Iterator[Plan]:
        terms, plans = waiting
        (*_, out) = plans[-1]
        boxes = [box_of(part, out) for part, _ in terms if part is not None]
        if not has_no_common_element(boxes):
            yield from plans
            return
        (part, values), *others = terms
        if part is None:
            yield numpy.add, [values, None], out
        else:
            yield COPY, [None], out
            target = part.replace(out.buffer)
            yield numpy.add, [values, None], target
        for part, values in others:
            assert part is not None  # a whole array comes first
            target = part.replace(out.buffer)
            yield numpy.add, [target, values], target


def box_of(part: View, whole: View) -> list[tuple[int, int]] | None:
    """The first and last index of a slice along each axis of the whole array.

    None for backward steps, and for an axis that continues from one row to the next.
    """
    if 0 in part.shape:
        return None
    begin = [int(index) for index in numpy.unravel_index(part.offset // whole.dtype.itemsize, whole.shape)]
    box = [(index, index) for index in begin]
    axes = set(range(len(begin)))
    for n, stride in part.steps:
        # the axis of the whole array along which this one goes
        axis = next((k for k in sorted(axes) if stride > 0 and stride % whole.strides[k] == 0), None)
        if axis is None:
            return None
        end = begin[axis] + (n - 1) * stride // whole.strides[axis]
        if end >= whole.shape[axis]:
            return None
        axes.discard(axis)
        box[axis] = begin[axis], end
    return box


def has_no_common_element(boxes: list[list[tuple[int, int]] | None]) -> bool:
    """True if no element lies in all boxes for sure."""
    axes = list(zip(*[box for box in boxes if box is not None], strict=True))
    if any(box is None for box in boxes):
        return False
    return any(max([a for a, _ in ranges]) > min([b for _, b in ranges]) for ranges in axes)
