"""Profiling training loops, under torch.profiler's names, and a page to look at traces.

`python -m adjoint.profiler view trace.json` shows a trace in the browser, without a network; with `--text` as a table.
"""

import typing as _typing

from adjoint.autograd.profiler import DeviceType, KinetoStepTracker, kineto_available, record_function
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tools.profiler.activities import ProfilerActivity
from adjoint.tools.profiler.export.execution_trace import ExecutionTraceObserver
from adjoint.tools.profiler.schedule import (
    ProfilerAction,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "KinetoStepTracker",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
