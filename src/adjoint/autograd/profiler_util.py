"""Events of the profiler and how they are shown, under the names of torch.autograd.profiler_util."""

from adjoint.tools.profiler.events import (
    DeviceType,
    EventList,
    FormattedTimesMixin,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    MemRecordsAcc,
    StringTable,
)
from adjoint.tools.profiler.export.formats import format_memory as _format_memory
from adjoint.tools.profiler.export.formats import format_time as _format_time
from adjoint.tools.profiler.export.formats import format_time_share as _format_time_share
from adjoint.tools.profiler.metadata import EventMetadata
from adjoint.tools.profiler.metadata import build_metadata as _build_metadata

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"

__all__ = [
    "MEMORY_EVENT_NAME",
    "OUT_OF_MEMORY_EVENT_NAME",
    "DeviceType",
    "EventList",
    "EventMetadata",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
    "_build_metadata",
    "_format_memory",
    "_format_time",
    "_format_time_share",
]
