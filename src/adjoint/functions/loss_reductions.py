"""Arguments that the losses of nn.functional share: the reduction, older names for it, and a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.arrays.shapes import broadcast_shapes
from adjoint.functions.composite import ops
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_SQUASHED = (
    "Using a target size ({target}) that is different to the input size ({input}). This will likely lead to incorrect "
    "results due to broadcasting. Please ensure they have the same size."
)


def check_reduction(reduction: str) -> None:
    """Raise ValueError for an unknown reduction, in the words of torch's losses without older arguments."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")


def resolve_reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None, *more: str) -> str:
    """The reduction to take; the two older arguments win, with a warning. Raises ValueError for an unknown one."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn_caller(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in ("none", "mean", "sum", *more):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduce_losses(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def expand_both(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both with their common shape."""
    if input.shape == target.shape:
        return input, target
    shape = broadcast_shapes(tuple(input.shape), tuple(target.shape))
    return ops.expand(input, shape), ops.expand(target, shape)


def resolve_after_size_checks(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> str:
    """The reduction of a loss of differences, after checks: a weight has the shape of input, and a target should."""
    if target.shape != input.shape:
        warn_caller(_SQUASHED.format(target=target.size(), input=input.size()))
    if weight is not None:
        if weight.shape != input.shape:
            raise ValueError("Weights and input must have the same size.")
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return resolve_reduction(reduction, size_average, reduce)


def reduce_weighted(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else reduce_losses(losses, reduction)
