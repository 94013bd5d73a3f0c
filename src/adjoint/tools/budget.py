"""Memory by budget: from one measured run, which saved arrays to keep and which to compute again in the backward pass.

The unit is one call of a kernel. A *cell* is the array that a call made. While the function runs, each saved array goes
to the graph as its cell; a cell that the plan does not keep forgets its array, and computes it again from its call's
arguments, which are cells themselves, or arrays from outside. What is computed on the way and is asked for later in
the same pass stays until then.

A plan spreads the kept cells evenly over the bytes of all saved ones, cheap calls first to be computed again, and plays
the backward pass through to know the peak (T. Chen and others, 2016, on the number of kept ones that is least).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.core.engine import run_number
from adjoint.core.graph import TensorBase, counter_of, new_tensor
from adjoint.core.modes.interceptors import CHECKPOINT, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock, is_grad_enabled
from adjoint.core.saved_hooks import saved_tensors_hooks
from adjoint.runtime.pytree import flatten
from adjoint.tools.graph_view import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from adjoint.tensor.tensor import Tensor
Function = Callable[..., Any]

CHANGED = (
    "checkpoint.auto: an array that {operation} needs to be computed again has been modified in place since: do not "
    "modify arguments between the function and its backward pass, or raise the budget"
)


# what a run leaves --------------------------------------------------------------------------------------------------


class Cell:
    """An array that a call made.

    call: the call; nr: the number of the result. array: kept for as long as the cell is there, or None. again: computed
    again and asked for later in this pass. n_saved: how often the graph saved it; waiting: how many of these the pass
    with this number has not asked for yet.
    """

    __slots__ = (
        "__weakref__",
        "again",
        "array",
        "call",
        "is_view",
        "n_saved",
        "nbytes",
        "nr",
        "pass_number",
        "waiting",
    )

    def __init__(self, call: Call, nr: int, nbytes: int, is_view: bool) -> None:
        self.call, self.nr, self.nbytes, self.is_view = call, nr, nbytes, is_view
        self.array: Any = None
        self.again: Any = None
        self.n_saved = self.waiting = 0
        self.pass_number = -1

    def value(self) -> Any:
        """The array, if it is there."""
        return self.again if self.array is None else self.array

    def awaited(self, number: int) -> int:
        """How often the pass with this number will still ask for the array."""
        if self.pass_number != number:
            self.pass_number, self.waiting = number, self.n_saved
        return self.waiting


class Call:
    """A call of a kernel: with the same arguments it can be made again.

    args: cells, arrays from outside with their version counters (`Outside`), and other values, also in sequences.
    """

    __slots__ = ("args", "cells", "half", "number", "operation", "seconds")

    def __init__(self, number: int, operation: Any, args: list[Any], half: Any) -> None:
        self.number, self.operation, self.args, self.half = number, operation, args, half
        self.cells: list[weakref.ref[Cell]] = []
        self.seconds = 0.0


class Outside(NamedTuple):
    """An array from outside of the function, and its version counter with the version that it had."""

    array: Any
    counter: Any
    version: int

    def is_changed(self) -> bool:
        """True if the array was modified in place since."""
        return self.counter is not None and self.counter.value != self.version


class Note(NamedTuple):
    """What a plan knows of a cell: the numbers of its call and result, its size and time, and the cells it is made of.

    pinned: it cannot be computed again.
    """

    place: tuple[int, int]
    operation: str
    nbytes: int
    seconds: float
    sources: tuple[int, ...]
    n_saved: int
    is_view: bool
    pinned: bool


class Recorder(Interceptor):
    """Notes the calls of a run; keeps the arrays that the plan keeps, or all of them."""

    def __init__(self, plan: Plan | None) -> None:
        super().__init__(CHECKPOINT)
        self.plan = plan
        self.calls: list[tuple[Call, list[Cell]]] = []
        # the cell of an array, as long as the array is there
        self.by_id: dict[int, tuple[weakref.ref[Any], Cell]] = {}
        self.counters: dict[int, tuple[weakref.ref[Any], Any, int]] = {}
        self.pinned: set[int] = set()
        self.saved: list[Cell] = []
        self.has_drawn = False

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
        """What is written is no longer what a call made."""
        with _without():
            result = operation.proceed_in_place(values, self.position)
        target = values[0]._array
        for key, (reference, _) in list(self.by_id.items()):
            array = reference()
            if array is None or numpy.may_share_memory(array, target):
                del self.by_id[key]
        return result

    def kernel(self, operation: Any, raw: list[Any], half: Any) -> Any:
        """Run a kernel and note the call."""
        self.has_drawn = False
        args = [self.argument(value) for value in raw]
        begun = perf_counter()
        result = operation.proceed_to_kernel(raw, half, self.position)
        call = Call(len(self.calls), operation, args, half)
        call.seconds = perf_counter() - begun
        outs = result if isinstance(result, (tuple, list)) else (result,)
        arrays = [a for value in raw for a in (value if isinstance(value, (list, tuple)) else (value,))]
        cells = []
        for nr, out in enumerate(outs):
            if type(out) is not numpy.ndarray:
                continue
            is_view = any(
                type(a) is numpy.ndarray and (a is out or (out.base is not None and numpy.may_share_memory(a, out)))
                for a in arrays
            )
            cell = Cell(call, nr, 0 if is_view else out.nbytes, is_view)
            self.by_id[id(out)] = weakref.ref(out), cell
            cells.append(cell)
            if self.has_drawn:
                cell.array = out
        if self.has_drawn:
            self.pinned.add(call.number)
        call.cells = [weakref.ref(cell) for cell in cells]
        self.calls.append((call, cells))
        if self.plan is not None and not self.plan.fits(call.number, operation.name, outs):
            # the function does other things than it did: from here on all is kept
            self.plan = None
        return result

    def draw(self, function: Function, args: Any, kwargs: Any) -> Any:
        """A call that draws random numbers is not made again."""
        self.has_drawn = True
        return function(*args, **kwargs)

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
        """The cell of a saved tensor, with or without its array; the tensor itself if it comes from outside."""
        cell = self.cell_of(tensor._array) if type(tensor._array) is numpy.ndarray else None
        if cell is None:
            return tensor.detach()
        if not cell.n_saved:
            self.saved.append(cell)
        cell.n_saved += 1
        if not cell.is_view and (self.plan is None or (cell.call.number, cell.nr) in self.plan.kept):
            cell.array = tensor._array
        return cell

    def release(self) -> None:
        """Let go of the cells: the graph alone says how long their arrays are there."""
        self.calls, self.saved = [], []
        self.by_id, self.counters = {}, {}

    # for the plan ---------------------------------------------------------------------------------------------------

    def notes(self) -> list[Note]:
        """What a plan has to know of all cells, in their order."""
        numbers: dict[int, int] = {}
        notes: list[Note] = []
        for call, cells in self.calls:
            sources = tuple(numbers[id(a)] for a in _flat(call.args) if isinstance(a, Cell))
            changed = any(isinstance(a, Outside) and a.is_changed() for a in _flat(call.args))
            for cell in cells:
                numbers[id(cell)] = len(notes)
                notes.append(
                    Note(
                        (call.number, cell.nr),
                        call.operation.name,
                        cell.nbytes,
                        call.seconds,
                        sources,
                        cell.n_saved,
                        cell.is_view,
                        changed or call.number in self.pinned,
                    )
                )
        return notes


class _without(ModeBlock):
    """A block without the recorder in the chain."""

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (CHECKPOINT, None)),)


class _recording(ModeBlock):
    """A block whose calls a recorder notes."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (CHECKPOINT, self.recorder)),)


