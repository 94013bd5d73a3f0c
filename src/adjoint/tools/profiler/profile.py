"""The profiler as a context manager, and labels for blocks."""

from __future__ import annotations

import json
import platform
import uuid
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import perf_counter_ns
from typing import Any, TypeVar

from adjoint.core.modes import current
from adjoint.core.noting import CUSTOM, NODE, OPERATION, USER
from adjoint.tools.profiler import names
from adjoint.tools.profiler.events import EventList, FunctionEvent, FunctionEventAvg, MemRecordsAcc
from adjoint.tools.profiler.recorder import Memory, Note, Recorder, thread_number
from adjoint.tools.profiler.traces import trace_events

F = TypeVar("F", bound=Callable[..., Any])
UNFINISHED = "<unfinished torch.autograd.profile>"
DEVICES = ("cuda", "xpu", "mtia", "hpu", "privateuseone")


class profile:
    """A block in which every operation, forward and backward, is noted with its time.

    Operations appear as "aten::" and their name, the nodes of backward passes under their own names, each inside an
    event "autograd::engine::evaluate_function: ..." of the engine's, and blocks under their labels
    (`record_function`). A node's formula runs on plain arrays and counts as the node's own time.
    The events are those of the calling thread and of the threads that backward passes start.

    enabled: False makes the block do nothing.
    record_shapes: note the shapes of arguments, for `key_averages(group_by_input_shape=True)`.
    with_flops: estimate floating point operations of matrix products, convolutions, sums and products.
    profile_memory: note the memory of arrays that is taken for results and given back.
    with_stack: note the lines of the program that lead to an operation, for `key_averages(group_by_stack_n=...)` and
        `export_stacks`.
    use_cpu: False, which needs use_kineto, leaves out what runs on the processor, which is everything here.
    use_device, use_cuda: times on a device; since arrays lie in the processor's memory, this warns and is ignored.
    custom_trace_id_callback: gives the name of the trace; a random one otherwise.
    with_modules, use_kineto, experimental_config, acc_events, post_processing_timeout_s, activity_filters: kept as
        attributes; they change nothing here.

    An instance cannot be entered twice (RuntimeError). In a block inside another one, the inner one notes and the
    outer one does not.

    >>> import adjoint
    >>> x = adjoint.ones(2, 2, requires_grad=True)
    >>> with adjoint.autograd.profiler.profile() as prof:
    ...     (x ** 2).sum().backward()
    >>> [event.name for event in prof.function_events][:2]
    ['aten::pow', 'aten::sum']
    >>> prof.key_averages().table(sort_by="self_cpu_time_total").splitlines()[1].split()[:4]
    ['Name', 'Self', 'CPU', '%']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: dict[Any, set[str]] | None = None,
    ) -> None:
        self.enabled = enabled
        self.use_cuda = use_cuda
        self.entered = False
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_kineto = use_kineto
        self.use_cpu = use_cpu
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.activity_filters = activity_filters
        self.trace_id = ""
        self.profiling_start_time_ns = self.profiling_end_time_ns = 0
        self._recorder: Recorder | None = None
        self._function_events: EventList | None = None
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        self.use_device = available_device("cuda" if use_cuda else use_device, use_cuda) if enabled else None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        callback = self.custom_trace_id_callback
        self.trace_id = uuid.uuid4().hex.upper() if callback is None else callback()
        self._recorder = Recorder(self.record_shapes, self.with_flops, self.profile_memory, self.with_stack)
        self.profiling_start_time_ns = perf_counter_ns()
        if self.use_cpu:
            self._recorder.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._recorder is not None:
            if self.use_cpu:
                self._recorder.stop()
                self._recorder.close()
            self.profiling_end_time_ns = perf_counter_ns()

    @property
    def finished(self) -> bool:
        """True once the block has ended."""
        return self.profiling_end_time_ns > 0

    @property
    def function_events(self) -> EventList:
        """The events, in the order of their beginnings; none before the block has ended."""
        if self._function_events is None:
            if not self.finished or self._recorder is None:
                return EventList()
            self._function_events = self._events(self._recorder)
            self._recorder = None
        return self._function_events

    def _events(self, recorder: Recorder) -> EventList:
        events = EventList(
            events_of(completed(recorder.notes), recorder.memory, self.profiling_start_time_ns),
            use_device=self.use_device,
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
        )
        events._build_tree()
        events += loose_memory(events, recorder.memory, self.profiling_start_time_ns)
        return events

    def __repr__(self) -> str:
        return repr(self.function_events) if self.finished else UNFINISHED

    def __str__(self) -> str:
        return self.table() if self.finished else UNFINISHED

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a table, see `EventList.table`."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def export_chrome_trace(
        self, path: str | Path, metadata: dict[str, Any] | None = None, use_python_export: bool = False
    ) -> None:
        """Write the events as a file for chrome://tracing or Perfetto.

        metadata: entries to write beside the events. use_python_export: has no effect, there is one way only. Raises
        RuntimeError before the block has ended.
        """
        if not self.finished:
            raise RuntimeError("there is no trace yet: export_chrome_trace() must be called after the block has ended")
        trace = {
            "schemaVersion": 1,
            "displayTimeUnit": "ms",
            "trace_id": self.trace_id,
            "host_name": platform.node(),
            **(metadata or {}),
            "traceEvents": trace_events(self.function_events),
        }
        Path(path).write_text(json.dumps(trace, indent=1))

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for a flame graph, see `EventList.export_stacks`. Raises AssertionError without with_stack."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over the calls of each name, see `EventList.key_averages`; none before the block has ended."""
        events = self.function_events
        if not self.finished:
            return events
        return events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """Sums over all calls."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all events."""
        return self.function_events.self_cpu_time_total


