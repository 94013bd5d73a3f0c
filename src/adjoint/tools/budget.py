"""Memory by budget: a plan, from one measured run, for saved arrays to keep, recompute or write to disk.

The unit is one call of a kernel, and a *cell* represents the array that a call made. The graph saves cells instead of
arrays. A cell that the plan does not keep drops its array. Later it recomputes the array from the arguments of its
call, which are cells or external arrays, or it reads the array from disk. An array that the same pass needs again stays
until then. A call in place makes a new cell. A view counts as the memory of its root.

A plan spreads the kept cells evenly over the bytes of all saved arrays, and simulates the backward pass to find the
peak. (T. Chen and others, 2016, derive the best number of kept cells.) It repeats cheap calls first. An array goes to
disk if reading is faster than recomputing it, or if no call can recompute it. Among the plans within the budget the
fastest is chosen.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.arrays.files import ArrayFile, DiskTime, StoredArray, disk_time
from adjoint.core import errors
from adjoint.core.engine import run_number
from adjoint.core.graph import TensorBase, counter_of, new_tensor
from adjoint.core.modes.interceptors import CHECKPOINT, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock, is_grad_enabled
from adjoint.core.saved_hooks import saved_tensors_hooks
from adjoint.runtime.pytree import flatten
from adjoint.tools.graph_view import Placement, placement_of
from adjoint.tools.sizes import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from adjoint.tensor.tensor import Tensor
    from adjoint.tools.profiler.export.pictures import Picture
Function = Callable[..., Any]

CHANGED = (
    "checkpoint.auto: an array that {operation} needs to be computed again has been modified in place since: do not "
    "modify arguments between the function and its backward pass, or raise the budget"
)


# the records of a run
# --------------------------------------------------------------------------------------------------


class Cell:
    """An array that a call made.

    call: the call; nr: the number of the result; shape, dtype, nbytes: the shape, dtype and size of the array. root:
    the cell that owns the memory of a view, None for others. array: the array while it is in memory, or None. counter:
    its version counter; version: the version that the graph saved, if it did. plan: the plan of the run. stored: the
    array on disk, or None. again: the recomputed or read array, if this pass needs it later. n_saved: the number of
    times that the graph saved it or its views. waiting: the number of these that the pass with this number still needs.
    """

    __slots__ = (
        "__weakref__",
        "again",
        "array",
        "call",
        "counter",
        "dtype",
        "n_saved",
        "nbytes",
        "nr",
        "pass_number",
        "plan",
        "root",
        "shape",
        "stored",
        "version",
        "waiting",
    )

    def __init__(self, call: Call, nr: int, like: Any, nbytes: int, root: Cell | None) -> None:
        self.call, self.nr, self.nbytes, self.root = call, nr, nbytes, root
        self.shape, self.dtype = like.shape, like.dtype
        self.plan: Plan | None = None
        self.array: Any = None
        self.again: Any = None
        self.stored: StoredArray | None = None
        self.counter: Any = None
        self.version = 0
        self.n_saved = self.waiting = 0
        self.pass_number = -1

    def placement(self) -> Placement:
        """The location of the array, for `graph.saved_tensors`."""
        root = self.owners()[-1]
        array = self.array if self.again is None else self.again
        if array is not None:
            return placement_of(array)._replace(fate="keep", plan=self.plan)
        fate = "recompute" if self.is_lost() and root.is_lost() else "disk"
        return Placement(None, self.shape, self.dtype, root.nbytes, fate, self.plan, root)

    def keep(self, tensor: TensorBase) -> None:
        """Keep the array of a tensor that the graph saves."""
        self.array, self.counter = tensor._array, counter_of(tensor)
        self.version = self.counter.value

    def owners(self) -> tuple[Cell, ...]:
        """The cell, and for a view also its root."""
        return (self,) if self.root is None else (self, self.root)

    def is_lost(self) -> bool:
        """True if the array has to be computed again."""
        return self.array is None and self.again is None and self.stored is None

    def value(self, number: int) -> Any:
        """The array from memory or disk, or None; an array read from disk stays as long as the pass needs it.

        Raises RuntimeError if it was modified in place since the graph saved it.
        """
        if self.counter is not None:
            array_of_saved(self.array, self.counter, self.version)
        array = self.again if self.array is None else self.array
        if array is None and self.stored is not None:
            array = self.stored.read()
            if self.requests_left(number):
                self.again = array
        return array

    def requests_left(self, number: int) -> int:
        """The number of requests for the array that the pass with this number has still to make."""
        if self.pass_number != number:
            self.pass_number, self.waiting = number, self.n_saved
        return self.waiting

    def count_request(self, number: int) -> None:
        """Count one more request for the array by the pass with this number."""
        if number >= 0 and self.requests_left(number):
            self.waiting -= 1
            if not self.waiting:
                self.again = None


class Call:
    """A call of a kernel, which can be repeated with the same arguments.

    args: cells, external arrays with their version counters (`Outside`), and other values, also in sequences.
    """

    __slots__ = ("args", "cells", "half", "number", "operation", "seconds")

    def __init__(self, number: int, operation: Any, args: list[Any], half: Any) -> None:
        self.number, self.operation, self.args, self.half = number, operation, args, half
        self.cells: list[weakref.ref[Cell]] = []
        self.seconds = 0.0


class _Draw(NamedTuple):
    """Random numbers drawn outside of kernels, as if by an operation."""

    name: str


class Outside(NamedTuple):
    """An array from outside of the function, and its version counter with the version that it had."""

    array: Any
    counter: Any
    version: int

    def placement(self) -> Placement:
        """The location of the array, for `graph.saved_tensors`: it exists anyway."""
        return placement_of(self.array)._replace(fate="keep")

    def is_changed(self) -> bool:
        """True if the array was modified in place since."""
        return self.counter is not None and self.counter.value != self.version


def array_of_saved(array: Any, counter: Any, version: int) -> Any:
    """The array of a saved tensor. Raises RuntimeError if it was modified in place since."""
    if counter.value != version:
        raise errors.modification_error(array, None, 0, counter, version, None)
    return array


class Note(NamedTuple):
    """The facts of a cell for a plan: the numbers of its call and result, its size and time, and its sources.

    pinned: it cannot be computed again.
    """

    key: tuple[int, int]
    operation: str
    nbytes: int
    seconds: float
    sources: tuple[int, ...]
    n_saved: int
    pinned: bool


class Recorder(Interceptor):
    """Notes the calls of a run; keeps the arrays that the plan keeps, or all of them.

    directory: where the file of those is that the plan moves to disk.
    """

    def __init__(self, plan: Plan | None, directory: str | None) -> None:
        super().__init__(CHECKPOINT)
        self.plan = plan
        self.directory = directory
        self.file: ArrayFile | None = None
        self.calls: list[tuple[Call, list[Cell]]] = []
        # the cell of an array, as long as the array is there
        self.by_id: dict[int, tuple[weakref.ref[Any], Cell]] = {}
        self.counters: dict[int, tuple[weakref.ref[Any], Any, int]] = {}
        # arrays that calls made and later calls modified in place, as long as they exist
        self.in_place_results: dict[int, weakref.ref[Any]] = {}
        self.pinned: set[int] = set()
        self.in_kernel = self.has_drawn = False
        # the tensor that a call in place is to write into, until its kernel has run
        self.target: TensorBase | None = None

    # interceptors -------------------------------------------------------------------------------------------------

    def operation(self, operation: Any, values: list[Any]) -> Any:
        """Note the versions of the arguments."""
        for value in values:
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, TensorBase) and type(tensor._array) is numpy.ndarray:
                    array, counter = tensor._array, counter_of(tensor)
                    self.counters[id(array)] = weakref.ref(array), counter, counter.value
        return operation.proceed(values, self.position)

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        """The call of the kernel makes the new values; views of the same memory are no longer the result of a call."""
        outer, self.target = self.target, values[0]
        try:
            result = operation.proceed_in_place(values, self.position)
            if self.target is not None:
                self.overwrite()
            return result
        finally:
            self.target = outer

    def overwrite(self) -> Any:
        """The array that a call in place writes into; earlier cells of that memory are forgotten.

        None if other tensors share the memory.
        """
        target, self.target = self.target, None
        assert target is not None
        is_whole = target._view is None and type(target._array) is numpy.ndarray and target._array.base is None
        for key, (reference, _) in list(self.by_id.items()):
            array = reference()
            if array is None or numpy.may_share_memory(array, target._array):
                del self.by_id[key]
                if array is not None:
                    self.in_place_results[key] = reference
                    is_whole = is_whole and array is target._array
        if not is_whole:
            return None
        self.in_place_results.pop(id(target._array), None)
        return target._array

    def kernel(self, operation: Any, raw: list[Any], half: Any) -> Any:
        """Run a kernel and note the call."""
        args = [self.argument(value) for value in raw]
        self.in_kernel, self.has_drawn = True, False
        start = perf_counter()
        try:
            result = operation.proceed_to_kernel(raw, half, self.position)
        finally:
            self.in_kernel = False
        call = Call(len(self.calls), operation, args, half)
        call.seconds = perf_counter() - start
        if self.has_drawn or any(self.is_written(value) for value in _flat(raw)):
            self.pinned.add(call.number)
            call.args = []
        replacement = None if self.target is None else self.overwrite()
        if replacement is None:
            self.add(call, result, raw)
        else:
            self.add(call, replacement, [])
        return result

    def draw(self, function: Function, args: Any, kwargs: Any) -> Any:
        """A call that draws random numbers is never repeated."""
        self.has_drawn = True
        result = function(*args, **kwargs)
        # others read or set the state of a generator
        if not self.in_kernel and type(result) is numpy.ndarray:
            call = Call(len(self.calls), _Draw(function.__name__), [], None)
            self.pinned.add(call.number)
            self.add(call, result, [])
        return result

    def add(self, call: Call, result: Any, raw: list[Any]) -> None:
        """Note a call and its results."""
        cells = []
        for nr, out in enumerate(result if isinstance(result, (tuple, list)) else (result,)):
            if type(out) is numpy.ndarray:
                cell = Cell(call, nr, out, *self.memory_of(out, raw))
                self.by_id[id(out)] = weakref.ref(out), cell
                cells.append(cell)
        call.cells = [weakref.ref(cell) for cell in cells]
        self.calls.append((call, cells))
        if self.plan is not None and not self.plan.fits(call.number, call.operation.name):
            # the function differs from the measured run: from this call on all arrays are kept
            self.plan = None

    def memory_of(self, out: Any, raw: list[Any]) -> tuple[int, Cell | None]:
        """The bytes that a result takes, and the cell whose memory it shows; views of arrays from outside take none."""
        for array in _flat(raw):
            if type(array) is numpy.ndarray and (
                array is out or (out.base is not None and numpy.may_share_memory(array, out))
            ):
                cell = self.cell_of(array)
                return 0, None if cell is None else cell.owners()[-1]
        return out.nbytes, None

    def is_written(self, value: Any) -> bool:
        """True for an array that a call made and that was modified in place since: no call can recompute it."""
        return id(value) in self.in_place_results and self.in_place_results[id(value)]() is value

    def argument(self, value: Any) -> Any:
        """An argument as a call keeps it."""
        if isinstance(value, (list, tuple)):
            return [self.argument(member) for member in value]
        if type(value) is not numpy.ndarray:
            return value
        cell = self.cell_of(value)
        if cell is not None:
            return cell
        reference, counter, version = self.counters.get(id(value), (lambda: None, None, 0))
        return Outside(value, counter, version) if reference() is value else Outside(value, None, 0)

    def cell_of(self, array: Any) -> Cell | None:
        """The cell of an array that a call made."""
        reference, cell = self.by_id.get(id(array), (lambda: None, None))
        return cell if reference() is array else None

    # hooks ----------------------------------------------------------------------------------------------------------

    def pack(self, tensor: Tensor) -> Any:
        """The cell of a saved tensor, with or without its array; the array itself if it comes from outside."""
        cell = self.cell_of(tensor._array) if type(tensor._array) is numpy.ndarray else None
        if cell is None:
            counter = counter_of(tensor)
            return Outside(tensor._array, counter, counter.value)
        cell.plan = self.plan
        for owner in cell.owners():
            owner.n_saved += 1
        root = cell.owners()[-1]
        key = root.call.number, root.nr
        if self.plan is None or key in self.plan.in_memory or not root.nbytes:
            cell.keep(tensor)
        elif key in self.plan.stored:
            self.store(cell, root, tensor._array)
        return cell

    def store(self, cell: Cell, root: Cell, array: Any) -> None:
        """Write the memory of a cell to disk, or only the view if the whole array no longer exists."""
        if self.cell_of(array.base) is root:
            cell, array = root, array.base
        if cell.stored is None:
            cell.stored = self.write_to_disk(array)

    def write_to_disk(self, array: Any) -> StoredArray:
        """An array on disk."""
        if self.file is None:
            assert self.directory is not None
            self.file = ArrayFile(self.directory)
        return self.file.write(array)

    def release(self) -> None:
        """Let go of the cells: the graph alone says how long their arrays are there."""
        self.calls, self.in_place_results = [], {}
        self.by_id, self.counters = {}, {}

    # for the plan ---------------------------------------------------------------------------------------------------

    def notes(self) -> list[Note]:
        """The facts of all cells for a plan, in the order of the cells."""
        numbers: dict[int, int] = {}
        notes: list[Note] = []
        for call, cells in self.calls:
            sources = tuple(numbers[id(a)] for a in _flat(call.args) if isinstance(a, Cell))
            pinned = (
                call.number in self.pinned
                or any(isinstance(a, Outside) and a.is_changed() for a in _flat(call.args))
                or any(notes[i].pinned and not notes[i].n_saved for i in sources)
            )
            for cell in cells:
                numbers[id(cell)] = len(notes)
                key = call.number, cell.nr
                notes.append(Note(key, call.operation.name, cell.nbytes, call.seconds, sources, cell.n_saved, pinned))
        return notes


class _recording(ModeBlock):
    """A block whose calls a recorder notes."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (CHECKPOINT, self.recorder)),)


