"""Automatic differentiation: `backward`, `grad` and what belongs to them, under torch.autograd's names."""

from adjoint.core.anomaly import detect_anomaly, set_detect_anomaly
from adjoint.core.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from adjoint.core.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from adjoint.core.graph import SavedTensor
from adjoint.tensor.differentiate import backward, grad
from adjoint.transforms.custom import custom

from . import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
    grad_mode,
    graph,
    profiler,
    profiler_legacy,
    profiler_util,
    variable,
)
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .profiler import ProfilerActivity as ProfilerActivity
from .profiler import _profiler_enabled as _profiler_enabled
from .profiler import kineto_available as kineto_available
from .variable import Variable

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "custom",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "profiler_legacy",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
