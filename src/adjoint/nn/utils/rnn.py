"""Sequences of different lengths in one tensor: packed by step, or padded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from adjoint.core.operations.arguments import check_functions
from adjoint.tensor import creation
from adjoint.tensor.creation import tensor as as_tensor
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of different lengths, packed by step without padding, the longest first. Recurrent layers take it.

    data: the elements of the first step, then of the second step, and so on. batch_sizes: the number of sequences at
    each step. sorted_indices: the permutation that sorts the sequences by length; unsorted_indices: its inverse.

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import pack_sequence
    >>> pack_sequence([adjoint.tensor([1, 2, 3]), adjoint.tensor([4, 5])]).data
    tensor([1, 4, 2, 5, 3])
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes is None: give the number of sequences at each step")
        if unsorted_indices is None and sorted_indices is not None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    @property
    def is_cuda(self) -> bool:
        """Whether the data lies on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data lies in pinned memory."""
        return self.data.is_pinned()

    def _with(self, data: Tensor) -> PackedSequence:
        """A PackedSequence with other data; the same object for the same data."""
        return self if data is self.data else self._replace(data=data)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences with data of another dtype or on another device."""
        return self._with(self.data.to(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        """The same sequences in main memory."""
        return self._with(self.data.cpu())

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences on a CUDA device."""
        return self._with(self.data.cuda(*args, **kwargs))

    def pin_memory(self) -> PackedSequence:
        """The same sequences in pinned memory."""
        return self._with(self.data.pin_memory())

    def double(self) -> PackedSequence:
        """The same sequences in float64."""
        return self._with(self.data.double())

    def float(self) -> PackedSequence:
        """The same sequences in float32."""
        return self._with(self.data.float())

    def half(self) -> PackedSequence:
        """The same sequences in float16."""
        return self._with(self.data.half())

    def long(self) -> PackedSequence:
        """The same sequences in int64."""
        return self._with(self.data.long())

    def int(self) -> PackedSequence:
        """The same sequences in int32."""
        return self._with(self.data.int())

    def short(self) -> PackedSequence:
        """The same sequences in int16."""
        return self._with(self.data.short())

    def char(self) -> PackedSequence:
        """The same sequences in int8."""
        return self._with(self.data.char())

    def byte(self) -> PackedSequence:
        """The same sequences in uint8."""
        return self._with(self.data.byte())


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation; None for None.

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import invert_permutation
    >>> invert_permutation(adjoint.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack the sequences of a padded batch (T, N, ...), with batch_first (N, T, ...), given their lengths.

    enforce_sorted: the lengths must be in decreasing order; otherwise the sequences are sorted.

    Raises RuntimeError for lengths in another order, lengths below 1 or above T, and another number of them than N.

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(adjoint.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2]).batch_sizes
    tensor([2, 2, 1])
    """
    lengths = as_tensor(lengths) if not isinstance(lengths, Tensor) else lengths
    order = None
    if not enforce_sorted:
        order = lengths.argsort(descending=True, stable=True)
        lengths, input = lengths[order], input.index_select(0 if batch_first else 1, order)
    counts = lengths.tolist()
    input = input.transpose(0, 1) if batch_first else input
    if len(counts) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={input.shape[1]})"
        )
    if min(counts) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if max(counts) > input.shape[0]:
        raise RuntimeError(
            f"Expected lengths up to {input.shape[0]}, the length of the padded batch, got {max(counts)}"
        )
    if counts != sorted(counts, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    there = creation.arange(counts[0]).unsqueeze(1) < lengths
    return PackedSequence(input[: counts[0]][there], there.sum(1), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences to a batch (T, N, ...), with batch_first (N, T, ...); returns it with the lengths.

    Raises ValueError if total_length is shorter than the longest sequence.

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> packed = pack_sequence([adjoint.tensor([1, 2, 3]), adjoint.tensor([4, 5])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))
    """
    data, sizes = sequence.data, sequence.batch_sizes
    longest = sizes.shape[0]
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    n = int(sizes[0])
    there = creation.arange(n) < sizes.unsqueeze(1)
    shape = (longest if total_length is None else total_length, n, *data.shape[1:])
    padded = creation.full(shape, padding_value, dtype=data.dtype, device=data.device)
    steps, members = there.nonzero(as_tuple=True)
    padded = padded.index_put((steps, members), data)
    lengths = there.sum(0)
    if sequence.unsorted_indices is not None:
        padded, lengths = padded.index_select(1, sequence.unsorted_indices), lengths[sequence.unsorted_indices]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad sequences (L, ...) of different lengths to one batch (T, N, ...), with batch_first (N, T, ...).

    Raises RuntimeError unless `sequences` is an iterable with members and the side is "left" or "right".

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import pad_sequence
    >>> pad_sequence([adjoint.tensor([1, 2, 3]), adjoint.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    members = list(sequences)
    if not members:
        raise RuntimeError("received an empty list of sequences")
    longest = max(member.shape[0] for member in members)
    rows = []
    for member in members:
        shape = (longest - member.shape[0], *member.shape[1:])
        filled = creation.full(shape, padding_value, dtype=member.dtype, device=member.device)
        rows.append(ops.cat([member, filled] if padding_side == "right" else [filled, member]))
    return ops.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The list of sequences of a padded batch, given their lengths.

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import unpad_sequence
    >>> unpad_sequence(adjoint.tensor([[1, 4], [2, 0]]), adjoint.tensor([2, 1]))
    [tensor([1, 2]), tensor([4])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L, ...). enforce_sorted: their lengths must be in decreasing order.

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import pack_sequence
    >>> pack_sequence([adjoint.ones(2), adjoint.ones(1)]).batch_sizes
    tensor([2, 1])
    """
    members = list(sequences)
    lengths = as_tensor([member.shape[0] for member in members])
    return pack_padded_sequence(pad_sequence(members), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences in a PackedSequence.

    >>> import adjoint
    >>> from adjoint.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([adjoint.tensor([1, 2]), adjoint.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


check_functions(globals(), __all__[1:])
