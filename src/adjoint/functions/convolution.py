"""Convolutions over one, two and three axes: their arguments, checked, and images without a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.arrays.kernels.convolution import Geometry
from adjoint.functions.arguments import SIZES, Sizes, hashable, per_axis
from adjoint.functions.composite import as_tensor, composite, describe, ops, public
from adjoint.rules.contract import shape_text
from adjoint.runtime.caches import memoize
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# arguments ------------------------------------------------------------------------------------------------------------


def _numbers(function: str, name: str, value: object, n: int, axes: int) -> Sizes:
    """One number for each of the axes of a kernel, given for the n axes of the function or as one."""
    if axes < 1:
        raise RuntimeError("weight should have at least three dimensions")
    numbers = per_axis(function, name, value, n)
    if len(numbers) != axes:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {axes} values to match the convolution "
            f"dimensions, but got {name}={shape_text(numbers)}"
        )
    return numbers


def _with_batch(function: str, input: Tensor, n: int) -> tuple[Tensor, bool]:
    """The input with a batch axis, and whether it had one."""
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {function}, "
            f"but got input of size: {shape_text(input.shape)}"
        )
    return (input, True) if input.ndim == n + 2 else (input.unsqueeze(0), False)


def _check_geometry(geometry: Geometry, output_padding: Sizes, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(geometry.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding, default=0) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(geometry.stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(geometry.dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {shape_text(geometry.dilation)}")


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if weight.dtype is not input.dtype:
        if input.dtype.is_complex and not weight.dtype.is_complex:
            raise RuntimeError(
                f"Input type (CPU{input.dtype.long_name}Type) and weight type (torch.{weight.dtype.long_name}Tensor) "
                "should be the same"
            )
        raise RuntimeError(f"expected scalar type {input.dtype.long_name} but found {weight.dtype.long_name}")
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"Input type ({input.dtype.c_name}) and bias type ({bias.dtype.c_name}) should be the same")
    if input.dtype.long_name == "Bool" and input.numel():
        raise NotImplementedError("\"slow_conv2d_cpu\" not implemented for 'Bool'")


def _check_groups(weight: Sizes, groups: int) -> None:
    if not weight[0] or weight[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {shape_text(weight)} instead"
        )
    if weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{shape_text(weight)}] instead"
        )


def _check_bias(bias: Sizes | None, channels: int, description: str) -> None:
    if bias is not None and bias != (channels,):
        raise RuntimeError(
            f"Given {description}, expected bias to be 1-dimensional with {channels} elements, "
            f"but got bias of size {shape_text(bias)} instead"
        )


def _check_kernel(kernel: Sizes) -> None:
    if not all(kernel):
        height, width = (1, *kernel)[-2:]
        sizes = f" kernel_height: {height} kernel_width: {width}"
        if len(kernel) == 3:
            sizes = f": {' x '.join(map(str, kernel))} (TxHxW)"
        raise RuntimeError(f"kernel size should be greater than zero, but got{sizes}")


def _times(sizes: Sequence[int]) -> str:
    return "(" + " x ".join(map(str, sizes)) + ")"


def _check_convolution(input: Sizes, weight: Sizes, bias: Sizes | None, geometry: Geometry, groups: int) -> None:
    _check_groups(weight, groups)
    if input[1] != weight[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {shape_text(weight)}, expected input{shape_text(input)} to "
            f"have {weight[1] * groups} channels, but got {input[1]} channels instead"
        )
    _check_bias(bias, weight[0], f"weight of size {shape_text(weight)}")
    image, kernel = input[2:], weight[2:]
    _check_kernel(kernel)
    padded = [n + 2 * p for n, p in zip(image, geometry.padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, geometry.dilation, strict=True)]
    if any(span > n for span, n in zip(spans, padded, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {_times(padded)}. Kernel size: {_times(spans)}. "
            "Kernel size can't be greater than actual input size"
        )
    if not all(image):
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {shape_text(input)}"
        )


# convolution ----------------------------------------------------------------------------------------------------------


def _padding_to_keep(kernel: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Sizes, Sizes]:
    """The padding with which a convolution keeps the size of the image, and the extra padding after the image."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if not any(n % 2 for n in total):
        return tuple([n // 2 for n in total]), ()
    warn_caller(
        "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
        "created"
    )
    return tuple([n // 2 for n in total]), tuple([n % 2 for n in total])


@memoize(512, typed=True)
def _plan(
    function: str,
    n: int,
    input: Sizes,
    weight: Sizes,
    bias: Sizes | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> tuple[Geometry, Sizes]:
    """The geometry of a convolution, checked, and the padding to apply after the image first."""
    axes = len(weight) - 2
    stride, dilation = _numbers(function, "stride", stride, n, axes), _numbers(function, "dilation", dilation, n, axes)
    behind: Sizes = ()
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same":
            padding, behind = _padding_to_keep(weight[2:], stride, dilation)
        else:
            padding = 0
    geometry = Geometry(stride, _numbers(function, "padding", padding, n, axes), dilation)
    _check_geometry(geometry, (), groups)
    if behind:
        input = (*input[:2], *[size + more for size, more in zip(input[2:], behind, strict=True)])
    _check_convolution(input, weight, bias, geometry, groups)
    return geometry, tuple([part for n in reversed(behind) for part in (0, n)])


def _convolve(
    function: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    input, weight = as_tensor(function, "input", 1, input), as_tensor(function, "weight", 2, weight)
    input, batched = _with_batch(function, input, n)
    shapes = [None if array is None else tuple(array.shape) for array in (input, weight, bias)]
    geometry, pad = _plan(function, n, *shapes, hashable(stride), hashable(padding), hashable(dilation), groups)
    _check_dtypes(input, weight, bias)
    if pad:
        input = ops.constant_pad_nd(input, pad)
    result = ops.convolution(
        input, weight, bias,
        stride=geometry.stride, padding=geometry.padding, dilation=geometry.dilation, groups=groups,
    )  # fmt: skip
    return result if batched else result.squeeze(0)


_ARGUMENTS = """
    bias: (O,).
    stride: the distance of neighbouring windows, one number or one for each axis.
    padding: how many zeros surround the image{names}.
    dilation: the distance of neighbouring elements of a window.
    groups: into how many parts channels are split that have nothing to do with each other.
"""
_PADDING_BY_NAME = ', or "valid" for none, or "same" for as many as keep its size'
_CONVOLUTION = """The sums of products of a kernel with the windows of images, and a bias.

result[n, o, p] = bias[o] + the sum over c and i of weight[o, c, i] input[n, c, p * stride + i * dilation - padding].

Args:
    input: (N, C, {sizes}), or one image without N.
    weight: (O, C / groups, {kernel}).{arguments}
Raises RuntimeError if shapes or dtypes do not fit, or the kernel is larger than the padded image.

>>> import adjoint
>>> adjoint.nn.functional.{example}.shape
adjoint.Size([1, 4, {image}])
"""
_TRANSPOSED = """The transpose of conv{n}d in its input: what spreads each element over a window, and adds up.

Args:
    input: (N, O, {sizes}), or one image without N.
    weight: (O, C / groups, {kernel}).{arguments}
    output_padding: how much longer than necessary each axis of the result is at its end; less than stride or dilation.

Returns (N, C, ..), each axis of length (n - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.

Raises RuntimeError if shapes or dtypes do not fit.

>>> import adjoint
>>> adjoint.nn.functional.{example}.shape
adjoint.Size([1, 2, {image}])
"""


@public
@describe(
    _CONVOLUTION,
    sizes=SIZES[1],
    kernel="k",
    arguments=_ARGUMENTS.format(names=_PADDING_BY_NAME),
    example="conv1d(adjoint.ones(1, 2, 5), adjoint.ones(4, 2, 3), padding=1)",
    image="5",
)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@public
@describe(
    _CONVOLUTION,
    sizes=SIZES[2],
    kernel="k, k",
    arguments=_ARGUMENTS.format(names=_PADDING_BY_NAME),
    example="conv2d(adjoint.ones(1, 2, 5, 5), adjoint.ones(4, 2, 3, 3), padding=1)",
    image="5, 5",
)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@public
@describe(
    _CONVOLUTION,
    sizes=SIZES[3],
    kernel="k, k, k",
    arguments=_ARGUMENTS.format(names=_PADDING_BY_NAME),
    example="conv3d(adjoint.ones(1, 2, 5, 5, 5), adjoint.ones(4, 2, 3, 3, 3), padding=1)",
    image="5, 5, 5",
)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


# the transpose --------------------------------------------------------------------------------------------------------

_SIDES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}


def _check_transposed(
    input: Sizes, weight: Sizes, bias: Sizes | None, geometry: Geometry, output_padding: Sizes, groups: int
) -> None:
    _check_groups(weight, groups)
    if input[1] != weight[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {shape_text(weight)}, expected input{shape_text(input)} to have "
            f"{weight[0]} channels, but got {input[1]} channels instead"
        )
    _check_bias(bias, weight[1] * groups, f"transposed=1, weight of size {shape_text(weight)}")
    _check_kernel(weight[2:])
    rows = zip(output_padding, geometry.stride, geometry.dilation, strict=True)
    if any(extra >= s and extra >= d for extra, s, d in rows):
        sides = _SIDES[len(output_padding)]
        values = {"output_padding": output_padding, "stride": geometry.stride, "dilation": geometry.dilation}
        text = " ".join(
            f"{name}_{side}: {n}" for name, row in values.items() for side, n in zip(sides, row, strict=True)
        )
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {text}")


@memoize(512, typed=True)
def _planned_transposed(
    function: str,
    n: int,
    input: Sizes,
    weight: Sizes,
    bias: Sizes | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> tuple[Geometry, Sizes]:
    """The geometry of a transposed convolution, checked, and the size of the image that it makes."""
    if isinstance(padding, str):
        raise TypeError(f"{function}(): argument 'padding' must be tuple of ints, not str")
    axes = len(weight) - 2
    geometry = Geometry(
        _numbers(function, "stride", stride, n, axes),
        _numbers(function, "padding", padding, n, axes),
        _numbers(function, "dilation", dilation, n, axes),
    )
    extra = _numbers(function, "output_padding", output_padding, n, axes)
    _check_geometry(geometry, extra, groups)
    _check_transposed(input, weight, bias, geometry, extra, groups)
    sizes = input[2:]
    rows = zip(sizes, weight[2:], extra, *geometry, strict=True)
    image = tuple([(m - 1) * s - 2 * p + d * (k - 1) + more + 1 for m, k, more, s, p, d in rows])
    if min(image) < 1:
        raise RuntimeError(
            f"Given input size per channel: {_times(sizes)}. Calculated output size per channel: {_times(image)}. "
            "Output size is too small"
        )
    return geometry, image


def _convolve_transposed(
    function: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    input, weight = as_tensor(function, "input", 1, input), as_tensor(function, "weight", 2, weight)
    input, batched = _with_batch(function, input, n)
    shapes = [None if array is None else tuple(array.shape) for array in (input, weight, bias)]
    numbers = [hashable(value) for value in (stride, padding, output_padding, groups, dilation)]
    geometry, image = _planned_transposed(function, n, *shapes, *numbers)
    _check_dtypes(input, weight, bias)
    result = ops.transposed_convolution(
        input, weight, bias,
        image=image, stride=geometry.stride, padding=geometry.padding, dilation=geometry.dilation, groups=groups,
    )  # fmt: skip
    return result if batched else result.squeeze(0)


@public
@describe(
    _TRANSPOSED,
    n=1,
    sizes=SIZES[1],
    kernel="k",
    arguments=_ARGUMENTS.format(names=""),
    example="conv_transpose1d(adjoint.ones(1, 4, 5), adjoint.ones(4, 2, 3), padding=1)",
    image="5",
)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    return _convolve_transposed(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@public
@describe(
    _TRANSPOSED,
    n=2,
    sizes=SIZES[2],
    kernel="k, k",
    arguments=_ARGUMENTS.format(names=""),
    example="conv_transpose2d(adjoint.ones(1, 4, 5, 5), adjoint.ones(4, 2, 3, 3), padding=1)",
    image="5, 5",
)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    return _convolve_transposed(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@public
@describe(
    _TRANSPOSED,
    n=3,
    sizes=SIZES[3],
    kernel="k, k, k",
    arguments=_ARGUMENTS.format(names=""),
    example="conv_transpose3d(adjoint.ones(1, 4, 5, 5, 5), adjoint.ones(4, 2, 3, 3, 3), padding=1)",
    image="5, 5, 5",
)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    return _convolve_transposed(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(method=False)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    transposed: bool,
    output_padding: int | Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution over as many axes as input has behind (N, C), or the transpose of one; see conv2d().

    >>> import adjoint
    >>> x, w = adjoint.ones(1, 1, 5), adjoint.ones(1, 1, 3)
    >>> adjoint.convolution(x, w, None, [2], [1], [1], False, [0], 1)
    tensor([[[2., 3., 2.]]])
    """
    n = max(input.ndim - 2, 1)
    if transposed:
        return _convolve_transposed(
            "convolution", n, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _convolve("convolution", n, input, weight, bias, stride, padding, dilation, groups)