def _flat(args: list[Any]) -> Iterator[Any]:
    for value in args:
        if type(value) is list:
            yield from _flat(value)
        else:
            yield value


def unpacked(packed: Any) -> Any:
    """A saved tensor again."""
    return packed if isinstance(packed, TensorBase) else new_tensor(asked(packed))


# computing again ------------------------------------------------------------------------------------------------------


def asked(cell: Cell) -> Any:
    """The array of a cell, computed again if it is not there."""
    number = run_number()
    awaited = cell.awaited(number)
    array = cell.value()
    if array is None:
        array = computed(cell, number)
    if number >= 0 and awaited:
        cell.waiting -= 1
        if not cell.waiting:
            cell.again = None
    return array


#: Arrays by the numbers of the call and the result.
Outputs = dict[tuple[int, int], Any]


def argument(value: Any, outputs: Outputs, call: Call) -> Any:
    """An argument of a call that is made again. Raises RuntimeError if it has changed since."""
    if type(value) is list:
        return [argument(member, outputs, call) for member in value]
    if isinstance(value, Cell):
        array = value.value()
        return outputs[value.call.number, value.nr] if array is None else array
    if isinstance(value, Outside):
        if value.is_changed():
            raise RuntimeError(CHANGED.format(operation=call.operation.name))
        return value.array
    return value


