"""make_tensor: random data for tests, with the option to exclude zeros."""

from __future__ import annotations

import math
from typing import Any

from adjoint.arrays.dtypes import as_dtype, finfo, float64, iinfo
from adjoint.arrays.dtypes import dtype as dtype_class
from adjoint.arrays.layout import memory_format as memory_format_class
from adjoint.arrays.size import check_shape
from adjoint.tensor import creation
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor


def make_tensor(
    *shape: Any,
    dtype: dtype_class,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: memory_format_class | None = None,
) -> Tensor:
    """A tensor of uniform random numbers in [low, high); for complex dtypes, both parts are in this interval.

    The default bounds are -9 and 9 for floating-point and complex dtypes, -9 and 10 for signed integers, 0 and 10 for
    unsigned integers, 0 and 2 for bools. Bounds are clipped to the range of the dtype. noncontiguous: the result is
    every second element of a larger tensor along the last axis. exclude_zero: zeros are replaced by 1, or by the
    smallest normal number of a floating-point dtype.

    Raises:
        ValueError: requires_grad for integers or bools, bounds that are NaN or in the wrong order, or both
            noncontiguous and a memory_format.

    >>> import adjoint
    >>> t = adjoint.testing.make_tensor(2, 3, dtype=adjoint.float64, low=1, requires_grad=True)
    >>> t.shape, bool((t >= 1).all())
    (adjoint.Size([2, 3]), True)
    """
    size = check_shape("make_tensor", shape)
    dtype = as_dtype(dtype, "make_tensor")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"{noncontiguous=} and {memory_format=}.")  # fmt: skip
    bounds = _bounds(dtype, low, high)
    numel = math.prod(size)
    spread = noncontiguous and numel > 1
    wide = (*size[:-1], 2 * size[-1]) if spread else tuple(size)
    result = _random_values(wide, dtype, *bounds)
    if spread:
        result = result[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        smallest: Any = finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        result[result == 0] = complex(smallest, smallest) if dtype.is_complex else smallest
    if device is not None:
        result = result.to(device)
    result.requires_grad = requires_grad
    return result  # type: ignore[no-any-return]


def _bounds(dtype: dtype_class, low: float | None, high: float | None) -> tuple[float, float]:
    """The bounds, inside the range of the dtype."""
    if dtype.is_floating_point or dtype.is_complex:
        usual, ends = (-9.0, 9.0), (finfo(dtype).min, finfo(dtype).max)
    elif dtype.name == "bool":
        usual, ends = (0, 2), (0, 2)
    else:
        usual = (-9, 10) if dtype.is_signed else (0, 10)
        ends = (iinfo(dtype).min, iinfo(dtype).max)
    bounds = []
    for bound, default in zip((low, high), usual, strict=True):
        if bound is not None and math.isnan(bound):
            raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
        bounds.append(default if bound is None else min(max(bound, ends[0]), ends[1]))
    if bounds[0] >= bounds[1]:
        raise ValueError(f"`low` must be less than `high`, but got {bounds[0]} >= {bounds[1]}")
    return bounds[0], bounds[1]


def _random_values(size: tuple[int, ...], dtype: dtype_class, low: float, high: float) -> Any:
    if not (dtype.is_floating_point or dtype.is_complex):
        return creation.randint(math.ceil(low), math.ceil(high), size, dtype=dtype)
    parts = (*size, 2) if dtype.is_complex else size
    # low and high are scaled separately, since their difference may exceed the range of double precision
    share = creation.rand(parts, dtype=float64)
    values = (low * (1 - share) + high * share).clamp(low, math.nextafter(high, -math.inf))
    return ops.view_as_complex(values).to(dtype) if dtype.is_complex else values.to(dtype)
