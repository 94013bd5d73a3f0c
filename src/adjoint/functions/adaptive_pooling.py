"""Adaptive pooling: a given number of windows, of about equal size, which cover the image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.arrays.kernels import axis_maps
from adjoint.functions.arguments import SIZES, Sizes, ints
from adjoint.functions.composite import as_tensor, describe, in_functional, ops, public
from adjoint.functions.pooling_windows import pooling_numbers, refuse_dtype, wrong_rank
from adjoint.rules.contract import shape_text
from adjoint.rules.interpolation import Origin

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_ADAPTIVE = """The {what} of windows of about equal size that cover the image.

Args:
    input: (N, C, {sizes}), or one image without N.
    output_size: how many windows along each axis, one number or one for each; None for the size of the image.{more}

Raises RuntimeError for an image without elements.

>>> import adjoint
>>> adjoint.nn.functional.{example}.shape
adjoint.Size([1, 1, {half}])
"""
_RETURN_INDICES = """
    return_indices: whether to return, as a second result, where in its image each of them lies."""


def _adaptive_sizes(function: str, input: Tensor, output_size: Any, n: int) -> Sizes:
    if n == 1:
        counts = pooling_numbers(function, "output_size", output_size, 1, 2)
    else:
        members = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
        if len(members) != n:
            if "max" in function:
                raise RuntimeError(f"{function}(): internal error: output_size.size() must be {n}")
            raise RuntimeError(f"{function}: output_size must be {n}")
        sizes = input.shape[-n:] if input.ndim >= n else (0,) * n
        counts = ints(function, "output_size", [m if m is not None else k for m, k in zip(members, sizes, strict=True)])
    if input.ndim not in (n + 1, n + 2):
        if n == 1:
            raise wrong_rank(function, input.ndim)
        colon = ":" if "max" in function else ""
        raise RuntimeError(
            f"{function}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {shape_text(input.shape)}"
        )
    return counts


def _check_adaptive(function: str, input: Tensor, counts: Sizes, first: int) -> None:
    """Raise RuntimeError for an axis without elements, from axis `first` on, or a negative number of windows."""
    n = len(counts)
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
    if min(counts) < 0:
        if "max" in function:
            sizes = [*shape[:-n], *([1] if n == 1 else []), *counts]
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(counts)}: {sizes}")
        lengths = (1, *counts) if n == 1 else counts
        text = "{" + ", ".join(map(str, lengths[:2])) + "".join(f",{m}" for m in lengths[2:]) + "}"
        raise RuntimeError(
            f"adaptive_avg_pool{max(n, 2)}d: elements of output_size must be greater than or equal to 0 but received "
            f"{text}"
        )


def adaptive_average(n: int, input: Tensor, output_size: Any) -> Tensor:
    """The means of windows of about equal size that cover the image."""
    function = f"adaptive_avg_pool{n}d"
    input = as_tensor(function, "input", 1, input)
    counts = _adaptive_sizes(function, input, output_size, n)
    _check_adaptive(function, input, counts, input.ndim - n - (n == 3))
    if all(m == 1 for m in counts):
        return ops.mean(input, tuple(range(-n, 0)), True)
    refuse_dtype(input, "adaptive_avg_pool3d_cpu" if n == 3 else "adaptive_avg_pool2d", integers=False)
    rows = zip(input.shape[-n:], counts, strict=True)
    maps = tuple([axis_maps.adaptive_means(*row) for row in rows])
    return ops.along_axes(input, maps, Origin(f"AdaptiveAvgPool{max(n, 2)}DBackward0"))


def adaptive_max(n: int, input: Tensor, output_size: Any) -> tuple[Tensor, Callable[[], Tensor]]:
    """The largest elements of windows that cover the image, and a function that computes their indices."""
    function = f"adaptive_max_pool{n}d"
    input = as_tensor(function, "input", 1, input)
    counts = _adaptive_sizes(function, input, output_size, n)
    _check_adaptive(function, input, counts, input.ndim - n - 1)
    refuse_dtype(input, "adaptive_max_pool3d_cpu" if n == 3 else "adaptive_max_pool2d", integers=False)
    maps = tuple([axis_maps.adaptive(*row) for row in zip(input.shape[-n:], counts, strict=True)])
    values = ops.maxima(input, maps)
    return values, lambda: ops.places_of_maxima(input.detach(), maps)


def adaptive_max_with_indices(n: int, input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover the image, and their indices."""
    values, indices = adaptive_max(n, input, output_size)
    return values, indices()


# averages -------------------------------------------------------------------------------------------------------------


@public
@describe(
    _ADAPTIVE,
    what="mean",
    sizes=SIZES[1],
    more="",
    example="adaptive_avg_pool1d(adjoint.ones(1, 1, 5), 2)",
    half="2",
)
def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    return adaptive_average(1, input, output_size)


@in_functional
@describe(
    _ADAPTIVE,
    what="mean",
    sizes=SIZES[2],
    more="",
    example="adaptive_avg_pool2d(adjoint.ones(1, 1, 5, 5), 2)",
    half="2, 2",
)
def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    return adaptive_average(2, input, output_size)


@in_functional
@describe(
    _ADAPTIVE,
    what="mean",
    sizes=SIZES[3],
    more="",
    example="adaptive_avg_pool3d(adjoint.ones(1, 1, 5, 5, 5), 2)",
    half="2, 2, 2",
)
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    return adaptive_average(3, input, output_size)


# maxima ---------------------------------------------------------------------------------------------------------------


@in_functional
@describe(
    _ADAPTIVE,
    what="largest element",
    sizes=SIZES[1],
    more=_RETURN_INDICES,
    example="adaptive_max_pool1d(adjoint.ones(1, 1, 5), 2)",
    half="2",
)
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    if return_indices:
        return adaptive_max_with_indices(1, input, output_size)
    return adaptive_max(1, input, output_size)[0]


@in_functional
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """As adaptive_max_pool1d() with return_indices=True; the value of return_indices is ignored.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.adaptive_max_pool1d_with_indices(adjoint.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return adaptive_max_with_indices(1, input, output_size)


@in_functional
@describe(
    _ADAPTIVE,
    what="largest element",
    sizes=SIZES[2],
    more=_RETURN_INDICES,
    example="adaptive_max_pool2d(adjoint.ones(1, 1, 5, 5), 2)",
    half="2, 2",
)
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    if return_indices:
        return adaptive_max_with_indices(2, input, output_size)
    return adaptive_max(2, input, output_size)[0]


@in_functional
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """As adaptive_max_pool2d() with return_indices=True; the value of return_indices is ignored.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.adaptive_max_pool2d_with_indices(adjoint.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 1)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return adaptive_max_with_indices(2, input, output_size)


@in_functional
@describe(
    _ADAPTIVE,
    what="largest element",
    sizes=SIZES[3],
    more=_RETURN_INDICES,
    example="adaptive_max_pool3d(adjoint.ones(1, 1, 5, 5, 5), 2)",
    half="2, 2, 2",
)
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    if return_indices:
        return adaptive_max_with_indices(3, input, output_size)
    return adaptive_max(3, input, output_size)[0]


@in_functional
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """As adaptive_max_pool3d() with return_indices=True; the value of return_indices is ignored.

    Returns the elements and their flat indices in the pooled axes. Other arguments, shapes, derivative and errors are
    as in that function.

    >>> import adjoint
    >>> adjoint.nn.functional.adaptive_max_pool3d_with_indices(adjoint.ones(1, 2, 2, 2), 1)
    (tensor([[[[1.]]]]), tensor([[[[0]]]]))
    """
    return adaptive_max_with_indices(3, input, output_size)
