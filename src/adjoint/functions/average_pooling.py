"""Average pooling, and pooling by a norm."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.kernels import axis_maps
from adjoint.arrays.kernels.axis_maps import AxisMap
from adjoint.core.graph import new_tensor
from adjoint.functions.arguments import SIZES, Sizes, hashable
from adjoint.functions.composite import as_tensor, describe, in_functional, ops, public
from adjoint.functions.max_pooling import max_pool
from adjoint.functions.pooling_windows import (
    CEIL,
    RAISES,
    WINDOWS,
    PoolingWindows,
    check_images,
    pooling_numbers,
    refuse_dtype,
)
from adjoint.rules.interpolation import Origin
from adjoint.runtime.caches import memoize

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# average pooling ------------------------------------------------------------------------------------------------------

_AVG_POOL = """The mean of each window.
{windows}{ceil}
    count_include_pad: whether zeros in the padding count as elements.{divisor}
{raises}
>>> import adjoint
>>> adjoint.nn.functional.{example}.shape
adjoint.Size([1, 1, {half}])
"""
_DIVISOR = """
    divisor_override: what to divide the sums by instead of the number of elements."""


@memoize(512, typed=True)
def _mean_maps(
    function: str,
    n: int,
    shape: Sizes,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
) -> tuple[tuple[AxisMap, ...], tuple[AxisMap, ...], numpy.ndarray]:
    """The maps for means, the maps for sums, and the numbers of elements."""
    windows = PoolingWindows(function, n, kernel_size, stride, padding, 1, ceil_mode)
    windows.check()
    check_images(function, shape, n)
    image, kernel = shape[-n:], windows.kernel
    if n == 3 and any(k > m for k, m in zip(kernel, image, strict=True)):
        sizes = " ".join(f"{side}: {m}" for side, m in zip("THW", image, strict=True))
        spans = " ".join(f"k{side}: {k}" for side, k in zip("THW", kernel, strict=True))
        raise RuntimeError(f"input image ({sizes}) smaller than kernel size ({spans})")
    results = windows.results(image, shape[-n - 1])
    rows = list(zip(image, kernel, windows.stride, windows.padding, results, strict=True))
    means = tuple([axis_maps.means(*row, count_include_pad) for row in rows])
    counts = [axis_maps.counts(*row, count_include_pad) for row in rows]
    return means, windows.maps(image, shape[-n - 1]), functools.reduce(numpy.multiply.outer, counts)


def _average_pool(
    function: str,
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    input = as_tensor(function, "input", 1, input)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    numbers = [hashable(value) for value in (kernel_size, stride, padding)]
    options = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad, "divisor_override": divisor_override}
    origin = Origin(f"AvgPool{max(n, 2)}DBackward0", tuple(options.items()))
    means, sums, counts = _mean_maps(function, n, tuple(input.shape), *numbers, ceil_mode, count_include_pad)
    refuse_dtype(input, "avg_pool3d_out_frame" if n == 3 else "avg_pool2d", integers=True)
    if not input.dtype.is_floating_point:
        divisor = new_tensor(counts) if divisor_override is None else divisor_override
        return ops.trunc_divide(ops.along_axes(input, sums), divisor).to(input.dtype)
    if divisor_override is not None:
        return ops.div_number(ops.along_axes(input, sums, origin), divisor_override)
    return ops.along_axes(input, means, origin)


@public
@describe(
    _AVG_POOL,
    windows=WINDOWS.format(sizes=SIZES[1]),
    ceil=CEIL,
    divisor="",
    raises=RAISES,
    example="avg_pool1d(adjoint.ones(1, 1, 4), 2)",
    half="2",
)
def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    return _average_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@in_functional
@describe(
    _AVG_POOL,
    windows=WINDOWS.format(sizes=SIZES[2]),
    ceil=CEIL,
    divisor=_DIVISOR,
    raises=RAISES,
    example="avg_pool2d(adjoint.ones(1, 1, 4, 4), 2)",
    half="2, 2",
)
def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    return _average_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@in_functional
@describe(
    _AVG_POOL,
    windows=WINDOWS.format(sizes=SIZES[3]),
    ceil=CEIL,
    divisor=_DIVISOR,
    raises=RAISES,
    example="avg_pool3d(adjoint.ones(1, 1, 4, 4, 4), 2)",
    half="2, 2, 2",
)
def avg_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    return _average_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


# pooling by a norm ----------------------------------------------------------------------------------------------------

_LP_POOL = """The norm of order norm_type of each window: the sum of powers, to the power 1 / norm_type.

Args:
    input: (N, C, {sizes}), or one image without N.
    norm_type: the order; infinity for the largest absolute value.
    kernel_size, stride, ceil_mode: as of avg_pool{n}d().

>>> import adjoint
>>> adjoint.nn.functional.lp_pool{n}d(adjoint.ones((1, 1) + (2,) * {n}), 1, 2).item() == 2**{n}
True
"""


def _lp_pool(
    n: int,
    average: str,
    maximum: str,
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any,
    ceil_mode: bool,
) -> Tensor:
    """average, maximum: the functions whose names the messages have."""
    if norm_type == math.inf:
        return max_pool(maximum, n, ops.abs(input), kernel_size, stride, 0, 1, ceil_mode)[0]
    mean = _average_pool(average, n, input.pow(norm_type), kernel_size, stride, 0, ceil_mode, True, None)
    elements = prod(pooling_numbers(average, "kernel_size", kernel_size, n, 2))
    return (ops.sign(mean) * ops.relu(ops.abs(mean))).mul(elements).pow(1.0 / norm_type)


@in_functional
@describe(_LP_POOL, sizes=SIZES[1], n=1)
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    return _lp_pool(1, "avg_pool1d", "max_pool1d", input, norm_type, kernel_size, stride, ceil_mode)


@in_functional
@describe(_LP_POOL, sizes=SIZES[2], n=2)
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    return _lp_pool(2, "avg_pool2d", "max_pool2d", input, norm_type, kernel_size, stride, ceil_mode)


@in_functional
@describe(_LP_POOL, sizes=SIZES[3], n=3)
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    return _lp_pool(3, "avg_pool3d", "max_pool3d", input, norm_type, kernel_size, stride, ceil_mode)