class record_function:
    """A label for a block or function: it appears among the events that are noted inside of a profiler.

    args: kept as an attribute.

    >>> import adjoint
    >>> from adjoint.autograd.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("twice"):
    ...         y = adjoint.ones(2) * 2
    >>> [(event.name, [call.name for call in event.cpu_children]) for event in prof.function_events][0]
    ('twice', ['aten::mul'])
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"record_function(): argument 'name' must be str, not {type(name).__name__}")
        self.name = name
        self.args = args
        self._begun: list[tuple[Any, Any] | None] = []

    def __enter__(self) -> record_function:
        noter = current().profiler
        self._begun.append(None if noter is None else (noter, noter.begin()))
        return self

    def __exit__(self, *exception: object) -> None:
        begun = self._begun.pop()
        # a block that outlives its profiler is not noted
        if begun is not None and current().profiler is begun[0]:
            begun[0].end(self.name, begun[1])

    def __call__(self, function: F) -> F:
        """The function, each call of which is such a block."""

        @wraps(function)
        def labelled(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return labelled  # type: ignore[return-value]


class EnforceUnique:
    """Raises RuntimeError if a key is seen more than once.

    >>> from adjoint.autograd.profiler import EnforceUnique
    >>> keys = EnforceUnique()
    >>> keys.see("load", 1)
    >>> keys.see("load", 1)
    Traceback (most recent call last):
        ...
    RuntimeError: duplicate key: ('load', 1)
    """

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Take note of a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps for the whole program, although several parties (a profiler, an optimizer ...) count their own.

    The global count is the largest of theirs, so that parties that count the same steps do not count them twice.

    >>> from adjoint.autograd.profiler import KinetoStepTracker
    >>> KinetoStepTracker.init_step_count("loop")
    >>> KinetoStepTracker.increment_step("loop") == KinetoStepTracker.current_step()
    True
    >>> KinetoStepTracker.erase_step_count("loop")
    True
    """

    _current_step = 0
    _step_dict: dict[str, int] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a party count from the global count on."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a party; True if it was known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a party; returns the global count. Warns if that grows by more than one."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        largest = max(cls._step_dict.values())
        if largest > cls._current_step:
            more = largest - cls._current_step
            if more > 1:
                warnings.warn(
                    f"Profiler step count has increased more than 1 - current_step = {cls._current_step} "
                    f"step dict =  {cls._step_dict}",
                    stacklevel=2,
                )
            cls._current_step = largest
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The global count."""
        return cls._current_step


def available_device(device: str | None, by_flag: bool) -> str | None:
    """The device whose times can be noted: none, with a warning that says why."""
    if by_flag:
        message = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead."
        warnings.warn(message, FutureWarning, stacklevel=3)
    if device is None:
        return None
    if device not in DEVICES:
        warnings.warn(f"The {device} is not a valid device option.", stacklevel=3)
    else:
        name = device.upper()
        warnings.warn(f"{name} is not available, disabling {name} profiling", stacklevel=3)
    return None


def completed(notes: list[tuple[Any, ...]]) -> list[Note]:
    """Notes under their public names, those of nodes inside an event of the engine's."""
    found = []
    for fields in notes:
        note = Note(*fields)
        if note.scope == OPERATION:
            note = note._replace(name=names.operation(note.name))
        elif note.scope == CUSTOM:
            note = note._replace(scope=OPERATION)
        elif note.scope == NODE:
            found.append(note._replace(name=names.EVALUATE + note.name, scope=OPERATION, shapes=None))
        found.append(note)
    return found


