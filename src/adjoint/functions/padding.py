"""Padding: margins of constants, mirrored, repeated or continued elements around the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.kernels import axis_maps
from adjoint.arrays.promotion import number_as
from adjoint.functions.arguments import Sizes, ints
from adjoint.functions.composite import as_tensor, composite, functional, ops
from adjoint.rules.interpolation import Origin
from adjoint.rules.refusals import check_fits
from adjoint.runtime.caches import memoize

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: The nodes of modes, without the number of axes.
_MARGINS = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}
_OTHER_MODES = """Padding size {} is not supported for {}D input tensor.
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


@memoize(1024)
def _places_beyond(mode: str, n: int, before: int, behind: int) -> tuple[int, ...]:
    """The index of the element at each position from `before` ahead of an axis to `behind` after it."""
    position = numpy.arange(-before, n + behind)
    if mode == "replicate":
        position = position.clip(0, n - 1)
    elif mode == "circular":
        # negative margins shorten the axis before it is continued
        first, length = max(-before, 0), n - max(-before, 0) - max(-behind, 0)
        position = (position - first) % max(length, 1) + first
    else:
        position = n - 1 - abs(n - 1 - abs(position))
    return tuple(position.tolist())


@memoize(1024)
def _plan(mode: str, shape: Sizes, pad: Sizes, is_bool: bool) -> tuple[tuple[axis_maps.AxisMap, ...], Origin]:
    """The maps of the last axes, and the name of the node. The margins are checked."""
    n = len(pad) // 2
    _check_margins(mode, list(shape), pad, n, is_bool)
    maps = [
        axis_maps.picks(size, _places_beyond(mode, size, pad[2 * i], pad[2 * i + 1]))
        for i, size in zip(reversed(range(n)), shape[-n:], strict=True)
    ]
    return tuple(maps), Origin(f"{_MARGINS[mode]}{n}DBackward0", (("padding", pad),))


def _check_margins(mode: str, shape: list[int], pad: Sizes, n: int, is_bool: bool) -> None:
    if mode != "circular":
        if not all(shape[-n - 1 :]):
            raise RuntimeError(
                f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
                f"dimensions for input, but got: {shape}"
            )
        if is_bool:
            kernel = "reflection" if mode == "reflect" else "replication"
            raise NotImplementedError(f"\"{kernel}_pad{n}d\" not implemented for 'Bool'")
    for i in range(n):
        before, behind = pad[2 * i], pad[2 * i + 1]
        axis = len(shape) - 1 - i
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


@functional
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Margins around the last axes.

    Args:
        pad: the numbers of elements to add before and after the last axis, then the axis before it, and so on; negative
            numbers remove elements.
        mode: "constant" for a number, "reflect" for elements mirrored at the first and last element, "replicate" for
            the first and last element repeated, "circular" for elements from the other end of the axis. All modes
            except "constant" pad only the last one, two or three axes of images.
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
        return _pad(input, numbers, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not (n in (1, 2, 3) and input.ndim in (n + 1, n + 2)):
        raise NotImplementedError(_OTHER_MODES.format(2 * n, input.ndim))
    return ops.along_axes(input, *_plan(mode, tuple(input.shape), tuple(numbers), input.dtype.long_name == "Bool"))


def _margins(function: str, pad: Any) -> Sizes:
    for position, member in enumerate(pad if isinstance(pad, (tuple, list)) else ()):
        if not hasattr(member, "__index__"):
            raise TypeError(
                f"{function}(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{type(member).__name__} at pos {position}"
            )
    return ints(function, "pad", pad)


@composite(method=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """Margins around the last axes filled with a number; see nn.functional.pad().

    >>> import adjoint
    >>> adjoint.constant_pad_nd(adjoint.tensor([1, 2]), (1, 2), 7)
    tensor([7, 1, 2, 7, 7])
    """
    return _pad(input, _margins("constant_pad_nd", pad), value)


def _pad(input: Tensor, numbers: Sizes, value: Any) -> Tensor:
    check_fits(input, value)
    shape = input._array.shape
    if len(numbers) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(numbers)}")
    n = len(numbers) // 2
    if n > len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{2 * n}while the input has {input.ndim}dimensions."
        )
    for i in range(n):
        size, before, behind = shape[-1 - i], numbers[2 * i], numbers[2 * i + 1]
        if min(size, size + before, size + behind, size + before + behind) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    return ops.constant_pad_nd(input, numbers, number_as(value, input._array.dtype))
