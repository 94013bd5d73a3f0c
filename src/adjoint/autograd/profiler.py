"""What operations cost, forward and backward, under the names of torch.autograd.profiler."""

import typing as _typing

from adjoint.core.modes.profiling import current_profiler as _current_profiler
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tools.profiler.activities import KinetoStepTracker, ProfilerActivity
from adjoint.tools.profiler.events import DeviceType, EventList, FunctionEvent, MemRecordsAcc
from adjoint.tools.profiler.nvprof import load_nvprof, parse_nvprof_trace
from adjoint.tools.profiler.profile import kineto_available, profile, record_function
from adjoint.tools.profiler.ranges import emit_itt, emit_nvtx
from adjoint.tools.profiler.unique import EnforceUnique

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"

__all__ = [
    "MEMORY_EVENT_NAME",
    "OUT_OF_MEMORY_EVENT_NAME",
    "DeviceType",
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "ProfilerActivity",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]


def _profiler_enabled() -> bool:
    """True while a profiler is on in the calling thread."""
    return _current_profiler() is not None


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__, _is_profiler_enabled=_profiler_enabled)