def is_backward(note: Note) -> bool:
    """True for nodes and for what the engine does around them."""
    return note.scope == NODE or note.name.startswith(names.EVALUATE)


def events_of(notes: list[Note], memory: list[Memory], origin: int) -> list[FunctionEvent]:
    """Events in the order of their beginnings, those around others first, with the memory that each changed."""
    changes = {
        ident: MemRecordsAcc([(change, False) for change in memory if change.ident == ident])
        for ident in {change.ident for change in memory}
    }
    made_in = {note.sequence_nr: thread_number(note.ident) for note in notes if not is_backward(note)}
    events = []
    for number, note in enumerate(sorted(notes, key=lambda note: (note.start, -note.end)), 1):
        of_thread = changes.get(note.ident)
        inside = () if of_thread is None else of_thread.in_interval(note.start, note.end)
        backward = is_backward(note) and note.sequence_nr >= 0
        events.append(
            FunctionEvent(
                number,
                note.name,
                thread_number(note.ident),
                (note.start - origin) / 1000,
                (note.end - origin) / 1000,
                overload_name="",
                fwd_thread=made_in.get(note.sequence_nr, 0) if backward else 0,
                input_shapes=note.shapes or [],
                stack=note.stack or [],
                scope=note.scope,
                cpu_memory_usage=sum(change.nbytes for change, _ in inside),
                sequence_nr=note.sequence_nr,
                flops=note.flops,
                trace_name=note.name,
                is_user_annotation=note.scope == USER,
            )
        )
    return events


def loose_memory(events: EventList, memory: list[Memory], origin: int) -> list[FunctionEvent]:
    """An event "[memory]" for each change of memory between events."""
    found: list[FunctionEvent] = []
    spans = [(event.thread, event.time_range) for event in events if event.cpu_parent is None]
    for ident in {change.ident for change in memory}:
        thread = thread_number(ident)
        own = iter(sorted((span for of, span in spans if of == thread), key=lambda span: span.start))
        span = next(own, None)
        for change in sorted(change for change in memory if change.ident == ident):
            time = (change.time - origin) / 1000
            while span is not None and span.end < time:
                span = next(own, None)
            if span is None or time < span.start:
                number = len(events) + len(found) + 1
                found.append(
                    FunctionEvent(
                        number,
                        "[memory]",
                        thread,
                        time,
                        time,
                        overload_name="",
                        input_shapes=[],
                        stack=[],
                        cpu_memory_usage=change.nbytes,
                        flops=0,
                    )
                )
    return found
