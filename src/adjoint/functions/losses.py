"""Losses of nn.functional: reductions, broadcasting, and those made of others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import bool_, finfo, int64, promote_types, uint8
from adjoint.arrays.namespace import underlying
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.core.graph import TensorBase
from adjoint.core.locations import warn_caller
from adjoint.core.modes.grad_mode import no_grad
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import as_number, composite, ops
from adjoint.functions.contract import linear
from adjoint.functions.distances import pairwise_distance
from adjoint.functions.underived import check_constants

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_functional = composite(namespace="nn.functional", method=False)

_SQUASHED = (
    "Using a target size ({target}) that is different to the input size ({input}). This will likely lead to incorrect "
    "results due to broadcasting. Please ensure they have the same size."
)

# arguments that many have -------------------------------------------------------------------------------------------


def _reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None, *more: str) -> str:
    """The reduction to take; the two older arguments win, with a warning. Raises ValueError for an unknown one."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn_caller(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in ("none", "mean", "sum", *more):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def _fitted(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both with their common shape."""
    if input.shape == target.shape:
        return input, target
    shape = broadcast_shapes(tuple(input.shape), tuple(target.shape))
    return ops.expand(input, shape), ops.expand(target, shape)


def _agreed(
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
    return _reduction(reduction, size_average, reduce)


def _weighted_mean(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else _reduced(losses, reduction)


# of differences -------------------------------------------------------------------------------------------------------


@_functional
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target) ** 2, reduced; with a weight for each element, the mean is over the weights.

    Raises ValueError for an unknown reduction or a weight of another shape. Warns if the shapes differ.

    >>> import adjoint
    >>> adjoint.nn.functional.mse_loss(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 4.0]))
    tensor(2.)
    """
    reduction = _agreed(input, target, weight, reduction, size_average, reduce)
    pair = _fitted(input, target)
    if weight is None:
        if target.dtype is bool_:
            pair = pair[0], pair[1].to(input.dtype)
        return ops.mse_loss(*pair, None, reduction)
    return _weighted_mean(ops.square(ops.sub(*pair)), weight, reduction)


@_functional
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """abs(input - target), reduced; with a weight for each element, the mean is over the weights.

    Raises ValueError for an unknown reduction or a weight of another shape. Warns if the shapes differ.

    >>> import adjoint
    >>> adjoint.nn.functional.l1_loss(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = _agreed(input, target, weight, reduction, size_average, reduce)
    losses = ops.abs(input - target)
    return _reduced(losses, reduction) if weight is None else _weighted_mean(losses, weight, reduction)


@_functional
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """huber_loss(input, target, delta=beta) / beta, and l1_loss for beta 0.

    Raises ValueError for an unknown reduction, RuntimeError for a negative beta. Warns if the shapes differ.

    >>> import adjoint
    >>> adjoint.nn.functional.smooth_l1_loss(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 4.0]))
    tensor(0.7500)
    """
    reduction = _agreed(input, target, None, reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _reduced(ops.abs(input - target), reduction)
    return ops.smooth_l1_loss(*_fitted(input, target), beta, reduction)


@_functional
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """d * d / 2 where d = abs(input - target) is at most delta, delta * (d - delta / 2) elsewhere; reduced.

    Raises ValueError for an unknown reduction or a weight of another shape, RuntimeError if delta is not positive.
    Warns if the shapes differ.

    >>> import adjoint
    >>> adjoint.nn.functional.huber_loss(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 4.0]))
    tensor(0.7500)
    """
    reduction, delta = _agreed(input, target, weight, reduction), as_number(delta)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    pair = _fitted(input, target.to(input.dtype))
    if weight is None:
        return ops.huber_loss(*pair, delta, reduction)
    return _reduced(ops.huber_loss(*pair, delta, "none") * weight, reduction)


# of probabilities ---------------------------------------------------------------------------------------------------


@_functional
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The divergence of Kullback and Leibler, target * (log(target) - input), for input in logarithms.

    log_target: target is in logarithms too. reduction "batchmean" is the sum divided by the length of the first axis.
    Raises ValueError for an unknown reduction, RuntimeError for integers and complex numbers. Warns of "mean".

    >>> import adjoint
    >>> adjoint.nn.functional.kl_div(adjoint.tensor([-1.0, -1.0]), adjoint.tensor([1.0, 0.0]), reduction="sum")
    tensor(1.)
    """
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            stacklevel=3,
        )
    reduction = _reduction(reduction, size_average, reduce, "batchmean")
    require_tensors("kl_div", input=input, target=target)
    for tensor in (input, target):
        if tensor.is_complex():
            raise RuntimeError("kl_div: Complex inputs not supported.")
        if not tensor.is_floating_point():
            raise RuntimeError("kl_div: Integral inputs not supported.")
    pair = _fitted(input, target)
    if reduction != "batchmean":
        return ops.kl_div(*pair, log_target, reduction)
    total = ops.kl_div(*pair, log_target, "sum")
    return total / input.shape[0] if input.ndim else total


@_functional
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight * (target * log(input) + (1 - target) * log(1 - input)), reduced; logarithms count as -100 at least.

    Raises ValueError for an unknown reduction or different shapes, RuntimeError if input is not between 0 and 1.

    >>> import adjoint
    >>> adjoint.nn.functional.binary_cross_entropy(adjoint.tensor([0.5, 0.5]), adjoint.tensor([1.0, 0.0]))
    tensor(0.6931)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated."
            " Please ensure they have the same size."
        )
    if input.is_floating_point() and target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.long_name} but expected {input.dtype.long_name}")
    if weight is None:
        return ops.binary_cross_entropy(input, target, None, reduction)
    return _reduced(ops.binary_cross_entropy(input, target, None, "none") * weight, reduction)


@_functional
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy(sigmoid(input), target), without overflow; pos_weight multiplies the share of the target.

    Raises ValueError for an unknown reduction or different shapes.

    >>> import adjoint
    >>> adjoint.nn.functional.binary_cross_entropy_with_logits(adjoint.tensor([0.0]), adjoint.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    if not (target.is_floating_point() or target.is_complex()):
        kind = promote_types(input.dtype, target.dtype).long_name
        raise RuntimeError(f"result type {kind} can't be cast to the desired output type {target.dtype.long_name}")
    if pos_weight is not None:
        losses = (1 - target) * input - (1 + (pos_weight - 1) * target) * ops.logsigmoid(input)
    elif weight is not None or target.dtype is not input.dtype:
        losses = ops.binary_cross_entropy_with_logits(input, target, None, "none")
    else:
        return ops.binary_cross_entropy_with_logits(input, target, None, reduction)
    losses = losses if weight is None else losses * weight
    # the type is the target's, whatever those of the others
    return _reduced(losses if losses.dtype is target.dtype else losses.to(target.dtype), reduction)


@_functional
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative logarithm of the normal density: (log(var) + (input - target) ** 2 / var) / 2, reduced.

    var: for each element, for each row of the last axis, or one number; as far as it is below eps, eps is taken, which
    the gradient does not see. full: with the constant log(2 pi) / 2.
    Raises ValueError for an unknown reduction, a negative variance or one of another shape.

    >>> import adjoint
    >>> adjoint.nn.functional.gaussian_nll_loss(adjoint.tensor([1.0]), adjoint.tensor([3.0]), adjoint.tensor([1.0]))
    tensor(2.)
    """
    if not isinstance(var, TensorBase):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ops.ones_like(input)
    elif var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var[..., None]
        elif not (input.ndim == var.ndim and input.shape[:-1] == var.shape[:-1] and var.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if bool((underlying(var._array) < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = ops.clone(var)
    with no_grad():
        var.clamp_(min=eps)
    losses = 0.5 * (ops.log(var) + (input - target) ** 2 / var)
    return _reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


@_functional
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative logarithm of Poisson's distribution for a rate exp(input), or input if log_input is False; reduced.

    full: with Stirling's approximation of log(target!) where target > 1. eps: added to the rate under its logarithm.
    Raises ValueError for an unknown reduction.

    >>> import adjoint
    >>> adjoint.nn.functional.poisson_nll_loss(adjoint.tensor([0.0]), adjoint.tensor([2.0]))
    tensor(1.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    require_tensors("poisson_nll_loss", input=input, target=target)
    if log_input:
        losses = ops.exp(input) - target * input
    else:
        losses = input - target * ops.log(input + eps)
    if full:
        large = target > 1
        safe = ops.where(large, target, 2)
        stirling = target * ops.log(safe) - target + 0.5 * ops.log(2 * math.pi * safe)
        losses = losses + ops.where(large, stirling, 0).to(losses.dtype)
    return _reduced(losses, reduction)


# of classes ---------------------------------------------------------------------------------------------------------


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raise torch's errors unless target names a class for each place of the input."""
    if input.ndim > 1 and not target.ndim:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size (0).")
    if not 0 <= input.ndim - target.ndim <= 1 or (input.ndim == target.ndim and target.ndim > 1):
        if input.ndim <= 2:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        wanted = [input.shape[0], *input.shape[2:]]
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    if target.dtype not in (int64, uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.long_name}")
    if input.ndim > 2 and (input.shape[0], *input.shape[2:]) != tuple(target.shape):
        wanted = [input.shape[0], *input.shape[2:]]
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    _check_class_weight("", input, weight)
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.long_name} but found {weight.dtype.long_name}")


def _check_class_weight(function: str, input: Tensor, weight: Tensor | None) -> None:
    classes = input.shape[0 if input.ndim == 1 else 1]
    if weight is not None and (weight.ndim != 1 or weight.numel() != classes):
        raise RuntimeError(
            f"{function}weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )


def _check_batch(input: Tensor, target: Tensor) -> None:
    if input.ndim > 1 and target.ndim and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
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
    if input.ndim == 1:
        # one place; its class may stand in a vector of length 1
        return ops.nll_loss(input, ops.reshape(target, (1,)), weight, ignore_index, reduction, 0)
    return ops.nll_loss(input, ops.unsqueeze(target, 1), weight, ignore_index, reduction, 1)


@_functional
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

    Shapes: input (N, C), (C) or (N, C, d1, d2 ...), target (N), () or (N, d1, d2 ...), weight (C). Places with the
    class ignore_index count for nothing. Raises ValueError for an unknown reduction, IndexError for a class out of
    range, RuntimeError for shapes and dtypes that do not fit.

    >>> import adjoint
    >>> adjoint.nn.functional.nll_loss(adjoint.tensor([[-1.0, -2.0]]), adjoint.tensor([1]))
    tensor(2.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    require_tensors("nll_loss_nd", input=input, target=target)
    if not input.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    _check_batch(input, target)
    return _nll(input, target, weight, ignore_index, reduction)


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
    require_tensors("cross_entropy_loss", input=input, target=target)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if input.shape == target.shape:
        return _of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    _check_batch(input, target)
    logs = ops.log_softmax(input, 0 if input.ndim == 1 else 1)
    if label_smoothing <= 0:
        return _nll(logs, target, weight, ignore_index, reduction)
    return _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing)


@_functional
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
    """cross_entropy() of what linear() makes of the input.

    Shapes: input (N, I) or (I); linear_weight (C, I), or (C, d1, ..., I) for several losses of each sample, with an
    input (N, I); linear_bias as linear_weight without I; target and weight as cross_entropy() takes them.
    options: PyTorch's for computing it in pieces, which there are none of here.
    Raises what cross_entropy() does, RuntimeError for shapes that do not fit and an ignore_index of probabilities,
    NotImplementedError for options.

    >>> import adjoint
    >>> adjoint.nn.functional.linear_cross_entropy(adjoint.ones(1, 2), adjoint.zeros(4, 2), adjoint.tensor([1]))
    tensor(1.3863)
    """
    require_tensors("linear_cross_entropy", input=input, linear_weight=linear_weight, target=target)
    if options is not None:
        raise NotImplementedError("linear_cross_entropy() is not computed in pieces here: leave out its options")
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


def _smoothed(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Tensor:
    plain = _nll(logs, target, weight, ignore_index, reduction)
    axis = 0 if logs.ndim == 1 else 1
    classes = logs.shape[axis]
    uniform = -ops.sum(logs if weight is None else logs * _along_classes(logs, weight), axis)
    places = ops.reshape(target, tuple(uniform.shape)).to(int64)
    counts = places != ignore_index
    uniform = _reduced(ops.where(counts, uniform, 0), "none" if reduction == "none" else "sum")
    if reduction == "mean":
        if weight is None:
            uniform = uniform / ops.count_nonzero(counts)
        else:
            chosen = weight[ops.where(counts, places, 0)]
            uniform = uniform / ops.where(counts, chosen, 0).sum()
    return (1 - label_smoothing) * plain + label_smoothing / classes * uniform


# of margins ---------------------------------------------------------------------------------------------------------


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
    require_tensors("soft_margin_loss", input=input, target=target)
    shape = broadcast_shapes(tuple(input.shape), tuple(target.shape))
    if shape != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    if input.is_complex():
        return _reduced(ops.log1p(ops.exp(-target * input)), reduction)
    target = target if target.dtype is input.dtype else target.to(input.dtype)
    return ops.soft_margin_loss(*_fitted(input, target), None, reduction)


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
    require_tensors("hinge_embedding_loss", input=input, target=target)
    if not (input.is_floating_point() or input.is_complex()):
        # torch takes the margin as the input's type, and so drops its fraction
        margin = int(margin)
    far = ops.where(target != 1, ops.clamp(margin - input, min=0), 0)
    return _reduced(far + ops.where(target != -1, input, 0), reduction)


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    # a margin is of floating point, and the loss of integers with it
    return _reduced(ops.clamp(float(margin) - target * (input1 - input2), min=0), reduction)


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
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
    return _reduced(alike + ops.where(target == -1, ops.clamp(cosines - margin, min=0), 0), reduction)


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


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
    _check_triplet(anchor, positive, negative, margin)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _reduced(_triplet(distance, anchor, positive, negative, margin, swap), reduction)


@_functional
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
    reduction = _reduction(reduction)
    _check_triplet(anchor, positive, negative, margin)
    distance = pairwise_distance if distance_function is None else distance_function
    return _reduced(_triplet(distance, anchor, positive, negative, margin, swap), reduction)


def _as_rows(input: Tensor) -> Tensor:
    """A vector, or a number, as the one row of a matrix."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    return input if input.ndim == 2 else ops.reshape(input, (1, -1))


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
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
    places = ops.reshape(target, (n, 1))
    excess = ops.relu(margin - ops.gather(rows, 1, places) + rows)
    losses = excess if p == 1 else excess * excess
    if weight is not None:
        losses = losses * weight.detach()[places]
    losses = ops.sum(ops.scatter(losses, 1, places, 0), 1) / classes
    return _reduced(losses if target.ndim else losses[0], reduction)


def _require_classes(target: Tensor, classes: int, message: str, lowest: int) -> None:
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.long_name}")
    raw = underlying(target._array)
    if ((raw < lowest) | (raw >= classes)).any():
        raise RuntimeError(message)


@_functional
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
    reduction = _reduction(reduction, size_average, reduce)
    rows = _as_rows(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _require_classes(target, rows.shape[1], "argument #2 'target' is out of range", lowest=-1)
    labels = ops.reshape(target, tuple(rows.shape))
    valid = ops.cumprod(labels >= 0, 1) > 0
    places = ops.where(valid, labels, 0)
    is_label = ops.scatter_add(ops.zeros_like(labels), 1, places, valid.to(int64)) > 0
    excess = ops.relu(1 - ops.gather(rows, 1, places)[:, :, None] + rows[:, None])
    counts = valid[:, :, None] & ~is_label[:, None]
    losses = ops.sum(ops.where(counts, excess, 0), (1, 2)) / max(rows.shape[1], 1)
    return _reduced(losses if input.ndim == 2 else losses[0], reduction)


@_functional
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
        reduction = _reduction(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    losses = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return _reduced(ops.sum(losses, -1) / input.shape[-1], reduction)


# sequences ----------------------------------------------------------------------------------------------------------

# so low that its exponential is 0
_NEVER = -1e30


def _lengths(name: str, lengths: Any, samples: int, most: int) -> Any:
    if isinstance(lengths, TensorBase):
        if lengths.is_floating_point() or lengths.is_complex():
            raise RuntimeError(f"{name} must be integral")
        lengths = lengths._array
    found = numpy.asarray(lengths, dtype=numpy.int64).reshape(-1)
    if found.size != samples:
        raise RuntimeError(f"{name} must be of size batch_size")
    while_checking = "(while checking arguments for ctc_loss_allocate_outputs)"
    if found.size and found.min() < 0:
        raise RuntimeError(
            f"Expected {name} to have value at least 0, but got value {found[found < 0][0]} {while_checking}"
        )
    if found.size and found.max() > most:
        raise RuntimeError(
            f"Expected {name} to have value at most {most}, but got value {found[found > most][0]} {while_checking}"
        )
    return found


def _padded_targets(targets: Any, lengths: Any, samples: int) -> Any:
    """The target of each sample in a row of its own, whether they came so or one after the other."""
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


@_functional
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification (Graves et al. 2006): -log of the probability of a sequence of labels.

    Shapes: log_probs (T, N, C) or (T, C), logarithms of probabilities of classes at each moment; targets (N, S), (S),
    or all labels one after the other; lengths (N), how many moments and labels of each sample count. blank: the class
    that stands for no label. reduction "mean" divides each loss by the length of its target, then takes the mean.
    zero_infinity: losses of targets that are too long for their input are 0, and infinite otherwise.
    log_probs must come from log_softmax(): the gradient takes the probabilities of classes to sum to 1, and is
    exp(log_probs) less the classes' probabilities given the target, as in PyTorch. Where they sum to something else,
    it is not the derivative of the formula.
    Raises ValueError for an unknown reduction, RuntimeError for lengths and labels that do not fit.

    >>> import adjoint
    >>> log_probs = adjoint.zeros(2, 1, 2) - 0.6931
    >>> adjoint.nn.functional.ctc_loss(log_probs, adjoint.tensor([[1]]), (2,), (1,))
    tensor(0.2876)
    """
    reduction = _reduction(reduction)
    require_tensors("ctc_loss", log_probs=log_probs, targets=targets)
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs[:, None]
    _check_ctc(log_probs, blank)
    moments, samples, classes = log_probs.shape
    steps = _lengths("input_lengths", input_lengths, samples, moments)
    lengths = _lengths("target_lengths", target_lengths, samples, numpy.iinfo(numpy.int64).max)
    given = underlying(targets._array)
    rows = _padded_targets(given, lengths, samples)
    counts = numpy.arange(rows.shape[1]) < lengths[:, None]
    if ((rows < 0) | (rows >= classes))[counts].any():
        raise RuntimeError(f"targets must be classes from 0 to {classes - 1}, got {rows[counts].tolist()}")
    states = numpy.full((samples, 2 * rows.shape[1] + 1), blank)
    states[:, 1::2] = numpy.where(counts, rows, blank)
    skip = numpy.full(states.shape, _NEVER)
    skip[:, 2:][(states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])] = 0
    place, end = numpy.arange(states.shape[1]), 2 * lengths[:, None]
    last = numpy.where((place == end) | (place == end - 1), 0, _NEVER)
    flat = (numpy.arange(moments)[:, None] * samples + numpy.arange(samples))[..., None] * classes + states
    kind = log_probs._array.dtype
    losses = ops.ctc_loss(log_probs, flat, skip.astype(kind), last.astype(kind), steps, zero_infinity)
    if zero_infinity:
        losses = ops.where(ops.isinf(losses), 0, losses)
    if reduction == "mean":
        return (losses / numpy.maximum(lengths, 1).astype(kind)).mean()
    return losses[0] if single and reduction == "none" else _reduced(losses, reduction)
