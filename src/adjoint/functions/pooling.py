"""Pooling, margins, windows laid out, and channels turned into pixels: arguments checked, images without a batch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.kernels import axis_maps
from adjoint.arrays.kernels.axis_maps import AxisMap
from adjoint.arrays.namespace import underlying
from adjoint.arrays.promotion import number_as
from adjoint.core.graph import new_tensor
from adjoint.functions.composite import composite, ops
from adjoint.functions.contract import as_tensor
from adjoint.functions.convolution import SIZES, Sizes, hashable, in_functional, ints, public
from adjoint.rules.contract import listed
from adjoint.rules.elementwise import check_fits
from adjoint.rules.pooling import Origin
from adjoint.runtime.caches import cached

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# arguments of pooling -------------------------------------------------------------------------------------------------

_COUNTS = {2: "two", 3: "three"}


def _wrong_count(function: str, name: str, n: int, found: int) -> RuntimeError:
    if function == "max_pool1d":
        comma = "," if name in ("stride", "padding") else ""
        start = "None, an int" if name == "stride" else "an int"
        return RuntimeError(
            f"{function}() {name} must be {start}, list of ints{comma} or tuple of ints of size 1 but got size {found}"
        )
    if n == 1:
        return RuntimeError(f"{function}() argument '{name}' should contain one int (got {found})")
    if function == "avg_pool3d":
        start = "be omitted," if name == "stride" else "be"
    elif name == "dilation":
        start = "be either"
    else:
        start = "either be omitted," if name == "stride" else "either be"
    return RuntimeError(f"{function}: {name} must {start} a single int, or a tuple of {_COUNTS[n]} ints")


def _numbers(function: str, name: str, value: Any, n: int, position: int) -> Sizes:
    try:
        found = ints(function, name, value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of ints, not {kind}"
        ) from None
    if len(found) == 1:
        return found * n
    if len(found) != n:
        raise _wrong_count(function, name, n, len(found))
    return found


def _is_given(stride: Any) -> bool:
    return not (stride is None or (isinstance(stride, (tuple, list)) and not stride))


def results_of(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """The number of windows along an axis. With ceil_mode one may hang over the end, if it begins before it.

    >>> results_of(6, 3, 2, 0, 1, False), results_of(6, 3, 2, 0, 1, True)
    (2, 3)
    """
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = -(-span // stride) + 1
    return count - 1 if (count - 1) * stride >= n + padding else count


class _Windows:
    """The arguments that all pooling functions have, checked."""

    def __init__(
        self, function: str, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> None:
        self.function = function
        self.kernel = _numbers(function, "kernel_size", kernel_size, n, 2)
        self.stride = _numbers(function, "stride", stride, n, 3) if _is_given(stride) else self.kernel
        self.padding = _numbers(function, "padding", padding, n, 4)
        self.dilation = _numbers(function, "dilation", dilation, n, 5)
        self.ceil_mode = ceil_mode

    def check(self) -> None:
        """Raise RuntimeError for numbers that make no sense."""
        if self.function == "max_pool1d":
            self._check_maximum()
            return
        if 0 in self.stride:
            raise RuntimeError("stride should not be zero")
        if min(self.padding) < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {min(self.padding)}")
        if not self.function.startswith("avg") or min(self.kernel) == 0:
            self._check_positive("kernel size", "k", self.kernel)
        self._check_windows()
        self._check_positive("stride", "d", self.stride)

    def _check_positive(self, what: str, letter: str, values: Sizes) -> None:
        if min(values) <= 0:
            values = (1, *values) if len(values) == 1 else values
            sides = ("T", "H", "W")[3 - len(values) :]
            got = " ".join(f"{letter}{side}: {n}" for side, n in zip(sides, values, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {got}")

    def _check_windows(self) -> None:
        if min(self.dilation) <= 0:
            sides = ("T", "H", "W")[3 - len(self.dilation) :]
            text = " ".join(f"dilation{side}: {d}" for side, d in zip(sides, self.dilation, strict=True))
            raise RuntimeError(f"dilation should be greater than zero, but got {text}")
        for k, p, d in zip(self.kernel, self.padding, self.dilation, strict=True):
            if p > ((k - 1) * d + 1) // 2:
                raise RuntimeError(
                    f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                    f"dilation={d}"
                )
        if any(p > k // 2 for k, p in zip(self.kernel, self.padding, strict=True)):
            raise RuntimeError(f"pad should be smaller than or equal to half of kernel size, but got {self._margins()}")

    def _margins(self) -> str:
        """Kernel and padding as torch lists them."""
        if len(self.kernel) == 3:
            rows = [(name, *sizes) for name, sizes in (("k", self.kernel), ("pad", self.padding))]
            return " ".join(f"{name}T: {t} {name}W: {w} {name}H: {h}" for name, t, h, w in rows)
        (h, w), (above, beside) = self.kernel, self.padding
        return f"padW = {beside}, padH = {above}, kW = {w}, kH = {h}"

    def _check_maximum(self) -> None:
        (k,), (s,), (p,), (d,) = self.kernel, self.stride, self.padding, self.dilation
        for name, value in (("kernel_size", k), ("stride", s)):
            if value <= 0:
                raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
        if p < 0:
            raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {p}")
        if p > k // 2:
            raise RuntimeError(
                f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
            )
        if d <= 0:
            raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {d}")

    def results(self, image: Sizes, channels: int) -> Sizes:
        """The number of windows along each axis. Raises RuntimeError if there is an axis without any."""
        rows = zip(image, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        found = tuple([results_of(*row, self.ceil_mode) for row in rows])
        if min(found) < 1:
            if self.function == "max_pool1d":
                raise RuntimeError(f"max_pool1d() Invalid computed output size: {min(found)}")
            before, after = [(1,) * (2 - len(image)) + sizes for sizes in (image, found)]
            raise RuntimeError(
                f"Given input size: ({'x'.join(map(str, (channels, *before)))}). Calculated output size: "
                f"({'x'.join(map(str, (channels, *after)))}). Output size is too small"
            )
        return found

    def maps(self, image: Sizes, channels: int) -> tuple[AxisMap, ...]:
        """The elements of the windows along each axis."""
        rows = zip(
            image, self.kernel, self.stride, self.padding, self.dilation, self.results(image, channels), strict=True
        )
        return tuple([axis_maps.windows(*row) for row in rows])


def _check_images(function: str, shape: Sizes, n: int) -> None:
    """Raise RuntimeError unless the input is images, or one image, with channels and elements."""
    if len(shape) in (n + 1, n + 2) and all(shape[-n - 1 :]):
        return
    if function == "max_pool1d":
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got:{listed(shape)}"
        )
    if len(shape) not in (n + 1, n + 2):
        if function == "avg_pool1d":
            raise _wrong_rank(function, len(shape))
        if function != "avg_pool2d":
            raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    if n < 3:
        shown = list(shape) if n == 2 else [*shape[:-1], 1, shape[-1]]
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{shown}"
        )
    said = "max_pool3d_with_indices_out_cpu_template" if function == "max_pool3d" else function
    raise RuntimeError(
        f"{said}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
        f"{listed(shape)} and non-batch dimension 0 has length zero!"
    )


def _wrong_rank(function: str, ndim: int) -> RuntimeError:
    return RuntimeError(
        f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 'self' (while checking "
        f"arguments for {function})"
    )


def _refuse(input: Tensor, kernel: str, integers: bool) -> None:
    """Raise NotImplementedError for types of numbers that torch has no such kernel for."""
    kind = input.dtype
    if kind.is_complex or kind.long_name == "Bool" or not (integers or kind.is_floating_point):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.long_name}'")


# pooling over windows -------------------------------------------------------------------------------------------------

_WINDOWS = """
Args:
    input: (N, C, {sizes}), or one image without N.
    kernel_size: the size of a window, one number or one for each axis.
    stride: the distance of neighbouring windows; None for windows side by side.
    padding: by how much windows may hang over the margins, at most half their size."""
_CEIL = """
    ceil_mode: whether a last window may hang over the end."""
_RAISES = """
Raises RuntimeError if these do not fit together.
"""
_MAXIMUM = """The largest element of each window; the gradient goes to the first of them.
{windows}
    dilation: the distance of neighbouring elements of a window.{ceil}
    return_indices: whether to return, as a second result, where in its image each of them lies.
{raises}
>>> import adjoint
>>> adjoint.nn.functional.max_pool{n}d(adjoint.arange({size}).reshape(1, 1, {image}), 2){flat}
tensor({last})
"""
_MEAN = """The mean of each window.
{windows}{ceil}
    count_include_pad: whether zeros in the padding count as elements.{divisor}
{raises}
>>> import adjoint
>>> adjoint.nn.functional.avg_pool{n}d(adjoint.ones(1, 1, {image}), 2).shape
adjoint.Size([1, 1, {half}])
"""
_DIVISOR = """
    divisor_override: what to divide the sums by instead of the number of elements."""


def _described(text: str, n: int) -> str:
    size = 4**n
    return text.format(
        n=n,
        windows=_WINDOWS.format(sizes=SIZES[n]),
        ceil=_CEIL,
        raises=_RAISES,
        divisor=_DIVISOR if n > 1 else "",
        size=f"{size}.0",
        image=", ".join(["4"] * n),
        half=", ".join(["2"] * n),
        flat="" if n == 1 else ".flatten()",
        last={
            1: "[[[1., 3.]]]",
            2: "[ 5.,  7., 13., 15.]",
            3: "[21., 23., 29., 31., 53., 55., 61., 63.]",
        }[n],
    )


@cached(512, typed=True)
def _maximum_maps(
    function: str, n: int, shape: Sizes, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[AxisMap, ...]:
    windows = _Windows(function, n, kernel_size, stride, padding, dilation, ceil_mode)
    if n == 1:
        _check_images(function, shape, n)
    windows.check()
    _check_images(function, shape, n)
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
    places: bool = False,
) -> tuple[Tensor, Callable[[], Tensor]]:
    """The largest element of each window, and what finds their places, if they are wanted."""
    input = as_tensor(function, "input", 1, input)
    numbers = [hashable(value) for value in (kernel_size, stride, padding, dilation)]
    maps = _maximum_maps(function, n, tuple(input.shape), *numbers, ceil_mode)
    plain = n == 1 and not places
    _refuse(input, "max_pool1d_impl" if plain else f"max_pool{max(n, 2)}d", integers=not plain)
    values = ops.maxima(input, maps)
    return values, lambda: ops.places_of_maxima(input.detach(), maps)


def _declare_maximum(n: int) -> None:
    name = f"max_pool{n}d"

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        values, places = max_pool(name, n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        return (values, places()) if return_indices else values

    def pool_with_indices(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        values, places = max_pool(name, n, input, kernel_size, stride, padding, dilation, ceil_mode, True)
        return values, places()

    def pool_without_indices(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        return max_pool(name, n, input, kernel_size, stride, padding, dilation, ceil_mode)[0]

    in_functional(pool, name, _described(_MAXIMUM, n))
    declare = public if n == 1 else in_functional
    declare(pool_with_indices, f"{name}_with_indices", f"As {name}() with return_indices=True, whatever it is.")
    # torch's own function returns no places
    pool_without_indices.__name__ = pool_without_indices.__qualname__ = name
    pool_without_indices.__doc__ = f"The largest element of each window; see nn.functional.{name}()."
    composite(method=False)(pool_without_indices)


@cached(512, typed=True)
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
    """The maps that give means, those that give sums, and the numbers of elements."""
    windows = _Windows(function, n, kernel_size, stride, padding, 1, ceil_mode)
    windows.check()
    _check_images(function, shape, n)
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


def _mean_pool(
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
    _refuse(input, "avg_pool3d_out_frame" if n == 3 else "avg_pool2d", integers=True)
    if not input.dtype.is_floating_point:
        divisor = new_tensor(counts) if divisor_override is None else divisor_override
        return ops.trunc_divide(ops.along_axes(input, sums), divisor).to(input.dtype)
    if divisor_override is not None:
        return ops.div_number(ops.along_axes(input, sums, origin), divisor_override)
    return ops.along_axes(input, means, origin)


def _declare_mean(n: int) -> None:
    name = f"avg_pool{n}d"

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return _mean_pool(name, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def pool_without_divisor(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        return _mean_pool(name, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    if n == 1:
        public(pool_without_divisor, name, _described(_MEAN, n))
    else:
        in_functional(pool, name, _described(_MEAN, n))


for _n in (1, 2, 3):
    _declare_maximum(_n)
    _declare_mean(_n)


# powers ---------------------------------------------------------------------------------------------------------------

_POWER = """The norm of order norm_type of each window: the sum of powers, to the power 1 / norm_type.

