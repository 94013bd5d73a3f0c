"""Volatile tensors, as PyTorch had them before no_grad: what is computed from one is volatile and keeps no history.

Each is counted, and while there are any, operations look for them among their arguments.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from adjoint.core.graph import TensorBase, registry
from adjoint.core.modes import ADD, SET, ModeBlock, count_volatile, current

DEPRECATED = "volatile is deprecated. Use `with adjoint.no_grad():` instead."


def is_volatile(tensor: Any) -> bool:
    """True for a volatile tensor."""
    return "_volatile" in tensor.__dict__


def make_volatile(tensor: Any, on: bool = True) -> None:
    """Let a tensor be volatile, or not any more."""
    if on and not is_volatile(tensor):
        count_volatile(1)
        finalizer = weakref.finalize(tensor, count_volatile, -1)
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


def volatile_apply(operation: Any, values: list[Any]) -> Any:
    """An operation on volatile tensors, not recorded; None if there are none among its arguments."""
    if not among(values):
        return None
    with _Unwatched():
        result = operation.apply(list(values))
    for tensor in result if isinstance(result, tuple) else (result,):
        make_volatile(tensor)
    return result


def volatile_in_place(operation: Any, values: list[Any]) -> bool:
    """An operation in place with volatile arguments; its tensor loses its history.

    False if there are none, and for a leaf that requires grad, which is written to under no_grad and stays what it is.
    """
    tensor = values[0]
    if not among(values) or (tensor.requires_grad and tensor.is_leaf):
        return False
    with _Unwatched():
        operation.run_in_place(list(values))
    if tensor._view is None:
        tensor._node = None
    make_volatile(tensor)
    return True


def volatile_function(run: Any) -> Any:
    """What `run` returns, a custom function's outputs and more, with volatile arguments: not recorded."""
    with _Unwatched():
        node, outputs, single = run()
    for output in outputs:
        if isinstance(output, TensorBase):
            make_volatile(output)
    return node, outputs, single


registry.volatile_apply = volatile_apply
registry.volatile_in_place = volatile_in_place
