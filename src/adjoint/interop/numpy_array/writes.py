"""Writing to elements as NumPy does: views see the new values, and derivatives stay right.

Operations save the values that their derivatives need. So memory that is written to belongs to a `Memory`, and
operations read a clone of it. Further reads share this clone until the next write. The memory of arguments and of
results of operations has no `Memory` yet. An array in it is cloned before its first write, together with all arrays
that share the memory.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from adjoint.core.graph import TensorBase, replay_view
from adjoint.interop.numpy_array.base import ArrayHolder
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: Entries of a base Tensor's `__dict__`: its `Memory`, and the arrays that share it, {id: weak reference}.
_MEMORY, _SHARED = "_numpy_array_memory", "_numpy_array_shared"


class Memory:
    """Memory that can be written to. snapshot: its values, as operations may save them, until the next write.

    is_exposed: others know the memory, as a plain array or a pointer, and may write to it unseen: each read is a clone
    of its own.
    """

    __slots__ = ("is_exposed", "snapshot")

    #: True once there is any: operands are looked at only then.
    exists = False

    def __init__(self) -> None:
        self.snapshot: Tensor | None = None
        self.is_exposed = False
        Memory.exists = True


def base_of(tensor: Tensor) -> Tensor:
    """The Tensor that owns the memory."""
    view = tensor._view  # type: ignore[attr-defined]
    return tensor if view is None else view.base


def memory_of(tensor: Tensor) -> Memory | None:
    """The `Memory` of a Tensor that can be written to."""
    return base_of(tensor).__dict__.get(_MEMORY) if Memory.exists else None


def expose(tensor: Tensor) -> None:
    """Note that others get to know the memory of a Tensor."""
    memory = memory_of(tensor)
    if memory is not None:
        memory.snapshot, memory.is_exposed = None, True


def make_writable(tensor: Tensor) -> Tensor:
    """Let a new Tensor, whose memory nobody else knows, be written to."""
    tensor.__dict__[_MEMORY] = Memory()
    return tensor


def note_views(results: Any, sources: Any) -> None:
    """Note which arrays share memory: results of an operation, and the arrays that it was called with."""
    for result in results if isinstance(results, (list, tuple)) else (results,):
        if not isinstance(result, ArrayHolder):
            continue
        base = base_of(result._tensor)
        for source in sources:
            if source is not result and isinstance(source, ArrayHolder) and base_of(source._tensor) is base:
                shared = base.__dict__.setdefault(_SHARED, {})
                shared[id(result)] = weakref.ref(result)
                shared[id(source)] = weakref.ref(source)


def to_read(value: Any, clones: list[Tensor] | None = None) -> Any:
    """The Tensor of an array in a form that an operation may save. Other objects unchanged.

    clones: a record of Tensors that represent writable memory.
    """
    if not isinstance(value, ArrayHolder):
        return value
    tensor = value._tensor
    memory = memory_of(tensor)
    if memory is None:
        return tensor
    base = base_of(tensor)
    if memory.is_exposed:
        clone = ops.clone(tensor)
    elif base is tensor:
        if memory.snapshot is None:
            memory.snapshot = ops.clone(base)
        clone = memory.snapshot
    elif memory.snapshot is not None:
        clone = replay_view(tensor._view.replay, memory.snapshot)  # type: ignore[attr-defined]
    else:
        clone = ops.clone(tensor)
    if clones is not None:
        clones.append(clone)
    return clone


def to_write(array: ArrayHolder) -> Tensor:
    """The Tensor of an array that is about to be written to, in memory of its own."""
    memory = memory_of(array._tensor)
    if memory is None:
        _take_over(array)
    else:
        memory.snapshot = None
    return array._tensor


def _take_over(array: ArrayHolder) -> None:
    """Give an array, and all that share its memory, memory of their own."""
    base = base_of(array._tensor)
    shared = [live for reference in base.__dict__.pop(_SHARED, {}).values() if (live := reference()) is not None]
    if not any(live is array for live in shared):
        shared.append(array)
    copy = make_writable(ops.clone(base))
    for live in shared:
        view = live._tensor._view
        live._tensor = copy if view is None else replay_view(view.replay, copy)
    copy.__dict__[_SHARED] = {id(live): weakref.ref(live) for live in shared}


def has_view(result: Any, tensors: list[Tensor]) -> bool:
    """Whether a result is one of these Tensors or a view of one."""
    if isinstance(result, (list, tuple)):
        return any(has_view(part, tensors) for part in result)
    if not isinstance(result, TensorBase):
        return False
    base = base_of(result)  # type: ignore[arg-type]
    return any(base is base_of(tensor) for tensor in tensors)
