"""Convolution and its transposes.

All three operations are one trilinear form, the sum of y[n, o, p] w[o, c, i] x[n, c, p stride + i dilation - padding],
each without one of the three arrays. So the derivatives of each are the other two, to any order.
"""

from adjoint.arrays.kernels import convolution as arrays
from adjoint.arrays.kernels.convolution import Geometry
from adjoint.arrays.namespace import with_channels_as

from .declare import Array, general, multilinear

_SHOWN = {"input": "input", "input_shape": None, "weight_shape": None}
_OPTIONS = {"method": False, "function": False, "node": "ConvolutionBackward0", "shown": _SHOWN}


@general(taps="weight", **_OPTIONS)
def convolution(xp, input: Array, weight: Array, bias: Array = None, *, stride, padding, dilation, groups):
    """The sum of products of a kernel (O, C / groups, *kernel) with the windows of images (N, C, *image), plus bias."""
    result = arrays.convolution(xp, input, weight, bias, Geometry(stride, padding, dilation), groups)
    return with_channels_as(result, input)


@general(taps="weight", **_OPTIONS)
def transposed_convolution(
    xp, input: Array, weight: Array, bias: Array = None, *, image, stride, padding, dilation, groups
):
    """The transpose of convolution in its input, which has the size `image`, plus bias."""
    geometry = Geometry(stride, padding, dilation)
    return with_channels_as(arrays.transpose(xp, input, weight, bias, tuple(image), geometry, groups), input)


@multilinear(**_OPTIONS)
def convolution_weight(xp, grad: Array, input: Array, kernel, *, stride, padding, dilation, groups):
    """The transpose of convolution in its weight, which has the size `kernel`."""
    return arrays.weight(xp, grad, input, tuple(kernel), Geometry(stride, padding, dilation), groups)


