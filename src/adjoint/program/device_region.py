"""Regions on CuPy's arrays: the twin of `region.py` and `plain_region.py` for programs whose memory is a device's.

A region is one kernel. Between regions, functions of arrays run as they do on NumPy's. All of it is queued on the
current stream: memory comes from CuPy's pool, which gives a stream its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy

from adjoint.program.device import RegionKernel
from adjoint.program.plain_region import Keeper as PlainKeeper
from adjoint.program.plain_region import Macro
from adjoint.program.plain_region import Product as PlainProduct
from adjoint.program.plain_region import Runner as PlainRunner

__all__ = ["BlockView", "Frame", "Keeper", "Macro", "Product", "Region", "Runner"]


class Frame:
    """The memory blocks of one run: arrays, and where their first elements lie in the blocks."""

    def __init__(self, n: int) -> None:
        self.arrays: list[Any] = [None] * n
        self.offsets = [0] * n

    def set(self, number: int, array: Any, offset: int) -> None:
        """Let a block be the memory of an array, whose first element lies at an offset in it."""
        self.arrays[number], self.offsets[number] = array, offset

    def drop(self, numbers: Sequence[int]) -> None:
        """Let go of the arrays of some blocks."""
        for number in numbers:
            self.arrays[number] = None


class BlockView:
    """An array in a block."""

    def __init__(self, number: int, offset: int, dtype: Any, shape: Any, strides: Any) -> None:
        self.number, self.offset, self.dtype, self.shape, self.strides = number, offset, dtype, shape, strides

    def of(self, frame: Frame) -> Any:
        """The array in the memory of a frame."""
        cupy = sys.modules["cupy"]
        if 0 in self.shape:
            return cupy.empty(self.shape, self.dtype)
        array = frame.arrays[self.number]
        start = self.offset - frame.offsets[self.number]
        if not start and array.shape == self.shape and array.dtype == self.dtype and array.strides == self.strides:
            return array
        return cupy.ndarray(self.shape, self.dtype, memptr=array.data + start, strides=self.strides)


class Region:
    """One kernel, with the views that it reads and writes."""

    def __init__(self, kernel: RegionKernel, inputs: list[BlockView], outputs: list[BlockView]) -> None:
        self.kernel, self.inputs, self.outputs = kernel, inputs, outputs

    def run(self, frame: Frame) -> None:
        """Queue the kernel."""
        self.kernel([view.of(frame) for view in self.inputs], [view.of(frame) for view in self.outputs])


class Product(PlainProduct):
    """A product of matrices or vectors, between regions."""

    def run(self, frame: Any) -> None:
        """Multiply by CuPy."""
        sys.modules["cupy"].matmul(self.left.of(frame), self.right.of(frame), out=self.out.of(frame))


class Keeper(PlainKeeper):
    """Stores the result of a function in a block; copies a result in main memory (a random draw) to the device."""

    def as_array(self, result: Any) -> Any:
        """The result of a function, as an array on the device."""
        return sys.modules["cupy"].asarray(result)

    def memory(self) -> Any:
        """New memory for the block."""
        return sys.modules["cupy"].empty(self.n_bytes, numpy.uint8)


class Runner(PlainRunner):
    """A program in memory of its own on one device, see `region.Runner`."""

    number: int

    def run(self, externals: Sequence[Any]) -> list[Any]:
        """The results, for the arrays of the caller."""
        with sys.modules["cupy"].cuda.Device(self.number):
            return super().run(externals)
