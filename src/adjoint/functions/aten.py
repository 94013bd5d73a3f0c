"""Functions of the namespace torch whose arguments differ from the functions of these names in nn.functional.

Here a reduction is a number (0 none, 1 mean, 2 sum), by default none. The parameters of normalisations have another
order. cuDNN's switches come last and have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjoint.arrays.dtypes import float64
from adjoint.arrays.shapes import require_dim
from adjoint.arrays.size import type_name
from adjoint.functions import (
    activations,
    adaptive_pooling,
    contract,
    convolution,
    ctc,
    difference_losses,
    margin_losses,
    max_pooling,
    normalization,
)
from adjoint.functions.composite import composite, in_place, ops, public
from adjoint.tensor import creation

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
_REDUCTIONS = ("none", "mean", "sum")

_function = composite(method=False)


def _reduction(function: str, number: int) -> str:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{function}(): argument 'reduction' must be int, not {type_name(number)}")
    if number not in range(3):
        raise ValueError(f"{number} is not a valid value for reduction: 0 is none, 1 mean, 2 sum")
    return _REDUCTIONS[number]


# losses ---------------------------------------------------------------------------------------------------------------


@_function
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """nn.functional.binary_cross_entropy_with_logits() with the reduction as a number.

    0 none, 1 mean, 2 sum.

    >>> import adjoint
    >>> adjoint.binary_cross_entropy_with_logits(adjoint.tensor([0.0]), adjoint.tensor([1.0]))
    tensor([0.6931])
    """
    kind = _reduction("binary_cross_entropy_with_logits", reduction)
    return difference_losses.binary_cross_entropy_with_logits(
        input, target, weight, reduction=kind, pos_weight=pos_weight
    )


@_function
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """nn.functional.cosine_embedding_loss() with the reduction as a number.

    0 none, 1 mean, 2 sum.

    >>> import adjoint
    >>> adjoint.cosine_embedding_loss(adjoint.tensor([[1.0, 0.0]]), adjoint.tensor([[0.0, 1.0]]), adjoint.tensor([1]))
    tensor([1.])
    """
    kind = _reduction("cosine_embedding_loss", reduction)
    return margin_losses.cosine_embedding_loss(input1, input2, target, margin, reduction=kind)


@_function
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """nn.functional.hinge_embedding_loss() with the reduction as a number.

    0 none, 1 mean, 2 sum.

    >>> import adjoint
    >>> adjoint.hinge_embedding_loss(adjoint.tensor([0.25, 0.25]), adjoint.tensor([1, -1]))
    tensor([0.2500, 0.7500])
    """
    return margin_losses.hinge_embedding_loss(
        input, target, margin, reduction=_reduction("hinge_embedding_loss", reduction)
    )


@_function
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """nn.functional.kl_div() with the reduction as a number.

    0 none, 1 mean, 2 sum.

    >>> import adjoint
    >>> adjoint.kl_div(adjoint.tensor([0.0, 0.0]), adjoint.tensor([1.0, 0.5]))
    tensor([ 0.0000, -0.3466])
    """
    return difference_losses.kl_div(input, target, reduction=_reduction("kl_div", reduction), log_target=log_target)


@_function
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """nn.functional.margin_ranking_loss() with the reduction as a number.

    0 none, 1 mean, 2 sum.

    >>> import adjoint
    >>> adjoint.margin_ranking_loss(adjoint.tensor([1.0]), adjoint.tensor([3.0]), adjoint.tensor([1]))
    tensor([2.])
    """
    kind = _reduction("margin_ranking_loss", reduction)
    return margin_losses.margin_ranking_loss(input1, input2, target, margin, reduction=kind)


@_function
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """nn.functional.poisson_nll_loss() with all arguments, the reduction as a number.

    0 none, 1 mean, 2 sum.

    >>> import adjoint
    >>> adjoint.poisson_nll_loss(adjoint.tensor([0.0]), adjoint.tensor([1.0]), True, False, 1e-8, 0)
    tensor([1.])
    """
    kind = _reduction("poisson_nll_loss", reduction)
    return difference_losses.poisson_nll_loss(input, target, log_input=log_input, full=full, eps=eps, reduction=kind)


@_function
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """nn.functional.triplet_margin_loss() with the reduction as a number.

    0 none, 1 mean, 2 sum.

    >>> import adjoint
    >>> adjoint.triplet_margin_loss(adjoint.tensor([[0.0]]), adjoint.tensor([[1.0]]), adjoint.tensor([[3.0]]))
    tensor([0.])
    """
    kind = _reduction("triplet_margin_loss", reduction)
    return margin_losses.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=kind)


@_function
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """nn.functional.ctc_loss() with the reduction as a number.

    0 none, 1 mean, 2 sum; log_probs: (time, batch, classes).

    >>> import adjoint
    >>> adjoint.ctc_loss(adjoint.zeros(2, 1, 2), adjoint.tensor([[1]]), adjoint.tensor([2]), adjoint.tensor([1]))
    tensor([-1.0986])
    """
    kind = _reduction("ctc_loss", reduction)
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, kind, zero_infinity)


# normalisation --------------------------------------------------------------------------------------------------------


@_function
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """nn.functional.batch_norm() with weight and bias first.

    input: (N, C, ...). In training it uses the mean and variance of the batch, and updates the running statistics.

    >>> import adjoint
    >>> adjoint.batch_norm(adjoint.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_function
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """nn.functional.instance_norm() with weight and bias first.

    input: (N, C, ...); each channel of each sample has its own mean and variance.

    >>> import adjoint
    >>> adjoint.instance_norm(adjoint.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@_function
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """nn.functional.layer_norm().

    Means and variances over the last axes, of normalized_shape.

    >>> import adjoint
    >>> adjoint.layer_norm(adjoint.tensor([[1.0, 3.0]]), [2])
    tensor([[-1.0000,  1.0000]])
    """
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


@_function
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """nn.functional.group_norm().

    Means and variances over the channels of each group.

    >>> import adjoint
    >>> adjoint.group_norm(adjoint.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    return normalization.group_norm(input, num_groups, weight, bias, eps)


# Normalisations that also return their divisors. These statistics are constants for the derivative.


@_function
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """nn.functional.layer_norm(), the mean, and one over the standard deviation, with axes of length one.

    The last two are constants for the derivative.

    >>> import adjoint
    >>> adjoint.native_layer_norm(adjoint.tensor([1.0, 3.0]), [2], None, None, 0.0)
    (tensor([-1.,  1.]), tensor([2.]), tensor([1.]))
    """
    output = normalization.layer_norm(input, normalized_shape, weight, bias, eps)
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return output, *_statistics(input, axes, eps, keepdim=True)


@_function
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """nn.functional.group_norm(), the mean, and one over the standard deviation, both of shape (N, group).

    N samples with C channels of HxW elements each. Raises RuntimeError if the input has another number of elements.

    >>> import adjoint
    >>> adjoint.native_group_norm(adjoint.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 1e-5)[1]
    tensor([[2.]])
    """
    if input.numel() != N * C * HxW:
        raise RuntimeError(f"Expected input to have N * C * HxW = {N * C * HxW} elements, but got {input.numel()}")
    output = normalization.group_norm(input, group, weight, bias, eps)
    return output, *_statistics(ops.reshape(input, (N, group, -1)), (2,), eps, keepdim=False)


@_function
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """nn.functional.batch_norm(), the mean, and one over the standard deviation of a channel; empty in evaluation.

    Raises RuntimeError for an input without elements in training.

    >>> import adjoint
    >>> adjoint.native_batch_norm(adjoint.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5)[1]
    tensor([2.])
    """
    if training and 0 in input._array.shape:
        sizes = list(input._array.shape)
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {sizes}")
    output = normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return output, creation.empty(0, dtype=input.dtype), creation.empty(0, dtype=input.dtype)
    return output, *_statistics(input, (0, *range(2, input.ndim)), eps, keepdim=False)


def _statistics(input: Tensor, axes: tuple[int, ...], eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    input = input.detach()
    variance = input.var(axes, correction=0, keepdim=keepdim)
    return input.mean(axes, keepdim=keepdim), ops.rsqrt(variance + eps)


@_function
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Zeros each element with probability p and divides the others by 1 - p; also returns the mask of kept elements.

    No element is dropped if train is False. Raises ValueError unless p is between 0 and 1.

    >>> import adjoint
    >>> adjoint.native_dropout(adjoint.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if train is False or p == 0:
        return input * 1, creation.ones(tuple(input.shape), dtype=bool, device=input.device)
    mask = creation.rand(tuple(input.shape), dtype=float64, device=input.device) >= p
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


@_function
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of the slices along one axis; the other axes become length one. For dim -1 the norm of all elements.

    >>> import adjoint
    >>> adjoint.norm_except_dim(adjoint.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return v.norm(pow)
    axis = require_dim(dim, v.ndim)
    slices = v.movedim(axis, 0).unsqueeze(1).flatten(1)
    return slices.norm(pow, 1).reshape([n if i == axis else 1 for i, n in enumerate(v.shape)])


# max pooling without indices; adaptive_max_pool1d() alone returns them ----------------------------------------------


@_function
def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window; see nn.functional.max_pool1d().

    The arguments are as in that function, without return_indices.

    >>> import adjoint
    >>> adjoint.max_pool1d(adjoint.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    return max_pooling.max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@_function
def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window; see nn.functional.max_pool2d().

    The arguments are as in that function, without return_indices.

    >>> import adjoint
    >>> adjoint.max_pool2d(adjoint.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
    tensor([[[3.]]])
    """
    return max_pooling.max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@_function
def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window; see nn.functional.max_pool3d().

    The arguments are as in that function, without return_indices.

    >>> import adjoint
    >>> adjoint.max_pool3d(adjoint.ones(1, 2, 2, 2), 2)
    tensor([[[[1.]]]])
    """
    return max_pooling.max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@_function
def adaptive_max_pool1d(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """As adaptive_max_pool1d() with return_indices=True; the value of return_indices is ignored.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.adaptive_max_pool1d(adjoint.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return adaptive_pooling.adaptive_max_with_indices(1, input, output_size)


# others ---------------------------------------------------------------------------------------------------------------


@_function
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """nn.functional.bilinear().

    x1 W x2 + b for each row: shapes (n, i), (n, j), (k, i, j) and (k) give (n, k).

    >>> import adjoint
    >>> adjoint.bilinear(adjoint.tensor([[1.0, 2.0]]), adjoint.tensor([[3.0]]), adjoint.ones(1, 2, 1))
    tensor([[9.]])
    """
    return contract.bilinear(input1, input2, weight, bias)


@_function
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """nn.functional.alpha_dropout() with all arguments.

    p: the probability that an element is dropped. train: False to drop no elements. The derivative treats the drawn
    factors as constants. Raises ValueError unless p is between 0 and 1.

    >>> import adjoint
    >>> adjoint.alpha_dropout(adjoint.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return activations.alpha_dropout(input, p, train)


@in_place("")
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """nn.functional.alpha_dropout() with all arguments, in place.

    p: the probability that an element is dropped. train: False to drop no elements. The derivative treats the drawn
    factors as constants. Raises ValueError unless p is between 0 and 1.

    >>> import adjoint
    >>> adjoint.alpha_dropout_(adjoint.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return activations.alpha_dropout(input, p, train, True)


@_function
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """nn.functional.feature_alpha_dropout() with all arguments.

    p: the probability that an element is dropped. train: False to drop no elements. The derivative treats the drawn
    factors as constants. Raises ValueError unless p is between 0 and 1.

    >>> import adjoint
    >>> adjoint.feature_alpha_dropout(adjoint.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return activations.feature_alpha_dropout(input, p, train)


@in_place("")
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """nn.functional.feature_alpha_dropout() with all arguments, in place.

    p: the probability that an element is dropped. train: False to drop no elements. The derivative treats the drawn
    factors as constants. Raises ValueError unless p is between 0 and 1.

    >>> import adjoint
    >>> adjoint.feature_alpha_dropout_(adjoint.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return activations.feature_alpha_dropout(input, p, train, True)


@_function
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels of an input (N, C, ...), as nn.functional.dropout2d(), with all arguments.

    p: the probability that an element is dropped. train: False to drop no elements. The derivative treats the drawn
    factors as constants. Raises ValueError unless p is between 0 and 1.

    >>> import adjoint
    >>> adjoint.feature_dropout(adjoint.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return activations.feature_dropout(input, p, train)


@in_place("")
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels of an input (N, C, ...), as nn.functional.dropout2d(), in place.

    p: the probability that a channel is dropped. train: False to drop no elements. The derivative treats the drawn
    factors as constants. Raises ValueError unless p is between 0 and 1.

    >>> import adjoint
    >>> adjoint.feature_dropout_(adjoint.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return activations.feature_dropout(input, p, train, True)


_AXES = (
    "Input must have 3 dims: time, batch, in_channel",
    "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.",
    "Bias must be 1-D",
)


@public
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """One-dimensional convolution of a (time, batch, channels) tensor.

    input: (T, N, C_in). weight: (width, C_in, C_out). bias: (C_out). pad: zeros put before and after in time.
    Returns a tensor of shape (T + 2 * pad - width + 1, N, C_out). Raises RuntimeError for other numbers of axes or
    channels that do not fit.

    >>> import adjoint
    >>> adjoint.conv_tbc(adjoint.ones(4, 1, 2), adjoint.ones(3, 2, 1), adjoint.zeros(1), 1).flatten()
    tensor([4., 6., 6., 4.])
    """
    for value, ndim, message in zip((input, weight, bias), (3, 3, 1), _AXES, strict=True):
        if value.ndim != ndim:
            raise RuntimeError(message)
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    by_channel = convolution.conv1d(ops.permute(input, (1, 2, 0)), ops.permute(weight, (2, 1, 0)), bias, padding=pad)
    return ops.clone_with_strides(ops.permute(by_channel, (2, 0, 1)))
