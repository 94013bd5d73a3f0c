"""Losses of nn.functional that are zero beyond a margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adjoint.arrays.dtypes import int64
from adjoint.arrays.namespace import first_outside, underlying
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import functional, ops
from adjoint.functions.distances import pairwise_distance
from adjoint.functions.loss_reductions import (
    check_reduction,
    expand_both,
    reduce_losses,
    resolve_reduction,
)
from adjoint.functions.underived import check_constants

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


@functional
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1, reduced.

    Raises ValueError for an unknown reduction, RuntimeError for a target that does not broadcast to the input.

    >>> import adjoint
    >>> adjoint.nn.functional.soft_margin_loss(adjoint.tensor([0.0]), adjoint.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    require_tensors("soft_margin_loss", input=input, target=target)
    shape = broadcast_shapes(tuple(input.shape), tuple(target.shape))
    if shape != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    if input.is_complex():
        return reduce_losses(ops.log1p(ops.exp(-target * input)), reduction)
    target = target if target.dtype is input.dtype else target.to(input.dtype)
    return ops.soft_margin_loss(*expand_both(input, target), None, reduction)


@functional
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1, reduced.

    Raises ValueError for an unknown reduction.

    >>> import adjoint
    >>> adjoint.nn.functional.hinge_embedding_loss(adjoint.tensor([0.5, 0.2]), adjoint.tensor([1, -1]))
    tensor(0.6500)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    require_tensors("hinge_embedding_loss", input=input, target=target)
    if not (input.is_floating_point() or input.is_complex()):
        # torch converts the margin to the input's dtype, and so drops its fraction
        margin = int(margin)
    far = ops.where(target != 1, ops.clamp(margin - input, min=0), 0)
    return reduce_losses(far + ops.where(target != -1, input, 0), reduction)


@functional
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin - target * (input1 - input2)), reduced: target 1 asks for a larger first input, -1 for the second.

    Raises ValueError for an unknown reduction, RuntimeError for different numbers of axes.

    >>> import adjoint
    >>> adjoint.nn.functional.margin_ranking_loss(adjoint.ones(1), adjoint.zeros(1), -adjoint.ones(1))
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    # a margin is of floating point, and the loss of integers with it
    return reduce_losses(ops.clamp(float(margin) - target * (input1 - input2), min=0), reduction)


@functional
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - c for the cosine c of two vectors where the target is 1, max(0, c - margin) where it is -1, reduced.

    Shapes: inputs (N, D) and target (N), or (D) and (). Raises ValueError for an unknown reduction, RuntimeError for
    shapes that do not fit.

    >>> import adjoint
    >>> x = adjoint.tensor([[1.0, 0.0]])
    >>> adjoint.nn.functional.cosine_embedding_loss(x, x, adjoint.tensor([-1]))
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    products = [ops.sum(a * b, -1) for a, b in ((input1, input2), (input1, input1), (input2, input2))]
    # a small number, so that the cosine of a zero vector is 0 with a finite derivative
    cosines = products[0] / ops.sqrt((products[1] + 1e-12) * (products[2] + 1e-12))
    alike = ops.where(target == 1, 1 - cosines, 0)
    return reduce_losses(alike + ops.where(target == -1, ops.clamp(cosines - margin, min=0), 0), reduction)


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


def _triplet(
    distance: Callable[[Tensor, Tensor], Tensor],
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    swap: bool,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return ops.clamp(margin + near - far, min=0)


@functional
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), reduced, for d the pairwise_distance of p and eps.

    swap: where the positive is nearer to the negative than the anchor is, take that distance.
    Raises ValueError for an unknown reduction or a margin that is not positive, RuntimeError for different numbers of
    axes.

    >>> import adjoint
    >>> x = adjoint.tensor([[0.0, 0.0]])
    >>> adjoint.nn.functional.triplet_margin_loss(x, x, x + 3)
    tensor(0.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    _check_triplet(anchor, positive, negative, margin)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return reduce_losses(_triplet(distance, anchor, positive, negative, margin, swap), reduction)


@functional
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss() with another distance, a function of two tensors; pairwise_distance() unless given.

    >>> import adjoint
    >>> x = adjoint.tensor([[0.0, 0.0]])
    >>> adjoint.nn.functional.triplet_margin_with_distance_loss(
    ...     x, x, x + 3, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=8.0
    ... )
    tensor(2.)
    """
    reduction = resolve_reduction(reduction)
    _check_triplet(anchor, positive, negative, margin)
    distance = pairwise_distance if distance_function is None else distance_function
    return reduce_losses(_triplet(distance, anchor, positive, negative, margin, swap), reduction)


