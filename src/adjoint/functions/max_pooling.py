"""Max pooling, and max unpooling, which writes elements at the indices of their maxima."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from adjoint.arrays.kernels.axis_maps import AxisMap
from adjoint.arrays.namespace import first_outside, underlying
from adjoint.functions.arguments import SIZES, Sizes, hashable
from adjoint.functions.composite import as_tensor, describe, in_functional, ops, public, separate
from adjoint.functions.pooling_windows import (
    CEIL,
    RAISES,
    WINDOWS,
    PoolingWindows,
    check_images,
    has_stride,
    pooling_numbers,
    refuse_dtype,
)
from adjoint.rules.contract import shape_text
from adjoint.runtime.caches import memoize

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# max pooling ----------------------------------------------------------------------------------------------------------

_MAX_POOL = """The largest element of each window; the gradient goes to the first of them.
{windows}
    dilation: the distance of neighbouring elements of a window.{ceil}
    return_indices: whether to return, as a second result, where in its image each of them lies.
{raises}
>>> import adjoint
>>> adjoint.nn.functional.{example}
tensor({output})
"""


@memoize(512, typed=True)
def _maximum_maps(
    function: str, n: int, shape: Sizes, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[AxisMap, ...]:
    windows = PoolingWindows(function, n, kernel_size, stride, padding, dilation, ceil_mode)
    if n == 1:
        check_images(function, shape, n)
    windows.check()
    check_images(function, shape, n)
    return windows.maps(shape[-n:], shape[-n - 1])


def max_pool(
    function: str,
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    with_indices: bool = False,
) -> tuple[Tensor, Callable[[], Tensor]]:
    """The largest element of each window, and a function that computes their indices.

    with_indices: whether the caller needs the indices; it determines the accepted dtypes.
    """
    input = as_tensor(function, "input", 1, input)
    numbers = [hashable(value) for value in (kernel_size, stride, padding, dilation)]
    maps = _maximum_maps(function, n, tuple(input.shape), *numbers, ceil_mode)
    plain = n == 1 and not with_indices
    refuse_dtype(input, "max_pool1d_impl" if plain else f"max_pool{max(n, 2)}d", integers=not plain)
    values = ops.maxima(input, maps)
    return values, lambda: ops.places_of_maxima(input.detach(), maps)


def _values_and_indices(
    function: str,
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[Tensor, Tensor]:
    values, indices = max_pool(function, n, input, kernel_size, stride, padding, dilation, ceil_mode, True)
    return values, indices()


@in_functional
@describe(
    _MAX_POOL,
    windows=WINDOWS.format(sizes=SIZES[1]),
    ceil=CEIL,
    raises=RAISES,
    example="max_pool1d(adjoint.arange(4.0).reshape(1, 1, 4), 2)",
    output="[[[1., 3.]]]",
)
def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    if return_indices:
        return _values_and_indices("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@public
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """As max_pool1d() with return_indices=True; the value of return_indices is ignored.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.max_pool1d_with_indices(adjoint.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return _values_and_indices("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)


@in_functional
@describe(
    _MAX_POOL,
    windows=WINDOWS.format(sizes=SIZES[2]),
    ceil=CEIL,
    raises=RAISES,
    example="max_pool2d(adjoint.arange(16.0).reshape(1, 1, 4, 4), 2).flatten()",
    output="[ 5.,  7., 13., 15.]",
)
def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    if return_indices:
        return _values_and_indices("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@in_functional
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """As max_pool2d() with return_indices=True; the value of return_indices is ignored.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.max_pool2d_with_indices(adjoint.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return _values_and_indices("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


@in_functional
@describe(
    _MAX_POOL,
    windows=WINDOWS.format(sizes=SIZES[3]),
    ceil=CEIL,
    raises=RAISES,
    example="max_pool3d(adjoint.arange(64.0).reshape(1, 1, 4, 4, 4), 2).flatten()",
    output="[21., 23., 29., 31., 53., 55., 61., 63.]",
)
def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    if return_indices:
        return _values_and_indices("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@in_functional
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """As max_pool3d() with return_indices=True; the value of return_indices is ignored.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.max_pool3d_with_indices(adjoint.ones(1, 2, 2, 2), 2)
    (tensor([[[[1.]]]]), tensor([[[[0]]]]))
    """
    return _values_and_indices("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)


# max unpooling --------------------------------------------------------------------------------------------------------

_UNPOOL = """Images of zeros with elements at the places that max_pool{n}d() gave with return_indices=True.

Args:
    input, indices: (N, C, {sizes}), or without N: the elements, and where in its image each of them goes.
    kernel_size, stride, padding: what the pooling had.
    output_size: the size of the image, if not the smallest that pooling makes of it what input is.

Raises RuntimeError or ValueError if shapes do not fit or a place lies outside of the image.

>>> import adjoint
>>> image = adjoint.arange(2.0**{n}).reshape((1, 1) + (2,) * {n})
>>> values, places = adjoint.nn.functional.max_pool{n}d(image, 2, return_indices=True)
>>> adjoint.nn.functional.max_unpool{n}d(values, places, 2).sum().item() == 2**{n} - 1
True
"""


def _unpooled_size(input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, output_size: Any) -> Sizes:
    n = len(kernel)
    default = [(m - 1) * s + k - 2 * p for m, k, s, p in zip(input.shape[-n:], kernel, stride, padding, strict=True)]
    if output_size is None:
        return tuple(default)
    sizes = list(output_size)
    if len(sizes) == n + 2:
        sizes = sizes[2:]
    if len(sizes) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(sizes)}'"
        )
    for axis, (size, usual, s) in enumerate(zip(sizes, default, stride, strict=True)):
        if not usual - s < size < usual + s:
            raise ValueError(
                f'invalid output_size "{tuple(output_size)}" (dim {axis} must be between {usual - s} and {usual + s})'
            )
    return tuple(sizes)


def _unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    function = f"max_unpool{n}d"
    if input.ndim not in (n + 1, n + 2):
        m = max(n, 2)
        raise RuntimeError(
            f"Input to max_unpooling{m}d should be a {m + 1}d or {m + 2}d Tensor, but got a tensor with "
            f"{input.ndim + (n == 1)} dimensions."
        )
    kernel = pooling_numbers(function, "kernel_size", kernel_size, n, 3)
    strides = pooling_numbers(function, "stride", stride, n, 4) if has_stride(stride) else kernel
    size = _unpooled_size(input, kernel, strides, pooling_numbers(function, "padding", padding, n, 5), output_size)
    if indices.dtype.long_name != "Long":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.long_name}")
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({shape_text(input.shape)}) but got "
            f"indices tensor with shape: {shape_text(indices.shape)}"
        )
    outside = first_outside(underlying(indices._array), 0, prod(size))
    if outside is not None:
        lengths = (1, *size) if n == 1 else size
        raise RuntimeError(
            f"Found an invalid max index: {outside} (output volumes are of size {'x'.join(map(str, lengths))})"
        )
    flat = ops.place(input.flatten(-n), -1, indices.flatten(-n), prod(size))
    return separate(ops.reshape(flat, (*input.shape[:-n], *size)))


@in_functional
@describe(_UNPOOL, n=1, sizes=SIZES[1])
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@in_functional
@describe(_UNPOOL, n=2, sizes=SIZES[2])
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@in_functional
@describe(_UNPOOL, n=3, sizes=SIZES[3])
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
