"""Divides a program in two: the part that makes the results, and the part that waits for their cotangents."""

from __future__ import annotations

from typing import Any

from adjoint.compilation.programs.lowering import Call, Check, whole_copy, with_views
from adjoint.compilation.programs.passes.recomputation import Budgets, Recomputation
from adjoint.compilation.programs.views import CONSTANT, EXTERNAL, Buffer, Memory, View, bytes_of


class Dependent(Exception):
    """The second part reads memory that the first part writes after it was read."""


class Halves:
    """The two parts.

    saved: the buffers that the first part fills and the second reads, as views of bytes. forward, backward: the
    instructions. externals: the numbers of further external arrays that the second part reads. again: the recomputed
    values of the second part, None without budgets.

    A gradient that depends on no cotangent may lie in memory of the first part. The second part copies it, because
    further passes read the saved values, and the caller may write to a gradient.
    """

    def __init__(
        self,
        instructions: list[Any],
        externals: list[View],
        results: list[View],
        cotangents: set[int],
        gradients: list[View],
        memory: Memory,
        budgets: Budgets | None = None,
    ) -> None:
        first = live_instructions(instructions, {view.buffer.number for view in results})
        late = self._late(instructions, cotangents)
        self._add_early_readers(instructions, first, late)
        self.forward = [instruction for k, instruction in enumerate(instructions) if k in first]
        second = [instruction for k, instruction in enumerate(instructions) if k not in first]
        if any(late_one in first for late_one in late):
            raise Dependent
        outputs = {view.buffer.number: view.buffer for instruction in self.forward for view in instruction.writes}
        early = {view.buffer.number: view for view in gradients if view.buffer.number in outputs}
        copies = {number: whole_copy(view, memory) for number, view in early.items()}
        second += copies.values()
        #: By the number of a buffer of the first part, the buffer of its gradient.
        self._copied = {number: copy.out.buffer for number, copy in copies.items()}
        buffers_read = read_by(second)
        #: Memory that the first part allocates, also if the second part writes to it.
        saved = {number: buffer for number, buffer in buffers_read.items() if number in outputs}
        self.again = None if budgets is None else Recomputation(self.forward, saved, budgets)
        if self.again is not None:
            second, saved = self.again.insert_recomputations(second), self.again.still_saved
            buffers_read = read_by(second)
        self.saved = [bytes_of(buffer) for buffer in saved.values()]
        numbers = set(saved)
        self.externals = [
            k
            for k, view in enumerate(externals)
            if view.buffer.number in buffers_read and view.buffer.number not in numbers
        ]
        replaced = {view.buffer.number: view.buffer for view in self.saved}
        self._new = {number: _external(buffer) for number, buffer in replaced.items()}
        self.backward = [self._of_second_part(instruction) for instruction in second]
        self.entries = [self.rename_buffer(view) for view in self.saved]

    def _of_second_part(self, instruction: Any) -> Any:
        new = self._new
        if any(view.buffer.number in new for view in (*instruction.reads, *instruction.writes)):
            return with_views(instruction, self.rename_buffer)
        return instruction

    def rename_buffer(self, view: View) -> View:
        """A view as the second part knows it."""
        buffer = self._new.get(view.buffer.number)
        return view if buffer is None else view.replace(buffer=buffer)

    def gradient(self, view: View) -> View:
        """A gradient as the second part gives it."""
        copied = self._copied.get(view.buffer.number)
        return self.rename_buffer(view) if copied is None else view.replace(buffer=copied)

    @staticmethod
    def _late(instructions: list[Any], cotangents: set[int]) -> set[int]:
        """The instructions that depend on cotangents."""
        tainted = set(cotangents)
        late = set()
        for k, instruction in enumerate(instructions):
            if any(view.buffer.number in tainted for view in (*instruction.reads, *instruction.writes)):
                late.add(k)
                tainted.update([view.buffer.number for view in instruction.writes])
        return late

    @staticmethod
    def _add_early_readers(instructions: list[Any], first: set[int], late: set[int]) -> None:
        """Move to the first part what reads memory that is written again, with all that it needs."""
        writes: dict[int, list[int]] = {}
        for k, instruction in enumerate(instructions):
            for view in instruction.writes:
                writes.setdefault(view.buffer.number, []).append(k)
        for k in range(len(instructions) - 1, -1, -1):
            instruction = instructions[k]
            if k in first or k in late:
                if k in late and any(
                    n > k and n in first for view in instruction.reads for n in writes.get(view.buffer.number, ())
                ):
                    raise Dependent
                continue
            for view in (*instruction.reads, *instruction.writes):
                numbers = writes.get(view.buffer.number, ())
                if any(n in first for n in numbers) and (view.buffer.kind == EXTERNAL or len(numbers) > 1):
                    targets = {v.buffer.number for v in instruction.writes}
                    first |= live_instructions(instructions[: k + 1], targets) | {k}
                    break


def read_by(instructions: list[Any]) -> dict[int, Buffer]:
    """The buffers that instructions read, by number."""
    return {view.buffer.number: view.buffer for instruction in instructions for view in instruction.reads}


def live_instructions(instructions: list[Any], buffers: set[int]) -> set[int]:
    """The numbers of the instructions that lead to some buffers, to a check, or to memory of the caller."""
    live = set(buffers)
    numbers = set()
    for k in range(len(instructions) - 1, -1, -1):
        instruction = instructions[k]
        if (
            isinstance(instruction, Check)
            or (isinstance(instruction, Call) and instruction.draws)
            or any(view.buffer.kind == EXTERNAL or view.buffer.number in live for view in instruction.writes)
        ):
            numbers.add(k)
            live.update([view.buffer.number for view in instruction.reads])
            live.update([view.buffer.number for view in instruction.writes])
    return numbers


def _external(buffer: Buffer) -> Buffer:
    """The same memory, as existing memory."""
    kind = CONSTANT if buffer.kind == CONSTANT else EXTERNAL
    return Buffer(buffer.number, kind, buffer.array, buffer.address, buffer.n_bytes)
