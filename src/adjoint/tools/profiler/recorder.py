"""The recorder: notes the begin and end of operations, nodes of backward passes and labelled blocks."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

from adjoint.core import errors
from adjoint.core.graph import AccumulateGrad, Node
from adjoint.core.locations import Location, caller
from adjoint.core.modes.profiling import CUSTOM, NODE, OPERATION, USER, ProfilerHook, number_of_result
from adjoint.runtime.caches import memoize
from adjoint.runtime.once import is_own
from adjoint.tools.profiler import functions, names
from adjoint.tools.profiler.devices import Clock
from adjoint.tools.profiler.flops import flops_of
from adjoint.tools.profiler.memory import Arrays, array_of, as_list

_thread_numbers: dict[int, int] = {}
_next_number = itertools.count(1)


class Note(NamedTuple):
    """One event as it was noted; times in nanoseconds of the clock `time.perf_counter_ns`."""

    name: str
    start: int
    end: int
    ident: int
    sequence_nr: int = -1
    scope: int = OPERATION
    shapes: list[Any] | None = None
    stack: list[Location] | None = None
    flops: int = 0
    marks: tuple[Any, Any, int] | None = None


def thread_number(ident: int) -> int:
    """A small number for a thread by its identity: 1 for the first that was profiled."""
    number = _thread_numbers.get(ident)
    if number is None:
        number = _thread_numbers[ident] = next(_next_number)
    return number


class Recorder(ProfilerHook):
    """Records the events of the threads whose modes contain it.

    shapes, flops, memory, stack: further notes besides times. clock: sets marks on a device's timeline. The fields of a
    `Note` are stored in `notes` as plain tuples, which are faster to create.
    """

    def __init__(self, shapes: bool, flops: bool, memory: bool, stack: bool, clock: Clock | None = None) -> None:
        super().__init__()
        self.shapes, self.flops, self.stack, self.clock = shapes, flops, stack, clock
        self.arrays = Arrays() if memory else None
        self.detailed = shapes or flops or memory or stack or clock is not None
        # the places where nodes were made, by their numbers, and the place of the running node
        self.made_at: dict[int, Location | None] = {}
        self.running: Location | None = None

    def start(self) -> None:
        """Begin to note."""
        functions.observe()
        super().start()

    def stop(self) -> None:
        """Pause recording."""
        super().stop()
        functions.release()

    def close(self) -> None:
        """Follow no memory any more."""
        if self.arrays is not None:
            self.arrays.close()

    def call_in_detail(self, name: str, function: Callable[[Any], Any], values: list[Any], scope: int) -> Any:
        """Run an operation on bound arguments and note it with shapes, memory and the like."""
        arguments = list(values)
        stack = user_stack() if self.stack else None
        shapes = [shape_of(value) for value in arguments] if self.shapes else None
        if self.arrays is not None:
            self.arrays.know(arguments)
        clock = self.clock
        if clock is not None and not clock.watches([array_of(value) for value in arguments]):
            clock = None
        mark = None if clock is None else clock.mark()
        start = perf_counter_ns()
        result = None
        try:
            result = function(values)
        finally:
            marks = None if clock is None else (mark, clock.mark(), clock.device())
            number = number_of_result(result)
            if self.arrays is not None:
                self.note_memory(self.arrays, result, name if scope == CUSTOM else names.operation(name), number)
            flops = flops_of(name, [array_of(value) for value in arguments], array_of(result)) if self.flops else 0
            end = perf_counter_ns()
            self.notes.append((name, start, end, get_ident(), number, scope, shapes, stack, flops, marks))
        return result

    def note_memory(self, arrays: Arrays, result: Any, title: str, number: int) -> None:
        """Note the memory of an operation's result, and the memory that its node saves."""
        location = self.running or caller()
        arrays.take(result, title, location)
        if number >= 0:
            self.made_at[number] = location
            first = result[0] if isinstance(result, tuple) else result
            arrays.count_saved(first._node)

    def evaluate_in_detail(self, run: Any, node: Node) -> Any:
        """Let a node do its work and note it with shapes and memory."""
        arrays = self.arrays
        received = as_list(run.cotangents_at(node))
        if arrays is not None:
            arrays.know(received)
        shapes = [shape_of(value) for value in received] if self.shapes else None
        # a reference here would keep the array from becoming the gradient of a leaf without a copy
        del received
        leaf = isinstance(node, AccumulateGrad)
        outer, self.running = self.running, None if leaf else self.made_at.get(node._ad_sequence_nr)
        start = perf_counter_ns()
        results = None
        try:
            results = run.proceed(node, self.position)
        finally:
            if arrays is not None:
                arrays.take([node.variable._grad] if leaf else results, node.name(), self.running)
                if leaf:
                    arrays.became_gradient(node.variable._grad)
                else:
                    arrays.ran(node)
            self.running = outer
            name = "torch::autograd::AccumulateGrad" if leaf else errors.name_of(node)
            number = -1 if leaf else node._ad_sequence_nr
            self.notes.append((name, start, perf_counter_ns(), get_ident(), number, NODE, shapes))
        return results

    def begin(self, name: str) -> Any:
        """Start a labelled block; the returned value is the argument of `end`."""
        return perf_counter_ns(), user_stack() if self.stack else None

    def end(self, name: str, state: Any) -> None:
        """Note a labelled block that ends now."""
        start, stack = state
        shapes: list[Any] | None = [[]] if self.shapes else None
        self.notes.append((name, start, perf_counter_ns(), get_ident(), -1, USER, shapes, stack))


def shape_of(value: Any) -> list[Any]:
    """The shape of a Tensor or array, nothing for other values."""
    return list(getattr(array_of(value), "shape", ()))


def user_stack() -> list[Location]:
    """The code and lines of the program that lead here, the innermost first, without this package's own."""
    locations = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not is_own(frame.f_code):
            locations.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return locations


@memoize()
def line_of(location: Location) -> str:
    """A place in the program as stacks show it."""
    code, line = location
    return f"{code.co_filename}({line}): {code.co_name}"
