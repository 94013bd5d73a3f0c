"""Volatile tensors, as in PyTorch before no_grad: results that depend on one are volatile and have no history.

While a volatile tensor exists, an interceptor looks for them among the arguments of all operations of all threads.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from adjoint.core.graph import TensorBase
from adjoint.core.modes.interceptors import RECORDING, Interceptor
from adjoint.core.modes.state import PUSH, SET, ModeBlock, current, intercept_everywhere

DEPRECATED = "volatile is deprecated. Use `with adjoint.no_grad():` instead."


def is_volatile(tensor: Any) -> bool:
    """True for a volatile tensor."""
    return "_volatile" in tensor.__dict__


def make_volatile(tensor: Any, on: bool = True) -> None:
    """Let a tensor be volatile, or not any more."""
    if on and not is_volatile(tensor):
        intercept_everywhere(_VOLATILE_TENSORS, 1)
        finalizer = weakref.finalize(tensor, intercept_everywhere, _VOLATILE_TENSORS, -1)
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


def demands(values: Any) -> bool:
    """True if the calling thread looks for volatile tensors, and one is among these arguments."""
    state = current()
    return bool(state.interceptors) and RECORDING not in state.bypassed and among(values)


class _without_recording(ModeBlock):
    """A block that records nothing and bypasses the search for volatile arguments."""

    def _changes(self) -> Any:
        return (SET, "grad_enabled", False), (PUSH, "bypassed", RECORDING)


class VolatileTensors(Interceptor):
    """Looks for volatile tensors among the arguments of operations."""

    def __init__(self) -> None:
        super().__init__(RECORDING)

    def operation(self, operation: Any, values: list[Any]) -> Any:
        """An operation, which is not recorded if there are any; its results are volatile then."""
        if not demands(values):
            return operation.proceed(values, self.position)
        with _without_recording():
            result = operation.proceed(values, self.position)
        for tensor in result if isinstance(result, tuple) else (result,):
            make_volatile(tensor)
        return result

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        """An operation in place; its tensor loses its history and is volatile if there are any.

        A leaf that requires grad is written to under no_grad and is not volatile.
        """
        tensor = values[0]
        if not demands(values) or (tensor.requires_grad and tensor.is_leaf):
            return operation.proceed_in_place(values, self.position)
        with _without_recording():
            operation.proceed_in_place(values, self.position)
        if tensor._view is None:
            tensor._node = None
        make_volatile(tensor)
        return tensor


def run_function(run: Any, arguments: Any) -> Any:
    """The result of `run`, a custom function's outputs and more; unrecorded if an argument is volatile."""
    if not demands(arguments):
        return run()
    with _without_recording():
        node, outputs, single = run()
    for output in outputs:
        if isinstance(output, TensorBase):
            make_volatile(output)
    return node, outputs, single


_VOLATILE_TENSORS = VolatileTensors()
