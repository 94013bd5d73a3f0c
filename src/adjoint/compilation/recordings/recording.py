"""A recording: the steps that one call of a function took on arrays, in their order.

While a recording runs, the Tensors that the function uses hold recorded arrays over their own memory. The function runs
as always, with nodes, versions, views and backward passes, and each function of arrays that it reaches becomes a step.
"""

from __future__ import annotations

import random as python_random
import sys
import weakref
from _thread import get_ident
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

import numpy

from adjoint.arrays.libraries import cupy_namespace
from adjoint.arrays.libraries.sparse_arrays import SparseArray
from adjoint.arrays.namespace import is_array, is_on_device, underlying
from adjoint.arrays.size import CPU
from adjoint.compilation.recordings import recorded_array
from adjoint.compilation.recordings.device_functions import on_device
from adjoint.compilation.recordings.outlines import LARGE, Outlines, root_of
from adjoint.compilation.recordings.recorded_array import RecordedArray, concrete
from adjoint.compilation.recordings.twins import Twins
from adjoint.core.graph import AccumulateGrad, TensorBase, nodes_behind, upcoming_sequence_nr, watch_arrays
from adjoint.core.holders import TensorHolder
from adjoint.core.locations import caller_of_libraries
from adjoint.core.modes.interceptors import PROGRAM, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock, current
from adjoint.transforms.batching.batched import BatchedArray

_ndarray = numpy.ndarray


class Step:
    """One computation: a function, its arguments and results as NumPy's arrays, and the arrays that it writes into.

    arrays: those among the arguments.
    """

    __slots__ = ("args", "arrays", "function", "function_line", "kwargs", "line", "result", "writes")

    def __init__(self, function: Any, args: Any, kwargs: Any, writes: tuple[Any, ...], arrays: list[Any]) -> None:
        self.function, self.args, self.kwargs, self.writes, self.arrays = function, args, kwargs, writes, arrays
        self.result: Any = None
        self.line: Any = None
        #: The line of the function itself, where a replay may come to another result than the recording.
        self.function_line: int | None = None

    @property
    def name(self) -> str:
        """The name of the function."""
        return name_of(self.function)


def name_of(function: Any) -> str:
    """The name of a function of arrays."""
    return str(getattr(function, "__name__", function))


class Look(Step):
    """A computation whose result determined the control flow: a replay compares it with `result`."""

    __slots__ = ()


class Drawing:
    """A function that draws random numbers inside."""

    draws = True

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "draw")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class Unsupported(RuntimeError):
    """A function compiled with fullgraph=True cannot be replayed.

    The message names the reason and the line.
    """