def _flat(args: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    """All values, also inside sequences."""
    for value in args:
        if isinstance(value, (list, tuple)) and not isinstance(value, Outside):
            yield from _flat(value)
        else:
            yield value


def unpack(packed: Any) -> Any:
    """A saved tensor again."""
    return new_tensor(array_of_saved(*packed) if isinstance(packed, Outside) else array_of(packed))


# computing again ------------------------------------------------------------------------------------------------------


def array_of(cell: Cell) -> Any:
    """The array of a cell, computed again if it is not there."""
    number = run_number()
    array = cell.value(number)
    if array is None:
        array = compute(cell, number)
    for owner in cell.owners():
        owner.count_request(number)
    return array


#: Arrays by the numbers of the call and the result.
Outputs = dict[tuple[int, int], Any]


def argument(value: Any, outputs: Outputs, call: Call, number: int) -> Any:
    """An argument of a repeated call. Raises RuntimeError if it has changed since."""
    if type(value) is list:
        return [argument(member, outputs, call, number) for member in value]
    if isinstance(value, Cell):
        array = value.value(number)
        return outputs[value.call.number, value.nr] if array is None else array
    if isinstance(value, Outside):
        if value.is_changed():
            raise RuntimeError(CHANGED.format(operation=call.operation.name))
        return value.array
    return value


def compute(target: Cell, number: int) -> Any:
    """The array of a cell, from the nearest arrays that are there; others on the way that the pass needs stay there."""
    calls: dict[int, Call] = {}
    waiting = [target]
    while waiting:
        call = waiting.pop().call
        if call.number in calls:
            continue
        calls[call.number] = call
        waiting.extend(a for a in _flat(call.args) if isinstance(a, Cell) and a.is_lost())
    outputs: Outputs = {}
    for call_number in sorted(calls):
        call = calls[call_number]
        result = call.operation.run([argument(value, outputs, call, number) for value in call.args], call.half)
        for nr, out in enumerate(result if isinstance(result, (tuple, list)) else (result,)):
            outputs[call_number, nr] = out
        for reference in call.cells:
            cell = reference()
            if cell is not None and cell is not target and cell.array is None and cell.requests_left(number):
                cell.again = outputs[call_number, cell.nr]
    array = outputs[target.call.number, target.nr]
    if target.requests_left(number) > 1:
        target.again = array
    return array


# plans ----------------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """The numbers of the kept cells, and of the cells on disk; the others are recomputed."""

    in_memory: set[int]
    stored: set[int]


class Course(NamedTuple):
    """The simulation of a function and its backward pass under a choice.

    timeline: the bytes in memory after each step. seconds: the time that the choice costs.
    """

    timeline: list[int]
    seconds: float


class Family(NamedTuple):
    """Choices with different numbers of kept cells, given the cells that may be dropped or stored on disk."""

    dropped: set[int]
    stored: set[int]


class Plan:
    """The plan: saved arrays that are kept, recomputed, or written to disk.

    notes: the records of all cells. kept, stored: the positions of kept cells, and of cells on disk. nbytes: the bytes
    of all saved arrays. limit: the budget in bytes. timeline: the planned bytes in memory during the function and its
    backward pass. disk: the times of a disk, or None.
    """

    def __init__(self, notes: list[Note], limit: float, budget: float, disk: DiskTime | None = None) -> None:
        self.notes, self.limit, self.disk = notes, limit, disk
        self.saved = [i for i, note in enumerate(notes) if note.n_saved and note.nbytes]
        self.nbytes = sum(notes[i].nbytes for i in self.saved)
        if isinstance(budget, float):
            self.limit = budget * self.nbytes
        families = list(self.families())
        fitting = [pair for family in families if (pair := self.densest(family)) is not None]
        if not fitting:
            least = min(max(self.simulate(choice).timeline) for family in families for choice in self.patterns(family))
            raise ValueError(
                f"checkpoint.auto: a budget of {readable(int(self.limit))} cannot be met; the least possible is "
                f"{readable(least)}, {least / max(self.nbytes, 1):.3f} of the {readable(self.nbytes)} that are saved"
            )
        choice, course = min(fitting, key=lambda pair: pair[1].seconds)
        self.timeline = course.timeline
        self.in_memory = {notes[i].key for i in choice.in_memory}
        self.stored = {notes[i].key for i in choice.stored}
        self.operations = {note.key[0]: note.operation for note in notes}

    @property
    def peak(self) -> int:
        """The largest number of bytes of saved and recomputed arrays that are there at once."""
        return max(self.timeline)

    def families(self) -> Iterator[Family]:
        """The options of choices: repeat cheap calls alone, or all; or write to disk where that is faster."""
        notes = self.notes
        free = {i for i in self.saved if not notes[i].pinned}
        rates = sorted(notes[i].seconds / notes[i].nbytes for i in free)
        yield Family({i for i in free if notes[i].seconds / notes[i].nbytes <= 2 * rates[len(rates) // 4]}, set())
        yield Family(free, set())
        if self.disk is not None:
            rest = set(self.saved)
            pinned = rest - free
            dear = {i for i in free if self.disk(notes[i].nbytes) < self.seconds_again(i)}
            yield Family(rest, pinned | dear)
            yield Family(rest, rest)

    def seconds_again(self, i: int) -> float:
        """The time to recompute a cell from saved cells."""
        return sum(self.notes[k].seconds for k in self.cells_for(i, set(self.saved) - {i}))

    def cells_for(self, i: int, *there: set[int]) -> set[int]:
        """The cells that must be computed for one cell, from the existing ones."""
        needed, waiting = {i}, [i]
        while waiting:
            for source in self.notes[waiting.pop()].sources:
                if source not in needed and not any(source in cells for cells in there):
                    needed.add(source)
                    waiting.append(source)
        return needed

    def densest(self, family: Family) -> tuple[Choice, Course] | None:
        """The choice of a family that keeps the most within the budget, and how it goes; None if all exceed it."""
        for choice in self.patterns(family):
            course = self.simulate(choice)
            if max(course.timeline) <= self.limit:
                return choice, course
        return None

    def patterns(self, family: Family) -> Iterator[Choice]:
        """Sets of kept cells, spread evenly over the bytes of droppable cells, each sparser than the previous one."""
        ordered = sorted(family.dropped)
        fixed = set(self.saved) - family.dropped
        total = sum(self.notes[i].nbytes for i in ordered)
        steps = min(len(ordered), _PATTERNS)
        for step in range(steps, -1, -1):
            share, before, keep = step / max(steps, 1), 0.0, set(fixed)
            for i in ordered:
                after = before + self.notes[i].nbytes * share * steps / max(total, 1)
                if int(after + 1e-9) > int(before + 1e-9) or share == 1:
                    keep.add(i)
                before = after
            yield Choice(keep, family.stored - keep)

    def simulate(self, choice: Choice) -> Course:
        """The function and its backward pass by a choice."""
        notes, (keep, stored) = self.notes, choice
        live, timeline = 0, [0]
        for i in self.saved:
            live += notes[i].nbytes if i in keep else 0
            timeline.append(live)
        seconds = sum(self.disk(notes[i].nbytes) for i in stored) if self.disk is not None else 0.0
        again: set[int] = set()
        for i in reversed(self.saved):
            if i not in keep and i not in again:
                needed = {i} if i in stored else self.cells_for(i, keep, stored, again)
                disk_sources = {
                    source for k in needed - stored for source in notes[k].sources if source in stored
                } - again
                fresh = {k for k in needed | disk_sources if notes[k].n_saved and notes[k].nbytes and k <= i}
                seconds += sum(notes[k].seconds for k in needed - stored)
                again |= fresh
                live += sum(notes[k].nbytes for k in fresh)
                timeline.append(live)
            live -= notes[i].nbytes
            timeline.append(live)
        return Course(timeline, seconds)

    def fits(self, number: int, operation: str) -> bool:
        """True if a call of a run equals the measured call."""
        return self.operations.get(number, operation) == operation

    def rows(self) -> list[tuple[str, int, str]]:
        """The fate of each saved array: the operation that made it, its bytes, "keep", "recompute" or "disk"."""
        notes = self.notes
        return [(notes[i].operation, notes[i].nbytes, self.fate(notes[i].key)) for i in self.saved]

    def fate(self, key: tuple[int, int]) -> str:
        """The fate of the saved array with this key."""
        return "keep" if key in self.in_memory else "disk" if key in self.stored else "recompute"

    def __str__(self) -> str:
        on_disk = f", {len(self.stored)} are on disk" if self.stored else ""
        head = (
            f"{len(self.in_memory)} of {len(self.saved)} saved arrays are kept{on_disk}; peak {readable(self.peak)} of "
            f"{readable(self.nbytes)}, budget {readable(int(self.limit))}"
        )
        return "\n".join([head, *[f"{readable(n):>10}  {what:<9}  {operation}" for operation, n, what in self.rows()]])

    def picture(self) -> Picture:
        """The picture of `plot` as SVG: a notebook shows it, and `save(path)` writes it."""
        from adjoint.tools.memory_picture import Line, memory_picture

        everything = self.simulate(Choice(set(self.saved), set())).timeline
        lines = [Line("all kept", "#9aa5b1", everything), Line("planned", "#5b8ff9", self.timeline)]
        return memory_picture(lines, self.limit)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the planned memory over the steps of the function and its backward pass, beside the budget.

        ax: matplotlib's Axes, by default of a new figure. Raises ImportError without matplotlib.
        """
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6, 3), layout="constrained").subplots()
        everything = self.simulate(Choice(set(self.saved), set())).timeline
        ax.plot([n / 1e6 for n in everything], color="tab:gray", label="all kept")
        ax.plot([n / 1e6 for n in self.timeline], color="tab:blue", label="planned")
        ax.axhline(self.limit / 1e6, color="tab:red", linestyle="--", label="budget")
        ax.set(xlabel="saved arrays, forward and backward", ylabel="MB")
        ax.legend()
        return ax


#: So many patterns are tried at most.
_PATTERNS = 200


class Automatic:
    """A function that saves no more than a budget; see `auto`.

    plans: the plan for each structure, shapes and dtypes of arguments. plan: the plan made or used last.
    """

    def __init__(self, function: Function, budget: float, directory: str | None = None) -> None:
        wraps(function)(self)
        self.function, self.budget, self.directory = function, budget, directory
        self.disk: DiskTime | None = None
        self.plans: dict[Any, Plan] = {}
        self.plan: Plan | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_grad_enabled():
            return self.function(*args, **kwargs)
        key = _kind_of((args, kwargs))
        plan = self.plans.get(key)
        recorder = Recorder(plan, self.directory)
        with ExitStack() as blocks:
            blocks.enter_context(saved_tensors_hooks(recorder.pack, unpack))
            blocks.enter_context(_recording(recorder))
            result = self.function(*args, **kwargs)
        if recorder.plan is None:
            if self.directory is not None and self.disk is None:
                self.disk = disk_time(self.directory)
            self.plans[key] = plan = Plan(recorder.notes(), float(self.budget), self.budget, self.disk)
        self.plan = plan
        recorder.release()
        return result


def _kind_of(tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return str(structure), tuple(
        (tuple(leaf.shape), leaf.dtype, leaf.requires_grad) if isinstance(leaf, TensorBase) else type(leaf)
        for leaf in leaves
    )


def auto(function: Function, budget: float = 0.5, *, disk: bool | str | os.PathLike[str] = False) -> Automatic:
    """A function that keeps at most a budget of memory for its backward pass; it recomputes the rest.

    With `disk` some of the rest is written to a file and read in the backward pass: arrays that take longer to compute
    than to read, and arrays that cannot be recomputed.

    The first call with arguments of a kind (shapes, dtypes) is measured and keeps all arrays. It gives a plan, and
    later calls keep only some of the saved arrays. The backward pass recomputes the others, call by call, from the
    nearest existing arrays. Gradients are equal, bit for bit. Calls that draw random numbers, or use arrays that are
    modified in place later, are not repeated: their results are kept, or written to disk. If a run differs from the
    measured run, it keeps all arrays from that call on, and the next plan follows from it.

    Args:
        function: any function of Tensors.
        budget: a fraction, a float up to 1.0, of the bytes that the function saves; or an int, a number of bytes. It
            bounds kept arrays together with recomputed ones. Arguments and parameters, which exist anyway, are not
            counted.
        disk: a directory on a disk, or True for the directory of temporary files, which some systems keep in memory.
            The first call measures its speed. The file has no name there, and is always deleted with the graph.

    Returns:
        A function; its `plan` prints as a table of kept, recomputed and stored arrays, and `plan.plot()` draws the
        memory over time.

    Raises:
        TypeError: the budget is no number; disk is neither a bool nor a path.
        NotADirectoryError: disk is no directory.
        OSError: the disk is full.
        ValueError: the budget is not positive, or a fraction above 1. At the first call: the budget is too small; the
            message names the smallest possible one.
        RuntimeError: in the backward pass, if an array that a recomputation needs was modified in place.

    >>> import adjoint
    >>> from adjoint.utils import checkpoint
    >>> def chain(x):
    ...     for _ in range(20):
    ...         x = x.tanh() * 1.5
    ...     return x.sum()
    >>> x = adjoint.ones(1000, requires_grad=True)
    >>> thrifty = checkpoint.auto(chain, budget=0.5)
    >>> for _ in range(2):
    ...     x.grad = None
    ...     thrifty(x).backward()
    >>> thrifty.plan.peak <= 0.5 * thrifty.plan.nbytes
    True
    """
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"checkpoint.auto: budget must be a float (a fraction) or an int (bytes), got {budget!r}")
    if budget <= 0 or (isinstance(budget, float) and budget > 1):
        raise ValueError(
            f"checkpoint.auto: budget must be a fraction above 0 and up to 1.0, or a number of bytes, got {budget}"
        )
    return Automatic(function, budget, _directory(disk))


def _directory(disk: Any) -> str | None:
    """The directory for files, None for none. Raises TypeError or NotADirectoryError."""
    if isinstance(disk, bool):
        return tempfile.gettempdir() if disk else None
    if not isinstance(disk, (str, os.PathLike)):
        raise TypeError(f"checkpoint.auto: disk must be True, False or the path of a directory, got {disk!r}")
    if not os.path.isdir(disk):
        raise NotADirectoryError(f"checkpoint.auto: {os.fspath(disk)!r} is not a directory: make it first")
    return os.fspath(disk)
