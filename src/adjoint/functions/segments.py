"""Reductions over segments: runs of neighbours along an axis, each with a length of its own."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.libraries.numpy_namespace import repeat
from adjoint.arrays.namespace import on_device
from adjoint.arrays.shapes import normalize_dim
from adjoint.arrays.size import CPU
from adjoint.core.graph import new_tensor
from adjoint.functions.composite import composite, ops
from adjoint.tensor import creation

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# the value of an empty segment, and scatter_reduce's name of the reduction
_REDUCTIONS = {
    "sum": (0.0, "sum"), "mean": (0.0, "sum"), "max": (-inf, "amax"), "min": (inf, "amin"), "prod": (1.0, "prod"),
}  # fmt: skip


@composite(method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduce each segment along an axis to one element. A segment is a run of neighbouring elements.

    Args:
        data: of shape (*lead, n, *rest), where lead has `axis` axes.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: the number of elements of each segment, integers of shape (*lead, k). Each row sums to n.
        offsets: the boundaries of the segments, from 0 to n, of shape (*lead, k + 1). It replaces lengths.
        unsafe: whether to skip the check that the lengths sum to n.
        initial: a value that takes part in every reduction. It is also the mean of an empty segment, which is NaN
            without it.

    Returns a tensor of shape (*lead, k, *rest). Equal extremes of a segment share the gradient equally.
    Raises RuntimeError for an unknown reduction, and unless lengths or offsets are given and match data.

    >>> import adjoint
    >>> adjoint.segment_reduce(adjoint.arange(5.0), "max", lengths=adjoint.tensor([2, 3]))
    tensor([1., 4.])
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"unsupported reduction given! {reduce}: it is one of {', '.join(_REDUCTIONS)}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    axis = normalize_dim(axis, data.ndim)
    sizes = _sizes(data, lengths, offsets, axis, unsafe)
    neutral, operation = _REDUCTIONS[reduce]
    shape = (*sizes.shape, *data.shape[axis + 1 :])
    start = creation.full(shape, neutral if initial is None else initial, dtype=data.dtype, device=data.device)
    numbers = _segment_numbers(sizes, data.shape[axis])
    numbers = on_device(numbers.reshape(numbers.shape + (1,) * (data.ndim - axis - 1)), data.device)
    numbers = ops.expand(new_tensor(numbers), tuple(data.shape))
    result = ops.scatter_reduce(start, axis, numbers, data, operation, True)
    if reduce != "mean":
        return result
    counts = sizes.reshape(sizes.shape + (1,) * (data.ndim - axis - 1)).astype(data._array.dtype)
    counts = new_tensor(on_device(counts, data.device))
    of_empty = creation.full(shape, nan if initial is None else initial, dtype=data.dtype, device=data.device)
    is_empty = ops.eq(counts, 0)
    return ops.where(is_empty, of_empty, result / (counts + is_empty))


def _sizes(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool) -> Any:
    """The lengths of the segments as an array."""
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    argument = offsets if lengths is None else lengths
    if tuple(argument.shape[:-1]) != tuple(data.shape[:axis]) or argument.ndim != axis + 1:
        name = "offsets" if lengths is None else "lengths"
        raise RuntimeError(
            f"segment_reduce(): Expected {name} to have {axis + 1} axes, the first of them {list(data.shape[:axis])}, "
            f"got {name} of shape {list(argument.shape)}"
        )
    array = on_device(argument._array, CPU)
    sizes = array if offsets is None else numpy.diff(array, axis=-1)
    if not unsafe and sizes.size:
        if sizes.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (sizes.sum(-1) != data.shape[axis]).any():
            raise RuntimeError(
                f"segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                f"({data.shape[axis]}), got {sizes.sum(-1).tolist()}"
            )
    return sizes


def _segment_numbers(sizes: Any, n: int) -> Any:
    """The number of the segment of each element along the axis."""
    rows = sizes.reshape(-1, sizes.shape[-1])
    numbers = numpy.arange(sizes.shape[-1])
    return numpy.array([repeat(numbers, row) for row in rows], "int64").reshape(*sizes.shape[:-1], n)
