"""Custom functions with derivatives of their own."""

from adjoint.transforms.context import BackwardCFunction, FunctionCtx
from adjoint.transforms.function import (
    Function,
    FunctionMeta,
    InplaceFunction,
    NestedIOFunction,
    once_differentiable,
)

_ContextMethodMixin = FunctionCtx  # its older name

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]
