"""Normalisation of nn.functional: over batches, layers, groups, instances and channels, with running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from adjoint.arrays.dtypes import finfo, float32
from adjoint.arrays.layout import channels_last, channels_last_3d
from adjoint.core import errors
from adjoint.core.modes.grad_mode import no_grad
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import composite, functional, ops, separate
from adjoint.functions.underived import check_constants
from adjoint.tensor.creation import tensor

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _check_dtypes(input: Tensor, *parameters: Tensor | None) -> None:
    # parameters have the type of the input, or float32 where that is a half-precision one
    for parameter in parameters:
        if parameter is None or parameter.dtype is input.dtype:
            continue
        if not (parameter.dtype is float32 and input.dtype.is_floating_point and finfo(input.dtype).bits == 16):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


def _check_both(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    if (running_mean is None) is not (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def _check_channels(channels: int, **parameters: Tensor | None) -> None:
    for name, parameter in parameters.items():
        if parameter is not None and parameter.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {parameter.numel()}")


def _per_channel(parameter: Tensor | None, ndim: int) -> Tensor | None:
    """A vector with one element for each channel (axis 1) as a tensor of so many axes."""
    return None if parameter is None else ops.reshape(parameter, (1, -1, *(1,) * (ndim - 2)))


def _in_type(output: Tensor, input: Tensor) -> Tensor:
    return output if output._array.dtype == input._array.dtype else output.to(input.dtype)


def _lay_out(input: Tensor) -> Tensor:
    """The input, row by row in memory unless its channels are the last axis there: so the result lies too."""
    flags = getattr(input._array, "flags", None)
    if flags is None or flags.c_contiguous:
        return input
    format = {4: channels_last, 5: channels_last_3d}.get(input.ndim)
    return input if format is not None and input.is_contiguous(memory_format=format) else input.contiguous()


_BATCHED_INPUT = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
    "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
    "False, or call adjoint.func.replace_all_batch_norm_modules_ with it."
)


def _check_updates(input: Tensor, *statistics: Tensor | None) -> None:
    """Raise RuntimeError if statistics cannot be updated, before the first of them is."""
    for running in statistics:
        if running is not None:
            try:
                errors.check_batch("add", running._array, input._array)
            except RuntimeError:
                raise RuntimeError(_BATCHED_INPUT) from None


def _update(running: Tensor | None, values: Tensor, momentum: float) -> None:
    if running is not None:
        with no_grad():
            running.mul_(1 - momentum).add_(ops.reshape(values.detach(), tuple(running.shape)) * momentum)


@functional
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """The input with mean 0 and variance 1 in each channel (axis 1), times weight and plus bias.

    In training, mean and variance are computed from the input, and the running statistics move towards them by the
    factor `momentum`. Otherwise the running statistics are used. Shapes: input (N, C, ...), all others (C).
    Raises ValueError for a single value per channel, or if only one of the running statistics is given. Raises
    RuntimeError for missing statistics, and for sizes or dtypes that do not fit.

    >>> import adjoint
    >>> x = adjoint.tensor([[1.0, 5.0], [3.0, 5.0]])
    >>> adjoint.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000,  0.0000],
            [ 1.0000,  0.0000]])
    """
    require_tensors("batch_norm", input=input)
    if training:
        _check_batch_norm(input, eps)
    channels = input.shape[1] if input.ndim > 1 else 0
    for name, statistic in (("running_mean", running_mean), ("running_var", running_var)):
        if statistic is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    _check_both(running_mean, running_var)
    _check_channels(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _check_dtypes(input, running_mean, running_var, weight, bias)
    check_constants("native_batch_norm", running_mean=running_mean, running_var=running_var)
    ndim, input = input.ndim, _lay_out(input)
    scale, shift = _per_channel(weight, ndim), _per_channel(bias, ndim)
    if training and not input.numel():
        # an empty input has no statistics: the running ones stay, and gradients are zeros
        output = input if scale is None else input * scale
        return _in_type(ops.clone(output) if shift is None else output + shift, input)
    if not training:
        factor = ops.rsqrt(_per_channel(running_var, ndim) + eps)
        output = (input - _per_channel(running_mean, ndim)) * (factor if scale is None else factor * scale)
        return _in_type(output if shift is None else output + shift, input)
    _check_updates(input, running_mean, running_var)
    output, mean, var = ops.native_batch_norm(input, scale, shift, (0, *range(2, ndim)), eps)
    n = input.numel() // max(channels, 1)
    _update(running_mean, mean, momentum)
    _update(running_var, var * (n / max(n - 1, 1)), momentum)
    return _in_type(output, input)


def _check_batch_norm(input: Tensor, eps: float) -> None:
    if input.ndim == 1:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if prod([input.shape[0], *input.shape[2:]]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    if eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")


@functional
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """The input with mean 0 and variance 1 in each channel of each sample, times weight and plus bias.

    use_input_stats False uses the running statistics, as batch_norm() does. True moves them, if given, towards the
    input's statistics by the factor `momentum`. Shapes: input (N, C, ...), all others (C).
    Raises ValueError for a single value per channel, or if only one of the running statistics is given. Raises
    RuntimeError for missing statistics, and for sizes or dtypes that do not fit.

    >>> import adjoint
    >>> adjoint.nn.functional.instance_norm(adjoint.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    require_tensors("instance_norm", input=input)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    _check_both(running_mean, running_var)
    samples, channels = input.shape[:2]
    for name, parameter in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if parameter is not None and parameter.numel() != channels:
            # torch repeats it for each sample
            raise RuntimeError(f"{name} should contain {samples * channels} elements not {samples * parameter.numel()}")
    _check_dtypes(input, running_mean, running_var, weight, bias)
    ndim = input.ndim
    _check_updates(input, running_mean, running_var)
    output, mean, var = ops.native_batch_norm(
        input, _per_channel(weight, ndim), _per_channel(bias, ndim), tuple(range(2, ndim)), eps
    )
    n = prod(input.shape[2:])
    _update(running_mean, mean.mean(0), momentum)
    _update(running_var, var.mean(0) * (n / max(n - 1, 1)), momentum)
    return _in_type(output, input)


def _check_normalized_shape(
    function: str, input: Tensor, normalized_shape: Sequence[int], star: str = "*, "
) -> tuple[int, ...]:
    if not isinstance(normalized_shape, (tuple, list)):
        kind = type(normalized_shape).__name__
        raise TypeError(f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {kind}")
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    whole = input._array.shape
    if len(shape) > len(whole) or whole[-len(shape) :] != shape:
        sizes = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{sizes}], but got input of size"
            f"{list(input.shape)}"
        )
    return shape


