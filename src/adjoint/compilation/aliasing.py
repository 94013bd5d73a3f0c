"""Shared memory among the caller's arrays: a program holds only if they share memory as in the recording."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy

from adjoint.arrays.namespace import namespace
from adjoint.compilation.programs.views import View


class Aliasing:
    """The pairs of external arrays whose memory relation a program depends on.

    together: pairs in one piece of memory, with their distance in bytes. apart: pairs without shared memory, one of
    them written. Pairs of Tensors that the function sees are compared again only if their memory changed.
    """

    def __init__(self, views: list[View], arrays: list[Any], n_written: set[int], arguments: set[int]) -> None:
        self._visible = [k for k in range(len(views)) if k not in arguments]
        self._last = [arrays[k] for k in self._visible]
        self._pairs: dict[bool, list[tuple[int, int, int | None]]] = {True: [], False: []}
        for i, j in combinations(range(len(views)), 2):
            first, second = views[i].buffer, views[j].buffer
            has_argument = i in arguments or j in arguments
            if first is second:
                self._pairs[has_argument].append((i, j, views[j].offset - views[i].offset))
            elif first.number in n_written or second.number in n_written:
                self._pairs[has_argument].append((i, j, None))

    def __bool__(self) -> bool:
        """True if there is something to compare."""
        return any(self._pairs.values())

    def holds(self, arrays: list[Any]) -> bool:
        """True if these arrays share memory as in the recording."""
        if not all(_is_related(arrays[i], arrays[j], distance) for i, j, distance in self._pairs[True]):
            return False
        visible = [arrays[k] for k in self._visible]
        if all(map(_is, visible, self._last)):
            return True
        if not all(_is_related(arrays[i], arrays[j], distance) for i, j, distance in self._pairs[False]):
            return False
        self._last = visible
        return True


def _is(first: Any, second: Any) -> bool:
    return first is second


def _is_related(first: Any, second: Any, distance: int | None) -> bool:
    """True if one array lies at the given distance from the other, or, without a distance, shares no memory with it."""
    if distance is None:
        return type(first) is not type(second) or not namespace(first).may_share_memory(first, second)
    return bool(address(second) - address(first) == distance)


def address(array: Any) -> int:
    """The address of an array's first element."""
    if type(array) is numpy.ndarray:
        return int(array.__array_interface__["data"][0])
    return int(namespace(array).address(array))
