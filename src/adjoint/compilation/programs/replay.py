"""A program ready to run: instructions in order, and memory for the values between them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from math import prod
from time import perf_counter, perf_counter_ns
from typing import Any, NamedTuple

import numpy

from adjoint.arrays.kernels.vector_ufuncs import is_dense
from adjoint.compilation.programs.lowering import (
    Call,
    Check,
    Elementwise,
    Number,
    Product,
    Reduce,
    leaves,
    zero_of,
)
from adjoint.compilation.programs.schedule import Group, Layout, broadcast_strides, schedule, scratch_buffers
from adjoint.compilation.programs.views import CONSTANT, EXTERNAL, VALUE, Buffer, View, bytes_of
from adjoint.core.modes.profiling import CUSTOM, current_profiler
from adjoint.core.modes.random import Generator, default_generator
from adjoint.program import plain_region, region
from adjoint.program.form import ARITHMETIC, BOOL, CAST, COPY, NARROW, WHERE, WIDEN, Step
from adjoint.program.machine import EACH, EACH_ALONG_ANY, OWN_LOOPS, PER_ROW
from adjoint.program.plain_region import CheckFailed
from adjoint.program.trace import loop_index
from adjoint.runtime.caches import memoize
from adjoint.runtime.crossovers import KEPT_MEMORY
from adjoint.runtime.memory import with_kept_memory

_ndarray = numpy.ndarray
#: What runs the instructions.
machine: Any = region if region.compiled else plain_region
#: The length of a tile, the shortest, and how much scratch memory a tile should have at most, in bytes.
TILE, SHORTEST_TILE, SCRATCH = 2048, 128, 1 << 18
ALIGNMENT = 64
#: Saved values of at most so many bytes lie together, in the buffer with this number.
LARGEST_PACKED, PACK = 1 << 16, -1
#: The largest memory between steps, in bytes, that is kept from one run to the next.
KEPT = 1 << 20


class Program:
    """The program of a recording.

    order: groups of elementwise instructions, and calls. blocks: for each buffer, by its number, the memory block and
    the offset in it. makers: for each block the source of its memory: an array, a function, or None.

    `device_program.py` has the program for arrays of a device. It overrides the methods under "memory of its kind".
    """

    #: The runner of the instructions, and the memory between steps that is kept from one run to the next.
    machine = machine
    kept_bytes = KEPT

    def __init__(
        self, instructions: Sequence[Any], externals: list[View], results: list[View], pack: Pack | None = None
    ) -> None:
        self.externals, self.results = externals, results
        self.pack = pack or Pack([])
        #: The numbers of the buffers that become arrays of their own at each call.
        self.result_numbers = {view.buffer.number for view in results if view.buffer.kind == VALUE}
        self.result_numbers |= self.pack.offsets.keys()
        self.order = self.schedule(instructions)
        self.scratch = self.scratch_of_regions()
        self.blocks: dict[int, tuple[int, int]] = {}
        self.makers: list[Any] = []
        self.numbers: dict[Any, int] = {}
        self._place_externals()
        self._place_values()
        self._place_numbers()
        self.to_undo = self._to_undo()
        self.sources = self._sources()
        self._idle: list[Instance] = []

    # memory -----------------------------------------------------------------------------------------------------------

    def _place_externals(self) -> None:
        #: For each external array: its block where it is the first one in it, and its offset in the block.
        self.entries: list[tuple[int, int]] = []
        for view in self.externals:
            number = view.buffer.number
            if number == PACK:
                self._place_pack(None)
            elif number not in self.blocks:
                self._add_block(view.buffer, None)
            self.entries.append((self.blocks[number][0], view.offset))

    def _place_pack(self, maker: Any) -> None:
        block = len(self.makers)
        self._add_block(self.pack.forward_view.buffer, maker)
        self.blocks.update({number: (block, offset) for number, offset in self.pack.offsets.items()})

    def _place_values(self) -> None:
        if self.pack.offsets and PACK not in self.blocks:
            self._place_pack(self.new_array(None, self.pack.n_bytes))
        first, last = lifetimes(self.order)
        call_results = [view for entry in self.order for view in made_by_call(entry)]
        whole = {view.buffer.number: view for view in self.results if view.is_whole}
        #: The layouts of the arrays that are blocks of their own, by the numbers of their buffers.
        self._arrays = {
            number: (view.shape, view.strides, view.dtype)
            for number, view in whole.items()
            if view.buffer.kind == VALUE
        }
        from_calls = {view.buffer.number: (view.shape, view.strides, view.dtype) for view in call_results}
        shared = shared_by(call_results)
        self._arrays |= {number: layout for number, layout in from_calls.items() if number not in shared}
        arena = Arena()
        for buffer in buffers_of(self.order, self.results):
            number = buffer.number
            if number in self.blocks or number in self.scratch:
                continue
            if buffer.kind == CONSTANT:
                self._add_block(buffer, buffer.array)
            elif number in from_calls:
                self._add_block(buffer, None)
            elif number in self.result_numbers:
                self._add_block(buffer, self.new_array(whole.get(number), buffer.n_bytes))
            else:
                self.blocks[number] = (-1, arena.take(buffer.n_bytes, first[number], last[number]))
        self.arena = len(self.makers)
        self.arena_bytes = arena.n_bytes
        self.makers.append(self.new_array(None, arena.n_bytes))
        for number, (block, offset) in self.blocks.items():
            if block < 0:
                self.blocks[number] = (self.arena, offset)

    def _place_numbers(self) -> None:
        """All numbers lie in one block."""
        cells = b""
        for entry in self.order:
            for instruction in entry.instructions if isinstance(entry, Group) else ():
                zeros = [zero_of(instruction.out.dtype)] if isinstance(instruction, Reduce) else []
                for operand in (*instruction.operands, *zeros):
                    if isinstance(operand, Number) and operand.key not in self.numbers:
                        self.numbers[operand.key] = len(cells)
                        cells += operand.value.tobytes().ljust(16, b"\0")
        self.number_block = len(self.makers)
        self.makers.append(numpy.frombuffer(bytearray(cells or b"\0"), numpy.uint8))

    def _add_block(self, buffer: Buffer, maker: Any) -> None:
        self.blocks[buffer.number] = (len(self.makers), 0)
        self.makers.append(maker)

    def _to_undo(self) -> list[int]:
        """The external arrays that are written before the last check: a check that fails leaves them as they were."""
        dirty: set[int] = set()
        unsafe: set[int] = set()
        for entry in self.order:
            if isinstance(entry, Call) and not isinstance(entry, Product):
                unsafe = set(dirty)
            dirty |= {view.buffer.number for view in _writes_of(entry) if view.buffer.kind == EXTERNAL}
        return [k for k, view in enumerate(self.externals) if view.buffer.number in unsafe]

    def _sources(self) -> list[Any]:
        """The generators that are drawn from before the last call: a check that fails leaves them as they were, too."""
        calls = [entry for entry in self.order if isinstance(entry, Call)]
        generators: dict[int, Any] = {}
        for call in calls[:-1] if calls else ():
            if call.draws:
                call_generators = [
                    value for value in (*call.args, *call.kwargs.values()) if isinstance(value, Generator)
                ]
                for source in call_generators or [default_generator()]:
                    generators[id(source)] = source
        return list(generators.values())

    def address(self, operand: Any) -> tuple[int, int]:
        """The block of an operand and its offset there."""
        if isinstance(operand, Number):
            return self.number_block, self.numbers[operand.key]
        block, offset = self.blocks[operand.buffer.number]
        return block, offset + operand.offset

    def block_view(self, view: View) -> Any:
        """A view as the machine takes it."""
        return self.machine.BlockView(*self.address(view), view.dtype, view.shape, view.strides)

    # memory of its kind -----------------------------------------------------------------------------------------------

    def schedule(self, instructions: Sequence[Any]) -> list[Any]:
        """The instructions in their order, in groups."""
        return schedule(instructions)

    def scratch_of_regions(self) -> set[int]:
        """The numbers of the buffers that lie in the scratch memory of a region."""
        return scratch_buffers(self.order, self.result_numbers) if region.compiled else set()

    def new_array(self, view: View | None, n_bytes: int) -> Callable[[], Any]:
        """A function that makes the memory for a value: an array like a view, or bytes."""
        shape: Any = n_bytes if view is None else view.shape
        arguments = (shape, numpy.uint8 if view is None else view.dtype)
        if n_bytes >= KEPT_MEMORY * 8:
            return partial(with_kept_memory, numpy.empty, arguments)
        return partial(numpy.empty, *arguments)

    def set_constant(self, frame: Any, block: int, array: Any) -> None:
        """Let a block of a frame be the memory of a constant."""
        frame.set(block, array, _offset_in_memory(array))

    def function_of(self, call: Call) -> Callable[..., Any]:
        """The function of a call."""
        return getattr(call.function, "function", call.function)  # type: ignore[no-any-return]

    def ready(self, entry: Any) -> Any:
        """A group or a call as the machine runs it."""
        if isinstance(entry, Group):
            return self.region(entry)
        if isinstance(entry, Product):
            return self.machine.Product(*[self.block_view(view) for view in (*entry.args, entry.results)])
        return macro_of(self, entry)

    def region(self, group: Group) -> Any:
        """A group as the machine runs it."""
        return region_from(self, group)

    def runner(self, frame: Any, parts: list[Any], *rest: Any) -> Any:
        """Objects that run the parts in a frame."""
        return self.machine.Runner(frame, parts, *rest)

    # running ----------------------------------------------------------------------------------------------------------

    def run(self, externals: list[Any]) -> list[Any]:
        """The results, for the arrays of the caller; raises CheckFailed if a value that was looked at is another."""
        profiler = current_profiler()
        if profiler is not None:
            return self._run_under_profiler(externals, profiler)
        try:
            instance = self._idle.pop()
        except IndexError:
            instance = Instance(self)
        results = instance.run(externals)
        self._idle.append(instance)
        return results

    def _run_under_profiler(self, externals: list[Any], profiler: Any) -> list[Any]:
        """The results; each region and call is an event of the profiler."""
        instance = Instance(self)
        parts = zip(instance.parts, self.order, strict=True)
        instance.observe([noting(part, entry.name, profiler) for part, entry in parts])
        return instance.run(externals)

    def time_parts(self, externals: list[Any]) -> list[float]:
        """The seconds that each entry of the order takes."""
        times: list[float] = []
        instance = Instance(self)
        instance.observe([timing(part, times) for part in instance.parts])
        instance.run(externals)
        return times

    def result(self, view: View) -> tuple[int, Any]:
        """The block of a result, and how it lies there; None where it is the block's array itself."""
        number = view.buffer.number
        block, layout = self.blocks[number][0], self._arrays.get(number)
        is_array = layout == (view.shape, view.strides, view.dtype)
        return block, None if is_array else self.block_view(view)


