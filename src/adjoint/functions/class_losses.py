"""Losses of nn.functional whose target is a class, or a probability for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.arrays.dtypes import int64, uint8
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import functional, ops
from adjoint.functions.contract import linear
from adjoint.functions.loss_reductions import (
    reduce_losses,
    resolve_reduction,
)
from adjoint.functions.underived import check_constants

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raise torch's errors unless target names a class for each place of the input."""
    input_shape, target_shape = input._array.shape, target._array.shape
    ndim, target_ndim = len(input_shape), len(target_shape)
    if ndim > 1 and not target_ndim:
        raise ValueError(f"Expected input batch_size ({input_shape[0]}) to match target batch_size (0).")
    if not 0 <= ndim - target_ndim <= 1 or (ndim == target_ndim and target_ndim > 1):
        if ndim <= 2:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        raise RuntimeError(f"Expected target size {[input_shape[0], *input_shape[2:]]}, got {list(target_shape)}")
    if target.dtype not in (int64, uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.long_name}")
    if ndim > 2 and (input_shape[0], *input_shape[2:]) != target_shape:
        raise RuntimeError(f"Expected target size {[input_shape[0], *input_shape[2:]]}, got {list(target_shape)}")
    _check_class_weight("", input, weight)
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.long_name} but found {weight.dtype.long_name}")


def _check_class_weight(function: str, input: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    classes = input.shape[0 if input.ndim == 1 else 1]
    if weight.ndim != 1 or weight.numel() != classes:
        raise RuntimeError(
            f"{function}weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )


def check_batch(input: Tensor, target: Tensor) -> None:
    input_shape, target_shape = input._array.shape, target._array.shape
    if len(input_shape) > 1 and target_shape and input_shape[0] != target_shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input_shape[0]}) to match target batch_size ({target_shape[0]})."
        )


def _along_classes(input: Tensor, weight: Tensor) -> Tensor:
    """A weight for each class with as many axes as the input."""
    axis = 0 if input.ndim == 1 else 1
    return ops.reshape(weight, tuple([weight.numel() if i == axis else 1 for i in range(input.ndim)]))


def _nll(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    _check_classes(input, target, weight)
    check_constants("nll_loss_forward", weight=weight)
    if weight is not None:
        weight = _along_classes(input, weight.detach())
    if input._array.ndim == 1:
        # a single sample; its class may be in a vector of length 1
        return ops.nll_loss(input, ops.reshape(target, (1,)), weight, ignore_index, reduction, 0)
    return ops.nll_loss(input, ops.unsqueeze(target, 1), weight, ignore_index, reduction, 1)


@functional
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight[c] * input[c] for the class c that target names, reduced; the mean is over the weights.

    Shapes: input (N, C), (C) or (N, C, d1, d2 ...), target (N), () or (N, d1, d2 ...), weight (C). Elements with the
    class ignore_index are ignored. Raises ValueError for an unknown reduction, IndexError for a class out of range,
    RuntimeError for shapes and dtypes that do not fit.

    >>> import adjoint
    >>> adjoint.nn.functional.nll_loss(adjoint.tensor([[-1.0, -2.0]]), adjoint.tensor([1]))
    tensor(2.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    require_tensors("nll_loss_nd", input=input, target=target)
    if not input.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    check_batch(input, target)
    return _nll(input, target, weight, ignore_index, reduction)


@functional
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss(log_softmax(input), target), for target as classes or as probabilities of classes.

    Shapes: input (N, C), (C) or (N, C, d1, d2 ...); target the same without C, for probabilities with it; weight (C).
    label_smoothing: the share of probability that is divided among all classes.
    Raises ValueError for an unknown reduction, IndexError for a class out of range, RuntimeError for shapes and dtypes
    that do not fit, and for a label_smoothing above 1.

    >>> import adjoint
    >>> adjoint.nn.functional.cross_entropy(adjoint.tensor([[0.0, 0.0]]), adjoint.tensor([1]))
    tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    require_tensors("cross_entropy_loss", input=input, target=target)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if input._array.shape == target._array.shape:
        return _of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    check_batch(input, target)
    logs = ops.log_softmax(input, 0 if input._array.ndim == 1 else 1)
    if label_smoothing <= 0:
        return _nll(logs, target, weight, ignore_index, reduction)
    return _smooth(logs, target, weight, ignore_index, reduction, label_smoothing)


@functional
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: None = None,
) -> Tensor:
    """cross_entropy() of the result of linear().

    Shapes: input (N, I) or (I); linear_weight (C, I), or (C, d1, ..., I) for several losses of each sample, with an
    input (N, I); linear_bias as linear_weight without I; target and weight as cross_entropy() takes them.
    options: PyTorch's for computing it in pieces, which there are none of here.
    Raises the errors of cross_entropy(), RuntimeError for shapes that do not fit and an ignore_index of probabilities,
    NotImplementedError for options.

    >>> import adjoint
    >>> adjoint.nn.functional.linear_cross_entropy(adjoint.ones(1, 2), adjoint.zeros(4, 2), adjoint.tensor([1]))
    tensor(1.3863)
    """
    require_tensors("linear_cross_entropy", input=input, linear_weight=linear_weight, target=target)
    if options is not None:
        raise NotImplementedError(f"linear_cross_entropy(): options={options!r:.80} is not supported: leave it out")
    outer, several = tuple(linear_weight.shape[:-1]), linear_weight.ndim > 2
    _check_linear(input, linear_weight, linear_bias)
    bias = linear_bias.reshape(-1) if linear_bias is not None and several else linear_bias
    logits = linear(input, linear_weight.reshape(-1, input.shape[-1]) if several else linear_weight, bias)
    if several:
        logits = logits.reshape(-1, *outer)
    if logits.shape == target.shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.ndim}")
    if weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, "
            f"(N, {weight.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}")


def _of_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Tensor:
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.long_name}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    _check_class_weight("cross_entropy: ", input, weight)
    axis = 0 if input.ndim == 1 else 1
    classes = input.shape[axis]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    shares = ops.log_softmax(input, axis) * target
    if weight is not None:
        shares = shares * _along_classes(input, weight)
    if reduction == "none":
        return -ops.sum(shares, axis)
    total = -shares.sum()
    return total / (input.numel() // max(classes, 1)) if reduction == "mean" else total


def _smooth(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Tensor:
    plain = _nll(logs, target, weight, ignore_index, reduction)
    axis = 0 if logs.ndim == 1 else 1
    classes = logs.shape[axis]
    uniform = -ops.sum(logs if weight is None else logs * _along_classes(logs, weight), axis)
    class_indices = ops.reshape(target, tuple(uniform.shape)).to(int64)
    counts = class_indices != ignore_index
    uniform = reduce_losses(ops.where(counts, uniform, 0), "none" if reduction == "none" else "sum")
    if reduction == "mean":
        if weight is None:
            uniform = uniform / ops.count_nonzero(counts)
        else:
            class_weights = weight[ops.where(counts, class_indices, 0)]
            uniform = uniform / ops.where(counts, class_weights, 0).sum()
    return (1 - label_smoothing) * plain + label_smoothing / classes * uniform
