"""Memory that forked children share with their parent, and memory that a device reads at full speed."""

from __future__ import annotations

import importlib
import mmap
from collections.abc import Iterator
from typing import Any

import numpy

from adjoint.arrays.size import cuda_is_available


class SharedMemory(mmap.mmap):
    """Pages that belong to a process and to all that it forks."""


def shared_bytes(size: int) -> numpy.ndarray[Any, Any]:
    """New shared memory, zeroed, as an array of bytes.

    >>> is_shared(shared_bytes(4)), is_shared(numpy.zeros(4))
    (True, False)
    """
    # pages cannot be none
    return numpy.frombuffer(SharedMemory(-1, max(size, 1)), numpy.uint8)[:size]


class Pinned:
    """Marks pinned memory: the last owner of an array in it has this type."""

    def __init__(self, memory: Any, size: int) -> None:
        self.memory = memory
        address = numpy.frombuffer(memory, numpy.uint8, max(size, 1)).__array_interface__["data"]
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "version": 3, "data": address}


def pinned_bytes(size: int) -> numpy.ndarray[Any, Any]:
    """New memory that the system never moves, as an array of bytes; needs CuPy and a device.

    Raises RuntimeError without a device.
    """
    if not cuda_is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return numpy.asarray(Pinned(importlib.import_module("cupy").cuda.alloc_pinned_memory(max(size, 1)), size))


def pin(array: Any) -> Any:
    """A copy of an array in pinned memory, with its strides unless elements overlap or lie in reverse.

    Raises RuntimeError without a device.
    """
    steps = [(n, step) for n, step in zip(array.shape, array.strides, strict=True) if n > 1]
    if array.size == 0 or any(step <= 0 for _, step in steps):
        copy = pinned_bytes(array.nbytes).view(array.dtype).reshape(array.shape)
    else:
        size = array.itemsize + sum((n - 1) * step for n, step in steps)
        copy = numpy.ndarray(array.shape, array.dtype, pinned_bytes(size), 0, array.strides)
    copy[...] = array
    return copy


def owners(array: Any) -> Iterator[Any]:
    """An array and the owners of its memory, one after the other."""
    while array is not None:
        yield array
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)


def is_shared(array: Any) -> bool:
    """True if an array lies in memory of `shared_bytes`."""
    return any(isinstance(owner, SharedMemory) for owner in owners(array))


def is_pinned(array: Any) -> bool:
    """True if an array lies in memory of `pinned_bytes`."""
    return any(isinstance(owner, Pinned) for owner in owners(array))
