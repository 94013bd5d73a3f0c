"""Activations as functions of nn.functional, also in place, and dropout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from adjoint.core.recorded import operations
from adjoint.functions.arguments import require_tensor
from adjoint.functions.composite import composite, describe, functional, in_place, in_place_text, ops, takes_out
from adjoint.runtime.once import warn_caller
from adjoint.tensor.creation import rand

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _run(name: str, inplace: bool, *arguments: Any) -> Tensor:
    operation = operations[name]
    if not inplace:
        return operation(*arguments)
    require_tensor(f"{name}_", "input", 0, arguments[0])
    return operation.inplace(arguments, {})


# smooth ---------------------------------------------------------------------------------------------------------------


@functional
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, alpha * (exp(input) - 1) elsewhere.

    >>> import adjoint
    >>> adjoint.nn.functional.elu(adjoint.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _run("elu", inplace, input, alpha)


@composite(method=False)
@functional
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere: smooth for every alpha.

    Raises RuntimeError if alpha is 0.

    >>> import adjoint
    >>> adjoint.nn.functional.celu(adjoint.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _run("celu", inplace, input, alpha, 1.0, 1 / alpha)


# Klambauer et al. 2017: mean 0 and variance 1 are a fixed point
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@composite(method=False)
@functional
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale * elu(input, alpha) with the two constants that keep mean 0 and variance 1 from layer to layer.

    >>> import adjoint
    >>> adjoint.nn.functional.selu(adjoint.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return _run("elu", inplace, input, _SELU_ALPHA, _SELU_SCALE)


@functional
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input times the normal distribution function of it; approximate="tanh" takes an approximation of that.

    Raises RuntimeError for another `approximate`.

    >>> import adjoint
    >>> adjoint.nn.functional.gelu(adjoint.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    return ops.gelu(input, approximate)


@functional
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)

    >>> import adjoint
    >>> adjoint.nn.functional.silu(adjoint.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    return _run("silu", inplace, input)


@functional
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))

    >>> import adjoint
    >>> adjoint.nn.functional.mish(adjoint.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """
    return _run("mish", inplace, input)


@functional
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without overflow.

    >>> import adjoint
    >>> adjoint.nn.functional.logsigmoid(adjoint.tensor([-1000.0, 0.0]))
    tensor([-1.0000e+03, -6.9315e-01])
    """
    return ops.logsigmoid(input)


@functional
def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)

    >>> import adjoint
    >>> adjoint.nn.functional.tanhshrink(adjoint.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """
    return input - ops.tanh(input)


@functional
def softsign(input: Tensor) -> Tensor:
    """input / (1 + abs(input))

    >>> import adjoint
    >>> adjoint.nn.functional.softsign(adjoint.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (ops.abs(input) + 1)


@functional
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of the input along an axis times the sigmoid of the second half.

    Raises RuntimeError if the axis has an odd length, or if there is none.

    >>> import adjoint
    >>> adjoint.nn.functional.glu(adjoint.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    return ops.glu(input, dim)


for _name in ("softplus", "sigmoid", "tanh"):
    composite(namespace="nn.functional", method=False, name=_name)(operations[_name])

# piecewise linear -----------------------------------------------------------------------------------------------------


@functional
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)

    >>> import adjoint
    >>> adjoint.nn.functional.relu(adjoint.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _run("relu", inplace, input)


@functional
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where it is positive, negative_slope * input elsewhere.

    >>> import adjoint
    >>> adjoint.nn.functional.leaky_relu(adjoint.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _run("leaky_relu", inplace, input, negative_slope)


@composite()
@functional
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where it is positive, weight * input elsewhere, with one weight in all or one for each channel (axis 1).

    Raises RuntimeError if the weight has several axes, another dtype, or another number of elements.

    >>> import adjoint
    >>> adjoint.nn.functional.prelu(adjoint.tensor([-1.0, 2.0]), adjoint.tensor([0.25]))
    tensor([-0.2500,  2.0000])
    """
    require_tensor("prelu", "input", 0, input)
    require_tensor("prelu", "weight", 1, weight)
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.long_name} and {weight.dtype.long_name}"
        )
    if weight.numel() != 1:
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    channel_dim = min(1, max(input.ndim - 1, 0))
    shape = [weight.numel() if axis == channel_dim else 1 for axis in range(input.ndim)]
    return ops.prelu_kernel(input, ops.reshape(weight, tuple(shape)))


