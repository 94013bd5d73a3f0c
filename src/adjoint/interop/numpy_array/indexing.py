"""NumPy's indices on Tensors: passed on where torch reads them alike, otherwise by flat numbers of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def items(index: Any) -> tuple[Any, ...]:
    """The parts of an index."""
    return index if type(index) is tuple else (index,)


def is_simple(index: Any) -> bool:
    """True for an index that NumPy and torch read alike."""
    kinds = set()
    for item in items(index):
        kind = type(item)
        if kind is numpy.ndarray:
            if item.dtype.kind not in "bi" or not item.ndim:
                return False
        elif not (kind is slice or kind is int or item is None or item is Ellipsis):
            return False
        kinds.add(kind)
    # next to arrays NumPy counts a number as one
    return numpy.ndarray not in kinds or kinds <= {numpy.ndarray, slice}


def is_basic(index: Any) -> bool:
    """True for an index of numbers and slices, which names no element twice."""
    return is_simple(index) and not any(type(item) is numpy.ndarray for item in items(index))


def numbers_of(tensor: Tensor) -> Any:
    """The numbers of a Tensor's elements, row by row."""
    return numpy.arange(tensor._array.size).reshape(tensor._array.shape)


def pick(tensor: Tensor, index: Any) -> Tensor:
    """The elements that NumPy picks, as a copy."""
    return ops.reshape(tensor, (-1,))[numbers_of(tensor)[index]]


def by_numbers(tensor: Tensor, index: Any, value: Tensor) -> tuple[Any, Tensor]:
    """An assignment as one to elements that are each named once: of several values an element gets the last one."""
    numbers = numbers_of(tensor)[index]
    flat = ops.reshape(ops.expand(value, numpy.shape(numbers)), (-1,))
    order = numpy.ravel(numbers)
    once, last = numpy.unique(order[::-1], return_index=True)
    if once.size < order.size:
        order, flat = once, flat[order.size - 1 - last]
    if not tensor.ndim:
        # an index that is False names no element: the array keeps its value
        return ..., flat[0] if order.size else ops.clone(tensor)
    return numpy.unravel_index(order, tensor._array.shape), flat
