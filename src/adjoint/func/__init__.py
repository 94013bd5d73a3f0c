"""Derivatives of functions as functions, under torch.func's names."""

import typing as _typing

from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.transforms.batching.vmap import vmap
from adjoint.transforms.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from adjoint.transforms.rearrange import rearrange
from adjoint.transforms.stateless import functional_call, stack_module_state
from adjoint.transforms.unwrapped import debug_unwrap, functionalize

__all__ = [
    "debug_unwrap",
    "fisher",
    "functional_call",
    "functionalize",
    "ggn",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jvp",
    "laplacian",
    "linear_transpose",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "taylor",
    "value_and_grad",
    "vjp",
    "vmap",
]

_LATE = dict.fromkeys(("fisher", "ggn", "hvp", "laplacian"), "adjoint.transforms.curvature")
_LATE |= dict.fromkeys(("jet", "taylor"), "adjoint.transforms.jets")
_LATE |= {"replace_all_batch_norm_modules_": "adjoint.nn.modules.batchnorm"}
if _typing.TYPE_CHECKING:
    from adjoint.nn.modules.batchnorm import replace_all_batch_norm_modules_
    from adjoint.transforms.curvature import fisher, ggn, hvp, laplacian
    from adjoint.transforms.jets import jet, taylor
else:
    __getattr__ = _LateAttributes(__name__, _LATE, missing=_AttributeOf(__name__))
    __dir__ = __getattr__.list_names