Args:
    input: (N, C, {sizes}), or one image without N.
    norm_type: the order; infinity for the largest absolute value.
    kernel_size, stride, ceil_mode: as of avg_pool{n}d().
"""


def _declare_power(n: int) -> None:
    def pool(
        input: Tensor,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        if norm_type == math.inf:
            return max_pool(f"max_pool{n}d", n, ops.abs(input), kernel_size, stride, 0, 1, ceil_mode)[0]
        name = f"avg_pool{n}d"
        mean = _mean_pool(name, n, input.pow(norm_type), kernel_size, stride, 0, ceil_mode, True, None)
        elements = prod(_numbers(name, "kernel_size", kernel_size, n, 2))
        return (ops.sign(mean) * ops.relu(ops.abs(mean))).mul(elements).pow(1.0 / norm_type)

    in_functional(pool, f"lp_pool{n}d", _POWER.format(sizes=SIZES[n], n=n))


for _n in (1, 2, 3):
    _declare_power(_n)

# windows that adapt ---------------------------------------------------------------------------------------------------

_ADAPTIVE = """The {what} of windows of about equal size that cover the image.

Args:
    input: (N, C, {sizes}), or one image without N.
    output_size: how many windows along each axis, one number or one for each; None for the size of the image.{more}

Raises RuntimeError for an image without elements.

