"""Custom functions with derivatives of their own."""

import typing as _typing

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.transforms.custom_functions.context import BackwardCFunction, FunctionCtx
from adjoint.transforms.custom_functions.function import (
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

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