def timing(instruction: Any, times: list[float]) -> Callable[[Any], None]:
    """An instruction that notes how long it takes."""

    def run(frame: Any) -> None:
        start = perf_counter()
        instruction.run(frame)
        times.append(perf_counter() - start)

    return run


def noting(instruction: Any, name: str, profiler: Any) -> Callable[[Any], None]:
    """An instruction that is an event of a profiler."""

    def run(frame: Any) -> None:
        start = perf_counter_ns()
        try:
            instruction.run(frame)
        finally:
            profiler.note(name, start, None, CUSTOM)

    return run


class Instance:
    """A program with memory of its own; one thread runs it at a time."""

    def __init__(self, program: Program) -> None:
        self.program, self.to_undo, self.sources = program, program.to_undo, program.sources
        frame = program.machine.Frame(len(program.makers))
        fresh: list[tuple[int, Any]] = []
        for k, maker in enumerate(program.makers):
            if isinstance(maker, _ndarray):
                program.set_constant(frame, k, maker)
            elif k == program.arena and program.arena_bytes <= program.kept_bytes:
                frame.set(k, maker(), 0)
            elif maker is not None:
                fresh.append((k, maker))
        #: The blocks whose arrays end with the run.
        passing = {block for block, _ in program.entries} | {k for k, _ in fresh}
        passing |= {k for k, maker in enumerate(program.makers) if maker is None}
        self.parts = [program.ready(entry) for entry in program.order]
        results = [program.result(view) for view in program.results]
        self._rest = (program.entries, fresh, results, sorted(passing))
        self.frame = frame
        self.runner = program.runner(frame, self.parts, *self._rest)

    def run(self, externals: list[Any]) -> list[Any]:
        """`Program.run` in this memory."""
        if not self.to_undo and not self.sources:
            return self.runner.run(externals)  # type: ignore[no-any-return]
        before = [(externals[k], externals[k].copy()) for k in self.to_undo]
        states = [source._position() for source in self.sources]
        try:
            return self.runner.run(externals)  # type: ignore[no-any-return]
        except BaseException:
            for array, values in before:
                array[...] = values
            for source, state in zip(self.sources, states, strict=True):
                source._return_to(state)
            raise

    def observe(self, functions: list[Callable[[Any], None]]) -> None:
        """Run these functions in the place of the parts."""
        observed = [Observed(function) for function in functions]
        self.runner = self.program.runner(self.frame, observed, *self._rest)


