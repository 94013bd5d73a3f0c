"""Forward mode: dual levels and dual tensors."""

from adjoint.transforms.forward_ad import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    is_fwd_grad_enabled,
    make_dual,
    set_fwd_grad_enabled,
    unpack_dual,
)

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "is_fwd_grad_enabled",
    "make_dual",
    "set_fwd_grad_enabled",
    "unpack_dual",
]

# torch has these two under private names only
_is_fwd_grad_enabled = is_fwd_grad_enabled
_set_fwd_grad_enabled = set_fwd_grad_enabled
