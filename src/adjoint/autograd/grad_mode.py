"""Switching recording on and off."""

from adjoint.core.grad_mode import enable_grad, no_grad, set_grad_enabled

__all__ = ["enable_grad", "no_grad", "set_grad_enabled"]
