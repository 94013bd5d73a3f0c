"""The profiler as a context manager, and labels for blocks."""

from __future__ import annotations

import json
import platform
import uuid
import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from adjoint.core.modes.profiling import current_profiler
from adjoint.tools.profiler.activities import ProfilerActivity
from adjoint.tools.profiler.devices import Clock, clock_of
from adjoint.tools.profiler.event_trees import assemble
from adjoint.tools.profiler.events import EventList, FunctionEventAvg
from adjoint.tools.profiler.export.traces import trace_events
from adjoint.tools.profiler.memory import MemoryTimeline
from adjoint.tools.profiler.recorder import Recorder

if TYPE_CHECKING:
    from adjoint.tools.profiler.export.pictures import Picture

F = TypeVar("F", bound=Callable[..., Any])
UNFINISHED = "<unfinished torch.autograd.profile>"
DEVICES = ("cuda", "xpu", "mtia", "hpu", "privateuseone")


class profile:
    """A block that records every operation, forward and backward, with its time.

    Operations appear as "aten::" and their name. The nodes of backward passes appear under their own names, each inside
    the engine's event "autograd::engine::evaluate_function: ...", and contain the operations of their formulas. Blocks
    appear under their labels (`record_function`). Functions of several operations, and functions that make tensors, are
    events too. If they were imported by name, only their inner operations are recorded. The events come from the
    calling thread and from the threads that backward passes start.

    enabled: False makes the block do nothing.
    record_shapes: note the shapes of arguments, for `key_averages(group_by_input_shape=True)`.
    with_flops: estimate floating point operations of matrix products, convolutions, sums and products.
    profile_memory: record the memory that results allocate and release, and its use, see `memory_timeline`.
    with_stack: note the lines of the program that lead to an operation, for `key_averages(group_by_stack_n=...)` and
        `export_stacks`.
    use_cpu: False, which needs use_kineto, leaves out events on the processor, which are all events here.
    use_device, use_cuda: times on a device by its own clock, for "cuda" with CuPy's arrays; without such a device
    this warns and is ignored.
    custom_trace_id_callback: returns the name of the trace; the default is a random name.
    with_modules, use_kineto, experimental_config, acc_events, post_processing_timeout_s, activity_filters: kept as
        attributes; they change nothing here.

    An instance cannot be entered twice (RuntimeError). Of nested blocks only the inner one records. Raises ValueError
    for a negative timeout, AssertionError for use_cpu=False without use_kineto.

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
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        self._clock = available_clock("cuda" if use_cuda else use_device, use_cuda) if enabled else None
        self.use_device = None if self._clock is None else "cuda"
        self._collecting = False
        self._timeline: MemoryTimeline | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            # torch's value; users write no check for None after `with profile() as p`
            return None  # type: ignore[return-value]
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self.trace_id = self.create_trace_id()
        self._recorder = Recorder(
            self.record_shapes, self.with_flops, self.profile_memory, self.with_stack, self._clock
        )
        self.profiling_start_time_ns = perf_counter_ns()
        self._collect(self.use_cpu)
        return self

    def default_trace_id(self) -> str:
        """A name for a trace that no other has: 32 hexadecimal digits.

        Each call makes a new one.
        """
        return uuid.uuid4().hex.upper()

    def create_trace_id(self) -> str:
        """The name of this trace: the result of custom_trace_id_callback, otherwise that of `default_trace_id`.

        Each call makes a new name; `trace_id` is the name in use.
        """
        callback = self.custom_trace_id_callback
        return self.default_trace_id() if callback is None else callback()

    def __exit__(self, *exception: object) -> None:
        if self._recorder is not None:
            self._collect(False)
            self._recorder.close()
            self.profiling_end_time_ns = perf_counter_ns()

    def _collect(self, is_kept: bool) -> None:
        if self._recorder is not None and is_kept != self._collecting:
            self._recorder.start() if is_kept else self._recorder.stop()
            self._collecting = is_kept

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Stop or continue recording inside the block.

        activities: the activities to stop or continue; only `ProfilerActivity.CPU` makes a difference. Outside of the
        block nothing happens.

        >>> import adjoint
        >>> from adjoint.autograd.profiler import ProfilerActivity, profile
        >>> x = adjoint.ones(2)
        >>> with profile() as prof:
        ...     prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        ...     y = x * 2
        ...     prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        ...     y = x + 2
        >>> [event.name for event in prof.function_events]
        ['aten::add']
        """
        if self.entered and not self.finished and ProfilerActivity.CPU in set(activities):
            self._collect(enabled)

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
        origin = self.profiling_start_time_ns
        memory = []
        if recorder.arrays is not None:
            memory = sorted(recorder.arrays.changes)
            self._timeline = MemoryTimeline(recorder.arrays.blocks, origin)
        events = EventList(
            assemble(recorder.notes, memory, self._clock, origin),
            use_device=self.use_device,
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
        )
        events._tree_built = True
        events._timeline = self._timeline
        return events

    def memory_timeline(self) -> MemoryTimeline:
        """The memory in use over time, by category, and the lines that hold it at the peaks.

        Raises RuntimeError without profile_memory, or before the block has ended.

        >>> import adjoint
        >>> x = adjoint.ones(1000, requires_grad=True)
        >>> with adjoint.autograd.profiler.profile(profile_memory=True) as prof:
        ...     x.exp().sum().backward()
        >>> prof.memory_timeline().peaks["saved for backward"].nbytes
        4000
        """
        if not self.finished or not self.profile_memory:
            raise RuntimeError("memory_timeline() needs profile(profile_memory=True), after the block has ended")
        events = self.function_events
        timeline: MemoryTimeline | None = events._timeline
        assert timeline is not None
        return timeline

    def plot(self) -> Picture:
        """The events over time, and memory below, as SVG: a notebook shows it; `save(path)` writes it to a file.

        >>> import adjoint
        >>> with adjoint.autograd.profiler.profile() as prof:
        ...     y = adjoint.ones(100) * 2
        >>> str(prof.plot())[:4]
        '<svg'
        """
        from adjoint.tools.profiler.export.pictures import picture

        return picture(self.function_events)

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
        """The events as a table: a string with one line for each event.

        The arguments are those of `EventList.table`. Before the block has ended the table has no events. Raises
        AttributeError for an unknown sort_by.
        """
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
        """Write the events for chrome://tracing, Perfetto or `python -m adjoint.profiler view`; `.gz` is compressed.

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
        if self._timeline is not None:
            trace["memoryPeaks"] = {name: str(peak) for name, peak in self._timeline.peaks.items()}
        write_json(path, trace)

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for a flame graph: a line for each event, its frames from the outermost on and microseconds.

        metric: the time that is written, one of `EventList.supported_export_stacks_metrics`. Raises AssertionError
        without with_stack, and ValueError for another metric.
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over all calls of the same name, as a list with one entry each; empty before the block has ended.

        group_by_input_shape: a separate entry for each combination of shapes; needs record_shapes. group_by_stack_n: a
        separate entry for each call site, identified by this number of innermost lines; needs with_stack.
        group_by_overload_name: a separate entry for each overload.
        """
        events = self.function_events
        if not self.finished:
            return events
        return events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """Sums over all events, as one entry under the key Total.

        All its times are 0 before the block has ended.
        """
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
    >>> x = adjoint.ones(2)
    >>> with profile() as prof:
    ...     with record_function("twice"):
    ...         y = x * 2
    >>> [(event.name, [call.name for call in event.cpu_children]) for event in prof.function_events][0]
    ('twice', ['aten::mul'])
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"record_function(): argument 'name' must be str, not {type(name).__name__}")
        self.name = name
        self.args = args
        self._starts: list[tuple[Any, Any] | None] = []

    def __enter__(self) -> record_function:
        profiler = current_profiler()
        self._starts.append(None if profiler is None else (profiler, profiler.begin(self.name)))
        return self

    def __exit__(self, *exception: object) -> None:
        start = self._starts.pop()
        # a block that outlives its profiler is not noted
        if start is not None and current_profiler() is start[0]:
            start[0].end(self.name, start[1])

    def __call__(self, function: F) -> F:
        """The function, with each call inside such a block."""

        @wraps(function)
        def label(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return label  # type: ignore[return-value]


def write_json(path: str | Path, content: Any) -> None:
    """Write JSON into a file, compressed if its name ends with .gz."""
    text = json.dumps(content, indent=1).encode()
    if str(path).endswith(".gz"):
        import gzip

        text = gzip.compress(text)
    Path(path).write_bytes(text)


def kineto_available() -> bool:
    """False: adjoint records events itself, without torch's recorder Kineto.

    >>> import adjoint
    >>> adjoint.profiler.kineto_available()
    False
    """
    return False


def available_clock(device: str | None, by_flag: bool) -> Clock | None:
    """The clock of a device; None, with a warning that gives the reason, if there is none."""
    if by_flag:
        message = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead."
        warnings.warn(message, FutureWarning, stacklevel=3)
    if device is None:
        return None
    if device not in DEVICES:
        warnings.warn(f"The {device} is not a valid device option.", stacklevel=3)
        return None
    clock = clock_of(device)
    if clock is None:
        name = device.upper()
        warnings.warn(f"{name} is not available, disabling {name} profiling", stacklevel=3)
    return clock