@composite(method=False)
@functional
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu with a slope drawn at random from [lower, upper) for each element; else their mean as the slope.

    Raises RuntimeError if a bound is not finite or lower exceeds upper.

    >>> import adjoint
    >>> adjoint.nn.functional.rrelu(adjoint.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    for side, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {side} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return _run("leaky_relu", inplace, input, (lower + upper) / 2)
    require_tensor("rrelu", "input", 0, input)
    slopes = rand(tuple(input.shape), dtype=input.dtype, device=input.device) * (upper - lower) + lower
    return _run("rrelu_with_noise", inplace, input, ops.where(input.detach() <= 0, slopes, 1))


@composite(method=False)
@functional
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is above the threshold, value elsewhere.

    >>> import adjoint
    >>> adjoint.nn.functional.threshold(adjoint.tensor([-1.0, 2.0]), 0.0, 7.0)
    tensor([7., 2.])
    """
    return _run("threshold", inplace, input, threshold, value)


@functional
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input with values below min_val raised to it and above max_val lowered to it.

    Raises ValueError if min_val exceeds max_val.

    >>> import adjoint
    >>> adjoint.nn.functional.hardtanh(adjoint.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _run("hardtanh", inplace, input, min_val, max_val)


@functional
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)

    >>> import adjoint
    >>> adjoint.nn.functional.relu6(adjoint.tensor([-2.0, 0.5, 8.0]))
    tensor([0.0000, 0.5000, 6.0000])
    """
    return _run("hardtanh", inplace, input, 0.0, 6.0)


@functional
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(input + 3) / 6

    >>> import adjoint
    >>> adjoint.nn.functional.hardsigmoid(adjoint.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _run("hardsigmoid", inplace, input)


@functional
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * relu6(input + 3) / 6

    >>> import adjoint
    >>> adjoint.nn.functional.hardswish(adjoint.tensor([-4.0, 3.0]))
    tensor([-0., 3.])
    """
    return _run("hardswish", inplace, input)


@composite()
@functional
@takes_out
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input where abs(input) > lambd, 0 elsewhere.

    >>> import adjoint
    >>> adjoint.nn.functional.hardshrink(adjoint.tensor([-0.2, 2.0]))
    tensor([0., 2.])
    """
    return ops.hardshrink(input, lambd)


@functional
@takes_out
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input - lambd where that is positive, input + lambd where that is negative, 0 elsewhere.

    Raises RuntimeError if lambd is negative.

    >>> import adjoint
    >>> adjoint.nn.functional.softshrink(adjoint.tensor([-0.2, 2.0]))
    tensor([0.0000, 1.5000])
    """
    return ops.softshrink(input, lambd)


# at random ------------------------------------------------------------------------------------------------------------


@functional
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample from the Gumbel-softmax distribution (Jang et al. 2017) of unnormalised logarithms of probabilities.

    tau: the temperature. hard: the result is one-hot, with the gradient of the soft sample. eps has no effect.

    >>> import adjoint
    >>> adjoint.nn.functional.gumbel_softmax(adjoint.zeros(3), hard=True).sum()
    tensor(1.)
    """
    if eps != 1e-10:
        warn_caller("`eps` parameter is deprecated and has no effect.")
    if not logits.is_floating_point():
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {logits.dtype.long_name}"
        )
    # -log(1 - u) is exponentially distributed; u is less than 1, and a zero would make the logarithm infinite
    waits = ops.clamp(-ops.log1p(-rand(tuple(logits.shape), dtype=logits.dtype, device=logits.device)), min=1e-37)
    soft = ops.softmax((logits - ops.log(waits)) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    one_hot = ops.scatter(ops.zeros_like(soft), dim, index, 1.0) if soft.ndim else ops.ones_like(soft)
    return one_hot - soft.detach() + soft


def _check_probability(p: float, error: type[Exception]) -> None:
    if not 0 <= p <= 1:
        text = p if error is ValueError else f"{p:g}"
        raise error(f"dropout probability has to be between 0 and 1, but got {text}")


def _dropout_mask(input: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    # 1 with probability 1 - p, else 0
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"bernoulli_scalar_cpu_\" not implemented for '{input.dtype.long_name}'")
    if not input.is_floating_point():
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.long_name}")
    return ops.cast(rand(shape, device=input.device) >= p, input.dtype)


def _times(inplace: bool, input: Tensor, factor: Tensor) -> Tensor:
    return input.mul_(factor) if inplace else ops.mul(input, factor)


def _drop(input: Tensor, p: float, inplace: bool, shape: tuple[int, ...]) -> Tensor:
    """The input with elements (of this shape, broadcast) zeroed with probability p, the others scaled up."""
    if p == 1:
        return _times(inplace, input, ops.zeros_like(input))
    return _times(inplace, input, _dropout_mask(input, p, shape) * (1 / (1 - p)))


# alpha dropout inserts the limit of selu; the next lines restore mean and variance
_SATURATED = _SELU_ALPHA * _SELU_SCALE


def _alpha_dropped(input: Tensor, p: float, inplace: bool, shape: tuple[int, ...]) -> Tensor:
    if p == 1:
        return _times(inplace, input, ops.zeros_like(input))
    mask = _dropout_mask(input, p, shape)
    scale = ((_SATURATED**2 * p + 1) * (1 - p)) ** -0.5
    shift = (mask - 1) * (_SATURATED * scale) + _SATURATED * scale * p
    scaled = _times(inplace, input, mask * scale)
    return scaled.add_(shift) if inplace else scaled + shift


def _channels(input: Tensor, p: float, batched: bool = True) -> tuple[int, ...]:
    # the shape of a mask for whole channels: one number for each, in each sample if there are several
    n = 2 if batched else 1
    if input.ndim < n:
        if p == 1:
            return tuple(input.shape)
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:n], *(1,) * (input.ndim - n))