>>> import adjoint
>>> adjoint.nn.functional.adaptive_{name}_pool{n}d(adjoint.ones(1, 1, {image}), 2).shape
adjoint.Size([1, 1, {half}])
"""
_INDICES = """
    return_indices: whether to return, as a second result, where in its image each of them lies."""


def _adaptive_sizes(function: str, input: Tensor, output_size: Any, n: int) -> Sizes:
    if n == 1:
        found = _numbers(function, "output_size", output_size, 1, 2)
    else:
        members = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
        if len(members) != n:
            if "max" in function:
                raise RuntimeError(f"{function}(): internal error: output_size.size() must be {n}")
            raise RuntimeError(f"{function}: output_size must be {n}")
        sizes = input.shape[-n:] if input.ndim >= n else (0,) * n
        found = ints(function, "output_size", [m if m is not None else k for m, k in zip(members, sizes, strict=True)])
    if input.ndim not in (n + 1, n + 2):
        if n == 1:
            raise _wrong_rank(function, input.ndim)
        colon = ":" if "max" in function else ""
        raise RuntimeError(f"{function}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {listed(input.shape)}")
    return found


def _check_adaptive(function: str, input: Tensor, found: Sizes, first: int) -> None:
    """Raise RuntimeError for an axis without elements, from axis `first` on, or a negative number of windows."""
    n = len(found)
    shape = list(input.shape)
    if function == "adaptive_avg_pool1d":
        # torch says this of the image of two axes that it makes of one
        function, shape = "adaptive_avg_pool2d", [*shape[:-1], 1, shape[-1]]
    for axis in range(first, len(shape)):
        if not shape[axis]:
            raise RuntimeError(
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{shape} with dimension {axis} being empty"
            )
    if min(found) < 0:
        if "max" in function:
            sizes = [*shape[:-n], *([1] if n == 1 else []), *found]
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(found)}: {sizes}")
        given = (1, *found) if n == 1 else found
        text = "{" + ", ".join(map(str, given[:2])) + "".join(f",{m}" for m in given[2:]) + "}"
        raise RuntimeError(
            f"adaptive_avg_pool{max(n, 2)}d: elements of output_size must be greater than or equal to 0 but received "
            f"{text}"
        )


def adaptive_mean(n: int, input: Tensor, output_size: Any) -> Tensor:
    """The means of windows that cover the image, as many as output_size says."""
    function = f"adaptive_avg_pool{n}d"
    input = as_tensor(function, "input", 1, input)
    found = _adaptive_sizes(function, input, output_size, n)
    _check_adaptive(function, input, found, input.ndim - n - (n == 3))
    if all(m == 1 for m in found):
        return ops.mean(input, tuple(range(-n, 0)), True)
    _refuse(input, "adaptive_avg_pool3d_cpu" if n == 3 else "adaptive_avg_pool2d", integers=False)
    rows = zip(input.shape[-n:], found, strict=True)
    maps = tuple([axis_maps.adaptive_means(*row) for row in rows])
    return ops.along_axes(input, maps, Origin(f"AdaptiveAvgPool{max(n, 2)}DBackward0"))


def adaptive_maximum(n: int, input: Tensor, output_size: Any) -> tuple[Tensor, Callable[[], Tensor]]:
    """The largest elements of windows that cover the image, and what finds their places."""
    function = f"adaptive_max_pool{n}d"
    input = as_tensor(function, "input", 1, input)
    found = _adaptive_sizes(function, input, output_size, n)
    _check_adaptive(function, input, found, input.ndim - n - 1)
    _refuse(input, "adaptive_max_pool3d_cpu" if n == 3 else "adaptive_max_pool2d", integers=False)
    maps = tuple([axis_maps.adaptive(*row) for row in zip(input.shape[-n:], found, strict=True)])
    values = ops.maxima(input, maps)
    return values, lambda: ops.places_of_maxima(input.detach(), maps)


def _declare_adaptive(n: int) -> None:
    def mean(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
        return adaptive_mean(n, input, output_size)

    def maximum(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
        values, places = adaptive_maximum(n, input, output_size)
        return (values, places()) if return_indices else values

    def with_indices(
        input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        values, places = adaptive_maximum(n, input, output_size)
        return values, places()

    sizes = {"n": n, "sizes": SIZES[n], "image": ", ".join(["5"] * n), "half": ", ".join(["2"] * n)}
    declare = public if n == 1 else in_functional
    declare(mean, f"adaptive_avg_pool{n}d", _ADAPTIVE.format(what="mean", name="avg", more="", **sizes))
    name = f"adaptive_max_pool{n}d"
    doc = _ADAPTIVE.format(what="largest element", name="max", more=_INDICES, **sizes)
    in_functional(maximum, name, doc)
    in_functional(with_indices, f"{name}_with_indices", f"As {name}() with return_indices=True, whatever it is.")
    if n == 1:
        # torch's own function always returns the places
        composite(method=False, name=name)(with_indices)


for _n in (1, 2, 3):
    _declare_adaptive(_n)


# the way back from a maximum ------------------------------------------------------------------------------------------

_UNPOOL = """Images of zeros with elements at the places that max_pool{n}d() gave with return_indices=True.

