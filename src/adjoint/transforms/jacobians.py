"""Whole Jacobians, assembled from batches of pulled back cotangents or pushed forward tangents.

Complex numbers. An entry of a Jacobian is, in every mode and strategy, with z = x + iy,

    ∂f/∂x                         where the input is real, and complex if the output is,
    ∂f/∂z = (∂f/∂x - i ∂f/∂y)/2   where both are complex: the derivative of a holomorphic function,
    ∂f/∂x + i ∂f/∂y               where the input is complex and the output real: the gradient, as `grad` gives it.

For a function that is not holomorphic, ∂f/∂z is only half of the derivative, and a warning says so. The other half,
∂f/∂z̄, is the conjugate of the Jacobian of the conjugated function. A block has the dtype of the input, or its complex
counterpart if the output is complex.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy

from adjoint.arrays.dtypes import finfo
from adjoint.arrays.namespace import namespace, underlying
from adjoint.core.graph import new_tensor
from adjoint.core.modes.state import current
from adjoint.runtime import batch_budget
from adjoint.runtime.once import warn_caller
from adjoint.tensor.table import ops
from adjoint.transforms.chunks import Chunks, ChunkSize
from adjoint.transforms.progress import Progress

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: A Tensor of shape output.shape + input.shape, or None where the output does not depend on the input.
Block: TypeAlias = "Tensor | None"
#: From the number of an output and a batch of its cotangents to cotangents of each input, None if it does not matter.
Pull: TypeAlias = "Callable[[int, Tensor], Sequence[Tensor | None]]"
#: From the number of an input and a batch of its tangents to tangents of each output.
Push: TypeAlias = "Callable[[int, Tensor], Sequence[Tensor]]"

NOT_HOLOMORPHIC = (
    "{}: output {} is not a holomorphic function of input {}, and ∂f/∂z alone does not determine its derivative; "
    "∂f/∂z̄, which is not zero, is the conjugate of the Jacobian of the conjugated function (vjp, jvp, vhp and hvp "
    "need no such halves)"
)


class Job:
    """The assembly of one Jacobian.

    name: its name in messages. step: the number of vectors in a batch, "auto" or None for as many as fit. mixed: an
    output and an input with both ∂f/∂z and ∂f/∂z̄ different from zero, or None.
    """

    def __init__(self, name: str, step: ChunkSize) -> None:
        self.name = name
        self.step = step
        self.mixed: tuple[int, int] | None = None

    def by_rows(self, pull: Pull, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[list[Block]]:
        """Reverse mode: for each output the blocks of all inputs."""
        with Progress(self.name, n_directions(outputs)) as progress:
            return [self._row(pull, number, output, inputs, progress) for number, output in enumerate(outputs)]

    def _row(
        self, pull: Pull, number: int, output: Tensor, inputs: Sequence[Tensor], progress: Progress
    ) -> list[Block]:
        if not output.requires_grad:
            return [None] * len(inputs)
        if not output.numel():
            return [zero_block(output, x) for x in inputs]
        parts = []
        for unit in units(output):
            chunks = []
            for cotangents_in, n in self._batches(output, inputs, unit, progress, pull, number):
                chunks.append([(g, (n, *x.shape)) for g, x in zip(cotangents_in, inputs, strict=True)])
            parts.append([fill_and_concatenate(chunk) for chunk in zip(*chunks, strict=True)])
        return [self._of_cotangents((number, k), output, x, [part[k] for part in parts]) for k, x in enumerate(inputs)]

    def by_columns(self, push: Push, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[list[Tensor]]:
        """Forward mode: for each output the blocks of all inputs."""
        with Progress(self.name, n_directions(inputs)) as progress:
            columns = [self._column(push, k, x, outputs, progress) for k, x in enumerate(inputs)]
        return [[column[k] for column in columns] for k in range(len(outputs))]

    def _column(self, push: Push, k: int, x: Tensor, outputs: Sequence[Tensor], progress: Progress) -> list[Tensor]:
        if not x.numel():
            return [zero_block(output, x) for output in outputs]
        parts = []
        for unit in units(x):
            rows: list[Rows] = []
            for columns, _ in self._batches(x, outputs, unit, progress, push, k):
                rows = rows or [Rows(x.numel()) for _ in columns]
                for block, column in zip(rows, columns, strict=True):
                    block.add(column)
            parts.append([block.all_rows() for block in rows])
        return [
            self._of_tangents((number, k), output, x, [part[number] for part in parts])
            for number, output in enumerate(outputs)
        ]

    def _batches(
        self,
        tensor: Tensor,
        models: Sequence[Tensor],
        unit: complex,
        progress: Progress,
        move: Pull | Push,
        number: int,
    ) -> Iterator[tuple[Sequence[Any], int]]:
        """The images of the basis of a tensor's space times unit, in batches, and the size of each batch.

        models: tensors as large as the images.
        """
        image_bytes = sum([model.numel() * model._array.dtype.itemsize for model in models])
        chunks = within_budget(tensor, tensor.numel(), self.step, image_bytes * tensor.numel())
        for start, stop in chunks:
            yield chunks.run(move, number, basis(tensor, start, stop, unit)), stop - start
            progress.advance(stop - start)

    def _of_cotangents(self, where: tuple[int, int], output: Tensor, x: Tensor, parts: list[Block]) -> Block:
        """A block from the vectors pulled back for the cotangents 1 and, if the output is complex, i."""
        # all cotangents use the same graph: either all have gradients, or none
        if parts[0] is None:
            return None
        shape = (*output.shape, *x.shape)
        rows = [ops.reshape(part, shape) for part in parts]
        if len(rows) == 1:
            return rows[0]
        first, second = rows
        if not x.is_complex():
            return first + second * 1j
        self._check_holomorphic(where, first, second)
        return (first - second * 1j).conj() / 2

    def _of_tangents(self, where: tuple[int, int], output: Tensor, x: Tensor, parts: list[Tensor]) -> Tensor:
        """A block from the vectors pushed forward for the tangents 1 and, if the input is complex, i."""
        if not output.numel():
            return zero_block(output, x)
        shape = (*output.shape, *x.shape)
        block, *rest = [ops.reshape(part.movedim(0, -1), shape) for part in parts]
        if rest and output.is_complex():
            self._check_holomorphic(where, block, *rest)
            block = (block - rest[0] * 1j) / 2
        elif rest:
            block = block + rest[0] * 1j
        return block.to(zero_block(output.new_empty(0), x.new_empty(0)).dtype)

    def _check_holomorphic(self, where: tuple[int, int], first: Tensor, second: Tensor) -> None:
        """Check the derivatives along 1 and i: for a holomorphic function they cancel; otherwise set `mixed`."""
        rest = first.detach() + second.detach() * 1j
        if largest(rest) > math.sqrt(finfo(rest.dtype).eps) * largest(first):
            self.mixed = self.mixed or where

    def warn(self) -> None:
        """Say, at the caller's line, that a function is not holomorphic."""
        if self.mixed is not None:
            warn_caller(NOT_HOLOMORPHIC.format(self.name, *self.mixed))


