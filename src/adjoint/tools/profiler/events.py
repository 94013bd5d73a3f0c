"""Events, lists of them and their averages, under the names of torch.autograd.profiler_util."""

from __future__ import annotations

import json
import warnings
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from adjoint.tools.profiler.export.formats import format_time
from adjoint.tools.profiler.export.tables import build_table
from adjoint.tools.profiler.export.traces import trace_events
from adjoint.tools.profiler.metadata import build_metadata

STACK_METRICS = tuple(f"self_{kind}_time_total" for kind in ("cpu", "cuda", "xpu", "privateuse1"))


class DeviceType(Enum):
    """The kind of device on which an event ran.

    The numbers are torch's. adjoint records events of CPU and CUDA.
    """

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


class Interval:
    """From `start` to `end`, in microseconds.

    >>> from adjoint.autograd.profiler_util import Interval
    >>> Interval(3, 10).elapsed_us()
    7
    """

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """The length of the interval, `end - start`.

        Its unit is that of the two, microseconds in events.
        """
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel that ran on a device.

    name: its name. device: the device's number. duration: microseconds.
    """

    name: str
    device: int
    duration: float


class StringTable(defaultdict[str, str]):
    """Names by themselves: an unknown name is added as it is.

    >>> from adjoint.autograd.profiler_util import StringTable
    >>> StringTable()["t"]
    't'
    """

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds the records of memory in an interval of time, by bisection.

    mem_records: pairs whose first entry has a method `start_ns()`.
    """

    def __init__(self, mem_records: Iterable[Any]) -> None:
        self._mem_records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._start_nses = [record[0].start_ns() for record in self._mem_records]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterable[Any]:
        """The records from `start_ns` to `end_ns`, both included, in order of time.

        Both are nanoseconds on the clock of the records. Gives an iterator, which is empty if there are none.
        """
        first, last = bisect_left(self._start_nses, start_ns), bisect_right(self._start_nses, end_ns)
        yield from self._mem_records[first:last]


def _time_str(name: str) -> property:
    return property(lambda self: format_time(getattr(self, name)), doc=f"`{name}` in words.")