def _trailing(name: str, parameter: Tensor | None, shape: tuple[int, ...], ndim: int) -> Tensor | None:
    """A parameter of the normalised shape as a tensor of so many axes."""
    if parameter is None:
        return None
    if tuple(parameter.shape) != shape:
        raise RuntimeError(
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{list(parameter.shape)} and normalized_shape = {list(shape)}"
        )
    return ops.reshape(parameter, (1,) * (ndim - len(shape)) + shape)


@functional
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The input with mean 0 and variance 1 over its last axes, times weight and plus bias.

    normalized_shape: the lengths of these axes, and the shape of weight and bias.
    Raises RuntimeError if they are others, or the dtypes differ.

    >>> import adjoint
    >>> adjoint.nn.functional.layer_norm(adjoint.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    require_tensors("layer_norm", input=input)
    shape, ndim = _check_normalized_shape("layer_norm", input, normalized_shape), input._array.ndim
    scale, shift = _trailing("weight", weight, shape, ndim), _trailing("bias", bias, shape, ndim)
    _check_dtypes(input, weight, bias)
    output = ops.native_layer_norm(input, scale, shift, tuple(range(ndim - len(shape), ndim)), eps).output
    return _in_type(output, input)


@composite(method=False)
@functional
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The input divided by the root of its mean square over its last axes, times weight.

    normalized_shape: the lengths of these axes, and the shape of the weight. eps: added to the mean square; None is the
    distance from 1 to the next number of the type computed in.
    Raises RuntimeError if the shapes do not fit.

    >>> import adjoint
    >>> adjoint.nn.functional.rms_norm(adjoint.tensor([[1.0, 7.0]]), (2,))
    tensor([[0.2000, 1.4000]])
    """
    require_tensors("rms_norm", input=input)
    shape, ndim = _check_normalized_shape("rms_norm", input, normalized_shape, "*"), input.ndim
    scale = _trailing("weight", weight, shape, ndim)
    dims = tuple(range(ndim - len(shape), ndim))
    if eps is None and (input.is_floating_point() or input.is_complex()):
        eps = finfo(float32 if finfo(input.dtype).bits == 16 else input.dtype).eps
    if input.is_complex():
        output = input * ops.rsqrt(ops.mean(input * input, dims, True) + eps)
        return output if scale is None else output * scale
    return _in_type(ops.fused_rms_norm(input, scale, dims, eps).output, input)


@functional
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The input with mean 0 and variance 1 in each group of channels of each sample, times weight and plus bias.

    Shapes: input (N, C, ...) with C divisible by num_groups, weight and bias (C).
    Raises ValueError if there is one value per group only, RuntimeError for sizes or dtypes that do not fit.

    >>> import adjoint
    >>> adjoint.nn.functional.group_norm(adjoint.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    require_tensors("group_norm", input=input)
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    samples, channels = input.shape[:2]
    if samples * channels // num_groups * prod(input.shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{[samples * channels // num_groups, num_groups, *input.shape[2:]]}"
        )
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and tuple(parameter.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(parameter.shape)} and input of shape {list(input.shape)}"
            )
    _check_dtypes(input, weight, bias)
    members = channels // num_groups
    grouped = ops.reshape(input, (samples, num_groups, members, prod(input.shape[2:])))
    scale, shift = [None if p is None else ops.reshape(p, (1, num_groups, members, 1)) for p in (weight, bias)]
    output = ops.native_group_norm(grouped, scale, shift, (2, 3), eps).output
    return _in_type(separate(ops.reshape(output, tuple(input.shape))), input)


@functional
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """The input over (k + alpha * m) ** beta, where m is the mean square of `size` neighbouring channels.

    Shape: (N, C, ...) or (C, ...) as torch takes it: channels are axis 1. Channels beyond the first and last are 0.
    Raises ValueError for less than three axes, RuntimeError if size is not positive.

    >>> import adjoint
    >>> adjoint.nn.functional.local_response_norm(adjoint.ones(1, 1, 1), 2, alpha=2.0)
    tensor([[[0.5946]]])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    if size <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got kT: {size} kH: 1 kW: 1")
    # the sum over neighbours is a product with a matrix of ones along the diagonal
    channels = range(input.shape[1])
    near = [[int(-(size // 2) <= j - i <= (size - 1) // 2) for j in channels] for i in channels]
    squares = ops.reshape(input * input, (*input.shape[:2], -1))
    sums = ops.reshape(ops.matmul(tensor(near, dtype=input.dtype, device=input.device), squares), tuple(input.shape))
    # the mean of integers is an integer too, as in pooling
    means = sums / size if input.is_floating_point() or input.is_complex() else sums // size
    return input / (means * alpha + k) ** beta