def _as_rows(input: Tensor) -> Tensor:
    """A vector, or a number, as a matrix with one row."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    return input if input.ndim == 2 else ops.reshape(input, (1, -1))


@functional
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over all classes i but the target y of max(0, weight[y] * (margin - input[y] + input[i])) ** p, reduced.

    Shapes: input (N, C) and target (N), or (C) and (). Raises ValueError for an unknown reduction and p other than 1
    or 2, RuntimeError for shapes that do not fit and classes out of range.

    >>> import adjoint
    >>> adjoint.nn.functional.multi_margin_loss(adjoint.tensor([[1.0, 2.0]]), adjoint.tensor([0]))
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    rows = _as_rows(input)
    n, classes = rows.shape
    if target.ndim > 1 or target.numel() != n:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{n}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    _require_classes(target, classes, "target out of range", lowest=0)
    check_constants("multi_margin_loss", weight=weight)
    class_indices = ops.reshape(target, (n, 1))
    excess = ops.relu(margin - ops.gather(rows, 1, class_indices) + rows)
    losses = excess if p == 1 else excess * excess
    if weight is not None:
        losses = losses * weight.detach()[class_indices]
    losses = ops.sum(ops.scatter(losses, 1, class_indices, 0), 1) / classes
    return reduce_losses(losses if target.ndim else losses[0], reduction)


def _require_classes(target: Tensor, classes: int, message: str, lowest: int) -> None:
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.long_name}")
    raw = underlying(target._array)
    if first_outside(raw, lowest, classes) is not None:
        raise RuntimeError(message)


@functional
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over labels y and other classes i of max(0, 1 - input[y] + input[i]) / C, reduced.

    Shapes: input and target (N, C) or (C); a row of the target holds the labels, and ends where -1 stands.
    Raises ValueError for an unknown reduction, RuntimeError for shapes that do not fit and classes out of range.

    >>> import adjoint
    >>> adjoint.nn.functional.multilabel_margin_loss(adjoint.tensor([1.0, 2.0]), adjoint.tensor([0, -1]))
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    rows = _as_rows(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _require_classes(target, rows.shape[1], "argument #2 'target' is out of range", lowest=-1)
    labels = ops.reshape(target, tuple(rows.shape))
    valid = ops.cumprod(labels >= 0, 1) > 0
    classes = ops.where(valid, labels, 0)
    is_label = ops.scatter_add(ops.zeros_like(labels), 1, classes, valid.to(int64)) > 0
    excess = ops.relu(1 - ops.gather(rows, 1, classes)[:, :, None] + rows[:, None])
    counts = valid[:, :, None] & ~is_label[:, None]
    losses = ops.sum(ops.where(counts, excess, 0), (1, 2)) / max(rows.shape[1], 1)
    return reduce_losses(losses if input.ndim == 2 else losses[0], reduction)


@functional
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """binary_cross_entropy_with_logits(), the mean over classes (the last axis), then reduced.

    Raises ValueError for an unknown reduction.

    >>> import adjoint
    >>> adjoint.nn.functional.multilabel_soft_margin_loss(adjoint.zeros(1, 2), adjoint.ones(1, 2))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = resolve_reduction(reduction, size_average, reduce)
    check_reduction(reduction)
    losses = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduce_losses(ops.sum(losses, -1) / input.size(-1), reduction)
