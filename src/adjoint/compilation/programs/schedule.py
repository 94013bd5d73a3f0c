"""The order of instructions, and regions: instructions on equal shapes that run together, tile by tile.

An instruction may move before others that it does not depend on, so that regions become long. A value that only its
region uses never becomes an array: it lies in the scratch memory of a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.compilation.programs.lowering import Call, Elementwise, Number
from adjoint.compilation.programs.views import VALUE, View

#: So many instructions has a region.
LONGEST = 1024


class Group:
    """A region: elementwise instructions on one shape, in order."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.instructions: list[Elementwise] = []
        self._read: dict[int, list[View]] = {}
        self._written: dict[int, list[View]] = {}

    def takes(self, instruction: Any) -> bool:
        """True if an instruction can run together with those that are there: element by element, in this order."""
        if not isinstance(instruction, Elementwise) or instruction.out.shape != self.shape:
            return False
        if len(self.instructions) >= LONGEST:
            return False
        for view in instruction.reads:
            for other in self._written.get(view.buffer.number, ()):
                if not view.is_same(other) and view.overlaps(other):
                    return False
        out = instruction.out
        for views in (self._read, self._written):
            for other in views.get(out.buffer.number, ()):
                if not out.is_same(other) and out.overlaps(other):
                    return False
        return all(out.is_same(view) or not out.overlaps(view) for view in instruction.reads)

    def add(self, instruction: Elementwise) -> None:
        """Add an instruction at the end."""
        self.instructions.append(instruction)
        for view in instruction.reads:
            _note(self._read, view)
        _note(self._written, instruction.out)


def _note(table: dict[int, list[View]], view: View) -> None:
    views = table.setdefault(view.buffer.number, [])
    if not any(view is other for other in views):
        views.append(view)


def dependencies(instructions: Sequence[Any]) -> list[set[int]]:
    """For each instruction the numbers of those that must come before it."""
    readers: dict[int, list[tuple[int, View]]] = {}
    writers: dict[int, list[tuple[int, View]]] = {}
    before: list[set[int]] = []
    ordered = -1
    for k, instruction in enumerate(instructions):
        needs: set[int] = set()
        for view in instruction.reads:
            needs.update([n for n, other in writers.get(view.buffer.number, ()) if view.overlaps(other)])
        for view in instruction.writes:
            for table in (readers, writers):
                needs.update([n for n, other in table.get(view.buffer.number, ()) if view.overlaps(other)])
        if is_ordered(instruction):
            if ordered >= 0:
                needs.add(ordered)
            ordered = k
        for view in instruction.reads:
            readers.setdefault(view.buffer.number, []).append((k, view))
        for view in instruction.writes:
            writers.setdefault(view.buffer.number, []).append((k, view))
        needs.discard(k)
        before.append(needs)
    return before


def is_ordered(instruction: Any) -> bool:
    """True for an instruction that keeps its place among others of its kind: one that draws random numbers."""
    return isinstance(instruction, Call) and instruction.draws


def schedule(instructions: Sequence[Any]) -> list[Any]:
    """The instructions in the order in which they run: groups, and calls."""
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
        chosen = None
        if group is not None:
            chosen = next((k for k in ready if group.takes(instructions[k])), None)
        if chosen is None:
            # calls first: what follows from them may join the regions behind
            chosen = next((k for k in ready if not isinstance(instructions[k], Elementwise)), ready[0])
            instruction = instructions[chosen]
            group = None
            if isinstance(instruction, Elementwise):
                group = Group(instruction.out.shape)
                order.append(group)
            else:
                order.append(instruction)
        if group is not None:
            group.add(instructions[chosen])
        ready.remove(chosen)
        for k in after[chosen]:
            missing[k] -= 1
            if not missing[k]:
                ready.append(k)
        ready.sort()
    return order


def scratch_buffers(order: Sequence[Any]) -> set[int]:
    """The numbers of the buffers that lie in scratch memory: whole values that one region alone writes and reads."""
    homes: dict[int, Any] = {}
    excluded: set[int] = set()
    for entry in order:
        instructions = entry.instructions if isinstance(entry, Group) else [entry]
        for instruction in instructions:
            for view in (*instruction.reads, *instruction.writes):
                number, buffer = view.buffer.number, view.buffer
                if (
                    buffer.kind != VALUE
                    or buffer.is_result
                    or not isinstance(entry, Group)
                    or homes.setdefault(number, entry) is not entry
                    or not (view.is_whole and view.shape == entry.shape)
                ):
                    excluded.add(number)
    return set(homes) - excluded


class Layout:
    """A shape with axes merged where all operands allow it: outer axes, rows and columns."""

    def __init__(self, shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> None:
        axes = [[n, [own[axis] for own in strides]] for axis, n in enumerate(shape) if n != 1]
        merged: list[list[Any]] = []
        n: Any
        steps: Any
        for n, steps in axes:
            if merged and all(a == b * n for a, b in zip(merged[-1][1], steps, strict=True)):
                merged[-1] = [merged[-1][0] * n, steps]
            else:
                merged.append([n, steps])
        while len(merged) < 2:
            merged.insert(0, [1, [0] * len(strides)])
        self.outer = [n for n, _ in merged[:-2]]
        (self.n_rows, rows), (self.n_columns, columns) = merged[-2:]
        #: For each operand the strides of rows, columns and the outer axes.
        self.strides = [
            (rows[k], columns[k], tuple([steps[k] for _, steps in merged[:-2]])) for k in range(len(strides))
        ]


def broadcast_strides(view: View, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a view that is broadcast to a shape."""
    missing = len(shape) - len(view.shape)
    strides = [0 if n == 1 else stride for n, stride in zip(view.shape, view.strides, strict=True)]
    return (0,) * missing + tuple(strides)


def key_of(operand: Any, shape: tuple[int, ...]) -> Any:
    """Equal for operands that can share a register."""
    if isinstance(operand, Number):
        return operand.key
    return operand.buffer.number, operand.offset, broadcast_strides(operand, shape), operand.dtype.char
