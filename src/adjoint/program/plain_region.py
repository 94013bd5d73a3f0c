"""The plain form of `region.py`: NumPy runs the steps of a region one by one, on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy


class CheckFailed(Exception):
    """A value or a layout that the recorded function read has changed.

    function_line: the line of the function that read it, or None.
    """

    def __init__(self, function_line: int | None = None) -> None:
        super().__init__(function_line)
        self.function_line = function_line


def byte_bounds(array: Any) -> tuple[int, int]:
    """The first address of an array's elements and the address after the last."""
    low = high = array.__array_interface__["data"][0]
    for n, stride in zip(array.shape, array.strides, strict=True):
        if n == 0:
            return low, low
        low, high = low + min(0, (n - 1) * stride), high + max(0, (n - 1) * stride)
    return low, high + array.itemsize


class Frame:
    """The memory blocks of one run."""

    def __init__(self, n: int) -> None:
        self.arrays: list[Any] = [None] * n
        self.blocks = [0] * n

    def set(self, number: int, array: Any, offset: int) -> None:
        """Let a block be the memory of an array, whose first element lies at an offset in it."""
        self.arrays[number] = array
        self.blocks[number] = array.__array_interface__["data"][0] - offset

    def drop(self, numbers: Sequence[int]) -> None:
        """Let go of the arrays of some blocks."""
        for number in numbers:
            self.arrays[number] = None


class Memory:
    """Elements at an address, in memory that another array owns."""

    def __init__(self, owner: Any, address: int, dtype: Any, shape: Any, strides: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, False), "typestr": dtype.str, "shape": shape, "strides": strides, "version": 3,
        }  # fmt: skip


class BlockView:
    """An array in a block."""

    def __init__(self, number: int, offset: int, dtype: Any, shape: Any, strides: Any) -> None:
        self.number, self.offset, self.dtype, self.shape, self.strides = number, offset, dtype, shape, strides

    def of(self, frame: Frame) -> Any:
        """The array in the memory of a frame."""
        address = frame.blocks[self.number] + self.offset
        array = numpy.asarray(Memory(frame.arrays[self.number], address, self.dtype, self.shape, self.strides))
        # a dtype with fields, as bfloat16 is one, has no name in the interface
        return array if array.dtype == self.dtype else array.view(self.dtype)


class Region:
    """Steps, each a function of the frame."""

    def __init__(self, steps: Sequence[Callable[[Frame], None]]) -> None:
        self.steps = steps

    def run(self, frame: Frame) -> None:
        """Run the steps by NumPy."""
        with numpy.errstate(all="ignore"):
            for step in self.steps:
                step(frame)


class Product:
    """A product of matrices or vectors, between regions."""

    def __init__(self, left: BlockView, right: BlockView, out: BlockView) -> None:
        self.left, self.right, self.out = left, right, out

    def run(self, frame: Frame) -> None:
        """Multiply by NumPy."""
        with numpy.errstate(all="ignore"):
            numpy.matmul(self.left.of(frame), self.right.of(frame), out=self.out.of(frame))


class Keeper:
    """Stores the result of a function in a block."""

    def __init__(self, view: BlockView, n_bytes: int) -> None:
        self.view, self.n_bytes = view, n_bytes

    def as_array(self, result: Any) -> Any:
        """The result of a function, as an array."""
        return numpy.asarray(result)

    def keep(self, frame: Frame, result: Any) -> None:
        """Keep an array, or a number; raises CheckFailed for one of another shape or dtype than recorded."""
        view, array = self.view, self.as_array(result)
        if array.shape != view.shape or array.dtype != view.dtype:
            raise CheckFailed
        if array.strides == view.strides:
            frame.set(view.number, array, view.offset)
            return
        frame.set(view.number, self.memory(), 0)
        laid_out = view.of(frame)
        laid_out[...] = array
        frame.set(view.number, laid_out, view.offset)

    def memory(self) -> Any:
        """New memory for the block."""
        return numpy.empty(self.n_bytes, numpy.uint8)


class Macro:
    """A call of a function, between regions, see `region.Macro`."""

    def __init__(
        self, function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any], keeper: Any
    ) -> None:
        self.function, self.arguments, self.keywords, self.keeper = function, arguments, keywords, keeper

    def run(self, frame: Frame) -> None:
        """Call the function and store its result."""
        kwargs = {name: each.of(frame) for name, each in self.keywords.items()}
        result = self.function(*[each.of(frame) for each in self.arguments], **kwargs)
        if self.keeper is not None:
            self.keeper.keep(frame, result)


class Runner:
    """A program in memory of its own, see `region.Runner`."""

    def __init__(
        self, frame: Frame, instructions: Sequence[Any], entries: Any, fresh: Any, results: Any, passing: Sequence[int]
    ) -> None:
        self.frame, self.instructions = frame, instructions
        self.entries, self.fresh, self.results, self.passing = entries, fresh, results, passing

    def run(self, externals: Sequence[Any]) -> list[Any]:
        """The results, for the arrays of the caller."""
        frame = self.frame
        try:
            for (block, offset), array in zip(self.entries, externals, strict=True):
                frame.set(block, array, offset)
            for block, maker in self.fresh:
                frame.set(block, maker(), 0)
            for instruction in self.instructions:
                instruction.run(frame)
            return [frame.arrays[block] if view is None else view.of(frame) for block, view in self.results]
        finally:
            frame.drop(self.passing)