#: A mapped run holds about so many arrays like the argument for each direction.
_ARRAYS_OF_A_RUN = 16


def within_budget(tensor: Tensor, n: int, size: ChunkSize, result_bytes: int) -> Chunks:
    """n directions from a tensor, in chunks within the budget or an eighth of the result, the larger of the two.

    size: the user's chunk size. With None all run at once if a quarter of the budget is surely enough.
    """
    of_one = tensor.numel() * tensor._array.dtype.itemsize
    budget = batch_budget.get()
    if size is None:
        size = max(n, 1) if of_one * n * _ARRAYS_OF_A_RUN <= budget // 4 else "auto"
    return Chunks(n, size, max(budget, result_bytes // 8), member_bytes=of_one)


class Rows:
    """Concatenates batches; without recording it writes them into one array as they come.

    n: the total number of rows.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.chunks: list[Tensor] = []
        self.whole: numpy.ndarray[Any, Any] | None = None
        self.filled = 0

    def add(self, chunk: Tensor) -> None:
        """Take the next batch."""
        size = len(chunk)
        if not self.chunks and size < self.n and is_plain(chunk):
            if self.whole is None:
                self.whole = numpy.empty((self.n, *chunk.shape[1:]), chunk._array.dtype)
            self.whole[self.filled : self.filled + size] = chunk._array
            self.filled += size
        else:
            self.chunks.append(chunk)

    def all_rows(self) -> Tensor:
        """All rows."""
        return concatenate(self.chunks) if self.whole is None else new_tensor(self.whole)


def is_plain(tensor: Tensor) -> bool:
    """True for NumPy's array without history and without tangents."""
    return type(tensor._array) is numpy.ndarray and not tensor.requires_grad and not current().dual_stack


def units(tensor: Tensor) -> tuple[complex, ...]:
    """The directions into which one element can move."""
    return (1, 1j) if tensor.is_complex() else (1,)


def n_directions(tensors: Sequence[Tensor]) -> int:
    """The number of vectors for all elements of these tensors."""
    return sum(tensor.numel() * len(units(tensor)) for tensor in tensors)


def basis(tensor: Tensor, start: int, stop: int, unit: complex) -> Tensor:
    """The basis vectors number start to stop of the space of a tensor, times unit, along a new first dimension."""
    xp, dtype = namespace(tensor._array), tensor._array.dtype
    if stop == start + 1 and type(tensor._array) is numpy.ndarray and unit == 1:
        single = numpy.zeros((1, *tensor._array.shape), dtype)
        single.reshape(-1)[start] = 1
        return new_tensor(single)
    ones = xp.arange(tensor.numel())[None, :] == xp.arange(start, stop)[:, None]
    vectors: Tensor = new_tensor(xp.reshape(xp.astype(ones, dtype), (stop - start, *tensor.shape)))
    return vectors if unit == 1 else vectors * unit


def fill_and_concatenate(chunks: Sequence[tuple[Tensor | None, tuple[int, ...]]]) -> Tensor | None:
    """Concatenates (batch, shape) pairs, with zeros of that shape for None; None if all batches are None."""
    model = next((chunk for chunk, _ in chunks if chunk is not None), None)
    if model is None:
        return None
    return concatenate([model.new_zeros(shape) if chunk is None else chunk for chunk, shape in chunks])


def concatenate(chunks: Sequence[Tensor]) -> Tensor:
    """Concatenates batches."""
    return chunks[0] if len(chunks) == 1 else ops.cat(tuple(chunks))


def zero_block(output: Tensor, x: Tensor) -> Tensor:
    """The block of an output that does not depend on an input: of the input's dtype, complex if one of them is."""
    array = x._array
    zeros: Tensor = new_tensor(namespace(array).zeros((*output.shape, *x.shape), dtype=array.dtype))
    return zeros + 0j if output.is_complex() and not x.is_complex() else zeros


def largest(tensor: Tensor) -> float:
    """The largest absolute value in a tensor, of whatever batch; 0 if it is empty."""
    array = underlying(tensor._array)
    xp = namespace(array)
    return float(xp.max(xp.abs(array))) if array.size else 0.0