def _convolve(ops, input, weight, outputs, stride, padding, dilation, groups):
    """The first outputs of a convolution: an image may end with elements that no window reaches."""
    y = ops.convolution(input, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if tuple(y.shape[2:]) == tuple(outputs):
        return y
    return y[(slice(None), slice(None), *[slice(n) for n in outputs])]


def _sum_of_channel(ops, g):
    return ops.sum(g, (0, *range(2, g.ndim)))


def _along_channels(ops, t, y):
    return ops.zeros_like(y) + t[(slice(None), *(None,) * (y.ndim - 2))]


@convolution.vjp("input")
def _(ops, g, weight, input_shape, stride, padding, dilation, groups):
    return ops.transposed_convolution(
        g, ops.conjugate(weight),
        image=input_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


def _weight_cotangent(ops, g, input, weight_shape, stride, padding, dilation, groups):
    return ops.convolution_weight(
        g, ops.conjugate(input), weight_shape[2:],
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


def _transposed_weight_cotangent(ops, g, input, weight_shape, stride, padding, dilation, groups):
    return ops.convolution_weight(
        ops.conjugate(input), g, weight_shape[2:],
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


def _of_batch(formula):
    """A formula that takes a batch of batches of images as one batch."""

    def add_up(ops, g, input, weight_shape, stride, padding, dilation, groups):
        g, input = [ops.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])) for x in (g, input)]
        return formula(ops, g, input, weight_shape, stride, padding, dilation, groups)

    return add_up


convolution.vjp("weight", summed=_of_batch(_weight_cotangent))(_weight_cotangent)


@convolution.vjp("bias")
def _(ops, g):
    return _sum_of_channel(ops, g)


@convolution.jvp("input")
def _(ops, t, weight, stride, padding, dilation, groups):
    return ops.convolution(t, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)


@convolution.jvp("weight")
def _(ops, t, input, stride, padding, dilation, groups):
    return ops.convolution(input, t, stride=stride, padding=padding, dilation=dilation, groups=groups)


@convolution.jvp("bias")
def _(ops, t, y):
    return _along_channels(ops, t, y)


@transposed_convolution.vjp("input")
def _(ops, g, weight, input_shape, stride, padding, dilation, groups):
    return _convolve(ops, g, ops.conjugate(weight), input_shape[2:], stride, padding, dilation, groups)


transposed_convolution.vjp("weight", summed=_of_batch(_transposed_weight_cotangent))(_transposed_weight_cotangent)


@transposed_convolution.vjp("bias")
def _(ops, g):
    return _sum_of_channel(ops, g)


@transposed_convolution.jvp("input")
def _(ops, t, weight, image, stride, padding, dilation, groups):
    return ops.transposed_convolution(
        t, weight, image=image, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


@transposed_convolution.jvp("weight")
def _(ops, t, input, image, stride, padding, dilation, groups):
    return ops.transposed_convolution(
        input, t, image=image, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


@transposed_convolution.jvp("bias")
def _(ops, t, y):
    return _along_channels(ops, t, y)


@convolution_weight.vjp("grad")
def _(ops, g, input, grad_shape, stride, padding, dilation, groups):
    return _convolve(ops, ops.conjugate(input), g, grad_shape[2:], stride, padding, dilation, groups)


@convolution_weight.vjp("input")
def _(ops, g, grad, input_shape, stride, padding, dilation, groups):
    return ops.transposed_convolution(
        ops.conjugate(grad), g,
        image=input_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


# batch forms ----------------------------------------------------------------------------------------------------------


def _as_samples(ops, array):
    """All images of a batch of batches: (B, N, ..) as (B * N, ..)."""
    return ops.reshape(array, (array.shape[0] * array.shape[1], *array.shape[2:]))


def _as_channels(ops, array, axis, size):
    """The channels of all members next to each other: (B, N, C, ..) as (N, B * C, ..); without batch axis repeated."""
    if axis is None:
        array = ops.expand(array, (size, *array.shape))
    array_t = ops.permute(array, (1, 0, *range(2, array.ndim)))
    return ops.reshape(array_t, (array_t.shape[0], size * array_t.shape[2], *array_t.shape[3:]))


def _from_channels(ops, array, size):
    """The inverse of _as_channels: (N, B * C, ..) as (B, N, C, ..)."""
    parts = ops.reshape(array, (array.shape[0], size, array.shape[1] // size, *array.shape[2:]))
    return ops.permute(parts, (1, 0, *range(2, parts.ndim)))


def _from_samples(ops, array, size):
    """The inverse of _as_samples: (B * O, ..) as (B, O, ..)."""
    return ops.reshape(array, (size, array.shape[0] // size, *array.shape[1:]))


def _batched_convolution(name):
    """One kernel for all members: the members are more images. A kernel for each: they are more groups of channels."""

    def run(batch, input, weight, bias, *, groups, **geometry):
        if bias is not None and batch.has(bias):
            plain = getattr(batch.ops, name)(input, weight, None, groups=groups, **geometry)
            return plain + bias[(slice(None), *(None,) * (input.ndim - 2))]
        (x, axis_x), (w, axis_w) = batch.strip(input), batch.strip(weight)
        ops = batch.ops_for([x, w, bias])
        operation = getattr(ops, name)
        if axis_w is None:
            images = operation(_as_samples(ops, x), w, bias, groups=groups, **geometry)
            return batch.join(_from_samples(ops, images, x.shape[0]))
        size = w.shape[0]
        if bias is not None:
            bias = ops.reshape(ops.expand(bias, (size, *bias.shape)), (-1,))
        kernels = _as_samples(ops, w)
        if axis_x is None and groups == 1 and name == "convolution":
            channels = operation(x, kernels, bias, groups=1, **geometry)
        else:
            images = _as_channels(ops, x, axis_x, size)
            channels = operation(images, kernels, bias, groups=size * groups, **geometry)
        return batch.join(_from_channels(ops, channels, size))

    return run


for _rule in (convolution, transposed_convolution):
    _rule.batch_rule(_batched_convolution(_rule.name))


@convolution_weight.batch_rule
def _(batch, grad, input, kernel, *, groups, **geometry):
    (g, axis_g), (x, axis_x) = batch.strip(grad), batch.strip(input)
    ops = batch.ops_for([g, x])
    size = (g if axis_g == 0 else x).shape[0]
    g = _as_channels(ops, g, axis_g, size)
    if axis_x is None and groups == 1:
        weight = ops.convolution_weight(g, x, kernel, groups=1, **geometry)
    else:
        x = _as_channels(ops, x, axis_x, size)
        weight = ops.convolution_weight(g, x, kernel, groups=size * groups, **geometry)
    return batch.join(_from_samples(ops, weight, size))
