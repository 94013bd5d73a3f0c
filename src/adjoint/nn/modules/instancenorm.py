"""Instance normalization: each channel of each batch member has its own statistics."""

from __future__ import annotations

import warnings
from typing import Any

from adjoint.nn import functional as F
from adjoint.nn.modules.batchnorm import _check_axes, _NormBase
from adjoint.tensor.tensor import Tensor


class _InstanceNorm(_NormBase):
    """Instance normalization of inputs with any number of axes."""

    _axes = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        _check_axes(input, self._axes + 1, self._axes + 2)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        axis = input.ndim - self._axes - 1
        if input.shape[axis] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={axis} to match num_features ({self.num_features}), but got: "
                    f"{input.shape[axis]}."
                )
            warnings.warn(
                f"input's size at dim={axis} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
                stacklevel=3,
            )
        batched = input.ndim == self._axes + 2
        result = F.instance_norm(
            input if batched else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result if batched else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each signal (N, C, L) or (C, L) to mean 0 and variance 1.

    The output has the shape of the input. affine: each channel is multiplied by a weight, and a bias is added.
    track_running_stats: evaluation uses running statistics.

    Raises ValueError for other shapes.

    >>> import adjoint
    >>> adjoint.nn.InstanceNorm1d(1)(adjoint.tensor([[1.0, 3.0]])).round(decimals=3)
    tensor([[-1.,  1.]])
    """

    _axes = 1


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d for images (N, C, H, W) or (C, H, W). Raises ValueError for other shapes.

    >>> import adjoint
    >>> adjoint.nn.InstanceNorm2d(2)(adjoint.ones(1, 2, 3, 3)).shape
    adjoint.Size([1, 2, 3, 3])
    """

    _axes = 2


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm1d for volumes (N, C, D, H, W) or (C, D, H, W). Raises ValueError for other shapes.

    >>> import adjoint
    >>> adjoint.nn.InstanceNorm3d(2)(adjoint.ones(1, 2, 3, 3, 3)).shape
    adjoint.Size([1, 2, 3, 3, 3])
    """

    _axes = 3
