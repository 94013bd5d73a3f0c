"""Normalization of each batch member separately: over the last axes, or over groups of channels."""

from __future__ import annotations

from typing import Any

from adjoint.nn import functional as F
from adjoint.nn import init
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor


class _Affine(Module):
    """The base class of these layers: an optional weight, initially ones, and an optional bias, initially zeros."""

    weight: Tensor | None
    bias: Tensor | None

    def _make(self, shape: tuple[int, ...], device: Any, dtype: Any, **there: bool) -> None:
        for name, is_there in there.items():
            values = Parameter(creation.empty(shape, device=device, dtype=dtype)) if is_there else None
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            if self._parameters.get(name) is not None:
                fill(getattr(self, name))


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """Normalize the last axes, of shape `normalized_shape`, to mean 0 and variance 1, then scale and shift them.

    The output is `normalized * weight + bias`, of the input's shape. Raises RuntimeError if the last axes of the input
    differ.

    >>> import adjoint
    >>> adjoint.nn.LayerNorm(2)(adjoint.tensor([1.0, 3.0])).tolist()[1] > 0.99
    True
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._make(self.normalized_shape, device, dtype, weight=elementwise_affine, bias=elementwise_affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divide the input by the root mean square over the last axes, of shape `normalized_shape`, then scale it.

    The output has the shape of the input. Raises RuntimeError if the last axes of the input differ.

    >>> import adjoint
    >>> adjoint.nn.RMSNorm(2)(adjoint.tensor([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._make(self.normalized_shape, device, dtype, weight=elementwise_affine)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Normalize groups of channels of (N, C, ...) to mean 0 and variance 1, then scale and shift each channel.

    The output has the shape of the input. Raises ValueError unless num_channels is a multiple of num_groups.

    >>> import adjoint
    >>> adjoint.nn.GroupNorm(2, 4)(adjoint.ones(1, 4, 3)).shape
    adjoint.Size([1, 4, 3])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make((num_channels,), device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
