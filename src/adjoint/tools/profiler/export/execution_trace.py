"""Execution traces: the operations of a program with their inputs and outputs, as a JSON file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from threading import get_ident
from typing import Any, Self

from adjoint.arrays.namespace import device_of, is_array
from adjoint.core.graph import Node, TensorBase
from adjoint.core.modes.profiling import CUSTOM, NODE, OPERATION, ProfilerHook, number_of_result
from adjoint.tools.profiler import functions, names
from adjoint.tools.profiler.recorder import thread_number

SCHEMA = "1.1.1-chakra.0.0.4"


class _Observer(ProfilerHook):
    """Records operations and nodes as the nodes of an execution trace, each with its enclosing node."""

    def __init__(self) -> None:
        super().__init__()
        self.detailed = True
        self.nodes: list[dict[str, Any]] = []
        self.open = [1]
        self.numbers_of_arrays: dict[int, tuple[int, Any]] = {}
        self.count = 1

    def start(self) -> None:
        """Begin to note."""
        functions.observe()
        super().start()

    def stop(self) -> None:
        """Stop recording."""
        super().stop()
        functions.release()

    def number(self) -> int:
        """The next number."""
        self.count += 1
        return self.count

    def call_in_detail(self, name: str, function: Callable[[Any], Any], values: list[Any], scope: int) -> Any:
        """Run an operation and note it with its arguments and results; a profiler outside notes it, too."""
        title = name if scope == CUSTOM else names.operation(name)
        inputs = describe(self, values)
        number, result = self.number(), None
        self.open.append(number)
        try:
            result = self.before.call(name, function, values, scope) if self.before is not None else function(values)
            return result
        finally:
            self.open.pop()
            self.add(number, title, inputs, describe(self, [result]), number_of_result(result), OPERATION)

    def evaluate_in_detail(self, run: Any, node: Node) -> Any:
        """Run a node and note it; a profiler outside notes it, too."""
        number = self.number()
        self.open.append(number)
        try:
            if self.before is not None:
                return self.before.node(run, node)
            return run.proceed(node, self.position)
        finally:
            self.open.pop()
            sequence = getattr(node, "_ad_sequence_nr", -1)
            self.add(number, node.name(), describe(self, []), describe(self, []), int(sequence), NODE)

    def add(self, number: int, name: str, inputs: Any, outputs: Any, sequence: int, scope: int) -> None:
        """Write an event that has ended."""
        attributes = {"seq_id": sequence, "scope": scope, "tid": thread_number(get_ident())}
        attrs = [{"name": key, "type": "int64", "value": value} for key, value in attributes.items()]
        entry = {"id": number, "name": name, "ctrl_deps": self.open[-1], "inputs": inputs, "outputs": outputs}
        self.nodes.append(entry | {"attrs": attrs})

    def begin(self, name: str) -> Any:
        """Start a labelled block."""
        number = self.number()
        self.open.append(number)
        return number if self.before is None else (number, self.before.begin(name))

    def end(self, name: str, state: Any) -> None:
        """End a labelled block."""
        number, outer = state if isinstance(state, tuple) else (state, None)
        if self.before is not None:
            self.before.end(name, outer)
        self.open.pop()
        self.add(number, name, describe(self, []), describe(self, []), -1, 7)

    def tensor(self, array: Any) -> list[Any]:
        """The entry of a tensor: two numbers of its own, its offset, its elements, their bytes, its device."""
        if id(array) not in self.numbers_of_arrays:
            # held, as another array could have the same address later on
            self.numbers_of_arrays[id(array)] = self.number(), array
        number = self.numbers_of_arrays[id(array)][0]
        return [number, number, 0, int(array.size), int(array.dtype.itemsize), str(device_of(array))]


def describe(observer: _Observer, values: Any) -> dict[str, Any]:
    """Values, with their shapes, types and strides."""
    parts = [one(observer, value) for value in values]
    keys = ("values", "shapes", "types", "strides")
    return {key: [part[i] for part in parts] for i, key in enumerate(keys)}


def one(observer: _Observer, value: Any) -> tuple[Any, Any, Any, Any]:
    """The value, shape, type and strides of an argument or result."""
    array = value._array if isinstance(value, TensorBase) else value
    if is_array(array):
        steps = [step // array.dtype.itemsize for step in getattr(array, "strides", ())]
        return observer.tensor(array), list(array.shape), f"Tensor({array.dtype.name})", steps
    if isinstance(value, (list, tuple)):
        parts = [one(observer, member) for member in value]
        kinds = ",".join(part[2] for part in parts)
        return [p[0] for p in parts], [p[1] for p in parts], f"GenericList[{kinds}]", [p[3] for p in parts]
    if value is None:
        return "<None>", [], "None", []
    kind = type(value).__name__.capitalize()
    return (value if isinstance(value, (bool, int, float, str)) else str(value)), [], kind, []


class ExecutionTraceObserver:
    """Writes the operations of the calling thread, with their arguments and results, into a file of JSON.

    The file has the form of torch's execution traces: nodes with an id, a name, the id of the node that they ran in
    (ctrl_deps), inputs, outputs and attributes.

    >>> import adjoint, json, tempfile, os
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "trace.json")
    ...     observer = adjoint.profiler.ExecutionTraceObserver().register_callback(path)
    ...     observer.start()
    ...     y = adjoint.ones(2) * 3
    ...     observer.stop()
    ...     observer.unregister_callback()
    ...     with open(path) as file:
    ...         "aten::mul" in [node["name"] for node in json.load(file)["nodes"]]
    True
    """

    def __init__(self) -> None:
        self._path: str | None = None
        self._observer: _Observer | None = None
        self._start_ms = 0
        self._registered = self._running = False

    @property
    def is_registered(self) -> bool:
        """Whether a file has been named, and not yet been finished."""
        return self._registered

    def is_running(self) -> bool:
        """True between `start` and `stop`, while operations are recorded.

        False for an observer without a file, on which `start` has no effect.
        """
        return self._running

    def get_output_file_path(self) -> str | None:
        """The path that was named last, as a string; None if there was none yet.

        It stays after the file has been written.
        """
        return self._path

    def register_callback(self, output_file_path: str) -> Self:
        """Name the file that is to be written; returns the observer.

        An observer has one file at a time: another name has no effect before `unregister_callback`.
        """
        if not self._registered:
            self._path, self._observer, self._registered = os.fspath(output_file_path), _Observer(), True
            self._start_ms = time.perf_counter_ns() // 1_000_000
        return self

    def start(self) -> None:
        """Begin to record the operations of the calling thread.

        It has no effect on an observer without a file, or on one that is running.
        """
        if self._observer is not None and self._registered and not self._running:
            self._observer.start()
            self._running = True

    def stop(self) -> None:
        """Stop recording; `start` continues it, in the same file.

        It has no effect on an observer that is not running.
        """
        if self._observer is not None and self._running:
            self._observer.stop()
            self._running = False

    def unregister_callback(self) -> None:
        """Stop recording, and write the file; an earlier file of this path is replaced.

        It has no effect on an observer without a file. Raises OSError where the file cannot be written.
        """
        self.stop()
        if not self._registered or self._observer is None or self._path is None:
            return
        trace = {
            "schema": SCHEMA,
            "pid": os.getpid(),
            "time": time.strftime("%Y-%m-%d %H:%M:%S"),
            "start_ts": self._start_ms,
            "nodes": self._observer.nodes,
            "finish_ts": time.perf_counter_ns() // 1_000_000,
        }
        with open(self._path, "w", encoding="utf-8") as file:
            json.dump(trace, file)
        self._observer, self._registered = None, False

    cleanup = unregister_callback
