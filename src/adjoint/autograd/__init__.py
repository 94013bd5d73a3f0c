"""Automatic differentiation: `backward`, `grad` and related functions, under torch.autograd's names."""

import sys as _sys
import typing as _typing
from types import ModuleType as _ModuleType

from adjoint.core.graph import SavedTensor
from adjoint.core.modes.anomaly import detect_anomaly, set_detect_anomaly
from adjoint.core.modes.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from adjoint.core.modes.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.tensor.differentiate import backward, grad
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

from . import anomaly_mode, grad_mode

if _typing.TYPE_CHECKING:
    from adjoint.transforms.custom_functions.custom import custom

    from . import forward_ad, function, functional, graph, profiler, profiler_legacy, profiler_util, variable
    from .function import Function, NestedIOFunction
    from .gradcheck import gradcheck, gradgradcheck
    from .profiler import ProfilerActivity as ProfilerActivity
    from .profiler import _profiler_enabled as _profiler_enabled
    from .profiler import kineto_available as kineto_available
    from .variable import Variable

__all__ = [
    "Function",
    "NestedIOFunction",
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
    "is_view_replay_enabled",
    "no_grad",
    "profiler",
    "profiler_legacy",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]


_MODULES = "forward_ad function functional graph profiler profiler_legacy profiler_util variable"
_HELD = {
    "adjoint.autograd.function": "Function NestedIOFunction",
    "adjoint.autograd.gradcheck": "gradcheck gradgradcheck",
    "adjoint.autograd.profiler": "ProfilerActivity _profiler_enabled kineto_available",
    "adjoint.autograd.variable": "Variable",
    "adjoint.transforms.custom_functions.custom": "custom",
}
__getattr__ = _LateAttributes(
    __name__, dict.fromkeys(_MODULES.split(), "") | _by_name(_HELD), missing=_AttributeOf("adjoint.autograd")
)
__dir__ = __getattr__.list_names


class _Package(_ModuleType):
    """This package, in which `gradcheck` is the function: the import system would put the module of that name there."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "gradcheck" and isinstance(value, _ModuleType):
            value = value.gradcheck
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
