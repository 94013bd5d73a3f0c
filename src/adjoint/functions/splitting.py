"""Splitting of a tensor into pieces along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from operator import index
from typing import TYPE_CHECKING, Any

from adjoint.arrays.shapes import normalize_dim
from adjoint.core.graph import TensorBase
from adjoint.core.operations.public_functions import skip_wrapper
from adjoint.functions.arguments import F, takes_axis, takes_joint_name
from adjoint.functions.composite import composite, describe, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: The largest number of pieces; pieces beyond the number of elements are empty.
_MOST_PIECES = 1 << 16


@composite(method=False)
@takes_axis
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along one axis: of one size, except the last, or of the given sizes.

    Raises RuntimeError for negative sizes, and for sizes that do not add up to the size of the axis.

    >>> import adjoint
    >>> adjoint.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return ops.split_with_sizes(tensor, tuple(split_size_or_sections), dim)
    try:
        size = index(split_size_or_sections)  # type: ignore[arg-type]  # this raises for anything but a number
    except TypeError:
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
            f"{type(split_size_or_sections).__name__}"
        ) from None
    return ops.split(tensor, size, dim)


@composite(namespace=None, name="split")
@takes_axis
def split_method(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along one axis: of one size, except the last, or of the given sizes.

    The derivative joins the cotangents of the pieces. Raises RuntimeError unless given sizes add up to the length of
    the axis, IndexError for an axis out of range.

    >>> import adjoint
    >>> adjoint.tensor([1, 2, 3]).split(2)
    (tensor([1, 2]), tensor([3]))
    """
    return split(input, split_size, dim)


@composite()
@takes_axis
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` pieces along one axis, of the same size but for the last.

    Raises RuntimeError for less than one chunk.

    >>> import adjoint
    >>> adjoint.arange(5).chunk(3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    n = chunk_size(input, chunks, dim)
    return ops.split(input, n, dim) if n else ops.split_with_sizes(input, (0,) * chunks, dim)


def chunk_size(input: Tensor, chunks: int, dim: int) -> int:
    """The length of all chunks but the last. Raises RuntimeError for less than one chunk."""
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return int(-(-input._array.shape[normalize_dim(dim, input._array.ndim)] // chunks))


@composite()
@takes_axis
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As chunk(), but the pieces count as separate tensors, without the check that they share the input's memory.

    Write to a piece only if the input's old values are no longer needed.

    >>> import adjoint
    >>> adjoint.unsafe_chunk(adjoint.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    n = chunk_size(input, chunks, dim)
    return ops.unsafe_split(input, n, dim) if n else ops.unsafe_split_with_sizes(input, (0,) * chunks, dim)


def _takes_either(function: F) -> F:
    """Let indices_or_sections be given by torch's names for each kind alone."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in ("indices", "sections", "tensor_indices_or_sections"):
            if name in kwargs:
                kwargs["indices_or_sections"] = kwargs.pop(name)
        return function(*args, **kwargs)

    return skip_wrapper(function, call)


@composite()
@takes_axis
@_takes_either
def tensor_split(input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along one axis: a number of them as equal as possible, or cut before the given places.

    Raises RuntimeError for less than one section.

    >>> import adjoint
    >>> adjoint.arange(5).tensor_split(2), adjoint.arange(5).tensor_split((1, 3))
    ((tensor([0, 1, 2]), tensor([3, 4])), (tensor([0]), tensor([1, 2]), tensor([3, 4])))
    """
    if not input._array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = normalize_dim(dim, input._array.ndim)
    n = input._array.shape[dim]
    if isinstance(indices_or_sections, TensorBase):
        indices_or_sections = indices_or_sections._array.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        stops = [*map(index, indices_or_sections), n]
        starts = [0, *stops[:-1]]
    else:
        sections = index(indices_or_sections)  # type: ignore[arg-type]
        if sections < 1:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        if sections > max(n, _MOST_PIECES):
            raise RuntimeError(
                f"tensor_split(): an axis of size {n} is cut into at most {max(n, _MOST_PIECES)} sections, "
                f"got {sections}"
            )
        stops = [(i + 1) * (n // sections) + min(i + 1, n % sections) for i in range(sections)]
        starts = [0, *stops[:-1]]
    before = (slice(None),) * dim
    return tuple(
        ops.getitem_slice(input, (*before, slice(start, stop))) for start, stop in zip(starts, stops, strict=True)
    )


_SPLIT_STACKED = """tensor_split() along the axis that {stack}() joins; a number must divide its size.

    indices_or_sections: how many pieces, or the places before which to cut. Returns views; the derivative joins their
    cotangents. Raises RuntimeError for too few axes, and for a number of pieces that does not divide the axis.

    >>> import adjoint
    >>> [tuple(piece.shape) for piece in adjoint.{name}(adjoint.ones(2, 2, 2), 2)]
    {output}
    """


def _split_stacked(function: str, input: Tensor, indices_or_sections: tuple[Any, ...], least: int, dim: int) -> Any:
    """The pieces along an axis of a tensor with at least so many axes; a number of pieces must divide its size."""
    if not indices_or_sections:
        raise TypeError(f'{function}() missing 1 required positional arguments: "indices_or_sections"')
    pieces = indices_or_sections[0] if len(indices_or_sections) == 1 else indices_or_sections
    ndim = input._array.ndim
    if ndim < least:
        raise RuntimeError(
            f"adjoint.{function} requires a tensor with at least {least} dimension, but got a tensor with {ndim} "
            "dimensions!"
        )
    n = input._array.shape[dim]
    if isinstance(pieces, int) and (pieces < 1 or n % pieces):
        raise RuntimeError(
            f"adjoint.{function} attempted to split along dimension {dim}, but the size of the dimension {n} is not "
            f"divisible by the split_size {pieces}!"
        )
    return tensor_split(input, pieces, dim)


@composite()
@_takes_either
@takes_joint_name("indices_or_sections")
@describe(_SPLIT_STACKED, name="hsplit", stack="hstack", output="[(2, 1, 2), (2, 1, 2)]")
def hsplit(input: Tensor, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    return _split_stacked("hsplit", input, indices_or_sections, 1, min(1, input._array.ndim - 1))


@composite()
@_takes_either
@takes_joint_name("indices_or_sections")
@describe(_SPLIT_STACKED, name="vsplit", stack="vstack", output="[(1, 2, 2), (1, 2, 2)]")
def vsplit(input: Tensor, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    return _split_stacked("vsplit", input, indices_or_sections, 2, 0)


@composite()
@_takes_either
@takes_joint_name("indices_or_sections")
@describe(_SPLIT_STACKED, name="dsplit", stack="dstack", output="[(2, 2, 1), (2, 2, 1)]")
def dsplit(input: Tensor, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    return _split_stacked("dsplit", input, indices_or_sections, 3, 2)


@composite()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """The view from start (counted from the end if negative), of the given length, along one axis.

    Raises RuntimeError or IndexError if it would leave the axis.

    >>> import adjoint
    >>> adjoint.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = normalize_dim(dim, input._array.ndim)
    n, start = input._array.shape[dim], index(start)
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return ops.getitem_slice(input, (*(slice(None),) * dim, slice(start, start + length)))
