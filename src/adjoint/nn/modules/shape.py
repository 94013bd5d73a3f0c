"""Layers that rearrange elements (flatten, fold, shuffles, upsampling), and distances."""

from __future__ import annotations

from typing import Any

from adjoint.nn import functional as F
from adjoint.nn.modules._base.declare import layer
from adjoint.nn.modules.module import Module
from adjoint.tensor.tensor import Tensor


class Flatten(Module):
    """Merge the axes from start_dim to end_dim into one axis. Raises RuntimeError if start_dim is after end_dim.

    >>> import adjoint
    >>> adjoint.nn.Flatten()(adjoint.ones(2, 3, 4)).shape
    adjoint.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one axis into several axes of these lengths; one of the lengths may be -1.

    Raises TypeError unless the lengths are a tuple or list of integers, and RuntimeError if their product differs from
    the length of the axis.

    >>> import adjoint
    >>> adjoint.nn.Unflatten(1, (3, 4))(adjoint.ones(2, 12)).shape
    adjoint.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for k, length in enumerate(unflattened_size):
            if not isinstance(length, int):
                kind = type(length).__name__
                raise TypeError(f"unflattened_size must be tuple of ints, but found element of type {kind} at pos {k}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


_BLOCKS = "kernel_size, dilation=1, padding=0, stride=1"
_SHOWN = "kernel_size dilation padding stride"
Fold = layer(
    "Fold",
    f"output_size, {_BLOCKS}",
    show=f"output_size {_SHOWN}",
    doc="The sum of sliding blocks, each at its position in an image: the transpose of Unfold.",
    example="Fold((2, 2), 1)(ones(1, 1, 4)).shape -> adjoint.Size([1, 1, 2, 2])",
)
Unfold = layer(
    "Unfold",
    _BLOCKS,
    show=_SHOWN,
    doc="The sliding blocks of an image, each as a column.",
    example="Unfold(2)(ones(1, 1, 3, 3)).shape -> adjoint.Size([1, 4, 4])",
)
PixelShuffle = layer(
    "PixelShuffle",
    "upscale_factor",
    function="pixel_shuffle",
    show="upscale_factor",
    doc="Channels (C * r * r, H, W) as pixels (C, H * r, W * r).",
    example="PixelShuffle(2)(ones(4, 1, 1)).shape -> adjoint.Size([1, 2, 2])",
)
PixelUnshuffle = layer(
    "PixelUnshuffle",
    "downscale_factor",
    function="pixel_unshuffle",
    show="downscale_factor",
    doc="Pixels (C, H * r, W * r) as channels (C * r * r, H, W).",
    example="PixelUnshuffle(2)(ones(1, 2, 2)).shape -> adjoint.Size([4, 1, 1])",
)
ChannelShuffle = layer(
    "ChannelShuffle",
    "groups",
    function="channel_shuffle",
    show="groups",
    doc="Channels in a new order: the first channel of each group, then the second channel of each group, and so on.",
    example="ChannelShuffle(2)(tensor([[[0.0], [1.0], [2.0], [3.0]]])).flatten() -> tensor([0., 2., 1., 3.])",
)
CosineSimilarity = layer(
    "CosineSimilarity",
    "dim=1, eps=1e-8",
    function="cosine_similarity",
    inputs="x1, x2",
    doc="The cosine of the angle between vectors along an axis.",
    example="CosineSimilarity()(ones(1, 4), ones(1, 4)) -> tensor([1.])",
)
PairwiseDistance = layer(
    "PairwiseDistance",
    "p=2.0, eps=1e-6, keepdim=False",
    function="pairwise_distance",
    inputs="x1, x2",
    call="p=norm eps keepdim",
    prepare=lambda self: setattr(self, "norm", self.__dict__.pop("p")),
    doc="The p-norm of `x1 - x2 + eps` along the last axis.",
    example="PairwiseDistance(eps=0.0)(tensor([[3.0, 4.0]]), zeros(1, 2)) -> tensor([5.])",
)
LocalResponseNorm = layer(
    "LocalResponseNorm",
    "size, alpha=1e-4, beta=0.75, k=1.0",
    function="local_response_norm",
    show="*size alpha beta k",
    doc="The input divided by `(k + alpha * mean) ** beta`, with the mean of squares over `size` adjacent channels.",
    example="LocalResponseNorm(2, alpha=0.0)(ones(1, 1, 1)) -> tensor([[[1.]]])",
)


class Upsample(Module):
    """Resize signals (N, C, L), images (N, C, H, W) or volumes (N, C, D, H, W) to `size`, or by `scale_factor`.

    mode: "nearest", "linear", "bilinear", "bicubic", "trilinear", "nearest-exact" or "area"; see
    nn.functional.interpolate() for the modes and errors.

    >>> import adjoint
    >>> adjoint.nn.Upsample(scale_factor=2)(adjoint.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name, self.size, self.mode = type(self).__name__, size, mode
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        size = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample for images, with the value of the nearest pixel.

    >>> import adjoint
    >>> adjoint.nn.UpsamplingNearest2d(scale_factor=2)(adjoint.ones(1, 1, 2, 2)).shape
    adjoint.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample for images, with bilinear interpolation and aligned corners.

    >>> import adjoint
    >>> adjoint.nn.UpsamplingBilinear2d(scale_factor=2)(adjoint.ones(1, 1, 2, 2)).shape
    adjoint.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