def _renamed_property(old: str, new: str, way: str = ". Use") -> property:
    def get(self: Any) -> Any:
        warnings.warn(f"`{old}` is deprecated{way} `{new}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"Deprecated: `{new}`.")


def average(calls: Any, total: str) -> float:
    """A total divided by the number of calls; 0 of none."""
    return 0.0 if calls.count == 0 else 1.0 * getattr(calls, total) / calls.count


class FormattedTimesMixin:
    """Times as text, and averages over the number of calls.

    For classes that have total times in microseconds and `count`.
    """

    cpu_time_str = _time_str("cpu_time")
    device_time_str = _time_str("device_time")
    cpu_time_total_str = _time_str("cpu_time_total")
    device_time_total_str = _time_str("device_time_total")
    self_cpu_time_total_str = _time_str("self_cpu_time_total")
    self_device_time_total_str = _time_str("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """Microseconds a call."""
        return average(self, "cpu_time_total")

    @property
    def device_time(self) -> float:
        """Microseconds a call on a device."""
        return average(self, "device_time_total")

    cuda_time = _renamed_property("cuda_time", "device_time", ", please use")


class FunctionEvent(FormattedTimesMixin):
    """One call: of an operation, of a node of a backward pass, or of a labelled block.

    Times are in microseconds since the start of the profiler. `cpu_children` are its inner calls. `sequence_nr` is the
    number of the node that an operation recorded, and of the node in the backward pass; -1 without a node.
    `event_metadata` is made from `extra_meta`, the entry in a device's trace. Arguments about kernels, flows and Python
    own frames are kept for events that other tools recorded.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: list[Any] | None = None,
        kwinputs: dict[str, Any] | None = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        activity_type: str | None = None,
        metadata_json: str | None = None,
        flow_id: int | None = None,
        flow_type: int | None = None,
        flow_start: bool | None = None,
        external_id: int = 0,
        linked_correlation_id: int = 0,
        extra_meta: dict[str, str] | None = None,
        structured_input_shapes: list[Any] | None = None,
        structured_input_strides: list[Any] | None = None,
        input_dtypes: list[str] | None = None,
        python_id: int = -1,
        python_parent_id: int = -1,
        python_module_id: int = -1,
    ) -> None:
        self.id = id
        self.node_id = node_id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.is_python_function = is_python_function
        self.activity_type = activity_type
        self._metadata_json = metadata_json
        self.flow_id, self.flow_type, self.flow_start = flow_id, flow_type, flow_start
        self.external_id, self.linked_correlation_id = external_id, linked_correlation_id
        self.event_metadata = None if extra_meta is None else build_metadata(extra_meta)
        self.structured_input_shapes = structured_input_shapes
        self.structured_input_strides = structured_input_strides
        self.input_dtypes = input_dtypes
        self.python_id, self.python_parent_id, self.python_module_id = python_id, python_parent_id, python_module_id
        self.self_cpu_percent = self.total_cpu_percent = self.total_device_percent = -1

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add a kernel that this call ran on a device.

        name: the kernel's. device: its number. duration: in microseconds, which count as the call's time on the device.
        """
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add a call inside of this one, at the end of `cpu_children`.

        Its time is then no longer this call's own (`self_cpu_time_total`). The child's `cpu_parent` stays as it is.
        """
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Set the enclosing call, `cpu_parent`.

        The list of the parent's children does not change: `append_cpu_child` adds to it.
        """
        self.cpu_parent = parent

    @property
    def on_cpu(self) -> bool:
        """True for synchronous calls on the processor.

        Other calls have no time or memory beside their children's.
        """
        return not self.is_async and self.device_type is DeviceType.CPU

    @property
    def key(self) -> str:
        """The key by which calls are averaged: the name.

        >>> import adjoint
        >>> with adjoint.autograd.profiler.profile() as p:
        ...     _ = adjoint.ones(2).exp()
        >>> event = next(event for event in p.function_events if event.name == "aten::exp")
        >>> event.key
        'aten::exp'
        """
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from the beginning of the call to its end, of calls inside too; 0 for an event of a device.

        >>> import adjoint
        >>> with adjoint.autograd.profiler.profile() as p:
        ...     _ = adjoint.ones(2).exp()
        >>> event = next(event for event in p.function_events if event.name == "aten::exp")
        >>> event.cpu_time_total >= event.self_cpu_time_total > 0
        True
        """
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds on the processor without inner calls.

        0 for an event of a device, and for an asynchronous call.
        """
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children) if self.on_cpu else 0

    @property
    def device_time_total(self) -> float:
        """Microseconds on a device, including inner calls.

        For an event of the device itself its duration; 0 without a device.
        """
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        return self.self_device_time_total + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        """Microseconds on a device without inner calls: the sum over the kernels of this call.

        For an event of the device itself its duration.
        """
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        return sum(kernel.duration for kernel in self.kernels)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of main memory that the call allocated and did not release, without inner calls.

        0 unless the profiler had profile_memory=True. Negative if the call released more than it allocated.
        """
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children) if self.on_cpu else 0

    @property
    def self_device_memory_usage(self) -> int:
        """Bytes on a device that the call allocated and did not release, without inner calls.

        0 unless the profiler had profile_memory=True. Negative if the call released more than it allocated.
        """
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    cuda_time_total = _renamed_property("cuda_time_total", "device_time_total")
    self_cuda_time_total = _renamed_property("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _renamed_property("self_cuda_memory_usage", "self_device_memory_usage")

    @property
    def metadata_json(self) -> str | None:
        """Deprecated: `event_metadata`."""
        warnings.warn("`metadata_json` is deprecated. Use `event_metadata` instead.", FutureWarning, stacklevel=2)
        return self._metadata_json

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} "
            f"{self.use_device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{self.use_device}_memory_usage={self.device_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """Sums over the calls that share a key.

    A new object is empty; `add` adds one event or other sums. Times are microseconds, memory is bytes.
    """

    TIMES = ("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total")
    SIZES = ("cpu_memory_usage", "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage")
    KINDS = ("key", "node_id", "is_async", "is_remote", "use_device", "device_type", "is_legacy", "is_user_annotation")
    OF_FIRST = ("input_shapes", "overload_name", "stack", "scope", "cpu_children", "cpu_parent")

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list[str] | None = None
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.is_legacy = False
        self.is_user_annotation = False
        self.flops = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add a call, or the sums over calls, of the same key; returns this object.

        The first one gives the key, the shapes and the kinds. Raises AssertionError for another key, and for other
        objects.
        """
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError(f"expected a FunctionEvent or FunctionEventAvg, got {type(other).__name__}")
        if self.key is None:
            for name in self.KINDS + self.OF_FIRST:
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise AssertionError(f"calls of {other.key} cannot be added to those of {self.key}")
        for name in ("count", *self.TIMES, *self.SIZES):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list[Any]):
    """A list of events, or of averages, that can be shown and exported.

    use_device, profile_memory, with_flops: which columns tables have.

    >>> from adjoint.autograd.profiler_util import EventList, FunctionEvent
    >>> events = EventList([FunctionEvent(0, "outer", 0, 0, 100), FunctionEvent(1, "inner", 0, 10, 40)])
    >>> events._build_tree()
    >>> events[0].cpu_children[0].name, events[0].self_cpu_time_total
    ('inner', 70)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._use_device = kwargs.pop("use_device", None)
        self._profile_memory = kwargs.pop("profile_memory", False)
        self._with_flops = kwargs.pop("with_flops", False)
        super().__init__(*args, **kwargs)
        self._tree_built = False
        # how memory was held over time, where it was noted
        self._timeline: Any = None

    def _build_tree(self) -> None:
        """Nest the calls, and find the origins of the nodes of backward passes."""
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def __str__(self) -> str:
        return self.table()

    def _populate_cpu_children(self) -> None:
        """Nest the calls of each thread by their times."""
        open_calls: dict[Any, list[FunctionEvent]] = defaultdict(list)
        calls = [event for event in self if event.on_cpu]
        for event in sorted(calls, key=lambda event: (event.time_range.start, -event.time_range.end)):
            outer = open_calls[event.thread, event.node_id]
            while outer and not contains(outer[-1].time_range, event.time_range):
                outer.pop()
            if outer:
                outer[-1].append_cpu_child(event)
                event.set_cpu_parent(outer[-1])
            outer.append(event)

    def _remove_dup_nodes(self) -> None:
        """Drop calls that are the only one inside a call of the same name."""
        roots = []
        for event in sorted(self, key=lambda event: event.time_range.end - event.time_range.start):
            outer = event.cpu_parent
            if outer is None or outer.name != event.name or len(outer.cpu_children) != 1:
                roots.append(event)
                continue
            outer.cpu_children = event.cpu_children
            outer.kernels += event.kernels
            outer.flops = outer.flops or event.flops
            outer.input_shapes = event.input_shapes or outer.input_shapes
            for child in event.cpu_children:
                child.set_cpu_parent(outer)
        keep = {id(event) for event in roots}
        self[:] = [event for event in self if id(event) in keep]

    def _set_backward_stacktraces(self) -> None:
        """Give the nodes of backward passes, and the events inside, the lines of the operations that recorded them."""
        stacks = {
            (event.thread, event.sequence_nr): event.stack
            for event in self
            if event.stack and event.sequence_nr >= 0 and not event.fwd_thread
        }
        for event in self:
            node = event
            while node is not None and not node.fwd_thread:
                node = node.cpu_parent
            if node is not None:
                event.stack = stacks.get((node.fwd_thread, node.sequence_nr), event.stack)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds on the processor in all events; inner calls are counted once.

        0.0 for an empty list.
        """
        return float(sum(event.self_cpu_time_total for event in self))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table.

        sort_by: an attribute of events, the largest first: "cpu_time_total", "self_cpu_time_total", "cpu_time",
        "cpu_memory_usage", "self_cpu_memory_usage", "count" and so on; None for the order of the list. row_limit: the
        number of rows, -1 for all. header: a line above. top_level_events_only: without inner calls. time_unit: "s",
        "ms" or "us", None for a fitting unit for each time. Raises AttributeError for an unknown sort_by.
        """
        return build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path: str | Path) -> None:
        """Write the events as a JSON file for chrome://tracing or Perfetto.

        An earlier file of this path is replaced. Raises OSError where it cannot be written.
        """
        Path(path).write_text(json.dumps(trace_events(self), indent=1))

    def supported_export_stacks_metrics(self) -> list[str]:
        """The metrics that `export_stacks` can count.

        >>> from adjoint.autograd.profiler_util import EventList
        >>> EventList([]).supported_export_stacks_metrics()[0]
        'self_cpu_time_total'
        """
        return list(STACK_METRICS)

    def export_stacks(self, path: str | Path, metric: str) -> None:
        """Write lines in the format of flame graphs: frames from the outermost on, then integer microseconds.

        Raises ValueError for a metric that is not supported.
        """
        if metric not in STACK_METRICS:
            raise ValueError("metric should be one of: " + str(self.supported_export_stacks_metrics()))
        harmless = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                time = int(getattr(event, metric if metric == STACK_METRICS[0] else "self_device_time_total"))
                if event.stack and time > 0:
                    frames = ";".join(frame.translate(harmless) for frame in reversed(event.stack))
                    file.write(f"{frames} {time}\n")

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over all calls of the same name, of shapes, innermost lines of the program and overloads too.

        group_by_stack_n: so many lines. Raises AssertionError before the events are nested.
        """
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        averages: dict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = (event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation)
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            overload = event.overload_name if group_by_overload_name else ""
            stack = tuple((event.stack or [])[:group_by_stack_n])
            group = averages[(*key, shapes, overload, stack)].add(event)
            group.stack = list(stack)
            group.overload_name = overload
            if not group_by_input_shapes:
                group.input_shapes = ""
        averaged = EventList(
            averages.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        averaged._tree_built = True
        return averaged

    def total_average(self) -> FunctionEventAvg:
        """Sums over all events, as one entry under the key Total.

        Its times are microseconds; all are 0 for a list without events.
        """
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key if total.count else None
            total.add(event)
        total.key = "Total"
        return total


def contains(outer: Interval, inner: Interval) -> bool:
    """True if the second interval lies in the first; at its very end it does not."""
    return inner.start < outer.end and inner.end <= outer.end
