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
from adjoint.tools.profiler.formats import format_memory as _format_memory
from adjoint.tools.profiler.formats import format_time as _format_time
from adjoint.tools.profiler.formats import format_time_share as _format_time_share

MEMORY_EVENT_NAME = "[memory]"

__all__ = [
    "MEMORY_EVENT_NAME",
    "DeviceType",
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
    "_format_memory",
    "_format_time",
    "_format_time_share",
]
