"""What notes, while a profiler is on, when operations, nodes of backward passes and labelled blocks begin and end."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy

from adjoint.core import errors
from adjoint.core.graph import AccumulateGrad, Node, TensorBase
from adjoint.core.locations import is_own
from adjoint.core.noting import NODE, OPERATION, USER, Noter, number_of_result
from adjoint.tools.profiler import functions
from adjoint.tools.profiler.flops import flops_of

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
    stack: list[str] | None = None
    flops: int = 0


class Memory(NamedTuple):
    """Memory that was taken, or with negative nbytes given back."""

    time: int
    nbytes: int
    ident: int

    def start_ns(self) -> int:
        """When it was."""
        return self.time


def thread_number(ident: int) -> int:
    """A small number for a thread by its identity: 1 for the first that was profiled."""
    number = _thread_numbers.get(ident)
    if number is None:
        number = _thread_numbers[ident] = next(_next_number)
    return number


class Recorder(Noter):
    """Notes events of the threads in whose modes it stands.

    shapes, flops, memory, stack: what else to note besides times. The fields of a `Note` lie in `notes` for each event,
    as plain tuples, which are made quicker; `memory` is what was taken and given back, in the order of time.
    """

    def __init__(self, shapes: bool, flops: bool, memory: bool, stack: bool) -> None:
        super().__init__()
        self.shapes, self.flops, self.stack = shapes, flops, stack
        self.memory: list[Memory] = []
        self.arrays = Arrays(self.memory) if memory else None
        self.detailed = shapes or flops or memory or stack

    def start(self) -> None:
        """Begin to note."""
        functions.observe()
        super().start()

    def stop(self) -> None:
        """Note nothing any more, for now."""
        super().stop()
        functions.release()

    def close(self) -> None:
        """Follow no memory any more."""
        if self.arrays is not None:
            self.arrays.close()

    def call_in_detail(self, name: str, function: Callable[[Any], Any], values: list[Any], scope: int) -> Any:
        """Run an operation on bound arguments and note it with shapes, memory and the like."""
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
            number = number_of_result(result)
            end = perf_counter_ns()
            self.notes.append((name, start, end, get_ident(), number, scope, shapes, stack, flops))
        return result

    def evaluate_in_detail(self, run: Any, node: Node) -> Any:
        """Let a node do its work and note it with shapes and memory."""
        arrays = self.arrays
        received = as_list(run.received(node))
        if arrays is not None:
            arrays.know(received)
        shapes = [shape_of(value) for value in received] if self.shapes else None
        # what is held here could not become the gradient of a leaf without being copied
        del received
        start = perf_counter_ns()
        pulled = None
        try:
            pulled = run.watched(node)
        finally:
            leaf = isinstance(node, AccumulateGrad)
            if arrays is not None:
                arrays.take([node.variable._grad] if leaf else pulled)
            name = "torch::autograd::AccumulateGrad" if leaf else errors.name_of(node)
            number = -1 if leaf else node._ad_sequence_nr
            self.notes.append((name, start, perf_counter_ns(), get_ident(), number, NODE, shapes))
        return pulled

    def begin(self) -> Any:
        """Start a labelled block; what is returned is to be handed to `end`."""
        return perf_counter_ns(), user_stack() if self.stack else None

    def end(self, name: str, begun: Any) -> None:
        """Note a labelled block that ends now."""
        start, stack = begun
        shapes: list[Any] | None = [[]] if self.shapes else None
        self.notes.append((name, start, perf_counter_ns(), get_ident(), -1, USER, shapes, stack))


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
                self.memory.append(Memory(perf_counter_ns(), array.nbytes, get_ident()))

    def follow(self, array: Any, nbytes: int) -> bool:
        """Note when this memory is given back; False if it is followed already."""
        key = id(array)
        if key in self.known:
            return False

        def give_back(_: Any) -> None:
            self.known.pop(key, None)
            if nbytes and self.open:
                self.memory.append(Memory(perf_counter_ns(), -nbytes, get_ident()))

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
