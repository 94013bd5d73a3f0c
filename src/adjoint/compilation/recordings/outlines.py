"""Outlines: they replace large arrays in the steps of a recording, so that the memory can be freed.

A recording identifies pieces of memory by their addresses, so all arrays in its steps would have to live until its end.
An outline has the shape, strides and dtype of an array, at an unused address. The array itself lives as long as the
function needs it. The elements of an outline must not be read.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from adjoint.program.plain_region import Memory

#: Arrays of so many bytes get outlines.
LARGE = 1 << 16
#: The first address of outlines, beyond any processor's memory, and the alignment of their addresses.
FIRST, ALIGNMENT = 1 << 62, 1 << 12


class Outlines:
    """The outlines of the arrays that own memory.

    An array gets an outline only if a step made it from memory of the caller or from an array with an outline. Any
    other array may be a constant, whose values are read.
    """

    def __init__(self) -> None:
        self._next = FIRST
        #: By the id of an owner: a reference to it, its outline as bytes, and the lowest address of its elements.
        self._of: dict[int, tuple[weakref.ref[Any], Any, int]] = {}
        #: The ids of the owners of the caller's memory.
        self._callers: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._of)

    def note_caller(self, array: Any) -> None:
        """Note that an array lies in memory of the caller, who holds it as long as the recording lasts."""
        self._callers.add(id(root_of(array)))

    def add(self, arrays: Sequence[Any], sources: Sequence[Any]) -> None:
        """Give outlines to large arrays that a step made from sources.

        A result in the memory of a source is not new: earlier steps have the array itself.
        """
        owners = [root_of(array) for array in arrays]
        large = [owner for owner in owners if owner.nbytes >= LARGE and id(owner) not in self._of]
        if not large:
            return
        source_ids = {id(root_of(source)) for source in sources}
        new = [owner for owner in large if id(owner) not in source_ids]
        if new and any(number in self._of or number in self._callers for number in source_ids):
            for owner in new:
                if owner.base is None and not owner.dtype.hasobject and id(owner) not in self._callers:
                    self._add(owner)

    def _add(self, owner: Any) -> None:
        low = min_address(owner)
        begin = self._next + low % ALIGNMENT
        self._next += -(-(owner.nbytes + ALIGNMENT) // ALIGNMENT) * ALIGNMENT
        outline = numpy.asarray(Memory(None, begin, numpy.dtype(numpy.uint8), (owner.nbytes,), (1,)))
        number = id(owner)
        self._of[number] = weakref.ref(owner, lambda _: self._of.pop(number, None)), outline, low

    def of(self, array: Any) -> Any:
        """The outline of an array; the array itself where it has none."""
        entry = self._of.get(id(root_of(array)))
        if entry is None:
            return array
        _, outline, low = entry
        offset = array.__array_interface__["data"][0] - low
        return numpy.ndarray(array.shape, array.dtype, outline, offset, array.strides)

    def of_all(self, tree: Any) -> Any:
        """A tree of arguments with the outlines of its arrays."""
        return with_arrays(tree, self.of) if self._of else tree


def is_outline(address: int) -> bool:
    """True for the address of an outline."""
    return address >= FIRST


def root_of(array: Any) -> Any:
    """The array that owns the memory of a NumPy array."""
    while type(array.base) is numpy.ndarray:
        array = array.base
    return array


def min_address(array: Any) -> int:
    """The lowest address of an array's elements."""
    first = array.__array_interface__["data"][0]
    return int(first + sum([(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0 and n]))


def with_arrays(tree: Any, function: Callable[[Any], Any]) -> Any:
    """A tree of arguments with the arrays replaced."""
    kind = type(tree)
    if kind is numpy.ndarray:
        return function(tree)
    if kind is tuple or kind is list:
        return kind([with_arrays(member, function) for member in tree])
    if kind is dict:
        return {key: with_arrays(member, function) for key, member in tree.items()}
    if kind is slice:
        return slice(*[with_arrays(part, function) for part in (tree.start, tree.stop, tree.step)])
    return tree
