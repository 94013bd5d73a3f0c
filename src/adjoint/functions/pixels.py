"""Channels rearranged into pixels and back, and shuffled between groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.functions.composite import public
from adjoint.rules.contract import shape_text

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _check_pixels(function: str, name: str, input: Tensor, factor: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{function} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{function} expects a positive {name}, but got {factor}")


def _copy_of_view(shuffled: Tensor) -> Tensor:
    """The result, copied where it is a view."""
    return shuffled.clone() if shuffled._is_view() else shuffled


@public
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
    return _copy_of_view(parts.permute(order).reshape((*outer, channels // (r * r), height * r, width * r)))


@public
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
    return _copy_of_view(parts.permute(order).reshape((*outer, channels * r * r, height // r, width // r)))


@public
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleaves the channels of several groups.

    Raises RuntimeError if the number of channels is no multiple of the number of groups.

    >>> import adjoint
    >>> adjoint.nn.functional.channel_shuffle(adjoint.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {shape_text(input.shape)}"
        )
    channels = input.shape[1]
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    parts = input.reshape((input.shape[0], groups, channels // groups, *input.shape[2:]))
    return _copy_of_view(parts.transpose(1, 2).reshape(tuple(input.shape)))


@public
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """As `channel_shuffle`; in torch it is the form for mobile devices.

    >>> import adjoint
    >>> adjoint.native_channel_shuffle(adjoint.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return channel_shuffle(input, groups)
