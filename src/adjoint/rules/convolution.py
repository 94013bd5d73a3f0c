"""Convolution and its transposes.

All three operations are one trilinear form, the sum of y[n, o, p] w[o, c, i] x[n, c, p stride + i dilation - padding],
each with one of the three arrays left out. So the derivatives of each are the other two, to any order.
"""

from adjoint.arrays.kernels import convolution as arrays
from adjoint.arrays.kernels.convolution import Geometry

from .declare import Array, general, multilinear

_SHOWN = {"input": "input", "input_shape": None, "weight_shape": None}
_OPTIONS = {"method": False, "function": False, "node": "ConvolutionBackward0", "shown": _SHOWN}


@general(**_OPTIONS)
def convolution(xp, input: Array, weight: Array, bias: Array = None, *, stride, padding, dilation, groups):
    """The sum of products of a kernel (O, C / groups, *kernel) with the windows of images (N, C, *image), plus bias."""
    return arrays.convolution(xp, input, weight, bias, Geometry(stride, padding, dilation), groups)


@general(**_OPTIONS)
def transposed_convolution(
    xp, input: Array, weight: Array, bias: Array = None, *, image, stride, padding, dilation, groups
):
    """The transpose of convolution in its input, which has the size `image`, plus bias."""
    return arrays.transposed(xp, input, weight, bias, tuple(image), Geometry(stride, padding, dilation), groups)


@multilinear(**_OPTIONS)
def convolution_weight(xp, grad: Array, input: Array, kernel, *, stride, padding, dilation, groups):
    """The transpose of convolution in its weight, which has the size `kernel`."""
    return arrays.weight(xp, grad, input, tuple(kernel), Geometry(stride, padding, dilation), groups)


def _convolved(ops, input, weight, outputs, stride, padding, dilation, groups):
    """A convolution of which only the first outputs are wanted: an image may end with what no window reaches."""
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
        g, ops.conjugated(weight),
        image=input_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


@convolution.vjp("weight")
def _(ops, g, input, weight_shape, stride, padding, dilation, groups):
    return ops.convolution_weight(
        g, ops.conjugated(input), weight_shape[2:],
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


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
    return _convolved(ops, g, ops.conjugated(weight), input_shape[2:], stride, padding, dilation, groups)


@transposed_convolution.vjp("weight")
def _(ops, g, input, weight_shape, stride, padding, dilation, groups):
    return ops.convolution_weight(
        ops.conjugated(input), g, weight_shape[2:],
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


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
    return _convolved(ops, ops.conjugated(input), g, grad_shape[2:], stride, padding, dilation, groups)


@convolution_weight.vjp("input")
def _(ops, g, grad, input_shape, stride, padding, dilation, groups):
    return ops.transposed_convolution(
        ops.conjugated(grad), g,
        image=input_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip
