"""Saved values that the second part of a program recomputes, so that a region keeps to its budget.

A value can be recomputed from saved values and from earlier memory, if no instruction on the way draws random numbers
or reads memory that the first part writes. Values with the lowest cost for their size are dropped first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import ceil, prod
from typing import Any, NamedTuple

from adjoint.compilation.programs.lowering import Call, Elementwise, Product, with_views
from adjoint.compilation.programs.views import EXTERNAL, VALUE, Buffer

#: The cost of a function of arrays for each element that it reads or writes, in steps of elementwise instructions.
_OF_CALL = 16
#: How many multiplications of a product take the time of one elementwise step.
_OF_PRODUCT = 8


class Budgets(NamedTuple):
    """The budgets of regions.

    shares: for each region the fraction of its saved bytes to keep, or None for all. regions: the region of a buffer,
    by number. fixed: buffers that exist anyway, such as results. unsteady: buffers whose values change later.
    """

    shares: list[float | None]
    regions: dict[int, int]
    fixed: set[int]
    unsteady: set[int]


class Recomputation:
    """The values that are computed again.

    forward: the instructions of the first part. saved: by number, the buffers that the second part reads.
    """

    def __init__(self, forward: list[Any], saved: dict[int, Buffer], budgets: Budgets) -> None:
        self.forward, self.saved = forward, saved
        self._writers: dict[int, list[int]] = {}
        for k, instruction in enumerate(forward):
            for number in {view.buffer.number for view in instruction.writes}:
                self._writers.setdefault(number, []).append(k)
        changed_externals = {v.buffer.number for step in forward for v in step.writes if v.buffer.kind == EXTERNAL}
        self._unsteady = changed_externals | budgets.unsteady
        #: For each value that is computed again the numbers of the instructions that do it.
        self.chains: dict[int, list[int]] = {}
        for region, share in enumerate(budgets.shares):
            if share is not None:
                numbers = [n for n in saved if budgets.regions.get(n) == region and n not in budgets.fixed]
                self._choose(numbers, share)

    @property
    def still_saved(self) -> dict[int, Buffer]:
        """The buffers that stay saved."""
        return {number: buffer for number, buffer in self.saved.items() if number not in self.chains}

    def _choose(self, numbers: list[int], share: float) -> None:
        """Select values of a region for recomputation until the others fit its share."""
        n_bytes = sum([self.saved[number].n_bytes for number in numbers])
        allowed = share * n_bytes
        chains = {number: chain for number in numbers if (chain := self._chain(number)) is not None}

        def price(number: int) -> float:
            return sum([cost_of(self.forward[k]) for k in chains[number]]) / max(self.saved[number].n_bytes, 1)

        for _, group in groupby(sorted(chains, key=price), price):
            for number in self._spread(list(group), n_bytes - allowed):
                self.chains[number] = chains[number]
                n_bytes -= self.saved[number].n_bytes

    def _spread(self, numbers: list[int], excess: float) -> list[int]:
        """Evenly spaced members of equal values with the given number of bytes, so that few exist at a time."""
        sizes = [self.saved[number].n_bytes for number in numbers]
        if sum(sizes) <= excess:
            return numbers
        n = len(numbers)
        count = max(ceil(excess / max(sizes)), 0)
        while sum(sizes[(2 * i + 1) * n // (2 * count)] for i in range(count)) < excess:
            count += 1
        return [numbers[(2 * i + 1) * n // (2 * count)] for i in range(count)]

    def _chain(self, number: int) -> list[int] | None:
        """The instructions that make a value from other saved values and earlier memory; None if this is impossible."""
        chain: set[int] = set()
        visited, waiting = {number}, [number]
        while waiting:
            for k in self._writers[waiting.pop()]:
                if k in chain:
                    continue
                if not self._is_repeatable(k):
                    return None
                chain.add(k)
                instruction = self.forward[k]
                for view in (*instruction.reads, *instruction.writes):
                    other = view.buffer.number
                    if view.buffer.kind != VALUE or other in visited:
                        continue
                    visited.add(other)
                    if len(self._writers[other]) > 1 or (other in self.saved and view in instruction.writes):
                        return None
                    if other not in self.saved:
                        waiting.append(other)
        return sorted(chain)

    def _is_repeatable(self, k: int) -> bool:
        """True if an instruction gives the same when it runs again later."""
        instruction = self.forward[k]
        if isinstance(instruction, Call) and instruction.draws:
            return False
        if any(view.buffer.kind != VALUE for view in instruction.writes):
            return False
        return not any(view.buffer.number in self._unsteady for view in instruction.reads)

    def insert_recomputations(self, second: list[Any]) -> list[Any]:
        """The instructions of the second part, with each recomputation right before its first use."""
        ready: set[int] = set()
        instructions: list[Any] = []
        for instruction in second:
            chain = sorted(set(self._recomputations_for(instruction)) - ready)
            ready.update(chain)
            instructions += [self._again(k) for k in chain]
            instructions.append(instruction)
        return instructions

    def _again(self, k: int) -> Any:
        """An instruction that runs again, no earlier than it has to."""
        instruction = with_views(self.forward[k], lambda view: view)
        instruction.waits = True
        return instruction

    def _recomputations_for(self, instruction: Any) -> Iterator[int]:
        """The instructions behind the values that one reads and that are computed again."""
        visited: set[int] = set()
        waiting = [instruction]
        while waiting:
            step = waiting.pop()
            for view in (*step.reads, *step.writes):
                number = view.buffer.number
                if number in self.chains and number not in visited:
                    visited.add(number)
                    yield from self.chains[number]
                    waiting += [self.forward[k] for k in self.chains[number]]


def cost_of(instruction: Any) -> float:
    """About how long an instruction takes, in elementwise steps of one element."""
    n_read, n_written = [sum([prod(v.shape) for v in views]) for views in (instruction.reads, instruction.writes)]
    cost: float = _OF_CALL * (n_written + n_read)
    if isinstance(instruction, Elementwise):
        cost = max(n_written, n_read)
    elif isinstance(instruction, Product):
        cost = n_written * (instruction.reads[0].shape or (1,))[-1] / _OF_PRODUCT
    return cost
