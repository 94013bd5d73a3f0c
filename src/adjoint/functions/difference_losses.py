"""Losses of nn.functional that compare each element with its target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from adjoint.arrays.dtypes import bool_, promote_types
from adjoint.arrays.namespace import underlying
from adjoint.core.graph import TensorBase
from adjoint.core.modes.grad_mode import no_grad
from adjoint.functions.arguments import in_common_dtype, require_tensors
from adjoint.functions.composite import as_number, functional, ops
from adjoint.functions.loss_reductions import (
    check_reduction,
    expand_both,
    reduce_losses,
    reduce_weighted,
    resolve_after_size_checks,
    resolve_reduction,
)
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


@functional
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
    reduction = resolve_after_size_checks(input, target, weight, reduction, size_average, reduce)
    pair = expand_both(input, target)
    if weight is None:
        if target.dtype is bool_:
            pair = pair[0], pair[1].to(input.dtype)
        return ops.mse_loss(*pair, None, reduction)
    return reduce_weighted(ops.square(ops.sub(*pair)), weight, reduction)


@functional
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
    reduction = resolve_after_size_checks(input, target, weight, reduction, size_average, reduce)
    # expanded first: of two tensors with axes the wider dtype decides
    losses = ops.abs(ops.sub(*expand_both(input, target)))
    return reduce_losses(losses, reduction) if weight is None else reduce_weighted(losses, weight, reduction)


@functional
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
    reduction = resolve_after_size_checks(input, target, None, reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduce_losses(ops.abs(input - target), reduction)
    return ops.smooth_l1_loss(*expand_both(input, target), beta, reduction)


@functional
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
    reduction, delta = resolve_after_size_checks(input, target, weight, reduction), as_number(delta)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    pair = expand_both(input, target.to(input.dtype))
    if weight is None:
        return ops.huber_loss(*pair, delta, reduction)
    return reduce_losses(ops.huber_loss(*pair, delta, "none") * weight, reduction)


@functional
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
        warn_caller(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release."
        )
    reduction = resolve_reduction(reduction, size_average, reduce, "batchmean")
    require_tensors("kl_div", input=input, target=target)
    for tensor in (input, target):
        if tensor.is_complex():
            raise RuntimeError("kl_div: Complex inputs not supported.")
        if not tensor.is_floating_point():
            raise RuntimeError("kl_div: Integral inputs not supported.")
    # the dtype follows from the tensors before broadcasting: a 0-d tensor does not widen one with axes
    pair = expand_both(*in_common_dtype(input, target))
    if reduction != "batchmean":
        return ops.kl_div(*pair, log_target, reduction)
    total = ops.kl_div(*pair, log_target, "sum")
    return total / input.shape[0] if input.ndim else total


@functional
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
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated."
            " Please ensure they have the same size."
        )
    if input.is_floating_point() and target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.long_name} but expected {input.dtype.long_name}")
    if weight is None:
        return ops.binary_cross_entropy(input, target, None, reduction)
    return reduce_losses(ops.binary_cross_entropy(input, target, None, "none") * weight, reduction)


@functional
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
    reduction = resolve_reduction(reduction, size_average, reduce)
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
    # the dtype is the target's, for any dtypes of the others
    return reduce_losses(losses if losses.dtype is target.dtype else losses.to(target.dtype), reduction)


@functional
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative logarithm of the normal density: (log(var) + (input - target) ** 2 / var) / 2, reduced.

    var: for each element, for each row of the last axis, or one number. eps replaces smaller variances; the gradient
    ignores this. full: with the constant log(2 pi) / 2.
    Raises ValueError for an unknown reduction, and for a variance that is negative or has another shape.

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
    check_reduction(reduction)
    if bool((underlying(var._array) < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = ops.clone(var)
    with no_grad():
        var.clamp_(min=eps)
    losses = 0.5 * (ops.log(var) + (input - target) ** 2 / var)
    return reduce_losses(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


@functional
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
    reduction = resolve_reduction(reduction, size_average, reduce)
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
    return reduce_losses(losses, reduction)