class Observed(NamedTuple):
    """An instruction that calls a function of the frame."""

    run: Callable[[Any], None]


def _offset_in_memory(array: Any) -> int:
    """How many bytes the first element of an array lies behind the lowest address of its owner."""
    owner = array
    while isinstance(owner.base, _ndarray):
        owner = owner.base
    low = owner.__array_interface__["data"][0]
    for n, stride in zip(owner.shape, owner.strides, strict=True):
        low += min(0, (n - 1) * stride)
    return int(array.__array_interface__["data"][0] - low)


class Pack:
    """Small values that one program saves for another one, in one piece of memory.

    offsets: of each buffer, by its number. forward_view: the piece in the first program; backward_view: in the second.
    """

    def __init__(self, views: list[View]) -> None:
        self.offsets: dict[int, int] = {}
        self.n_bytes = 0
        for view in views:
            self.offsets[view.buffer.number] = self.n_bytes
            self.n_bytes += -(-view.buffer.n_bytes // ALIGNMENT) * ALIGNMENT
        buffers = [Buffer(PACK, kind, None, 0, self.n_bytes) for kind in (VALUE, EXTERNAL)]
        self.forward_view, self.backward_view = [bytes_of(buffer) for buffer in buffers]

    @staticmethod
    def packable(saved: list[View], instructions: Sequence[Any], results: list[View]) -> list[View]:
        """The small saved values that are no results, no memory of the caller and no results of calls."""
        call_results = [view for instruction in instructions for view in made_by_call(instruction)]
        others = {view.buffer.number for view in (*results, *call_results)}
        views = [
            view
            for view in saved
            if view.buffer.kind == VALUE and view.buffer.number not in others and view.buffer.n_bytes <= LARGEST_PACKED
        ]
        return views if len(views) > 1 else []

    def pairs(self, saved: list[View], entries: list[View]) -> list[tuple[View, View]]:
        """Saved values as the first program gives them, each with its view in the second one; the pack comes last."""
        pairs = [pair for pair in zip(saved, entries, strict=True) if pair[0].buffer.number not in self.offsets]
        return [*pairs, (self.forward_view, self.backward_view)] if self.offsets else pairs


class Arena:
    """Offsets for values in one piece of memory, used again when a value is no longer needed."""

    def __init__(self) -> None:
        self.n_bytes = 0
        #: The values in the memory, as a heap: (the last entry that needs it, low, high).
        self._busy: list[tuple[int, int, int]] = []
        #: The free places below n_bytes, by offset: where each begins, and where it ends.
        self._begins: list[int] = []
        self._ends: list[int] = []

    def take(self, n_bytes: int, first: int, last: int) -> int:
        """The lowest free offset for a value that lives from one entry of the order to another.

        Values come in the order of their first entries.
        """
        if not n_bytes:
            return 0
        size = -(-n_bytes // ALIGNMENT) * ALIGNMENT
        while self._busy and self._busy[0][0] < first:
            self._free(*heappop(self._busy)[1:])
        for k, (low, high) in enumerate(zip(self._begins, self._ends, strict=True)):
            if high - low > size:
                self._begins[k] = low + size
                break
            if high - low == size:
                del self._begins[k], self._ends[k]
                break
        else:
            low = self.n_bytes
            if self._ends and self._ends[-1] == low:
                # the last free place grows
                low = self._begins.pop()
                self._ends.pop()
            self.n_bytes = low + size
        heappush(self._busy, (last, low, low + size))
        return low

    def _free(self, low: int, high: int) -> None:
        """Add a free place, as one with its neighbours."""
        at = bisect_left(self._begins, low)
        if at < len(self._begins) and self._begins[at] == high:
            high = self._ends[at]
            del self._begins[at], self._ends[at]
        if at and self._ends[at - 1] == low:
            self._ends[at - 1] = high
        else:
            self._begins.insert(at, low)
            self._ends.insert(at, high)


def made_by_call(entry: Any) -> list[View]:
    """The arrays that an entry of the order, or an instruction, makes in memory of their own."""
    return leaves(entry.results) if isinstance(entry, Call) and not isinstance(entry, Product) else []


def _writes_of(entry: Any) -> Iterable[View]:
    for instruction in entry.instructions if isinstance(entry, Group) else (entry,):
        yield from instruction.writes


def _of_entry(entry: Any) -> Iterable[View]:
    for instruction in entry.instructions if isinstance(entry, Group) else (entry,):
        yield from instruction.reads
        yield from instruction.writes


def lifetimes(order: Sequence[Any]) -> tuple[dict[int, int], dict[int, int]]:
    """The first and the last entry of the order that uses each buffer."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for k, entry in enumerate(order):
        for view in _of_entry(entry):
            first.setdefault(view.buffer.number, k)
            last[view.buffer.number] = k
    return first, last


def buffers_of(order: Sequence[Any], results: Sequence[View]) -> list[Buffer]:
    """All buffers that are used, in the order of their first use."""
    buffers: dict[int, Buffer] = {}
    for entry in order:
        for view in _of_entry(entry):
            buffers.setdefault(view.buffer.number, view.buffer)
    for view in results:
        buffers.setdefault(view.buffer.number, view.buffer)
    return list(buffers.values())


# calls ----------------------------------------------------------------------------------------------------------------


def macro_of(program: Program, call: Call) -> Any:
    """A call as the machine runs it."""
    function = program.function_of(call)
    if any(view.buffer.n_bytes >= KEPT_MEMORY * 8 for view in (*call.reads, *call.writes)):
        function = keeping_memory(function)
    keeper = (
        Comparison(call.expected, call.function_line) if isinstance(call, Check) else keeper_of(call.results, program)
    )
    keywords = {key: reader(value, program) for key, value in call.kwargs.items()}
    return program.machine.Macro(function, [reader(value, program) for value in call.args], keywords, keeper)


def keeping_memory(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose large arrays keep their memory."""
    return lambda *args, **kwargs: with_kept_memory(function, args, kwargs)


class Value(NamedTuple):
    """An argument that is the same at each run."""

    value: Any

    def of(self, frame: Any) -> Any:
        """The argument."""
        return self.value


class Container(NamedTuple):
    """A container of arguments, which a function makes of the list of its members."""

    make: Callable[[list[Any]], Any]
    members: list[Any]

    def of(self, frame: Any) -> Any:
        """The container, with the arrays in the memory of a frame."""
        return self.make([member.of(frame) for member in self.members])


def reader(tree: Any, program: Program) -> Any:
    """An object whose method `of` gives a tree of arguments, with the arrays in the memory of a frame."""
    if isinstance(tree, View):
        return program.block_view(tree)
    if not leaves(tree):
        return Value(tree)
    if isinstance(tree, dict):
        keys = list(tree)
        return Container(
            lambda values: dict(zip(keys, values, strict=True)), [reader(v, program) for v in tree.values()]
        )
    if isinstance(tree, slice):
        limits = [reader(part, program) for part in (tree.start, tree.stop, tree.step)]
        return Container(lambda values: slice(*values), limits)
    return Container(type(tree), [reader(member, program) for member in tree])


class Comparison(NamedTuple):
    """Compares the result of a check with its result in the recording."""

    expected: Any
    function_line: int | None

    def keep(self, frame: Any, result: Any) -> None:
        """Raise CheckFailed for another value."""
        if not _equal(result, self.expected):
            raise CheckFailed(self.function_line)


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, (tuple, list)):
        return type(first) is type(second) and len(first) == len(second) and all(map(_equal, first, second))
    if isinstance(first, float) and first != first:
        return isinstance(second, float) and second != second
    return type(first) is type(second) and bool(first == second) and repr(first) == repr(second)


class Keepers(NamedTuple):
    """Stores the members of a call's result."""

    members: list[Any]

    def keep(self, frame: Any, result: Any) -> None:
        """Store the members that are used."""
        for member, part in zip(self.members, result, strict=True):
            if member is not None:
                member.keep(frame, part)


class MemberKeeper(NamedTuple):
    """Copies a member of a result to its place in a block that it shares.

    block: what keeps new memory for the block, and its size in bytes; None for all members but the first.
    """

    view: Any
    layout: tuple[Any, Any]
    block: tuple[Any, int] | None

    def keep(self, frame: Any, result: Any) -> None:
        """Keep an array; raises CheckFailed for one of another shape or dtype than recorded."""
        if (result.shape, result.dtype) != self.layout:
            raise CheckFailed
        if self.block is not None:
            keeper, n_bytes = self.block
            keeper.keep(frame, numpy.empty(n_bytes, numpy.uint8))
        self.view.of(frame)[...] = result


def shared_by(views: Sequence[View]) -> set[int]:
    """The numbers of the buffers in which several of the views lie."""
    counts = Counter([view.buffer.number for view in views])
    return {number for number, n in counts.items() if n > 1}


def keeper_of(results: Any, program: Program) -> Any:
    """An object that stores the result of a call in its blocks; None if the result is unused."""
    return _keeper_of(results, program, dict.fromkeys(shared_by(leaves(results)), True))


def _keeper_of(results: Any, program: Program, is_first: dict[int, bool]) -> Any:
    """`keeper_of` for a member. is_first: for each shared buffer, whether none of its members was met yet."""
    if isinstance(results, (tuple, list)):
        members = [_keeper_of(member, program, is_first) for member in results]
        return Keepers(members) if any(member is not None for member in members) else None
    if not isinstance(results, View) or results.buffer.number not in program.blocks:
        return None
    buffer, keeper = results.buffer, program.machine.Keeper
    if buffer.number not in is_first:
        return keeper(program.block_view(results), buffer.n_bytes)
    block = None
    if is_first[buffer.number]:
        is_first[buffer.number] = False
        block = keeper(program.block_view(bytes_of(buffer)), buffer.n_bytes), buffer.n_bytes
    return MemberKeeper(program.block_view(results), (results.shape, results.dtype), block)


#: Kernels whose loops give an element the same value for all strides.
EXACT = frozenset((
    numpy.add, numpy.subtract, numpy.multiply, numpy.divide, numpy.negative, numpy.absolute, numpy.square, numpy.sqrt,
    numpy.reciprocal, numpy.equal, numpy.not_equal, numpy.less, numpy.less_equal, numpy.greater, numpy.greater_equal,
    COPY, CAST, WHERE,
))  # fmt: skip
#: Rows of so many elements NumPy adds up in eight partial sums.
PAIRWISE = 8

# regions --------------------------------------------------------------------------------------------------------------


def region_from(program: Program, group: Group) -> Any:
    """A group as the machine runs it."""
    if not region.compiled:
        return machine.Region([plain_step(program, instruction) for instruction in group.instructions])
    registers = Registers(program, group)
    steps = [step for instruction in group.instructions for step in steps_of(registers, instruction)]
    in_memory = [k for k, register in enumerate(registers.table) if not register.is_scratch]
    layout = Layout(group.shape, [registers.table[k].strides for k in in_memory], group.n_columns, group.is_alone)
    slots, n_slots = scratch_slots([numbers for *_, numbers in steps], [r.is_scratch for r in registers.table])
    widest = max([register.size for register in registers.table])
    tile = TILE
    while tile > SHORTEST_TILE and n_slots * tile * widest > SCRATCH:
        tile //= 2
    rows = max(1, min(layout.n_rows, tile // max(layout.n_columns, 1)))
    tile = layout.n_columns if group.n_columns or group.is_alone else min(tile, layout.n_columns)
    slot_size = -(-tile * rows * widest // ALIGNMENT) * ALIGNMENT
    table: list[Any] = [None] * len(registers.table)
    for k, (row, column, others) in zip(in_memory, layout.strides, strict=True):
        table[k] = (*registers.table[k].address, row, column, others)
    for k, slot in slots.items():
        size = registers.table[k].size
        row, column = (size, 0) if registers.table[k].is_of_rows else (tile * size, size)
        table[k] = (None, slot * slot_size, row, column, ())
    cost = sum([cost_of(instruction.kernel) for instruction in group.instructions])
    sizes = layout.n_rows, layout.n_columns, tile, rows
    return machine.Region(steps, table, layout.outer, *sizes, n_slots * slot_size, cost, group.is_alone)


class Register(NamedTuple):
    """An operand of a region: where it lies, and its strides for the shape of the region."""

    address: Any
    strides: tuple[int, ...]
    size: int
    is_scratch: bool
    is_of_rows: bool


class Registers:
    """The operands of a region, each once."""

    def __init__(self, program: Program, group: Group) -> None:
        self.program, self.group = program, group
        self.table: list[Register] = []
        self._numbers: dict[Register, int] = {}
        #: The registers by the id of the operand, for an instruction on all elements.
        self._of_all: dict[int, int] = {}

    def number(self, operand: Any, shape: tuple[int, ...]) -> int:
        """The register of an operand of an instruction on a shape: the shape of all elements, or of the rows."""
        whole = self.group.shape
        if shape is not whole and shape != whole:
            return self.enter(operand, shape)
        number = self._of_all.get(id(operand))
        if number is None:
            number = self._of_all[id(operand)] = self.enter(operand, shape)
        return number

    def enter(self, operand: Any, shape: tuple[int, ...]) -> int:
        """`number` for an operand that is no instruction's own."""
        whole = self.group.shape
        if isinstance(operand, Number):
            register = Register(self.program.address(operand), (0,) * len(whole), operand.dtype.itemsize, False, False)
        elif operand.buffer.number in self.program.scratch:
            is_of_rows = operand.buffer.number in self.group.of_rows
            register = Register(None, (operand.buffer.number,), operand.dtype.itemsize, True, is_of_rows)
        else:
            strides = broadcast_strides(operand, shape)
            if shape != whole:
                n = self.group.n_columns or 0
                strides = strides[: len(whole) - n] + (0,) * n
            register = Register(self.program.address(operand), strides, operand.dtype.itemsize, False, False)
        number = self._numbers.setdefault(register, len(self.table))
        if number == len(self.table):
            self.table.append(register)
        return number


def steps_of(registers: Registers, instruction: Elementwise) -> list[Any]:
    """The steps of an instruction, as (way, loop, place of the loop, registers)."""
    shape = registers.group.shape
    if isinstance(instruction, Reduce):
        (source,) = instruction.operands
        from_, to = registers.number(source, shape), registers.enter(instruction.wide, shape)
        copy = OWN_LOOPS[COPY, source.dtype.itemsize], None
        loop = instruction.kernel, loop_index(instruction.kernel, source.dtype.char * 2)
        if registers.group.is_alone:
            return [(EACH, *loop, [to, from_, to])]
        is_sum = instruction.kernel is numpy.add
        begin = registers.enter(zero_of(source.dtype), shape) if is_sum else from_
        way = EACH_ALONG_ANY if is_sum and prod(shape[len(shape) - len(instruction.axes) :]) < PAIRWISE else EACH
        return [(PER_ROW, *copy, [begin, to]), (way, *loop, [to, from_, to])]
    out = instruction.out
    way = PER_ROW if registers.group.is_per_row(instruction) else way_of(instruction.kernel)
    numbers = [registers.number(operand, out.shape) for operand in (*instruction.operands, out)]
    chars = "".join([operand.dtype.char for operand in instruction.operands])
    return [(way, *loop_of(instruction.kernel, chars, out.dtype.itemsize), numbers)]


def scratch_slots(steps: list[list[int]], is_scratch: list[bool]) -> tuple[dict[int, int], int]:
    """A slot of scratch memory for each register that lies there, and how many slots there are."""
    last_use = {register: k for k, numbers in enumerate(steps) for register in numbers if is_scratch[register]}
    slots: dict[int, int] = {}
    free: list[int] = []
    n_slots = 0
    for k, numbers in enumerate(steps):
        for register in numbers:
            if is_scratch[register] and register not in slots:
                if not free:
                    free.append(n_slots)
                    n_slots += 1
                slots[register] = free.pop()
        free += [slots[register] for register in dict.fromkeys(numbers) if last_use.get(register) == k]
    return slots, n_slots


@memoize()
def way_of(kernel: Any) -> int:
    """How the machine runs a kernel on all elements."""
    return EACH_ALONG_ANY if kernel in EXACT or is_dense(kernel) else EACH


@memoize()
def loop_of(kernel: Any, chars: str, size: int) -> tuple[Any, int | None]:
    """The loop of a kernel for operands of some types: a ufunc and the place of its loop, or our own one and None."""
    if kernel == CAST and chars != BOOL:
        kernel = WIDEN if size == 8 else NARROW
    if isinstance(kernel, str):
        return OWN_LOOPS[kernel, size], None
    return kernel, loop_index(kernel, chars)


@memoize()
def cost_of(kernel: Any) -> int:
    """The time of a kernel for one element, in additions."""
    return ARITHMETIC if isinstance(kernel, str) else Step(kernel, (), "d").cost


def plain_step(program: Program, instruction: Elementwise) -> Callable[[Any], None]:
    """An instruction as NumPy runs it; the plain twin of a region's step."""
    operands = [
        (lambda frame, value=operand.value: value) if isinstance(operand, Number) else program.block_view(operand).of
        for operand in instruction.operands
    ]
    out = program.block_view(instruction.out)
    kernel = instruction.kernel

    def run(frame: Any) -> None:
        values = [operand(frame) for operand in operands]
        target = out.of(frame)
        if kernel == WHERE:
            target[...] = numpy.where(*values)
        elif isinstance(instruction, Reduce):
            keepdims = target.ndim == values[0].ndim
            kernel.reduce(values[0], axis=instruction.axes, out=target, keepdims=keepdims)
        elif kernel in (COPY, CAST):
            target[...] = values[0]
        else:
            # without `out`: NumPy's loops of some functions are wrong for results with strides
            target[...] = kernel(*values)

    return run
