"""Layers that are linear in their input: Identity, Linear, Bilinear."""

from __future__ import annotations

import math
from typing import Any

from adjoint.nn import functional as F
from adjoint.nn import init
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """The input itself. The constructor accepts and ignores all arguments.

    >>> import adjoint
    >>> adjoint.nn.Identity(54)(adjoint.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """`input @ weight.T + bias` along the last axis: shapes (..., in_features) and (..., out_features).

    Initial weights and biases are uniform between ±1 / sqrt(in_features). Raises RuntimeError for another last axis of
    the input.

    >>> import adjoint
    >>> adjoint.nn.Linear(2, 3)(adjoint.ones(5, 2)).shape
    adjoint.Size([5, 3])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(creation.empty(out_features, in_features, device=device, dtype=dtype))
        bias_or_none = Parameter(creation.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", bias_or_none)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        # with this slope, kaiming_uniform_() has the same bound as the bias: 1 / sqrt(fan_in)
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, under the name that the repr of MultiheadAttention shows for its last layer.

    >>> import adjoint
    >>> adjoint.nn.MultiheadAttention(4, 2).out_proj
    NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
    """


class Bilinear(Module):
    """`input1 @ weight[k] @ input2 + bias[k]` for each output k.

    Shapes: (..., in1_features) and (..., in2_features) to (..., out_features). Raises ValueError unless in1_features
    is positive.

    >>> import adjoint
    >>> adjoint.nn.Bilinear(2, 3, 4)(adjoint.ones(5, 2), adjoint.ones(5, 3)).shape
    adjoint.Size([5, 4])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(creation.empty(shape, device=device, dtype=dtype))
        bias_or_none = Parameter(creation.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", bias_or_none)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
