"""The windows of pooling functions: their arguments, checked, and the images they fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.arrays.kernels import axis_maps
from adjoint.arrays.kernels.axis_maps import AxisMap
from adjoint.functions.arguments import Sizes, per_axis
from adjoint.rules.contract import shape_text

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: The common text about the arguments of max_pool and avg_pool.
WINDOWS = """
Args:
    input: (N, C, {sizes}), or one image without N.
    kernel_size: the size of a window, one number or one for each axis.
    stride: the distance of neighbouring windows; None for windows side by side.
    padding: by how much windows may hang over the margins, at most half their size."""
CEIL = """
    ceil_mode: whether a last window may hang over the end."""
RAISES = """
Raises RuntimeError if these do not fit together.
"""

_COUNTS = {2: "two", 3: "three"}


def _wrong_count(function: str, name: str, n: int, count: int) -> RuntimeError:
    if function == "max_pool1d":
        comma = "," if name in ("stride", "padding") else ""
        start = "None, an int" if name == "stride" else "an int"
        return RuntimeError(
            f"{function}() {name} must be {start}, list of ints{comma} or tuple of ints of size 1 but got size {count}"
        )
    if n == 1:
        return RuntimeError(f"{function}() argument '{name}' should contain one int (got {count})")
    if function == "avg_pool3d":
        start = "be omitted," if name == "stride" else "be"
    elif name == "dilation":
        start = "be either"
    else:
        start = "either be omitted," if name == "stride" else "either be"
    return RuntimeError(f"{function}: {name} must {start} a single int, or a tuple of {_COUNTS[n]} ints")


def pooling_numbers(function: str, name: str, value: Any, n: int, position: int) -> Sizes:
    """One number for each of n axes. Raises TypeError or RuntimeError for another kind or count."""
    numbers = per_axis(function, name, value, n, position)
    if len(numbers) != n:
        raise _wrong_count(function, name, n, len(numbers))
    return numbers


def has_stride(stride: Any) -> bool:
    """Whether a stride is given: neither None nor an empty sequence."""
    return not (stride is None or (isinstance(stride, (tuple, list)) and not stride))


def results_of(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """The number of windows along an axis. With ceil_mode a window may extend beyond the end if it begins before it.

    >>> results_of(6, 3, 2, 0, 1, False), results_of(6, 3, 2, 0, 1, True)
    (2, 3)
    """
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = -(-span // stride) + 1
    return count - 1 if (count - 1) * stride >= n + padding else count


class PoolingWindows:
    """The windows of a pooling function: kernel size, stride, padding, dilation and ceil_mode."""

    def __init__(
        self, function: str, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> None:
        self.function = function
        self.kernel = pooling_numbers(function, "kernel_size", kernel_size, n, 2)
        self.stride = pooling_numbers(function, "stride", stride, n, 3) if has_stride(stride) else self.kernel
        self.padding = pooling_numbers(function, "padding", padding, n, 4)
        self.dilation = pooling_numbers(function, "dilation", dilation, n, 5)
        self.ceil_mode = ceil_mode

    def check(self) -> None:
        """Raise RuntimeError for numbers that describe no windows."""
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
            sizes = " ".join(f"{letter}{side}: {n}" for side, n in zip(sides, values, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {sizes}")

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
        """Kernel and padding in the order and words of torch's message."""
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
        """The number of windows along each axis. Raises RuntimeError for an axis that no window fits in."""
        rows = zip(image, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        counts = tuple([results_of(*row, self.ceil_mode) for row in rows])
        if min(counts) < 1:
            if self.function == "max_pool1d":
                raise RuntimeError(f"max_pool1d() Invalid computed output size: {min(counts)}")
            before, after = [(1,) * (2 - len(image)) + sizes for sizes in (image, counts)]
            raise RuntimeError(
                f"Given input size: ({'x'.join(map(str, (channels, *before)))}). Calculated output size: "
                f"({'x'.join(map(str, (channels, *after)))}). Output size is too small"
            )
        return counts

    def maps(self, image: Sizes, channels: int) -> tuple[AxisMap, ...]:
        """The elements of the windows along each axis."""
        rows = zip(
            image, self.kernel, self.stride, self.padding, self.dilation, self.results(image, channels), strict=True
        )
        return tuple([axis_maps.windows(*row) for row in rows])


def check_images(function: str, shape: Sizes, n: int) -> None:
    """Raise RuntimeError unless the input is images, or one image, with channels and elements."""
    if len(shape) in (n + 1, n + 2) and all(shape[-n - 1 :]):
        return
    if function == "max_pool1d":
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got:{shape_text(shape)}"
        )
    if len(shape) not in (n + 1, n + 2):
        if function == "avg_pool1d":
            raise wrong_rank(function, len(shape))
        if function != "avg_pool2d":
            raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    if n < 3:
        sizes = list(shape) if n == 2 else [*shape[:-1], 1, shape[-1]]
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{sizes}"
        )
    name = "max_pool3d_with_indices_out_cpu_template" if function == "max_pool3d" else function
    raise RuntimeError(
        f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
        f"{shape_text(shape)} and non-batch dimension 0 has length zero!"
    )


def wrong_rank(function: str, ndim: int) -> RuntimeError:
    """The error for a one-dimensional pooling of a tensor with another number of axes."""
    return RuntimeError(
        f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 'self' (while checking "
        f"arguments for {function})"
    )


def refuse_dtype(input: Tensor, kernel: str, integers: bool) -> None:
    """Raise NotImplementedError for bool and complex tensors, and for integers unless `integers`."""
    kind = input.dtype
    if kind.is_complex or kind.long_name == "Bool" or not (integers or kind.is_floating_point):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.long_name}'")
