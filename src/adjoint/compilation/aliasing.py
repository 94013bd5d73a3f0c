"""Shared memory among the caller's arrays: a program holds only if they share memory as in the recording."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from operator import is_
from typing import Any

import numpy

from adjoint.arrays.namespace import namespace
from adjoint.compilation.programs.views import View, byte_bounds, extent


class Aliasing:
    """The pairs of external arrays whose memory relation a program depends on.

    Pairs in one piece of memory must keep their distance in bytes. Pairs without shared memory, one of them written,
    must stay apart. Pairs of Tensors that the function sees are compared again only if their memory changed.
    """

    def __init__(self, views: list[View], arrays: list[Any], n_written: set[int], arguments: set[int]) -> None:
        self._visible = [k for k in range(len(views)) if k not in arguments]
        self._last = [arrays[k] for k in self._visible]
        #: Distances, by whether an argument is one of the pair.
        self._distances: dict[bool, list[tuple[int, int, int]]] = {True: [], False: []}
        self._apart: set[tuple[int, int]] = set()
        self._has_arguments_apart = False
        for i, j in combinations(range(len(views)), 2):
            first, second = views[i].buffer, views[j].buffer
            has_argument = i in arguments or j in arguments
            if first is second:
                self._distances[has_argument].append((i, j, views[j].offset - views[i].offset))
            elif first.number in n_written or second.number in n_written:
                self._apart.add((i, j))
                self._has_arguments_apart |= has_argument

    def __bool__(self) -> bool:
        """True if there is something to compare."""
        return bool(self._apart) or any(self._distances.values())

    def holds(self, arrays: list[Any]) -> bool:
        """True if these arrays share memory as in the recording."""
        if not all(address(arrays[j]) - address(arrays[i]) == n for i, j, n in self._distances[True]):
            return False
        visible = [arrays[k] for k in self._visible]
        is_same = all(map(is_, visible, self._last))
        if is_same and not self._has_arguments_apart:
            return True
        if not is_same and not all(address(arrays[j]) - address(arrays[i]) == n for i, j, n in self._distances[False]):
            return False
        if any(share_memory(arrays[i], arrays[j]) for i, j in self._apart.intersection(overlaps(arrays))):
            return False
        self._last = visible
        return True


def overlaps(arrays: list[Any]) -> Iterator[tuple[int, int]]:
    """The pairs of arrays, as numbers in order, whose first and last bytes enclose some address both."""
    ends = sorted([(*bounds_of(array), k) for k, array in enumerate(arrays)])
    before: list[tuple[int, int]] = []
    for low, high, k in ends:
        before = [(end, other) for end, other in before if end > low]
        for _, other in before:
            yield (other, k) if other < k else (k, other)
        if high > low:
            before.append((high, k))


def bounds_of(array: Any) -> tuple[int, int]:
    """The address of the first byte of an array's elements, and the address behind the last."""
    if type(array) is numpy.ndarray:
        return byte_bounds(array)
    first = address(array)
    low, high = extent(tuple(array.shape), tuple(array.strides), array.dtype.itemsize)
    return first + low, first + high


def share_memory(first: Any, second: Any) -> bool:
    """True if two arrays of one library may have an element in common."""
    return type(first) is type(second) and bool(namespace(first).may_share_memory(first, second))


def address(array: Any) -> int:
    """The address of an array's first element."""
    if type(array) is numpy.ndarray:
        return int(array.__array_interface__["data"][0])
    return int(namespace(array).address(array))
