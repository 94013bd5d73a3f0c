"""What notes, while a profiler is on, when operations, nodes of backward passes and labelled blocks begin and end."""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy

from adjoint.core.graph import AccumulateGrad, Node, TensorBase
from adjoint.core.locations import is_own
from adjoint.core.modes import current
from adjoint.tools.profiler.flops import flops_of

#: Whose work an event is, under torch's numbers.
OPERATION, NODE, USER = 0, 1, 7
#: Operations that torch calls otherwise: those over all axes, and random numbers, which are written in place.
NAMES = {f"{name}_all": name for name in ["sum", "mean", "prod", "max", "min", "squeeze", "median", "nanmedian"]}
NAMES |= {
    f"drawn_{name}_": f"{name}_"
    for name in ["bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "poisson", "random", "uniform"]
}
EVALUATE = "autograd::engine::evaluate_function: "
_thread_numbers: dict[int, int] = {}
_next_number = itertools.count(1)


class Note(NamedTuple):
    """One event as it was noted; times in nanoseconds of the clock `time.perf_counter_ns`."""

    name: str
    start: int
    end: int
    thread: int
    sequence_nr: int = -1
    scope: int = OPERATION
    shapes: list[Any] | None = None
    stack: list[str] | None = None
    flops: int = 0
    made_in: int = 0


class Memory(NamedTuple):
    """Memory that was taken, or with negative nbytes given back."""

    time: int
    nbytes: int
    thread: int

    def start_ns(self) -> int:
        """When it was."""
        return self.time


def thread_number() -> int:
    """A small number for the calling thread: 1 for the first that was profiled."""
    ident = threading.get_ident()
    number = _thread_numbers.get(ident)
    if number is None:
        number = _thread_numbers[ident] = next(_next_number)
    return number


class Recorder:
    """Notes events of the threads in whose modes it stands.

    shapes, flops, memory, stack: what else to note besides times. Notes lie in `notes` in the order of their ends,
    memory taken and given back in `memory` in the order of time.
    """

    def __init__(self, shapes: bool, flops: bool, memory: bool, stack: bool) -> None:
        self.shapes, self.flops, self.stack = shapes, flops, stack
        self.notes: list[Note] = []
        self.memory: list[Memory] = []
        self.arrays = Arrays(self.memory) if memory else None
        self.detailed = shapes or flops or memory or stack
        self.made_in: dict[int, int] = {}
        self.before: Any = None

    def start(self) -> None:
        """Stand in the modes of the calling thread."""
        state = current()
        self.before = state.profiler
        state.profiler = self
        state.unusual += 1

    def stop(self) -> None:
        """Undo what `start` did."""
        state = current()
        state.profiler = self.before
        state.unusual -= 1
        if self.arrays is not None:
            self.arrays.close()

    def call(self, name: str, function: Callable[[Any], Any], values: list[Any]) -> Any:
        """Run an operation on bound arguments and note it."""
        if self.detailed:
            return self.call_in_detail(name, function, values)
        start = perf_counter_ns()
        result = None
        try:
            result = function(values)
        finally:
            end = perf_counter_ns()
            self.note_operation(name, start, end, result)
        return result

    def note_operation(self, name: str, start: int, end: int, result: Any, **details: Any) -> None:
        """Note an operation; the number that its node got tells later which node of a backward pass belongs to it."""
        # what is written into while recording is off may have a node from before
        node = node_of_result(result) if current().grad_enabled else None
        number = -1 if node is None else node.sequence_nr
        thread = thread_number()
        if node is not None:
            self.made_in[number] = thread
        self.notes.append(Note("aten::" + NAMES.get(name, name), start, end, thread, number, OPERATION, **details))

    def call_in_detail(self, name: str, function: Callable[[Any], Any], values: list[Any]) -> Any:
        """What `call` does, with shapes, memory and the like."""
        given = list(values)
        stack = user_stack() if self.stack else None
        shapes = [shape_of(value) for value in given] if self.shapes else None
        if self.arrays is not None:
            self.arrays.know(given)
        start = perf_counter_ns()
        result = None
        try:
            result = function(values)
        finally:
            if self.arrays is not None:
                self.arrays.take(result)
            flops = flops_of(name, [array_of(value) for value in given], array_of(result)) if self.flops else 0
            self.note_operation(name, start, perf_counter_ns(), result, shapes=shapes, stack=stack, flops=flops)
        return result

    def watching(self, inner: Any) -> Watch:
        """What watches one backward pass and lets another watcher, or the pass itself, do the work."""
        return Watch(self, inner)

    def label(self, name: str, start: int, stack: list[str] | None) -> None:
        """Note a block that ends now, unless this has ended before."""
        if current().profiler is not self:
            return
        shapes = [[]] if self.shapes else None
        self.notes.append(Note(name, start, perf_counter_ns(), thread_number(), -1, USER, shapes, stack))


class Watch:
    """Notes what each node of a backward pass costs, hooks included."""

    def __init__(self, recorder: Recorder, inner: Any) -> None:
        self.recorder, self.inner = recorder, inner

    def evaluate(self, run: Any, node: Node) -> Any:
        """Let a node do its work and note it under its name, inside an event of the engine's."""
        recorder = self.recorder
        received = run.received(node) if recorder.detailed else None
        if recorder.arrays is not None:
            recorder.arrays.know(received)
        start = perf_counter_ns()
        pulled = None
        try:
            pulled = run.evaluate(node) if self.inner is None else self.inner.evaluate(run, node)
        finally:
            leaf = isinstance(node, AccumulateGrad)
            if recorder.arrays is not None:
                recorder.arrays.take([node.variable._grad] if leaf else pulled)
            end = perf_counter_ns()
            name = "torch::autograd::AccumulateGrad" if leaf else node.name()
            number = -1 if leaf else node.sequence_nr
            shapes = [shape_of(value) for value in as_list(received)] if recorder.shapes else None
            thread = thread_number()
            made_in = recorder.made_in.get(number, 0)
            recorder.notes += (
                Note(name, start, end, thread, number, NODE, shapes, None, 0, made_in),
                Note(EVALUATE + name, start, perf_counter_ns(), thread, number, OPERATION, None, None, 0, made_in),
            )
        return pulled


class Arrays:
    """Follows the memory of arrays: notes it when it is first seen as a result, and when it is given back.

    Memory is known by the array that owns it; of views the owner counts. What was there before is known and not noted.
    """

    def __init__(self, memory: list[Memory]) -> None:
        self.memory = memory
        self.known: dict[int, weakref.ref[Any]] = {}
        self.open = True

    def know(self, values: Any) -> None:
        """See arrays that are not results."""
        for array in owners(values):
            self.follow(array, 0)

    def take(self, values: Any) -> None:
        """See results: memory that is not known was taken for them."""
        for array in owners(values):
            if self.follow(array, array.nbytes):
                self.memory.append(Memory(perf_counter_ns(), array.nbytes, thread_number()))

    def follow(self, array: Any, nbytes: int) -> bool:
        """Note when this memory is given back; False if it is followed already."""
        key = id(array)
        if key in self.known:
            return False

        def give_back(_: Any) -> None:
            self.known.pop(key, None)
            if nbytes and self.open:
                self.memory.append(Memory(perf_counter_ns(), -nbytes, thread_number()))

        self.known[key] = weakref.ref(array, give_back)
        return True

    def close(self) -> None:
        """Follow nothing any more."""
        self.open = False
        self.known.clear()


def owners(values: Any) -> list[Any]:
    """The arrays that own the memory of what is given: arrays, Tensors and lists of them; other things have none."""
    found = []
    for value in as_list(values):
        array = array_of(value)
        while type(array) is numpy.ndarray and type(array.base) is numpy.ndarray:
            array = array.base
        if type(array) is numpy.ndarray:
            found.append(array)
        elif isinstance(value, (list, tuple)):
            found += owners(value)
    return found


def as_list(values: Any) -> list[Any]:
    """What is in a list or tuple, else the one value."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


def array_of(value: Any) -> Any:
    """The array of a Tensor, anything else as it is."""
    return value._array if isinstance(value, TensorBase) else value


def shape_of(value: Any) -> list[Any]:
    """The shape of a Tensor or array, nothing for what is neither."""
    return list(getattr(array_of(value), "shape", ()))


def node_of_result(result: Any) -> Any:
    """The node that an operation recorded, or None."""
    first = result[0] if isinstance(result, tuple) and result else result
    return first._node if isinstance(first, TensorBase) else None


def user_stack() -> list[str]:
    """The lines of the program that lead here, the innermost first, without this package's own."""
    lines = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_own(code):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
