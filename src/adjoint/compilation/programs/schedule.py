"""The order of instructions, and regions: instructions on equal shapes that run together, tile by tile.

An instruction may move before others that it does not depend on, so that regions become long. A value that only its
region uses never becomes an array: it lies in the scratch memory of a tile.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

from adjoint.compilation.programs.lowering import Call, Elementwise, Reduce, beginning_of
from adjoint.compilation.programs.views import VALUE, View

#: So many instructions has a region.
LONGEST = 1024
#: So many elements a call of a loop should have.
SHORT = 64
#: So many elements has a row that is reduced inside of a tile.
LONGEST_ROW = 2048


class Group:
    """A region: instructions in order, each on all elements, on one number for each row, or a reduction of rows.

    shape: the shape of all elements. n_columns: the number of last axes that are the columns of a row; None if rows are
    not needed. is_alone: a reduction without further instructions, since its rows are long, lie along other axes, or
    are no single axis in memory.
    """

    #: True if the result of a reduction that is alone gets its first value before.
    begins = True

    def __init__(self, first: Elementwise) -> None:
        self.shape = first.operands[0].shape if isinstance(first, Reduce) else first.out.shape
        self.instructions: list[Elementwise] = []
        self.n_columns: int | None = None
        self.is_alone = isinstance(first, Reduce) and not self._can_begin_with(first)
        self._reads: dict[int, list[View]] = {}
        self._writes: dict[int, list[View]] = {}
        #: The buffers with one number for each row.
        self.of_rows: set[int] = set()

    @property
    def name(self) -> str:
        """The shape, and the names of the first instructions."""
        names = [instruction.name for instruction in self.instructions]
        listed = ", ".join(names[:8]) + (f", ... ({len(names)} steps)" if len(names) > 8 else "")
        return f"region of {self.shape}: {listed}"

    def columns_of(self, reduction: Reduce) -> int | None:
        """How many last axes a reduction reduces, if its rows fit a tile."""
        n = len(reduction.axes)
        rank = len(self.shape)
        if reduction.axes != tuple(range(rank - n, rank)) or not 1 < prod(self.shape[rank - n :]) <= LONGEST_ROW:
            return None
        return n

    def _can_begin_with(self, reduction: Reduce) -> bool:
        n = self.columns_of(reduction)
        return n is not None and all(has_rows(view, self.shape, n) for view in reduction.reads)

    def is_per_row(self, instruction: Elementwise) -> bool:
        """True for an instruction on one number for each row."""
        n = self.n_columns
        if n is None or isinstance(instruction, Reduce) or instruction.out.shape == self.shape:
            return False
        rows = self.shape[: len(self.shape) - n]
        return instruction.out.shape in (rows, (*rows, *(1,) * n))

    def takes(self, instruction: Any) -> bool:
        """True if an instruction can run together with the present ones: tile by tile, in this order."""
        if self.is_alone or not isinstance(instruction, Elementwise) or len(self.instructions) >= LONGEST:
            return False
        if isinstance(instruction, Reduce):
            n = self.columns_of(instruction) if instruction.operands[0].shape == self.shape else None
            if n is None or (self.n_columns not in (None, n)) or not self._have_rows(n):
                return False
        elif self.is_per_row(instruction):
            n = self.n_columns
        elif instruction.out.shape == self.shape:
            n = self.n_columns
            if n is not None and not has_rows(instruction.out, self.shape, n):
                return False
            if self.of_rows and not all(self._reads_rows_rightly(view) for view in instruction.reads):
                return False
        else:
            return False
        if n is not None and n != 1 and not all(has_rows(view, self.shape, n) for view in instruction.reads):
            return False
        return self._is_in_order(instruction)

    def _have_rows(self, n: int) -> bool:
        return all(has_rows(view, self.shape, n) for views in self._reads.values() for view in views) and all(
            has_rows(view, self.shape, n) for views in self._writes.values() for view in views
        )

    def _reads_rows_rightly(self, view: View) -> bool:
        """False for numbers of rows that a broadcast would lay along the columns."""
        if view.buffer.number not in self.of_rows:
            return True
        n = self.n_columns or 0
        return not any(broadcast_strides(view, self.shape)[len(self.shape) - n :])

    def _is_in_order(self, instruction: Elementwise) -> bool:
        """True if each element, or row, depends on no other element, or row, that this region writes."""
        out = instruction.out
        writes, reads = self._writes, self._reads
        for view in instruction.reads:
            for other in writes.get(view.buffer.number, ()):
                if view is not other and not view.is_same(other) and view.overlaps(other):
                    return False
            if view.buffer is out.buffer and not out.is_same(view) and out.overlaps(view):
                return False
        for views in (reads.get(out.buffer.number, ()), writes.get(out.buffer.number, ())):
            for other in views:
                if out is not other and not out.is_same(other) and out.overlaps(other):
                    return False
        return True

    def add(self, instruction: Elementwise) -> None:
        """Add an instruction at the end."""
        if isinstance(instruction, Reduce) and not self.is_alone:
            self.n_columns = self.columns_of(instruction)
            self.of_rows.add(instruction.out.buffer.number)
        elif self.is_per_row(instruction):
            self.of_rows.add(instruction.out.buffer.number)
        self.instructions.append(instruction)
        for view in instruction.reads:
            _note(self._reads, view)
        _note(self._writes, instruction.out)


def has_rows(view: View, shape: tuple[int, ...], n: int) -> bool:
    """True if the last n axes of a view that is broadcast to a shape can be seen as one axis."""
    if n == 1 or len(view.shape) > len(shape):
        return True
    strides, expected = broadcast_strides(view, shape), None
    for length, stride in list(zip(shape, strides, strict=True))[: -n - 1 : -1]:
        if length == 1:
            continue
        if expected is not None and stride != expected:
            return False
        expected = stride * length
    return True


def _note(table: dict[int, list[View]], view: View) -> None:
    views = table.get(view.buffer.number)
    if views is None:
        table[view.buffer.number] = [view]
    elif all(view is not other for other in views):
        views.append(view)


def dependencies(instructions: Sequence[Any]) -> list[set[int]]:
    """For each instruction the numbers of instructions that must precede it.

    Implied dependencies may be missing: a write that covers an earlier view represents it.
    """
    #: How many writes to a buffer are to come.
    coming = Counter([view.buffer.number for instruction in instructions for view in instruction.writes])
    readers: dict[int, list[tuple[int, View]]] = {}
    writers: dict[int, list[tuple[int, View]]] = {}
    before: list[set[int]] = []
    ordered = last = -1
    for k, instruction in enumerate(instructions):
        needs: set[int] = set()
        for view in instruction.reads:
            for n, other in writers.get(view.buffer.number, ()):
                if view is other or view.overlaps(other):
                    needs.add(n)
        for view in instruction.writes:
            number = view.buffer.number
            coming[number] -= 1
            for table in (readers, writers):
                earlier = table.get(number)
                if earlier:
                    needs.update([n for n, other in earlier if view.overlaps(other)])
                    table[number] = [pair for pair in earlier if not view.covers(pair[1])]
        if is_ordered(instruction):
            if ordered >= 0:
                needs.add(ordered)
            ordered = k
        if not instruction.waits:
            last = k
        elif last >= 0:
            needs.add(last)
        for view in instruction.reads:
            if coming[view.buffer.number]:
                readers.setdefault(view.buffer.number, []).append((k, view))
        for view in instruction.writes:
            writers.setdefault(view.buffer.number, []).append((k, view))
        needs.discard(k)
        before.append(needs)
    return before


def is_ordered(instruction: Any) -> bool:
    """True for an instruction that must keep its order among others of its kind: a random draw."""
    return isinstance(instruction, Call) and instruction.draws


def schedule(instructions: Sequence[Any], kind: type[Group] = Group) -> list[Any]:
    """The instructions in the order of execution: groups, and calls."""
    before = dependencies(instructions)
    after: list[list[int]] = [[] for _ in instructions]
    missing = [len(needs) for needs in before]
    for k, needs in enumerate(before):
        for n in needs:
            after[n].append(k)
    ready = sorted([k for k, n in enumerate(missing) if not n])
    order: list[Any] = []
    group: Group | None = None
    while ready:
        choice = None
        if group is not None:
            choice = next((k for k in ready if group.takes(instructions[k])), None)
        if choice is None:
            # calls first: instructions that depend on them may join the next regions
            choice = next((k for k in ready if not isinstance(instructions[k], Elementwise)), ready[0])
            instruction = instructions[choice]
            group = None
            if isinstance(instruction, Elementwise):
                group = kind(instruction)
                if group.is_alone and group.begins and isinstance(instruction, Reduce):
                    order.append(Group(beginning_of(instruction)))
                    order[-1].add(beginning_of(instruction))
                order.append(group)
            else:
                order.append(instruction)
        if group is not None:
            group.add(instructions[choice])
        del ready[bisect_left(ready, choice)]
        for k in after[choice]:
            missing[k] -= 1
            if not missing[k]:
                insort(ready, k)
    return order


def scratch_buffers(order: Sequence[Any], results: set[int]) -> set[int]:
    """The numbers of the buffers in scratch memory: whole values that only one region writes and reads.

    results: the numbers of the buffers that are results.
    """
    homes: dict[int, Any] = {}
    excluded: set[int] = set()
    for entry in order:
        instructions = entry.instructions if isinstance(entry, Group) else [entry]
        for instruction in instructions:
            for view in (*instruction.reads, *instruction.writes):
                number, buffer = view.buffer.number, view.buffer
                if (
                    buffer.kind != VALUE
                    or number in results
                    or not isinstance(entry, Group)
                    or homes.setdefault(number, entry) is not entry
                    or not (view.is_whole and view.shape == entry.shape)
                ):
                    excluded.add(number)
    return set(homes) - excluded


class Layout:
    """A shape with axes merged where all operands allow it: outer axes, rows and columns.

    n_columns: the number of last axes that are the columns; None if all axes may be merged. in_order: the elements must
    be visited in the order of the axes, as for a reduction of all elements. Otherwise, if rows and columns together are
    short, the longest axis becomes the rows.
    """

    def __init__(
        self, shape: tuple[int, ...], strides: list[tuple[int, ...]], n_columns: int | None, in_order: bool
    ) -> None:
        first = len(shape) - (n_columns or 0)
        rows = merge(shape[:first], [operand_strides[:first] for operand_strides in strides])
        if n_columns is not None:
            columns = merge(shape[first:], [operand_strides[first:] for operand_strides in strides]) or [
                (1, [0] * len(strides))
            ]
            if len(columns) > 1:
                raise RuntimeError("adjoint.compile: the columns of a region are no one axis")
            rows += columns
        none: tuple[int, list[int]] = (1, [0] * len(strides))
        rows = [none] * (2 - len(rows)) + rows
        if not in_order and rows[-2][0] * rows[-1][0] < SHORT:
            longest = max(range(len(rows) - 1), key=lambda axis: rows[axis][0])
            rows[-2], rows[longest] = rows[longest], rows[-2]
        self.outer = [n for n, _ in rows[:-2]]
        (self.n_rows, down), (self.n_columns, across) = rows[-2:]
        #: For each operand the strides of rows, columns and the outer axes.
        self.strides = [(down[k], across[k], tuple([steps[k] for _, steps in rows[:-2]])) for k in range(len(strides))]


def merge(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> list[tuple[int, list[int]]]:
    """Axes as (length, stride of each operand), neighbours as one axis where all operands allow it."""
    axes: list[tuple[int, list[int]]] = []
    for axis, n in enumerate(shape):
        steps = [operand_strides[axis] for operand_strides in strides]
        if n == 1:
            continue
        if axes and all(a == b * n for a, b in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = (axes[-1][0] * n, steps)
        else:
            axes.append((n, steps))
    return axes


def broadcast_strides(view: View, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a view that is broadcast to a shape."""
    missing = len(shape) - len(view.shape)
    strides = [0 if n == 1 else stride for n, stride in zip(view.shape, view.strides, strict=True)]
    return (0,) * missing + tuple(strides)
