"""Fractional max pooling: windows at random positions shrink an image by any factor (Graham 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.functions.arguments import SIZES, Sizes, per_axis
from adjoint.functions.composite import as_tensor, describe, in_functional, ops
from adjoint.functions.underived import check_constants
from adjoint.rules.contract import shape_text
from adjoint.tensor.creation import rand

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_SIDES = {2: ("height", "width"), 3: ("time", "height", "width")}
_TUPLE = {2: "tuple of Ints", 3: "tuple of three Ints"}


def _numbers(function: str, name: str, position: int, value: Any, n: int) -> Sizes:
    numbers = per_axis(function, name, value, n, position)
    if len(numbers) != n:
        raise RuntimeError(f"{function}: {name} must either be a single Int or {_TUPLE[n]}")
    return numbers


def _results(function: str, n: int, image: Sizes, output_size: Any, output_ratio: Any) -> Sizes:
    """The number of windows along each axis."""
    if output_size is not None:
        return _numbers(function, "output_size", 3, output_size, n)
    if output_ratio is None:
        raise ValueError(f"{function} requires specifying either an output_size or an output_ratio")
    ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
    if len(ratios) != n:
        raise ValueError(f"{function} requires output_ratio to either be a single Int or tuple of Ints.")
    return tuple([int(size * ratio) for size, ratio in zip(image, ratios, strict=True)])


def _check_images(function: str, input: Tensor, n: int) -> None:
    if input.ndim not in (n + 1, n + 2):
        raise IndexError(f"{function}(): Expected {n + 1}D or {n + 2}D tensor, but got: {shape_text(input.shape)}")
    if not (input.is_floating_point() or input.is_complex()):
        raise NotImplementedError(f"\"check_uniform_bounds\" not implemented for '{input.dtype.long_name}'")
    for axis in range(input.ndim - n - 1, input.ndim):
        if not input.shape[axis]:
            raise RuntimeError(
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but got"
                f"{shape_text(input.shape)} with dimension {axis} being empty."
            )
    if input.is_complex():
        raise NotImplementedError(f"\"{function}_out_frame\" not implemented for '{input.dtype.long_name}'")


def _check_windows(function: str, image: Sizes, kernel: Sizes, results: Sizes) -> None:
    name = f"{function}_out()" if len(image) == 3 else f"{function}()"
    for side, size, k, count in zip(_SIDES[len(image)], image, kernel, results, strict=True):
        if k < 1:
            raise RuntimeError(f"{function}: kernel_size must be positive, but got {shape_text(kernel)}")
        if count + k - 1 > size:
            raise RuntimeError(f"{name}: pool {side} {k} too large relative to input {side} {size}")
    if min(results) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(results)}: {shape_text(results)}")


def _check_samples(input: Tensor, samples: Tensor, n: int) -> None:
    if samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = input.shape[0] if input.ndim == n + 2 else 1
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != input.shape[-n - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[2]}.")


def _samples(input: Tensor, samples: Tensor | None, n: int) -> Tensor:
    """For each axis of each image a number of [0, 1) that says where its windows are."""
    if samples is None:
        return rand(tuple(input.shape[:-n]) + (n,), dtype=input.dtype, device=input.device)
    _check_samples(input, samples, n)
    check_constants(f"fractional_max_pool{n}d", random_samples=samples)
    samples = samples[: input.shape[0]] if input.ndim == n + 2 else samples[0]
    # torch draws for the axes of an image from the last axis on, and for the axes of a volume from the first axis on
    return samples.detach().flip(-1) if n == 2 else samples.detach()


_DOC = """The largest elements of windows whose places are drawn at random; see Graham, Fractional Max-Pooling (2014).

Along an axis of size m, with r windows of size k and a sample u in [0, 1), window i begins at
int((i + u) a) - int(u a) with a = (m - k) / (r - 1), the last one at m - k.

Args:
    input: (N, C, {sizes}), or one image without N.
    kernel_size: the size of a window, one number or one for each axis.
    output_size: how many windows along each axis.
    output_ratio: their number as a share of the size of the image, if output_size is None.
    return_indices: whether to return, as a second result, where in its image each of them lies.
    _random_samples: (N, C, {n}) of input's dtype, the numbers u{order}; drawn unless given.

Raises ValueError or RuntimeError if these do not fit together.

>>> import adjoint
>>> adjoint.nn.functional.{example}.shape
adjoint.Size([1, 1, {threes}])
"""


def _pool(
    function: str,
    n: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    random_samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The largest elements and their indices."""
    input = as_tensor(function, "input", 1, input)
    image = tuple(input.shape[-n:])
    results = _results(function, n, image, output_size, output_ratio)
    kernel = _numbers(function, "kernel_size", 2, kernel_size, n)
    _check_images(function, input, n)
    _check_windows(function, image, kernel, results)
    samples = _samples(input, random_samples, n)
    indices = ops.places_in_drawn_windows(input.detach(), samples, kernel, results)
    return ops.from_places(input, indices, n), indices


@in_functional
@describe(
    _DOC,
    n=2,
    sizes=SIZES[2],
    order=" for the width and the height",
    example="fractional_max_pool2d(adjoint.ones(1, 1, 6, 6), 2, 3)",
    threes="3, 3",
)
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    values, indices = _pool("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, indices) if return_indices else values


@in_functional
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """As fractional_max_pool2d() with return_indices=True.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.fractional_max_pool2d_with_indices(adjoint.ones(1, 6, 6), 2, 3)[0].shape
    adjoint.Size([1, 3, 3])
    """
    return _pool("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)


@in_functional
@describe(
    _DOC,
    n=3,
    sizes=SIZES[3],
    order=" for time, height and width",
    example="fractional_max_pool3d(adjoint.ones(1, 1, 6, 6, 6), 2, 3)",
    threes="3, 3, 3",
)
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    values, indices = _pool("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, indices) if return_indices else values


@in_functional
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """As fractional_max_pool3d() with return_indices=True.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.fractional_max_pool3d_with_indices(adjoint.ones(1, 6, 6, 6), 2, 3)[0].shape
    adjoint.Size([1, 3, 3, 3])
    """
    return _pool("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)
