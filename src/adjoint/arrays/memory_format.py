"""How the axes of a tensor lie in memory, by torch's names."""

from __future__ import annotations


class memory_format:
    """An order of axes in memory: contiguous (row by row), channels_last (2 or 3 spatial axes), or preserved."""

    __slots__ = ("_name", "_ndim")

    _name: str
    _ndim: int | None

    def __init__(self, name: str, ndim: int | None = None) -> None:
        self._name = name
        self._ndim = ndim

    def __repr__(self) -> str:
        return f"adjoint.{self._name}"

    def __reduce__(self) -> str:
        return self._name


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", 4)
channels_last_3d = memory_format("channels_last_3d", 5)


def strides_in(shape: tuple[int, ...], layout: memory_format) -> tuple[int, ...] | None:
    """The strides, in elements, of a tensor laid out so; None for row by row.

    Raises RuntimeError for another number of axes than the format is for.

    >>> strides_in((1, 2, 3, 4), channels_last)
    (24, 1, 8, 2)
    """
    if layout._ndim is None:
        return None
    if len(shape) != layout._ndim:
        raise RuntimeError(f"required rank {layout._ndim} tensor to use {layout._name} format")
    strides = [0] * len(shape)
    step = 1
    for axis in (1, *range(len(shape) - 1, 1, -1), 0):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def lies_so(shape: tuple[int, ...], strides: tuple[int, ...], layout: memory_format) -> bool:
    """True if strides, in elements, are those of this format; lengths of 1 do not matter.

    >>> lies_so((1, 2, 3, 4), (24, 1, 8, 2), channels_last)
    True
    """
    if len(shape) != layout._ndim:
        return False
    wanted = strides_in(shape, layout) or ()
    return all(n == 1 or a == b for n, a, b in zip(shape, strides, wanted, strict=True))
