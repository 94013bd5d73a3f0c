"""Forward mode: dual levels and dual tensors."""

from adjoint.transforms.forward_ad import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    set_fwd_grad_enabled,
    unpack_dual,
)
from adjoint.transforms.forward_ad import (
    _is_fwd_grad_enabled as _is_fwd_grad_enabled,
)
from adjoint.transforms.forward_ad import (
    _set_fwd_grad_enabled as _set_fwd_grad_enabled,
)

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "set_fwd_grad_enabled",
    "unpack_dual",
]
