"""Arrays of a device while a function is recorded: each has a twin in main memory, and the function runs on the twins.

A recording identifies memory by the addresses of NumPy arrays. So a function of CuPy arrays is recorded on copies: one
copy for each piece of memory, with the same views. At the end, written and new arrays are copied to the device.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy

from adjoint.arrays.namespace import namespace
from adjoint.compilation.recordings.outlines import root_of


class Twins:
    """The arrays of one device and their twins.

    device: the device. arrays: the arrays known at the beginning; some may share memory.
    """

    def __init__(self, device: Any, arrays: Sequence[Any]) -> None:
        self.device = device
        self.cupy = sys.modules["cupy"]
        self.xp = namespace(arrays[0])
        #: By id: for each array the twin, and for each twin the array; both are held.
        self._hosts: dict[int, Any] = {}
        self._arrays: dict[int, Any] = {}
        self._references: list[Any] = []
        #: The copies of the device's memory, as (array of the device, twin), by the id of the twin.
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._changed_hosts: set[int] = set()
        #: The arrays copied to the device at the end, by the id of the owner in main memory.
        self._new_memory: dict[int, Any] = {}
        for piece in pieces_of(arrays):
            self._copy(piece)

    def _copy(self, arrays: list[Any]) -> None:
        """Copy a piece of memory that some arrays share."""
        first = arrays[0]
        if all(map(is_one_row, arrays)) and len({(bounds_of(array), array.dtype) for array in arrays}) == 1:
            memory, host = first, first.get()
            for array in arrays:
                self._pair(array, host if array is first else host.reshape(array.shape))
        else:
            low = min(bounds_of(array)[0] for array in arrays)
            n_bytes = max(bounds_of(array)[1] for array in arrays) - low
            shift = low - first.data.ptr
            memory = self.cupy.ndarray((n_bytes,), numpy.uint8, memptr=first.data + shift)
            host = memory.get()
            for array in arrays:
                offset = array.data.ptr - low
                self._pair(array, numpy.ndarray(array.shape, array.dtype, host, offset, array.strides))
        self._copies[id(host)] = memory, host

    def _pair(self, array: Any, host: Any) -> None:
        self._hosts[id(array)], self._arrays[id(host)] = host, array
        self._references += [array, host]

    def host_of(self, array: Any) -> Any:
        """The twin of an array."""
        if id(array) not in self._hosts:
            self._copy([array])
        return self._hosts[id(array)]

    def forget(self) -> None:
        """Let go of all arrays."""
        for parts in (self._hosts, self._arrays, self._references, self._copies, self._new_memory):
            parts.clear()

    def note_write(self, host: Any) -> None:
        """Note that a twin, or a view of one, is written."""
        self._changed_hosts.add(id(root_of(host)))

    def write_back(self) -> None:
        """Copy modified arrays to the device."""
        for number in self._changed_hosts & self._copies.keys():
            memory, host = self._copies[number]
            memory[...] = self.cupy.asarray(host)
        self._changed_hosts.clear()

    def on_device(self, host: Any) -> Any:
        """The device array of a twin; for a new array of the function, a device copy with its layout."""
        array = self._arrays.get(id(host))
        if array is not None:
            return array
        owner = root_of(host)
        offset = host.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        if id(owner) in self._copies:
            memory = self._copies[id(owner)][0]
        else:
            memory = self._new_memory.get(id(owner))
            if memory is None:
                with self.cupy.cuda.Device(self.device.index):
                    memory = self.cupy.asarray(owner)
                self._new_memory[id(owner)] = memory
                self._references.append(owner)
        if host is owner and memory.strides == host.strides:
            array = memory
        else:
            array = self.cupy.ndarray(host.shape, host.dtype, memptr=memory.data + offset, strides=host.strides)
        self._pair(array, host)
        return array


def is_one_row(array: Any) -> bool:
    """True for an array whose elements lie in the order of rows without gaps."""
    return bool(array.flags.c_contiguous)


def bounds_of(array: Any) -> tuple[int, int]:
    """The first address of an array's elements and the address after the last."""
    low = high = int(array.data.ptr)
    if 0 in array.shape:
        return low, low
    for n, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, (n - 1) * stride), high + max(0, (n - 1) * stride)
    return low, high + array.itemsize


def pieces_of(arrays: Sequence[Any]) -> list[list[Any]]:
    """The arrays in groups that share memory."""
    unique = {id(array): array for array in arrays}.values()
    pieces: list[list[Any]] = []
    end = -1
    for array in sorted(unique, key=lambda array: bounds_of(array)):
        low, high = bounds_of(array)
        if low < end:
            pieces[-1].append(array)
        else:
            pieces.append([array])
        end = max(end, high)
    return pieces
