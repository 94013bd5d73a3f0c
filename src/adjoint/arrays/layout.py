"""How elements lie in memory: `memory_format` and `layout`, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.arrays.kernels.products_and_sums import address_of
from adjoint.arrays.size import printed, type_name


class memory_format:
    """An order of the axes in memory, from the longest stride to the shortest.

    The four objects of this class are `contiguous_format`, `preserve_format`, `channels_last` and `channels_last_3d`.

    >>> import adjoint
    >>> adjoint.ones(1, 2, 3, 3).contiguous(memory_format=adjoint.channels_last).stride()
    (18, 1, 6, 2)
    """

    __slots__ = ("name", "order")

    #: The axes, from the longest stride to the shortest; None for row-major order and for the input's order.
    order: tuple[int, ...] | None
    name: str

    def __init__(self) -> None:
        raise TypeError("cannot create 'adjoint.memory_format' instances")

    def order_for(self, ndim: int) -> tuple[int, ...] | None:
        """The order of the axes for arrays with this number of axes.

        Raises RuntimeError for a number of axes that the format does not have.
        """
        if self.order is not None and len(self.order) != ndim:
            raise RuntimeError(f"required rank {len(self.order)} tensor to use {self.name} format")
        return self.order

    def __repr__(self) -> str:
        return f"{printed.module}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


def _format(name: str, order: tuple[int, ...] | None = None) -> memory_format:
    result: memory_format = object.__new__(memory_format)
    result.name, result.order = name, order
    return result


contiguous_format = _format("contiguous_format")
preserve_format = _format("preserve_format")
channels_last = _format("channels_last", (0, 2, 3, 1))
channels_last_3d = _format("channels_last_3d", (0, 2, 3, 4, 1))


def as_memory_format(value: Any, function: str) -> memory_format:
    """Convert an argument; None means preserve_format. Raises TypeError for other objects."""
    if value is None:
        return preserve_format
    if not isinstance(value, memory_format):
        raise TypeError(f"{function}(): argument 'memory_format' must be adjoint.memory_format, not {type_name(value)}")
    return value


def strides_in(shape: tuple[int, ...], format: memory_format) -> tuple[int, ...] | None:
    """The strides, in elements, of a tensor laid out so; None for row by row.

    Raises RuntimeError for another number of axes than the format is for.

    >>> strides_in((1, 2, 3, 4), channels_last)
    (24, 1, 8, 2)
    """
    order = format.order_for(len(shape))
    if order is None:
        return None
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def lies_so(shape: tuple[int, ...], strides: tuple[int, ...], format: memory_format) -> bool:
    """True if strides, in elements, have this format; strides of axes of length 1 are ignored.

    >>> lies_so((1, 2, 3, 4), (24, 1, 8, 2), channels_last)
    True
    """
    if format.order is None or len(shape) != len(format.order):
        return False
    expected = strides_in(shape, format) or ()
    return all(n == 1 or a == b for n, a, b in zip(shape, strides, expected, strict=True))


class layout:
    """The kind of storage of a tensor: `strided`, `sparse_coo`, or one of the compressed ones.

    These are `sparse_csr` and `sparse_csc`, and with blocks `sparse_bsr` and `sparse_bsc`.

    >>> import adjoint
    >>> adjoint.ones(2).layout
    adjoint.strided
    """

    __slots__ = ("by_columns", "has_blocks", "is_compressed", "kind", "name")

    name: str
    #: The name in messages.
    kind: str
    is_compressed: bool
    by_columns: bool
    has_blocks: bool

    def __init__(self) -> None:
        raise TypeError("cannot create 'adjoint.layout' instances")

    def __repr__(self) -> str:
        return f"{printed.module}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


def _layout(name: str, kind: str) -> layout:
    result: layout = object.__new__(layout)
    result.name, result.kind = name, kind
    result.is_compressed = name[-3:] in ("csr", "csc", "bsr", "bsc")
    result.by_columns, result.has_blocks = name.endswith("sc"), "_bs" in name
    return result


strided = _layout("strided", "Strided")
sparse_coo = _layout("sparse_coo", "Sparse")
sparse_csr = _layout("sparse_csr", "SparseCsr")
sparse_csc = _layout("sparse_csc", "SparseCsc")
sparse_bsr = _layout("sparse_bsr", "SparseBsr")
sparse_bsc = _layout("sparse_bsc", "SparseBsc")
SPARSE_LAYOUTS = (sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


def deep_copy(array: Any, memo: dict[Any, Any]) -> Any:
    """A copy for copy.deepcopy: of the memory as a whole, once for all arrays that look into it, with its strides.

    >>> import numpy
    >>> base = numpy.arange(6.0).reshape(2, 3)
    >>> memo = {}
    >>> twin, part = deep_copy(base.T, memo), deep_copy(base[1], memo)
    >>> twin.strides == base.T.strides, numpy.shares_memory(twin, part)
    (True, True)
    """
    if type(array) is not numpy.ndarray:
        return array.copy()
    owner = array
    while type(owner.base) is numpy.ndarray:
        owner = owner.base
    key = "memory", id(owner)
    if key not in memo:
        twin = owner.copy(order="K")
        # the owner is held too: otherwise a new array could get the same id
        memo[key] = twin.ravel(order="K"), owner, twin.strides == owner.strides
    flat, _, alike = memo[key]
    if not alike:
        return array.copy(order="K")
    offset = address_of(array) - address_of(owner)
    return numpy.ndarray(array.shape, array.dtype, flat, offset, array.strides)