Args:
    input, indices: (N, C, {sizes}), or without N: the elements, and where in its image each of them goes.
    kernel_size, stride, padding: what the pooling had.
    output_size: the size of the image, if not the smallest that pooling makes of it what input is.

Raises RuntimeError or ValueError if shapes do not fit or a place lies outside of the image.
"""


def _unpooled_size(input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, output_size: Any) -> Sizes:
    n = len(kernel)
    default = [(m - 1) * s + k - 2 * p for m, k, s, p in zip(input.shape[-n:], kernel, stride, padding, strict=True)]
    if output_size is None:
        return tuple(default)
    found = list(output_size)
    if len(found) == n + 2:
        found = found[2:]
    if len(found) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(found)}'"
        )
    for axis, (size, usual, s) in enumerate(zip(found, default, stride, strict=True)):
        if not usual - s < size < usual + s:
            raise ValueError(
                f'invalid output_size "{tuple(output_size)}" (dim {axis} must be between {usual - s} and {usual + s})'
            )
    return tuple(found)


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
    kernel = _numbers(function, "kernel_size", kernel_size, n, 3)
    strides = _numbers(function, "stride", stride, n, 4) if _is_given(stride) else kernel
    size = _unpooled_size(input, kernel, strides, _numbers(function, "padding", padding, n, 5), output_size)
    if indices.dtype.long_name != "Long":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.long_name}")
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({listed(input.shape)}) but got indices "
            f"tensor with shape: {listed(indices.shape)}"
        )
    raw = underlying(indices._array)
    outside = raw[(raw < 0) | (raw >= prod(size))]
    if outside.size:
        shown = (1, *size) if n == 1 else size
        raise RuntimeError(
            f"Found an invalid max index: {int(outside.reshape(-1)[0])} (output volumes are of size "
            f"{'x'.join(map(str, shown))})"
        )
    flat = ops.place(input.flatten(-n), -1, indices.flatten(-n), prod(size))
    return flat.reshape((*input.shape[:-n], *size))


def _declare_unpool(n: int) -> None:
    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        return _unpool(n, input, indices, kernel_size, stride, padding, output_size)

    in_functional(unpool, f"max_unpool{n}d", _UNPOOL.format(n=n, sizes=SIZES[n]))


for _n in (1, 2, 3):
    _declare_unpool(_n)


# windows laid out -----------------------------------------------------------------------------------------------------


def _pair(name: str, value: Any) -> Sizes:
    found = ints("unfold", name, value)
    if not isinstance(value, (tuple, list)):
        return found * 2
    if len(found) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(found)}")
    return found


def _check_sides(what: str, name: str, sizes: Sizes, least: int) -> None:
    if min(sizes) < least:
        said = "greater than zero" if least else "non-negative"
        raise RuntimeError(f"{what} should be {said}, but got {name}_height: {sizes[0]} {name}_width: {sizes[1]}")


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


@composite(namespace="nn.functional", method=False)
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
            f"but got: {listed(input.shape)}"
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


@composite(namespace="nn.functional", method=False)
def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The transpose of unfold(): what windows hold of each element of an image, added up.

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
            f"input, but got: {listed(input.shape)}"
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


# margins --------------------------------------------------------------------------------------------------------------

#: The nodes of modes, without the number of axes.
_MARGINS = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}
_OTHER_MODES = """Padding size {} is not supported for {}D input tensor.
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def _places_beyond(mode: str, n: int, before: int, behind: int) -> tuple[int, ...]:
    """Which element stands at each place from `before` places in front of an axis to `behind` places after it."""
    place = numpy.arange(-before, n + behind)
    if mode == "replicate":
        place = place.clip(0, n - 1)
    elif mode == "circular":
        # what is taken away is gone before the axis is continued
        first, kept = max(-before, 0), n - max(-before, 0) - max(-behind, 0)
        place = (place - first) % max(kept, 1) + first
    else:
        place = n - 1 - abs(n - 1 - abs(place))
    return tuple(place.tolist())