def _acts(input: Tensor, p: float, training: bool) -> bool:
    return training and p != 0 and math.prod(input.shape) != 0


@functional
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The input with elements zeroed at random, with probability p, and the others divided by 1 - p.

    Without `training` the input itself. Raises ValueError if p is not between 0 and 1.

    >>> import adjoint
    >>> adjoint.nn.functional.dropout(adjoint.ones(2), 1.0)
    tensor([0., 0.])
    """
    # not _check_probability: NaN passes here in torch, and is refused as a RuntimeError
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _plain_dropout(input, p, training, inplace)


def _plain_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    require_tensor("dropout", "input", 0, input)
    _check_probability(p, RuntimeError)
    return _drop(input, p, inplace, tuple(input.shape)) if _acts(input, p, training) else input


@composite(method=False, name="dropout")
def top_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """As nn.functional.dropout(); RuntimeError if p is not between 0 and 1.

    >>> import adjoint
    >>> adjoint.dropout(adjoint.ones(2), 0.5, train=False)
    tensor([1., 1.])
    """
    return _plain_dropout(input, p, train, False)


@composite(method=False, name="dropout_")
def top_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of dropout().

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """
    return _plain_dropout(input, p, train, True)


@functional
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout() of whole channels: input of shape (N, C, L) or (C, L).

    Raises ValueError if p is not between 0 and 1, RuntimeError for other numbers of axes.

    >>> import adjoint
    >>> adjoint.nn.functional.dropout1d(adjoint.ones(1, 2, 2), 1.0)
    tensor([[[0., 0.],
             [0., 0.]]])
    """
    _check_probability(p, ValueError)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _channel_dropout(input, p, training, inplace, batched=input.ndim == 3)


def _channel_dropout(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    return _drop(input, p, inplace, _channels(input, p, batched)) if _acts(input, p, training) else input


def feature_dropout(input: Tensor, p: float, train: bool, inplace: bool = False) -> Tensor:
    """torch.feature_dropout(): dropout() of whole channels, input of shape (N, C, ...)."""
    _check_probability(p, RuntimeError)
    return _channel_dropout(input, p, train, inplace, batched=True)


def _warn_of_rank(function: str, ndim: int, spatial: int) -> None:
    if ndim in (spatial + 1, spatial + 2):
        return
    warn_caller(
        f"{function}: Received a {ndim}-D input to {function}, which is deprecated and will result in an error in a "
        "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{function} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
        f"dimension, and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs)."
    )


@functional
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout() of whole channels: input of shape (N, C, H, W), or (N, C, L) with a warning.

    Raises ValueError if p is not between 0 and 1, RuntimeError for less than two axes.

    >>> import adjoint
    >>> adjoint.nn.functional.dropout2d(adjoint.ones(1, 1, 1, 2), 1.0)
    tensor([[[[0., 0.]]]])
    """
    _check_probability(p, ValueError)
    _warn_of_rank("dropout2d", input.ndim, 2)
    if input.ndim == 3:
        warn_caller(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _channel_dropout(input, p, training, inplace, batched=True)


@functional
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout() of whole channels: input of shape (N, C, D, H, W) or (C, D, H, W).

    Raises ValueError if p is not between 0 and 1, RuntimeError for an input without axes.

    >>> import adjoint
    >>> adjoint.nn.functional.dropout3d(adjoint.ones(1, 1, 1, 1, 2), 1.0)
    tensor([[[[[0., 0.]]]]])
    """
    _check_probability(p, ValueError)
    _warn_of_rank("dropout3d", input.ndim, 3)
    return _channel_dropout(input, p, training, inplace, batched=input.ndim == 5)


@functional
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, as selu does: elements are set to the value that selu tends to.

    Raises ValueError if p is not between 0 and 1.

    >>> import adjoint
    >>> adjoint.nn.functional.alpha_dropout(adjoint.ones(2), 0.0, True)
    tensor([1., 1.])
    """
    _check_probability(p, ValueError)
    return _alpha_dropped(input, p, inplace, tuple(input.shape)) if _acts(input, p, training) else input


@functional
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout() of whole channels: input of shape (N, C, ...).

    Raises ValueError if p is not between 0 and 1, RuntimeError for less than two axes.

    >>> import adjoint
    >>> adjoint.nn.functional.feature_alpha_dropout(adjoint.ones(1, 2), 0.0, True)
    tensor([[1., 1.]])
    """
    _check_probability(p, ValueError)
    return _alpha_dropped(input, p, inplace, _channels(input, p)) if _acts(input, p, training) else input


# in place under names of their own ----------------------------------------------------------------------------------


@in_place("nn.functional")
@describe(in_place_text("elu()"))
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    return elu(input, alpha, inplace=True)


@in_place("nn.functional")
@describe(in_place_text("leaky_relu()"))
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return leaky_relu(input, negative_slope, inplace=True)


@in_place("nn.functional")
@describe(in_place_text("hardtanh()"))
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    return hardtanh(input, min_val, max_val, inplace=True)


@in_place("", "nn.functional")
@describe(in_place_text("relu()"))
def relu_(input: Tensor) -> Tensor:
    return relu(input, inplace=True)


@in_place("", "nn.functional")
@describe(in_place_text("celu()"))
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    return celu(input, alpha, inplace=True)


@in_place("", "nn.functional")
@describe(in_place_text("selu()"))
def selu_(input: Tensor) -> Tensor:
    return selu(input, inplace=True)


@in_place("", "nn.functional")
@describe(in_place_text("rrelu()"))
def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    return rrelu(input, lower, upper, training, inplace=True)


@in_place("", "nn.functional")
@describe(in_place_text("threshold()"))
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    return threshold(input, threshold, value, inplace=True)