class Recording(Interceptor):
    """The steps of one call, and the Tensors whose arrays it replaced.

    full: raise at the first thing that cannot be replayed. code: of the function. reason, line: why a replay is
    impossible, and the user's line. function_line: the line of the function itself, None where it had returned.
    """

    def __init__(self, full: bool, code: Any = None) -> None:
        super().__init__(PROGRAM)
        self.full, self.code = full, code
        self.function_line: int | None = None
        self.steps: list[Step] = []
        self.reason: str | None = None
        self.line: Any = None
        self.is_dropped = False
        self.is_running = False
        self.thread = get_ident()
        self._drew = False
        #: The Tensors that hold, or held, recorded arrays.
        self.tensors: list[weakref.ref[TensorBase]] = []
        #: The same of which each held an array before.
        self.adopted: list[weakref.ref[TensorBase]] = []
        #: The number that the next node of the graph gets.
        self.first_node = upcoming_sequence_nr()
        #: The recorded arrays over memory that was there before, by the address of the NumPy array.
        self.captures: dict[int, RecordedArray] = {}
        #: Copies of constants that the function writes into, as they were before.
        self.originals: dict[int, Any] = {}
        #: The placeholders of large arrays in steps.
        self.outlines = Outlines()
        #: The twins of a device's arrays, of a function that takes or sees some.
        self.twins: Twins | None = None
        self._is_on_host = False
        #: The beginning of each region with its budget of memory, or None; the budgets of open blocks.
        self._starts: list[int] = []
        self.budgets: list[float | None] = []
        self._open: list[float | None] = [None]

    # regions with a budget of memory ----------------------------------------------------------------------------------

    def begin_region(self, budget: float) -> None:
        """Let the next steps be of a new region with a budget."""
        self._open.append(budget)
        self._begin_region()

    def end_region(self) -> None:
        """Let the next steps be of the block around the region."""
        self._open.pop()
        self._begin_region()

    def _begin_region(self) -> None:
        self._starts.append(len(self.steps))
        self.budgets.append(self._open[-1])

    def region_of(self, step: int) -> int:
        """The number of the region of a step, -1 before the first one."""
        return bisect_right(self._starts, step) - 1

    # steps ------------------------------------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Any = None,
        writes: tuple[Any, ...] = (),
        beside_device: bool = False,
    ) -> Any:
        """Call a function of arrays, and add the step.

        beside_device: its result lies on the device of the function's arrays, although it takes no array.
        """
        if self.twins is not None and self.is_running:
            args, kwargs = self._with_twins(tuple(args)), self._with_twins(kwargs or {})
        arrays: list[Any] = []
        plain_args, has_others = without_recorded(args, arrays)
        plain_kwargs: dict[str, Any] = {}
        if kwargs:
            values, others = without_recorded(kwargs.values(), arrays)
            plain_kwargs, has_others = dict(zip(kwargs, values, strict=True)), has_others or others
        if self.twins is not None:
            self._is_on_host = not (beside_device or has_device_array((args, kwargs)))
            for target in writes:
                self.twins.note_write(concrete(target))
        if not self.is_recording:
            if self.twins is not None and not self.is_running:
                return self._call_on_device(function, args, kwargs or {})
            return function(*plain_args, **plain_kwargs)
        if has_others and (has_tensor(plain_args) or has_tensor(plain_kwargs.values())):
            self.stop("gave a tensor to a function of NumPy's arrays")
        step = Step(function, plain_args, plain_kwargs, concrete(writes) if writes else (), arrays)
        if writes:
            self._keep_originals(step.writes)
        self.is_running, self._drew = False, False
        try:
            result = function(*plain_args, **plain_kwargs)
        finally:
            self.is_running = True
        if not writes and not self._drew and plain_args and result is plain_args[0] and type(args[0]) is RecordedArray:
            return args[0]
        if self._drew:
            step.function = Drawing(function)
        if self.reason is None:
            self._outline(step, result)
            self.steps.append(step)
        if writes:
            return writes[0] if len(writes) == 1 else writes
        if type(result) is _ndarray:
            step.result = self.outlines.of(result) if self.outlines else result
            return RecordedArray(result, self, self._is_on_host)
        owned, wrapped = self._wrap(result, step)
        step.result = self.outlines.of_all(owned)
        return wrapped

    def _outline(self, step: Step, result: Any) -> None:
        """Let a step hold outlines of large arrays, so that these may go."""
        outlines = self.outlines
        if self.twins is not None:
            return
        if type(result) is not _ndarray or result.nbytes >= LARGE or result.base is not None:
            outlines.add(arrays_in(result), step.arrays)
        if outlines:
            step.args, step.kwargs = outlines.of_all(step.args), outlines.of_all(step.kwargs)
            step.arrays = [outlines.of(array) for array in step.arrays]
            step.writes = outlines.of_all(step.writes)

    def _with_twins(self, value: Any) -> Any:
        """A tree of arguments with recorded arrays instead of device arrays."""
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)([self._with_twins(member) for member in value])
        if isinstance(value, dict):
            return {key: self._with_twins(member) for key, member in value.items()}
        return self.capture(value) if is_on_device(value) else value

    def _call_on_device(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function after the recording, by what held on to a recorded array."""
        assert self.twins is not None
        args, kwargs = with_arrays_after(tuple(args)), with_arrays_after(kwargs)
        return on_device(function, self.twins.xp)(*args, **kwargs)

    @property
    def is_recording(self) -> bool:
        """True while the function runs, in its thread."""
        return self.is_running and get_ident() == self.thread

    def _wrap(self, result: Any, step: Step) -> tuple[Any, Any]:
        """A result as the step keeps it, and as the function gets it."""
        if type(result) is _ndarray or isinstance(result, numpy.generic):
            result = numpy.asarray(result)
            return result, RecordedArray(result, self, self._is_on_host)
        if isinstance(result, (tuple, list)):
            pairs = [self._wrap(member, step) for member in result]
            owned = tuple([pair[0] for pair in pairs])
            members = [pair[1] for pair in pairs]
            if hasattr(result, "_fields"):
                return owned, type(result)(*members)
            return owned, type(result)(members)
        if isinstance(result, SparseArray):
            self.stop("makes a sparse tensor")
        if is_on_device(result):
            self.stop("moves a tensor from main memory to a device")
        if result is not None and self.reason is None and not is_array(result):
            # a number computed from values: the control flow may depend on it
            look = Look(step.function, step.args, step.kwargs, (), step.arrays)
            look.result = result
            look.line, look.function_line = caller_of_libraries(), line_in(self.code)
            self.steps[-1] = look
        return result, result

    def look(self, function: Callable[..., Any], array: RecordedArray, *more: Any) -> Any:
        """A number that the function reads from an array."""
        value = function(array.array, *concrete(more))
        if self.is_recording and self.reason is None:
            args = self.outlines.of_all((array.array, *concrete(more)))
            look = Look(function, args, {}, (), arrays_in(args))
            look.result = value
            look.line, look.function_line = caller_of_libraries(), line_in(self.code)
            self.steps.append(look)
        return value

    def stop(self, reason: str) -> None:
        """Note that the function cannot be replayed; it goes on as always. Raises Unsupported with fullgraph=True."""
        if not self.is_recording or self.reason is not None:
            return
        self.reason, self.line, self.function_line = reason, caller_of_libraries(), line_in(self.code)
        self.n_steps = len(self.steps)
        self.steps.clear()
        if self.full:
            raise Unsupported(f"adjoint.compile: the function {self.why()}")

    def drop(self) -> None:
        """Note that another thread took part: the function goes on as always, and a later call is recorded."""
        if self.reason is None:
            self.reason, self.is_dropped = "shares a tensor whose gradient another thread set meanwhile", True
            self.steps.clear()

    def why(self) -> str:
        """The reason with its line."""
        if self.line is None:
            return str(self.reason)
        code, number = self.line
        return f"{self.reason}, in {code.co_name} at {code.co_filename}:{number}"

    def _keep_originals(self, targets: Any) -> None:
        """Copy constants before the function writes into them for the first time."""
        for target in targets:
            root = root_of(target)
            if id(root) in self.captures and id(root) not in self.originals:
                self.originals[id(root)] = root.copy()

    # Tensors ----------------------------------------------------------------------------------------------------------

    def can_capture(self, array: Any) -> bool:
        """True for a NumPy array, and for an array of the device whose arrays have twins.

        After the recording has stopped, arrays may stay unrecorded.
        """
        if self.twins is None:
            return type(array) is _ndarray and self.reason is None
        return type(array) is _ndarray or is_on_device(array)

    def capture(self, array: Any) -> RecordedArray:
        """The recorded array over memory that was there before; one for each array."""
        host = self.in_main_memory(array)
        recorded = self.captures.get(id(host))
        if recorded is None:
            is_on_host = self.twins is not None and host is array
            recorded = self.captures[id(host)] = RecordedArray(host, self, is_on_host)
        return recorded

    def capture_new(self, array: Any) -> RecordedArray:
        """The recorded array over an array that represents memory of the next call."""
        recorded = self.captures[id(array)] = RecordedArray(array, self)
        self.outlines.note_caller(array)
        return recorded

    def adopt(self, tensor: TensorBase) -> None:
        """Let a Tensor hold the recorded array over its array."""
        array = tensor._array
        if self.can_capture(array):
            reference = weakref.ref(tensor)
            self.tensors.append(reference)
            self.adopted.append(reference)
            tensor._array = self.capture(array)

    def adopt_all(self, values: Any) -> None:
        """`adopt` for all Tensors among prepared arguments."""
        for value in values:
            if isinstance(value, TensorBase):
                if type(value._array) is not RecordedArray:
                    self.adopt(value)
            elif isinstance(value, (list, tuple)):
                self.adopt_all(value)

    def operation(self, operation: Any, values: list[Any]) -> Any:
        """Let the Tensors among the arguments hold recorded arrays, then run the operation."""
        self.adopt_all(values)
        return operation.proceed(values, self.position)

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        """As `operation`, for an operation in place."""
        self.adopt_all(values)
        return operation.proceed_in_place(values, self.position)

    def node(self, run: Any, node: Any) -> Any:
        """Let a node of a backward pass pull recorded cotangents back. An earlier node stops the recording."""
        if not self.is_recording:
            return run.proceed(node, self.position)
        run.replace_cotangents(node, self._cotangents(run.cotangents_at(node)))
        pulled = run.proceed(node, self.position)
        # a node at which the pass ends returns no cotangents
        if pulled is not None and not isinstance(node, AccumulateGrad) and node._ad_sequence_nr < self.first_node:
            self.stop("ran backward through operations from before the call")
        return pulled

    def _cotangents(self, received: Any) -> Any:
        """The cotangents of a node, recorded."""
        if type(received) is list:
            return [self._cotangents(member) for member in received]
        if isinstance(received, TensorBase):
            self.adopt(received)
        return self.capture(received) if self.can_capture(received) else received

    def draw(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Draw random numbers as a step, or inside of one."""
        if not self.is_recording:
            self._drew = True
            return function(*args, **kwargs)
        return self.call(function, args, kwargs)

    # devices ----------------------------------------------------------------------------------------------------------

    def in_main_memory(self, array: Any) -> Any:
        """The NumPy array on which the function runs: inside a recorded array, or the twin of a device array."""
        if self.twins is not None and is_on_device(array):
            return self.twins.host_of(array)
        return plain_array(array)

    def array_after(self, recorded: RecordedArray) -> Any:
        """The array that a Tensor holds after the recording."""
        if self.twins is None or recorded.is_on_host:
            return recorded.array
        return self.twins.on_device(recorded.array)

    def device_of(self, array: RecordedArray) -> Any:
        """Where the array of the function lies."""
        return CPU if self.twins is None or array.is_on_host else self.twins.device

    def move(self, array: RecordedArray, target: Any) -> Any:
        """A copy of an array at a target, or the array itself if it lies there. Replays have a single device."""
        if target == self.device_of(array):
            return array
        if self.twins is not None and target.type == "cuda" and target.index in (None, self.twins.device.index):
            self.call(numpy.copy, (array,))
            copy = self.steps[-1].result if self.reason is None else array.array.copy()
            return RecordedArray(copy, self)
        self.stop("moves a tensor from one device to another")
        if target.type == "cpu":
            return RecordedArray(array.array.copy(), self, True)
        return cupy_namespace.on_gpu(array.array, target)

    def beside(self, value: Any, model: RecordedArray, is_operand: bool) -> Any:
        """An argument of an operation that runs where `model` lies; see `cupy_namespace.Namespace.beside`."""
        if self.twins is None or not isinstance(value, (numpy.ndarray, RecordedArray)):
            return value
        device = CPU if isinstance(value, numpy.ndarray) else self.device_of(value)
        target = self.device_of(model)
        elsewhere = model if device != CPU else value
        if device != target and is_operand and elsewhere.ndim:
            raise RuntimeError(cupy_namespace.ON_SEVERAL_DEVICES.format(target=target, own=device))
        return value

    def give_back(self) -> None:
        """Give all Tensors, and the nodes with saved arrays, plain NumPy or device arrays again."""
        if self.twins is not None:
            self.twins.write_back()
        nodes = []
        for reference in self.tensors:
            tensor = reference()
            if tensor is not None:
                release(tensor)
                nodes.append(tensor._node)
        for node in nodes_behind(nodes):
            node._ad_map_saved(array_after)
            if self.twins is not None:
                # Tensors around batches of recorded arrays are in no list
                for _, saved in node._ad_saved_items():
                    release(getattr(saved, "original", saved))
        self.tensors.clear()


def line_in(code: Any) -> int | None:
    """The current line in a call of a function with this code, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno


#: Types of arguments that are no Tensors and hold none.
_NO_TENSORS = frozenset((_ndarray, int, float, bool, complex, str, type(None), slice, numpy.dtype))


def has_tensor(values: Any) -> bool:
    """True if some arguments are Tensors, or arrays around them, or hold some."""
    for value in values:
        kind = type(value)
        if kind in _NO_TENSORS:
            continue
        if isinstance(value, (TensorBase, TensorHolder)):
            return True
        if isinstance(value, (tuple, list)) and has_tensor(value):
            return True
        if isinstance(value, dict) and has_tensor(value.values()):
            return True
    return False


def arrays_in(tree: Any) -> list[Any]:
    """The NumPy arrays in a tree of arguments."""
    return gather(tree, _ndarray, [])


def gather(tree: Any, leaf_type: type, to: list[Any]) -> list[Any]:
    """Add the objects of a type in a tree of arguments to a list."""
    kind = type(tree)
    if kind is leaf_type:
        to.append(tree)
    elif kind in _CONTAINERS or isinstance(tree, tuple):
        members = tree.values() if kind is dict else (tree.start, tree.stop, tree.step) if kind is slice else tree
        for member in members:
            if type(member) is leaf_type:
                to.append(member)
            elif type(member) not in _NO_MEMBERS:
                gather(member, leaf_type, to)
    return to


_CONTAINERS = frozenset((tuple, list, dict, slice))
_NO_MEMBERS = _NO_TENSORS - _CONTAINERS


def without_recorded(values: Iterable[Any], arrays: list[Any]) -> tuple[tuple[Any, ...], bool]:
    """Arguments with NumPy arrays instead of recorded ones, which are added to a list.

    Also returns whether some arguments are neither arrays nor plain values.
    """
    members = []
    has_others = False
    for value in values:
        kind = type(value)
        if kind is RecordedArray:
            value = value.array
            arrays.append(value)
        elif kind is _ndarray:
            arrays.append(value)
        elif kind not in _NO_MEMBERS:
            value, has_others = concrete(value), True
            gather(value, _ndarray, arrays)
        members.append(value)
    return tuple(members), has_others


def has_device_array(value: Any) -> bool:
    """True if a tree of arguments has a recorded array that lies on a device."""
    if isinstance(value, (tuple, list)):
        return any(map(has_device_array, value))
    if isinstance(value, dict):
        return any(map(has_device_array, value.values()))
    if isinstance(value, slice):
        return any(map(has_device_array, (value.start, value.stop, value.step)))
    return type(value) is RecordedArray and not value.is_on_host


def array_after(array: Any) -> Any:
    """The plain array for a recorded one that a Tensor holds after a recording."""
    if type(array) is BatchedArray and recording_of(array) is not None:
        return BatchedArray(array.level, array_after(array.data))
    return array.recording.array_after(array) if type(array) is RecordedArray else array


def recording_of(array: Any) -> Any:
    """The recording of a batched array with device values, or None; NumPy values may stay."""
    inner = underlying(array)
    return inner.recording if type(inner) is RecordedArray and inner.recording.twins is not None else None


def with_arrays_after(value: Any) -> Any:
    """A tree of arguments with `array_after` of all recorded arrays."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([with_arrays_after(member) for member in value])
    if isinstance(value, dict):
        return {key: with_arrays_after(member) for key, member in value.items()}
    return array_after(value)


def plain_array(array: Any) -> Any:
    """The NumPy array of a recorded one."""
    return array.array if type(array) is RecordedArray else array


def release(tensor: Any) -> None:
    """Give a Tensor, its gradient and its base the plain arrays of their recorded ones."""
    if not isinstance(tensor, TensorBase):
        return
    tensor._array = array_after(tensor._array)
    if tensor._grad is not None:
        release(tensor._grad)
    view = tensor._view
    if view is not None and view.base is not tensor:
        view.layout = array_after(view.layout)
        release(view.base)


class recording_into(ModeBlock):
    """A with block whose operations are added to a recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (PROGRAM, self.recording)),)

    def _entry_value(self) -> Recording:
        self.recording.is_running = True
        self.random = (python_random.getstate(), numpy.random.get_state())
        return self.recording

    def _after_exit(self, error: Any) -> None:
        self.recording.is_running = False


def running_recording() -> Recording | None:
    """The recording that runs in this thread, or None."""
    for interceptor in current().interceptors:
        if isinstance(interceptor, Recording):
            return interceptor
    return None


def _note(tensor: TensorBase) -> None:
    tensor._array.recording.tensors.append(weakref.ref(tensor))


def _note_gradient(tensor: TensorBase) -> None:
    recording = tensor._array.recording
    if recording.is_running and recording.thread != get_ident():
        recording.drop()


watch_arrays(RecordedArray, _note, _note_gradient)
recorded_array.current_recording = running_recording
