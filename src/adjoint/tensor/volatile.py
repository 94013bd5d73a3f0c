"""Volatile tensors, as PyTorch had them before no_grad: what is computed from one is volatile and keeps no history.

Each is counted, and while there are any, operations look for them among their arguments.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from adjoint.core.graph import TensorBase
from adjoint.core.interceptors import VOLATILE, Interceptor
from adjoint.core.modes import ADD, SET, ModeBlock, count_volatile, current

DEPRECATED = "volatile is deprecated. Use `with adjoint.no_grad():` instead."


def is_volatile(tensor: Any) -> bool:
    """True for a volatile tensor."""
    return "_volatile" in tensor.__dict__


def make_volatile(tensor: Any, on: bool = True) -> None:
    """Let a tensor be volatile, or not any more."""
    if on and not is_volatile(tensor):
        count_volatile(1, _VOLATILE_TENSORS)
        finalizer = weakref.finalize(tensor, count_volatile, -1, _VOLATILE_TENSORS)
        finalizer.atexit = False
        tensor.__dict__["_volatile"] = finalizer
    elif not on and is_volatile(tensor):
        tensor.__dict__.pop("_volatile")()


def get_volatile(tensor: Any) -> bool:
    """The attribute `volatile`."""
    warnings.warn(DEPRECATED, stacklevel=3)
    return is_volatile(tensor)


def set_volatile(tensor: Any, value: bool) -> None:
    """Set the attribute `volatile`. Raises RuntimeError for a tensor that an operation made."""
    warnings.warn(DEPRECATED, stacklevel=3)
    if not tensor.is_leaf:
        raise RuntimeError("volatile can be changed only on leaf tensors; use detach() first")
    if value:
        tensor.requires_grad = False
    make_volatile(tensor, bool(value))


def among(values: Any) -> bool:
    """True if one of these arguments, or a member of a sequence among them, is volatile."""
    for value in values:
        if isinstance(value, TensorBase):
            if is_volatile(value):
                return True
        elif isinstance(value, (tuple, list)) and among(value):
            return True
    return False


class _Unwatched(ModeBlock):
    """A block in which nothing is recorded, and volatile arguments are not looked for."""

    def changes(self) -> Any:
        return (SET, "grad_enabled", False), (ADD, "volatile", -current().volatile)


class VolatileTensors(Interceptor):
    """Looks for volatile tensors among the arguments of operations."""

    def __init__(self) -> None:
        super().__init__(VOLATILE)

    def operation(self, operation: Any, values: list[Any]) -> Any:
        """An operation, which is not recorded if there are any; its results are volatile then."""
        if not current().volatile or not among(values):
            return operation.proceed(values, self.place)
        with _Unwatched():
            result = operation.proceed(values, self.place)
        for tensor in result if isinstance(result, tuple) else (result,):
            make_volatile(tensor)
        return result

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        """An operation in place; its tensor loses its history and is volatile if there are any.

        A leaf that requires grad is written to under no_grad and stays what it is.
        """
        tensor = values[0]
        if not current().volatile or not among(values) or (tensor.requires_grad and tensor.is_leaf):
            return operation.proceed_in_place(values, self.place)
        with _Unwatched():
            operation.proceed_in_place(values, self.place)
        if tensor._view is None:
            tensor._node = None
        make_volatile(tensor)
        return tensor


def volatile_function(run: Any) -> Any:
    """What `run` returns, a custom function's outputs and more, with volatile arguments: not recorded."""
    with _Unwatched():
        node, outputs, single = run()
    for output in outputs:
        if isinstance(output, TensorBase):
            make_volatile(output)
    return node, outputs, single


_VOLATILE_TENSORS = VolatileTensors()
