"""What operations cost, forward and backward, under the names of torch.autograd.profiler."""

from adjoint.tools.profiler.events import DeviceType, EventList, FunctionEvent, MemRecordsAcc
from adjoint.tools.profiler.profile import EnforceUnique, KinetoStepTracker, profile, record_function

__all__ = [
    "DeviceType",
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "profile",
    "record_function",
]