def _check_margins(mode: str, input: Tensor, pad: Sizes, n: int) -> None:
    shape = list(input.shape)
    if mode != "circular":
        if not all(shape[-n - 1 :]):
            raise RuntimeError(
                f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
                f"dimensions for input, but got: {shape}"
            )
        if input.dtype.long_name == "Bool":
            kernel = "reflection" if mode == "reflect" else "replication"
            raise NotImplementedError(f"\"{kernel}_pad{n}d\" not implemented for 'Bool'")
    for i in range(n):
        before, behind = pad[2 * i], pad[2 * i + 1]
        axis = input.ndim - 1 - i
        size = shape[axis]
        if mode == "reflect" and max(before, behind) >= size:
            raise RuntimeError(
                f"Argument #{2 * i + 4}: Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({before}, {behind}) at dimension {axis} of input {shape}"
            )
        if mode == "circular" and max(before, behind) > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + behind <= 0 and n == 1 and mode != "circular":
            raise RuntimeError(f"input (W: {size}) is too small. Calculated output W: {size + before + behind}")
        if size + before + behind < 0:
            if mode == "circular":
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
            result = [*shape[:axis], size + before + behind, *shape[axis + 1 :]]
            raise RuntimeError(f"Trying to create tensor with negative dimension {size + before + behind}: {result}")


