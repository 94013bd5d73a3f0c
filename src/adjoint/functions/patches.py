"""unfold: the windows of images as columns, and fold, its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from adjoint.arrays.kernels import axis_maps
from adjoint.arrays.kernels.axis_maps import AxisMap
from adjoint.functions.arguments import Sizes, ints
from adjoint.functions.composite import functional, ops
from adjoint.rules.contract import shape_text

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _pair(name: str, value: Any) -> Sizes:
    numbers = ints("unfold", name, value)
    if not isinstance(value, (tuple, list)):
        return numbers * 2
    if len(numbers) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(numbers)}")
    return numbers


def _check_sides(what: str, name: str, sizes: Sizes, least: int) -> None:
    if min(sizes) < least:
        condition = "greater than zero" if least else "non-negative"
        raise RuntimeError(f"{what} should be {condition}, but got {name}_height: {sizes[0]} {name}_width: {sizes[1]}")


class _Blocks:
    """The arguments of fold and unfold, checked."""

    def __init__(self, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> None:
        self.kernel = _pair("kernel_size", kernel_size)
        self.dilation = _pair("dilation", dilation)
        self.padding = _pair("padding", padding)
        self.stride = _pair("stride", stride)
        _check_sides("kernel size", "kernel", self.kernel, 1)
        _check_sides("dilation", "dilation", self.dilation, 1)
        _check_sides("padding", "pad", self.padding, 0)
        _check_sides("stride", "stride", self.stride, 1)

    def count(self, image: Sizes) -> Sizes:
        """The number of blocks along each axis."""
        rows = zip(image, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple([(m + 2 * p - d * (k - 1) - 1) // s + 1 for m, k, s, p, d in rows])

    def maps(self, image: Sizes) -> tuple[AxisMap, ...]:
        """The elements of the blocks along each axis."""
        rows = zip(image, self.kernel, self.stride, self.padding, self.dilation, self.count(image), strict=True)
        return tuple([axis_maps.windows(*row) for row in rows])


@functional
def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows of images as columns: (N, C, H, W) gives (N, C * k * k, windows), or all without N.

    Args:
        kernel_size, dilation, padding, stride: one number, or one for each axis.

    Raises RuntimeError if no window fits.

    >>> import adjoint
    >>> adjoint.nn.functional.unfold(adjoint.arange(6.0).reshape(1, 1, 2, 3), (2, 2))
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """
    blocks = _Blocks(kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4) or not all(input.shape[-3:]):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {shape_text(input.shape)}"
        )
    image = tuple(input.shape[-2:])
    count = blocks.count(image)
    if min(count) < 1:
        raise RuntimeError(
            f"Given input with spatial size {image}, kernel_size={blocks.kernel}, dilation={blocks.dilation}, "
            f"padding={blocks.padding}, calculated shape of the array of sliding blocks as {count}, but its components "
            "must be at least one."
        )
    if not (input.dtype.is_floating_point or input.dtype.is_complex or input.dtype.long_name == "Bool"):
        raise NotImplementedError(f"\"im2col_out_cpu\" not implemented for '{input.dtype.long_name}'")
    return ops.im2col(input, blocks.maps(image))


@functional
def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The transpose of unfold(): for each element of an image the sum over all windows that contain it.

    Args:
        input: (N, C * k * k, windows), or without N.
        output_size: the size of the image.
        kernel_size, dilation, padding, stride: as of unfold().

    Raises RuntimeError if the number of windows is another one.

    >>> import adjoint
    >>> adjoint.nn.functional.fold(adjoint.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
    image = _pair("output_size", output_size)
    blocks = _Blocks(kernel_size, dilation, padding, stride)
    if input.ndim not in (2, 3) or not all(input.shape[-2:]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {shape_text(input.shape)}"
        )
    rows, columns = input.shape[-2:]
    if rows % prod(blocks.kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={blocks.kernel}."
        )
    count = blocks.count(image)
    if columns != prod(count) or min(count) < 1:
        raise RuntimeError(
            f"Given output_size={image}, kernel_size={blocks.kernel}, dilation={blocks.dilation}, "
            f"padding={blocks.padding}, stride={blocks.stride}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {count[0]} * {count[1]} = {prod(count)}, but got "
            f"input.size(2)={columns}."
        )
    if not (input.dtype.is_floating_point or input.dtype.is_complex or input.dtype.long_name == "Bool"):
        raise NotImplementedError(f"\"col2im_out_cpu\" not implemented for '{input.dtype.long_name}'")
    return ops.col2im(input, blocks.maps(image))
