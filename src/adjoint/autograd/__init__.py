"""Automatic differentiation: `backward`, `grad` and what belongs to them, under torch.autograd's names."""

from adjoint.core.grad_mode import enable_grad, no_grad, set_grad_enabled
from adjoint.tensor.differentiate import backward, grad

from . import forward_ad, functional, grad_mode, graph

__all__ = [
    "backward",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "graph",
    "no_grad",
    "set_grad_enabled",
]
