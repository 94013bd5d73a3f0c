"""Attach what the tables declare: methods to Tensor, functions to namespaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.tensor import composites
from adjoint.tensor.arithmetic import bind_operators, make_inplace, make_method
from adjoint.tensor.composites.declare import COMPOSITES
from adjoint.tensor.table import operations
from adjoint.tensor.tensor import Tensor

#: Public functions by namespace ("" is adjoint itself) and name.
functions: dict[str, dict[str, Callable[..., Any]]] = {"": {}}

# comparisons are operations under other names than Python's
_COMPARISONS = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
_LOGICAL = {"bitwise_and": "__and__", "bitwise_or": "__or__", "bitwise_xor": "__xor__"}
_REFLECTED = {"bitwise_and": "__rand__", "bitwise_or": "__ror__", "bitwise_xor": "__rxor__"}
_UNARY = {"bitwise_not": "__invert__", "positive": "__pos__"}


def bind() -> None:
    """Fill `functions` and Tensor; called once."""
    for name, operation in operations.items():
        rule = operation.rule
        if rule.method:
            setattr(Tensor, name if rule.method is True else rule.method, make_method(operation))
        if rule.function:
            functions[""][name] = operation
        if rule.inplace:
            own = f"{name}_" if rule.inplace is True else rule.inplace
            setattr(Tensor, own, make_inplace(operation, own))
    for (namespace, name), declared in COMPOSITES.items():
        if namespace != "(method)":
            functions.setdefault(namespace, {})[name] = declared.function
        if declared.method:
            setattr(Tensor, declared.method, declared.function)
    for table in (_COMPARISONS, _LOGICAL, _UNARY):
        for name, special in table.items():
            setattr(Tensor, special, _operator(operations[name], special))
    for name, special in _REFLECTED.items():
        setattr(Tensor, special, _operator(operations[name], special))
    bind_operators(operations)


def _operator(operation: Any, special: str) -> Callable[..., Any]:
    method = make_method(operation)
    method.__name__ = special
    if special in ("__eq__", "__ne__"):
        return _equality(operation, unequal=special == "__ne__")
    return method


def _equality(operation: Any, *, unequal: bool) -> Callable[..., Any]:
    # a Tensor is not equal to what cannot be compared with numbers, as in torch
    def compare(self: Tensor, other: object) -> Any:
        if other is None or isinstance(other, (str, bytes, tuple, list, dict)):
            return NotImplemented
        return operation(self, other)

    compare.__name__ = "__ne__" if unequal else "__eq__"
    return compare


composites.load()
bind()
