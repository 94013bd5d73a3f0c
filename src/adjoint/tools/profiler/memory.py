"""Memory over time: the operation that allocated each array, its use, and the time of its release."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy

from adjoint.arrays.namespace import underlying
from adjoint.core.graph import Node, SavedTensor, TensorBase
from adjoint.core.locations import Location, description
from adjoint.tools.profiler.export.formats import format_memory

PARAMETERS, INPUTS, GRADIENTS, SAVED, TEMPORARY = "parameters", "inputs", "gradients", "saved for backward", "temporary"
CATEGORIES = (PARAMETERS, INPUTS, GRADIENTS, SAVED, TEMPORARY)


class Memory(NamedTuple):
    """Memory that was allocated, or, with negative nbytes, released."""

    time: int
    nbytes: int
    ident: int

    def start_ns(self) -> int:
        """When it was."""
        return self.time


class Block:
    """The memory of one array: the times of allocation and release, the operation and line, and the use.

    start: None for memory from before the profiler. uses: its categories as (time, category), one after the other.
    """

    def __init__(self, nbytes: int, start: int | None, name: str, location: Location | None, category: str) -> None:
        self.nbytes, self.start, self.name, self.location = nbytes, start, name, location
        self.end: int | None = None
        self.uses = [(0 if start is None else start, category)]
        self.savers = 0

    @property
    def category(self) -> str:
        """Its present use."""
        return self.uses[-1][1]

    def use(self, category: str) -> None:
        """Hold it for something else from now on."""
        if category != self.category:
            self.uses.append((perf_counter_ns(), category))

    def save(self, more: int) -> None:
        """Count the nodes that save it; memory with another use than a temporary one keeps that use."""
        self.savers += more
        if self.category in (TEMPORARY, SAVED):
            self.use(SAVED if self.savers else TEMPORARY)


class Arrays:
    """Follows the memory of arrays: notes it when it is first seen as a result, and when it is given back.

    Memory is identified by the array that owns it; of views the owner counts. Memory from before is not noted.
    """

    def __init__(self) -> None:
        self.changes: list[Memory] = []
        self.blocks: list[Block] = []
        self.blocks_by_id: dict[int, tuple[weakref.ref[Any], Block]] = {}
        self.saved: dict[int, list[Block]] = {}
        self.open = True

    def know(self, values: Any) -> None:
        """See arrays that are not results: parameters are leaves that need a gradient."""
        for value in as_list(values):
            leaf = isinstance(value, TensorBase) and value._requires and value._node is None
            for array in owners(value):
                if id(array) not in self.blocks_by_id:
                    self.follow(array, Block(array.nbytes, None, "", None, PARAMETERS if leaf else INPUTS))

    def take(self, values: Any, name: str, location: Location | None) -> None:
        """Record results: unknown memory was allocated for them."""
        for array in owners(values):
            if id(array) not in self.blocks_by_id:
                now = perf_counter_ns()
                self.follow(array, Block(array.nbytes, now, name, location, TEMPORARY))
                self.changes.append(Memory(now, array.nbytes, get_ident()))

    def follow(self, array: Any, block: Block) -> None:
        """Note when this memory is given back."""
        key = id(array)
        self.blocks.append(block)

        def give_back(_: Any) -> None:
            self.blocks_by_id.pop(key, None)
            if self.open:
                block.end = perf_counter_ns()
                if block.start is not None:
                    self.changes.append(Memory(block.end, -block.nbytes, get_ident()))

        self.blocks_by_id[key] = weakref.ref(array, give_back), block

    def blocks_of(self, values: Any) -> list[Block]:
        """The blocks of arrays that are known."""
        return [self.blocks_by_id[id(array)][1] for array in owners(values) if id(array) in self.blocks_by_id]

    def count_saved(self, node: Node) -> None:
        """Note a new node: the memory of its saved values is used for the backward pass."""
        items = [item for _, item in node._ad_saved_items()]
        saved_blocks = {id(block): block for block in self.blocks_of(items)}
        for block in saved_blocks.values():
            block.save(1)
        if saved_blocks:
            self.saved[node._ad_sequence_nr] = list(saved_blocks.values())

    def ran(self, node: Node) -> None:
        """Note a node that has run; the memory of its freed values has that use no more."""
        if node._ad_sequence_nr in self.saved and not node._ad_saved_items():
            for block in self.saved.pop(node._ad_sequence_nr):
                block.save(-1)

    def became_gradient(self, gradient: Any) -> None:
        """See the gradient of a leaf."""
        for block in self.blocks_of([gradient]):
            block.use(GRADIENTS)

    def close(self) -> None:
        """Stop tracking memory."""
        self.open = False
        self.blocks_by_id.clear()


def owners(values: Any) -> list[Any]:
    """The arrays that own the memory of values: arrays, Tensors and lists of them; other values have none."""
    names = []
    for value in as_list(values):
        array = underlying(array_of(value))
        while type(array) is numpy.ndarray and type(array.base) is numpy.ndarray:
            array = array.base
        if type(array) is numpy.ndarray:
            names.append(array)
        elif isinstance(value, (list, tuple)):
            names += owners(value)
    return names


def as_list(values: Any) -> list[Any]:
    """The members of a list or tuple, else the one value."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


