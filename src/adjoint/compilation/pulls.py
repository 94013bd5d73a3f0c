"""Gradients of some of a function's results: one program for each choice of results with a cotangent.

A result without a cotangent has no part in a backward pass. It is not as if its cotangent were zero: an infinite
derivative times zero is no number. So each choice has a program of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from adjoint.compilation.programs.passes.partition import Halves, live_instructions
from adjoint.compilation.programs.replay import Pack, Program
from adjoint.compilation.programs.views import View

#: Up to this number of results every set of results is recorded; for more, all together and each alone.
ALL_CHOICES = 3


def choices_of(n: int) -> list[tuple[int, ...]]:
    """The choices of n results whose gradients are recorded; all of them together come first."""
    sizes = range(n - 1, 0, -1) if n <= ALL_CHOICES else (1,)
    return [tuple(range(n)), *[choice for size in sizes for choice in combinations(range(n), size)]]


class Pull:
    """The gradients for one choice of results.

    arrays: for each input its gradient in the recording, or None where it does not depend on these results.
    """

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self.is_there = [array is not None for array in arrays]
        self.are_all_there = all(self.is_there)
        self._program: Program | None = None
        self._parts: tuple[Any, ...] = ()

    @property
    def results(self) -> list[Any]:
        """The gradients that there are."""
        return [array for array in self.arrays if array is not None]

    def prepare(
        self,
        make: Callable[..., Program],
        halves: Halves,
        cotangents: Sequence[View],
        others: Sequence[View],
        pulled: list[View],
        pack: Pack,
    ) -> None:
        """Store the parts of the program.

        make: makes a program of instructions, externals, results and pack. cotangents: the cotangents of the set.
        others: the values that the first part saved or the second reads again. pulled: the gradients. pack: the
        position of small saved values.
        """
        self._parts = (make, halves.backward, [*cotangents, *others], [halves.gradient(view) for view in pulled], pack)

    @property
    def program(self) -> Program:
        """The program, made when it is first used."""
        if self._program is None:
            make, instructions, entries, results, pack = self._parts
            numbers = live_instructions(instructions, {view.buffer.number for view in results})
            self._program = make([instructions[k] for k in sorted(numbers)], entries, results, pack)
            self._parts = ()
        return self._program

    def run(self, arrays: list[Any]) -> list[Any]:
        """The gradients of all inputs, None for an input on which no result depends."""
        gradients = (self._program or self.program).run(arrays)
        if self.are_all_there:
            return gradients
        results = iter(gradients)
        return [next(results) if is_there else None for is_there in self.is_there]

    def forget(self) -> None:
        """Let go of the gradients of the recording."""
        self.arrays = []


class Pulls:
    """The gradients of a function with n results."""

    def __init__(self, n: int) -> None:
        self.of: dict[tuple[int, ...], Pull] = {}
        self._all = tuple(range(n))

    @property
    def whole(self) -> Pull:
        """The gradients where all results have cotangents."""
        return self.of[self._all]

    def run(self, cotangents: list[Any], others: list[Any]) -> list[Any]:
        """The gradients from cotangents, some of them None; for a set that is not recorded, gradients are summed."""
        choice = tuple([k for k, g in enumerate(cotangents) if g is not None])
        if choice in self.of:
            return self.of[choice].run([*[cotangents[k] for k in choice], *others])
        parts = [self.of[(k,)].run([cotangents[k], *others]) for k in choice]
        return [_sum([part for part in column if part is not None]) for column in zip(*parts, strict=True)]


def _sum(parts: list[Any]) -> Any:
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