@composite(namespace="nn.functional", method=False)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Margins around the last axes.

    Args:
        pad: how many elements to add before and behind the last axis, then the one before it, and so on; negative
            numbers take elements away.
        mode: "constant" for a number, "reflect" for the elements mirrored at the first and last one, "replicate" for
            the first and last one repeated, "circular" for the axis continued from its other end. All but "constant"
            are for the last one, two or three axes of images.
        value: the number, 0 if it is None.

    Raises RuntimeError or NotImplementedError if pad does not fit the input.

    >>> import adjoint
    >>> adjoint.nn.functional.pad(adjoint.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    input = as_tensor("pad", "input", 1, input)
    numbers = _margins("pad", pad)
    if len(numbers) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    n = len(numbers) // 2
    if n > input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{2 * n} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return constant_pad_nd(input, numbers, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not (n in (1, 2, 3) and input.ndim in (n + 1, n + 2)):
        raise NotImplementedError(_OTHER_MODES.format(2 * n, input.ndim))
    _check_margins(mode, input, numbers, n)
    maps = [
        axis_maps.picks(size, _places_beyond(mode, size, numbers[2 * i], numbers[2 * i + 1]))
        for i, size in zip(reversed(range(n)), input.shape[-n:], strict=True)
    ]
    return ops.along_axes(input, tuple(maps), Origin(f"{_MARGINS[mode]}{n}DBackward0", (("padding", tuple(numbers)),)))


def _margins(function: str, pad: Any) -> Sizes:
    for place, member in enumerate(pad if isinstance(pad, (tuple, list)) else ()):
        if not hasattr(member, "__index__"):
            raise TypeError(
                f"{function}(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{type(member).__name__} at pos {place}"
            )
    return ints(function, "pad", pad)


@composite(method=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """Margins around the last axes filled with a number; see nn.functional.pad().

    >>> import adjoint
    >>> adjoint.constant_pad_nd(adjoint.tensor([1, 2]), (1, 2), 7)
    tensor([7, 1, 2, 7, 7])
    """
    numbers = _margins("constant_pad_nd", pad)
    check_fits(input, value)
    if len(numbers) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(numbers)}")
    n = len(numbers) // 2
    if n > input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{2 * n}while the input has {input.ndim}dimensions."
        )
    for i in range(n):
        size, before, behind = input.shape[-1 - i], numbers[2 * i], numbers[2 * i + 1]
        if min(size, size + before, size + behind, size + before + behind) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    return ops.constant_pad_nd(input, numbers, number_as(value, input._array.dtype))


# channels and pixels --------------------------------------------------------------------------------------------------


def _check_pixels(function: str, name: str, input: Tensor, factor: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{function} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{function} expects a positive {name}, but got {factor}")


def _own(shuffled: Tensor) -> Tensor:
    """A copy where nothing had to be moved."""
    return shuffled.clone() if shuffled._is_view() else shuffled


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels dealt out to pixels: (.., C * r * r, H, W) gives (.., C, H * r, W * r).

    Raises RuntimeError if the number of channels is no multiple of r * r.

    >>> import adjoint
    >>> adjoint.nn.functional.pixel_shuffle(adjoint.arange(8.0).reshape(1, 4, 1, 2), 2)
    tensor([[[[0., 2., 1., 3.],
              [4., 6., 5., 7.]]]])
    """
    r = upscale_factor
    _check_pixels("pixel_shuffle", "upscale_factor", input, r)
    *outer, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(outer)
    parts = input.reshape((*outer, channels // (r * r), r, r, height, width))
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return _own(parts.permute(order).reshape((*outer, channels // (r * r), height * r, width * r)))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The way back from pixel_shuffle(): (.., C, H * r, W * r) gives (.., C * r * r, H, W).

    Raises RuntimeError if height or width is no multiple of r.

    >>> import adjoint
    >>> adjoint.nn.functional.pixel_unshuffle(adjoint.ones(1, 1, 4, 6), 2).shape
    adjoint.Size([1, 4, 2, 3])
    """
    r = downscale_factor
    _check_pixels("pixel_unshuffle", "downscale_factor", input, r)
    *outer, channels, height, width = input.shape
    for side, axis, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {side} to be divisible by downscale_factor, but input.size({axis})={size} is "
                f"not divisible by {r}"
            )
    n = len(outer)
    parts = input.reshape((*outer, channels, height // r, r, width // r, r))
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return _own(parts.permute(order).reshape((*outer, channels * r * r, height // r, width // r)))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels in turns from each of several groups.

    Raises RuntimeError if the number of channels is no multiple of that of groups.

    >>> import adjoint
    >>> adjoint.nn.functional.channel_shuffle(adjoint.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {listed(input.shape)}"
        )
    channels = input.shape[1]
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    parts = input.reshape((input.shape[0], groups, channels // groups, *input.shape[2:]))
    return _own(parts.transpose(1, 2).reshape(tuple(input.shape)))


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """As `channel_shuffle`; in torch the form for mobile devices, here the same.

    >>> import adjoint
    >>> adjoint.native_channel_shuffle(adjoint.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return channel_shuffle(input, groups)


for _function in (pixel_shuffle, pixel_unshuffle, channel_shuffle, native_channel_shuffle):
    public(_function, _function.__name__, _function.__doc__)