def computed(wanted: Cell, number: int) -> Any:
    """The array of a cell, from the nearest arrays that are there; others on the way that the pass needs stay there."""
    calls: dict[int, Call] = {}
    waiting = [wanted]
    while waiting:
        call = waiting.pop().call
        if call.number in calls:
            continue
        calls[call.number] = call
        waiting.extend(a for a in _flat(call.args) if isinstance(a, Cell) and a.value() is None)
    outputs: Outputs = {}
    for call_number in sorted(calls):
        call = calls[call_number]
        result = call.operation.run([argument(value, outputs, call) for value in call.args], call.half)
        for nr, out in enumerate(result if isinstance(result, (tuple, list)) else (result,)):
            outputs[call_number, nr] = out
        for reference in call.cells:
            cell = reference()
            if cell is not None and cell is not wanted and cell.array is None and cell.awaited(number):
                cell.again = outputs[call_number, cell.nr]
    array = outputs[wanted.call.number, wanted.nr]
    if wanted.awaited(number) > 1:
        wanted.again = array
    return array


# plans ----------------------------------------------------------------------------------------------------------------


class Plan:
    """Which saved arrays are kept.

    notes: of all cells. kept: the places of those that are. nbytes: what all saved arrays take together. limit: the
    budget in bytes. timeline: the bytes that are there while the function and its backward pass run, by the plan.
    """

    def __init__(self, notes: list[Note], limit: float, budget: float) -> None:
        self.notes, self.limit = notes, limit
        self.saved = [i for i, note in enumerate(notes) if note.n_saved and note.nbytes]
        self.nbytes = sum(notes[i].nbytes for i in self.saved)
        if isinstance(budget, float):
            self.limit = budget * self.nbytes
        fixed = {i for i in self.saved if notes[i].pinned}
        choice = next(self.choices(fixed), None)
        if choice is None:
            least = min(max(self.played(keep)) for keep in self.patterns(fixed, set(self.saved) - fixed))
            raise ValueError(
                f"checkpoint.auto: a budget of {readable(int(self.limit))} cannot be met; the least possible is "
                f"{readable(least)}, {least / max(self.nbytes, 1):.3f} of the {readable(self.nbytes)} that are saved"
            )
        self.timeline = self.played(choice)
        self.kept = {notes[i].place for i in choice}
        self.operations = {note.place[0]: note.operation for note in notes}

    @property
    def peak(self) -> int:
        """The largest number of bytes of saved and recomputed arrays that are there at once."""
        return max(self.timeline)

    def choices(self, fixed: set[int]) -> Iterator[set[int]]:
        """Sets of cells to keep that meet the budget, the quickest first: only cheap calls are made again, or all."""
        free = [i for i in self.saved if i not in fixed]
        rates = sorted(self.notes[i].seconds / self.notes[i].nbytes for i in free)
        cheap = {i for i in free if self.notes[i].seconds / self.notes[i].nbytes <= 2 * rates[len(rates) // 4]}
        for dropped in (cheap, set(free)) if free else (set(),):
            for keep in self.patterns(set(self.saved) - dropped, dropped):
                if max(self.played(keep)) <= self.limit:
                    yield keep
                    break

    def patterns(self, fixed: set[int], free: set[int]) -> Iterator[set[int]]:
        """Kept cells spread evenly over the bytes of the free ones, more and more sparsely."""
        ordered = sorted(free)
        total = sum(self.notes[i].nbytes for i in ordered)
        steps = min(len(ordered), _PATTERNS)
        for step in range(steps, -1, -1):
            share, before, keep = step / max(steps, 1), 0.0, set(fixed)
            for i in ordered:
                after = before + self.notes[i].nbytes * share * steps / max(total, 1)
                if int(after + 1e-9) > int(before + 1e-9) or share == 1:
                    keep.add(i)
                before = after
            yield keep

    def played(self, keep: set[int]) -> list[int]:
        """The bytes of kept and recomputed arrays after each step of the function and of its backward pass."""
        notes = self.notes
        live, timeline = 0, [0]
        for i in self.saved:
            live += notes[i].nbytes if i in keep else 0
            timeline.append(live)
        again: set[int] = set()
        for i in reversed(self.saved):
            if i not in keep and i not in again:
                needed, waiting = {i}, [i]
                while waiting:
                    for source in notes[waiting.pop()].sources:
                        if source not in needed and source not in keep and source not in again:
                            needed.add(source)
                            waiting.append(source)
                fresh = {k for k in needed if notes[k].n_saved and notes[k].nbytes and k <= i}
                again |= fresh
                live += sum(notes[k].nbytes for k in fresh)
                timeline.append(live)
            live -= notes[i].nbytes
            timeline.append(live)
        return timeline

    def fits(self, number: int, operation: str, outs: Any) -> bool:
        """True if a call of a run is the one that was measured."""
        return self.operations.get(number, operation) == operation

    def rows(self) -> list[tuple[str, int, str]]:
        """What happens to each saved array: the operation that made it, its bytes, "keep" or "recompute"."""
        notes = self.notes
        return [
            (notes[i].operation, notes[i].nbytes, "keep" if notes[i].place in self.kept else "recompute")
            for i in self.saved
        ]

    def __str__(self) -> str:
        head = (
            f"{len(self.kept)} of {len(self.saved)} saved arrays are kept; peak {readable(self.peak)} of "
            f"{readable(self.nbytes)}, budget {readable(int(self.limit))}"
        )
        return "\n".join([head, *[f"{readable(n):>10}  {what:<9}  {operation}" for operation, n, what in self.rows()]])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the planned memory over the steps of the function and its backward pass, beside the budget.

        ax: matplotlib's Axes; by default those of a new figure. Raises ImportError without matplotlib.
        """
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6, 3), layout="constrained").subplots()
        everything = self.played(set(self.saved))
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

    plans: the plan for each structure, shapes and dtypes of arguments. plan: the last one that was made or used.
    """

    def __init__(self, function: Function, budget: float) -> None:
        wraps(function)(self)
        self.function, self.budget = function, budget
        self.plans: dict[Any, Plan] = {}
        self.plan: Plan | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_grad_enabled():
            return self.function(*args, **kwargs)
        key = _kind_of((args, kwargs))
        plan = self.plans.get(key)
        recorder = Recorder(plan)
        with ExitStack() as blocks:
            blocks.enter_context(saved_tensors_hooks(recorder.pack, unpacked))
            blocks.enter_context(_recording(recorder))
            result = self.function(*args, **kwargs)
        if recorder.plan is None:
            self.plans[key] = plan = Plan(recorder.notes(), float(self.budget), self.budget)
        self.plan = plan
        recorder.release()
        return result


def _kind_of(tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return str(structure), tuple(
        (tuple(leaf.shape), leaf.dtype, leaf.requires_grad) if isinstance(leaf, TensorBase) else type(leaf)
        for leaf in leaves
    )


def auto(function: Function, budget: float = 0.5) -> Automatic:
    """A function that keeps no more memory for its backward pass than a budget; the rest is computed again.

    The first call with arguments of a kind (shapes, dtypes) is measured and keeps everything. From it follows a plan,
    by which later calls keep some of the saved arrays. The others are computed again in the backward pass, call by
    call, from the nearest ones that are there: gradients are the same, bit for bit. Calls that draw random numbers, or
    that used what is modified in place later, are not made again: what they made is kept. A run that does other things
    than the measured one keeps everything from there on, and is the next one to plan by.

    Args:
        function: any function of Tensors.
        budget: a fraction, a float up to 1.0, of the bytes that the function saves; or an int, a number of bytes. It
            bounds kept arrays together with recomputed ones. Arguments and parameters, which exist anyway, are not
            counted.

    Returns:
        A function; its `plan` prints as a table of what is kept and what is computed again, and `plan.plot()` draws the
        memory over time.

    Raises:
        TypeError: the budget is no number.
        ValueError: the budget is not positive, or a fraction above 1. At the first call: it cannot be met; the message
            names the least possible.
        RuntimeError: in the backward pass, if an array was modified in place that is needed to compute again.

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
    return Automatic(function, budget)