def array_of(value: Any) -> Any:
    """The array of a Tensor or of a saved value; other objects unchanged."""
    if isinstance(value, SavedTensor):
        return value.array
    return value._array if isinstance(value, TensorBase) else value


# results --------------------------------------------------------------------------------------------------------------


class Owner(NamedTuple):
    """The holders of memory at a peak: the line of the program, the operation, the use, and the size."""

    line: str
    operation: str
    category: str
    nbytes: int


class Peak(NamedTuple):
    """The peak of memory: its time (in microseconds), its bytes, and its owners, the largest first."""

    time: float
    nbytes: int
    owners: list[Owner]

    def __str__(self) -> str:
        owner = self.owners[0] if self.owners else None
        whose = "" if owner is None else f", {format_memory(owner.nbytes)} of it {owner.category}: {whose_line(owner)}"
        return f"{format_memory(self.nbytes)} at {self.time:.0f}us{whose}"


def whose_line(owner: Owner) -> str:
    """An owner in words."""
    return " ".join(word for word in (owner.operation, owner.line) if word) or "made before the profiler was started"


class MemoryTimeline:
    """The memory in use over time, by category.

    times: microseconds since the profiler was started. sizes: for each category the bytes held from that time on.
    Categories are parameters (leaves that need a gradient), inputs (other arrays from before), gradients (of leaves),
    values saved for a backward pass, and temporary. peaks: a `Peak` for "total" and for each category that occurs.
    """

    def __init__(self, blocks: Iterable[Block], origin: int) -> None:
        self._blocks = list(blocks)
        self._origin = origin
        self.times: list[float] = [0.0]
        self.sizes: dict[str, list[int]] = {category: [0] for category in CATEGORIES}
        now = dict.fromkeys(CATEGORIES, 0)
        for time, category, change in sorted(step for block in self._blocks for step in self._steps(block)):
            now[category] += change
            if time > self.times[-1]:
                self.times.append(time)
                for sizes in self.sizes.values():
                    sizes.append(sizes[-1])
            self.sizes[category][-1] = now[category]
        self.peaks = {name: self._peak(name) for name in ("total", *CATEGORIES) if max(self.of(name))}

    def of(self, category: str) -> list[int]:
        """The bytes held for one category, or in "total"."""
        if category == "total":
            return [sum(sizes) for sizes in zip(*self.sizes.values(), strict=True)]
        return self.sizes[category]

    def _at(self, time: int) -> float:
        return max(0.0, (time - self._origin) / 1000)

    def _steps(self, block: Block) -> Iterable[tuple[float, str, int]]:
        """The times at which the memory of a block enters and leaves each category."""
        ends = [time for time, _ in block.uses[1:]] + [block.end]
        for (start, category), end in zip(block.uses, ends, strict=True):
            yield self._at(start), category, block.nbytes
            if end is not None:
                yield self._at(end), category, -block.nbytes

    def _peak(self, name: str) -> Peak:
        sizes = self.of(name)
        nbytes = max(sizes)
        time = self.times[sizes.index(nbytes)]
        live_sizes: Counter[tuple[str, str, str]] = Counter()
        for block in self._blocks:
            category = self._category_at(block, time)
            if category is not None and name in ("total", category):
                line = "" if block.location is None else description(block.location)
                live_sizes[line, block.name, category] += block.nbytes
        return Peak(time, nbytes, [Owner(*key, size) for key, size in live_sizes.most_common() if size])

    def _category_at(self, block: Block, time: float) -> str | None:
        if block.end is not None and self._at(block.end) <= time:
            return None
        category = None
        for start, use in block.uses:
            if self._at(start) <= time:
                category = use
        return category

    def __str__(self) -> str:
        lines = [f"{name:>20}  {peak}" for name, peak in self.peaks.items()]
        return "\n".join(["Peaks of memory:", *lines])
