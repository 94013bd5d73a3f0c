"""Derivatives of functions as functions, under torch.func's names."""

import typing as _typing

from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf
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
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "rearrange",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
