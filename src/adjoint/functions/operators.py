"""Python's operators on Tensors, which `binding` attaches when the first of them is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.core.operations.naming import known_by
from adjoint.functions.index import getitem, setitem
from adjoint.tensor.arithmetic import bind_operators, is_fast, make_operator, with_name
from adjoint.tensor.table import operations
from adjoint.tensor.tensor import Tensor

# comparisons are operations under other names than Python's
_COMPARISONS = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
_LOGICAL = {"bitwise_and": "__and__", "bitwise_or": "__or__", "bitwise_xor": "__xor__"}
_REFLECTED = {"bitwise_and": "__rand__", "bitwise_or": "__ror__", "bitwise_xor": "__rxor__"}
_SHIFTS = {"bitwise_left_shift": "__lshift__", "bitwise_right_shift": "__rshift__"}
_REFLECTED_SHIFTS = {"bitwise_left_shift": "__rlshift__", "bitwise_right_shift": "__rrshift__"}
# `a @= b` has no method: Python makes a new tensor, as the shape may change
_IN_PLACE = {
    "add_": "__iadd__", "sub_": "__isub__", "mul_": "__imul__", "div_": "__itruediv__", "pow_": "__ipow__",
    "remainder_": "__imod__", "floor_divide_": "__ifloordiv__", "bitwise_and_": "__iand__", "bitwise_or_": "__ior__",
    "bitwise_xor_": "__ixor__", "bitwise_left_shift_": "__ilshift__", "bitwise_right_shift_": "__irshift__",
}  # fmt: skip


def special_methods() -> dict[str, Callable[..., Any]]:
    """The methods for Python's operators that the compiled base of Tensor does not have, by name."""
    methods = {}
    for table in (_COMPARISONS, _LOGICAL, _REFLECTED, _SHIFTS):
        for name, special in table.items():
            methods[special] = with_name(make_operator(operations[name]), special, f"As {name}().")
    for name, special in _REFLECTED_SHIFTS.items():
        operator = _reflect(operations[name])
        methods[special] = with_name(operator, special, f"As {name}(), of the operands exchanged.")
    for name, special in _IN_PLACE.items():
        methods[special] = with_name(_inplace_operator(getattr(Tensor, name)), special, f"As {name}().")
    for function, special in ((getitem, "__getitem__"), (setitem, "__setitem__")):
        methods[special] = known_by(function, "adjoint", f"Tensor.{special}")
    return methods


def _reflect(operation: Callable[..., Any]) -> Callable[..., Any]:
    """A method for an operator with the tensor on the right."""

    def operator(self: Tensor, other: object) -> Any:
        return operation(other, self) if is_fast(other) else NotImplemented

    return operator


def _inplace_operator(method: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Tensor, other: object) -> Any:
        return method(self, other) if is_fast(other) else NotImplemented

    return operator


bind_operators(operations)
#: Made when this module is imported, outside of any lock.
SPECIAL = special_methods()
