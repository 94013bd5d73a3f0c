"""Derivatives of functions as functions, under torch.func's names."""

from adjoint.transforms.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    vjp,
)
from adjoint.transforms.vmap import vmap

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "vjp",
    "vmap",
]
