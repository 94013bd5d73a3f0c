"""The loss of nn.functional over the alignments of two sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import finfo
from adjoint.arrays.namespace import on_device, underlying
from adjoint.arrays.size import CPU
from adjoint.core.graph import TensorBase
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import functional, ops
from adjoint.functions.loss_reductions import (
    reduce_losses,
    resolve_reduction,
)

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# so low that its exponential is 0
_NEVER = -1e30


def _lengths(name: str, lengths: Any, samples: int, most: int) -> Any:
    if isinstance(lengths, TensorBase):
        if lengths.is_floating_point() or lengths.is_complex():
            raise RuntimeError(f"{name} must be integral")
        lengths = on_device(lengths._array, CPU)
    numbers = numpy.asarray(lengths, dtype=numpy.int64).reshape(-1)
    if numbers.size != samples:
        raise RuntimeError(f"{name} must be of size batch_size")
    while_checking = "(while checking arguments for ctc_loss_allocate_outputs)"
    if numbers.size and numbers.min() < 0:
        raise RuntimeError(
            f"Expected {name} to have value at least 0, but got value {numbers[numbers < 0][0]} {while_checking}"
        )
    if numbers.size and numbers.max() > most:
        raise RuntimeError(
            f"Expected {name} to have value at most {most}, but got value {numbers[numbers > most][0]} {while_checking}"
        )
    return numbers


def _padded_targets(targets: Any, lengths: Any, samples: int) -> Any:
    """The targets with one row for each sample, from rows or from concatenated labels."""
    longest = int(lengths.max()) if lengths.size else 0
    while_checking = "for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)"
    if targets.ndim == 2:
        if targets.shape[0] != samples:
            raise RuntimeError(
                f"Expected tensor to have size {samples} at dimension 0, but got size {targets.shape[0]} "
                f"{while_checking}"
            )
        if targets.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} "
                f"{while_checking}"
            )
        return targets[:, :longest].astype(numpy.int64)
    if targets.size != lengths.sum():
        raise RuntimeError(
            f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size {targets.size} {while_checking}"
        )
    rows = numpy.zeros((samples, longest), numpy.int64)
    rows[numpy.arange(longest) < lengths[:, None]] = targets
    return rows


def _check_ctc(log_probs: Tensor, blank: int) -> None:
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim + 1}-dimensional tensor for argument #1 "
            "'log_probs' (while checking arguments for ctc_loss_allocate_outputs)"
        )
    if not log_probs.is_floating_point() or finfo(log_probs.dtype).bits == 16:
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.long_name}'")
    if not 0 <= blank < log_probs.shape[2]:
        raise RuntimeError("blank must be in label range")


@functional
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification (Graves et al. 2006): the loss of sequences of labels without alignment.

    The loss of a sample is -log P(target | log_probs). P sums the probabilities of all alignments: paths of T classes
    that give the target when repeated classes are merged and blanks are removed.

    Args:
        log_probs: the logarithm of each class's probability at each time step, of shape (T, N, C) or (T, C). It must
            be the result of log_softmax(): the gradient, exp(log_probs) minus the posterior probability of each class,
            is the derivative only if the probabilities of a time step sum to 1. PyTorch's gradient is the same.
        targets: the labels, of shape (N, S), of shape (S) for one sample, or the labels of all samples concatenated.
        input_lengths: the number of time steps of each sample, of shape (N).
        target_lengths: the number of labels of each sample, of shape (N).
        blank: the number of the class that means no label.
        reduction: "none", "sum" or "mean". The mean is taken over the samples, after each loss has been divided by the
            length of its target.
        zero_infinity: whether an infinite loss becomes 0. A loss is infinite if the target is too long for the input.

    Raises ValueError for an unknown reduction, RuntimeError for lengths or labels out of range.

    >>> import adjoint
    >>> log_probs = adjoint.zeros(2, 1, 2) - 0.6931
    >>> adjoint.nn.functional.ctc_loss(log_probs, adjoint.tensor([[1]]), (2,), (1,))
    tensor(0.2876)
    """
    reduction = resolve_reduction(reduction)
    require_tensors("ctc_loss", log_probs=log_probs, targets=targets)
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs[:, None]
    _check_ctc(log_probs, blank)
    moments, samples, classes = log_probs.shape
    steps = _lengths("input_lengths", input_lengths, samples, moments)
    lengths = _lengths("target_lengths", target_lengths, samples, numpy.iinfo(numpy.int64).max)
    values = on_device(underlying(targets._array), CPU)
    rows = _padded_targets(values, lengths, samples)
    counts = numpy.arange(rows.shape[1]) < lengths[:, None]
    if ((rows < 0) | (rows >= classes))[counts].any():
        raise RuntimeError(f"targets must be classes from 0 to {classes - 1}, got {rows[counts].tolist()}")
    states = numpy.full((samples, 2 * rows.shape[1] + 1), blank)
    states[:, 1::2] = numpy.where(counts, rows, blank)
    skip = numpy.full(states.shape, _NEVER)
    skip[:, 2:][states[:, 2:] != states[:, :-2]] = 0
    position, end = numpy.arange(states.shape[1]), 2 * lengths[:, None]
    last = numpy.where((position == end) | (position == end - 1), 0, _NEVER)
    kind = log_probs._array.dtype
    arrays = [on_device(a, log_probs.device) for a in (states, skip.astype(kind), last.astype(kind), steps)]
    losses = ops.ctc_loss(log_probs, *arrays, zero_infinity)
    if zero_infinity:
        losses = ops.where(ops.isinf(losses), 0, losses)
    if reduction == "mean":
        return (losses / on_device(numpy.maximum(lengths, 1).astype(kind), log_probs.device)).mean()
    return losses[0] if single and reduction == "none" else reduce_losses(losses, reduction)
