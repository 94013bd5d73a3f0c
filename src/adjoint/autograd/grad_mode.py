"""Switching recording on and off."""

from adjoint.core.modes.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from adjoint.core.modes.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
