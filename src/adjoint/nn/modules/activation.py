"""Activations, elementwise or along an axis."""

from __future__ import annotations

from typing import Any

from adjoint.nn import functional as F
from adjoint.nn.modules._base.declare import layer
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor


def _check_bounds(self: Any) -> None:
    if self.max_val <= self.min_val:
        raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


def _take_older_bounds(self: Any) -> None:
    self.min_val = self.min_val if self.min_value is None else self.min_value
    self.max_val = self.max_val if self.max_value is None else self.max_value
    del self.min_value, self.max_value
    _check_bounds(self)


ELU = layer(
    "ELU",
    "alpha=1.0, inplace=False",
    show="alpha inplace?",
    doc="`x` for positive elements, `alpha * (exp(x) - 1)` for the others.",
    example="ELU()(tensor([1.0, 0.0])) -> tensor([1., 0.])",
)
CELU = layer(
    "CELU",
    "alpha=1.0, inplace=False",
    show="alpha inplace?",
    doc="`x` for positive elements, `alpha * (exp(x / alpha) - 1)` for the others.",
    example="CELU(2.0)(tensor([1.0, 0.0])) -> tensor([1., 0.])",
)
SELU = layer(
    "SELU",
    "inplace=False",
    show="inplace?",
    doc="ELU with two constants that keep the mean 0 and the variance 1 of normal numbers.",
    example="SELU()(tensor([1.0, 0.0])) -> tensor([1.0507, 0.0000])",
)
GELU = layer(
    "GELU",
    "approximate='none'",
    show="approximate",
    doc="`x` times the normal distribution function at `x`; approximate='tanh' selects the formula with tanh.",
    example="GELU()(tensor([0.0, 1.0])) -> tensor([0.0000, 0.8413])",
)
GLU = layer(
    "GLU",
    "dim=-1",
    show="dim",
    doc="The first half of an axis times the sigmoid of the second half.",
    example="GLU()(zeros(2, 4)).shape -> adjoint.Size([2, 2])",
)
Hardshrink = layer(
    "Hardshrink",
    "lambd=0.5",
    show="*lambd",
    doc="`x` if its absolute value is above lambd, zero otherwise.",
    example="Hardshrink()(tensor([0.4, -0.6])) -> tensor([ 0.0000, -0.6000])",
)
Hardsigmoid = layer(
    "Hardsigmoid",
    "inplace=False",
    doc="`x / 6 + 1 / 2`, limited to [0, 1].",
    example="Hardsigmoid()(tensor([-3.0, 0.0, 4.0])) -> tensor([0.0000, 0.5000, 1.0000])",
)
Hardswish = layer(
    "Hardswish",
    "inplace=False",
    doc="`x` times hardsigmoid of `x`.",
    example="Hardswish()(tensor([3.0, 4.0])) -> tensor([3., 4.])",
)
Hardtanh = layer(
    "Hardtanh",
    "min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None",
    call="min_val max_val inplace",
    show="min_val max_val inplace?",
    prepare=_take_older_bounds,
    doc="`x` limited to [min_val, max_val]. Raises AssertionError unless max_val is larger.",
    example="Hardtanh()(tensor([-3.0, 0.5])) -> tensor([-1.0000,  0.5000])",
)


def _set_bounds(self: Any) -> None:
    self.min_val, self.max_val = 0.0, 6.0


ReLU6 = layer(
    "ReLU6",
    "inplace=False",
    function="hardtanh",
    call="min_val max_val inplace",
    show="inplace?",
    prepare=_set_bounds,
    base=Hardtanh,
    doc="`x` limited to [0, 6].",
    example="ReLU6()(tensor([-3.0, 9.0])) -> tensor([0., 6.])",
)
LeakyReLU = layer(
    "LeakyReLU",
    "negative_slope=0.01, inplace=False",
    function="leaky_relu",
    show="negative_slope inplace?",
    doc="`x` for positive elements, `negative_slope * x` for the others.",
    example="LeakyReLU()(tensor([-1.0, 1.0])) -> tensor([-0.0100,  1.0000])",
)
LogSigmoid = layer(
    "LogSigmoid",
    doc="The logarithm of the sigmoid.",
    example="LogSigmoid()(tensor([0.0])) -> tensor([-0.6931])",
)
LogSoftmax = layer(
    "LogSoftmax",
    "dim=None",
    function="log_softmax",
    show="dim",
    doc="The logarithm of the softmax along an axis.",
    example="LogSoftmax(0)(zeros(2)) -> tensor([-0.6931, -0.6931])",
)
Mish = layer(
    "Mish",
    "inplace=False",
    show="inplace?",
    doc="`x * tanh(softplus(x))`.",
    example="Mish()(tensor([0.0, 1.0])) -> tensor([0.0000, 0.8651])",
)
ReLU = layer(
    "ReLU",
    "inplace=False",
    show="inplace?",
    doc="`x` for positive elements, zero for the others.",
    example="ReLU()(tensor([-1.0, 1.0])) -> tensor([0., 1.])",
)
RReLU = layer(
    "RReLU",
    f"lower={1 / 8}, upper={1 / 3}, inplace=False",
    call="lower upper training inplace",
    show="lower upper inplace?",
    doc="Leaky ReLU; the slope is uniform in [lower, upper] during training, and their mean in evaluation.",
    example="RReLU(0.5, 0.5)(tensor([-1.0, 1.0])) -> tensor([-0.5000,  1.0000])",
)
SiLU = layer(
    "SiLU",
    "inplace=False",
    show="inplace?",
    doc="`x * sigmoid(x)`.",
    example="SiLU()(tensor([0.0, 1.0])) -> tensor([0.0000, 0.7311])",
)
Sigmoid = layer("Sigmoid", doc="`1 / (1 + exp(-x))`.", example="Sigmoid()(tensor([0.0])) -> tensor([0.5000])")
Softmax = layer(
    "Softmax",
    "dim=None",
    show="dim",
    doc="Exponentials along an axis, divided by their sum.",
    example="Softmax(0)(zeros(2)) -> tensor([0.5000, 0.5000])",
)
Softmin = layer(
    "Softmin",
    "dim=None",
    show="dim",
    doc="The softmax of `-x` along an axis.",
    example="Softmin(0)(zeros(2)) -> tensor([0.5000, 0.5000])",
)
Softplus = layer(
    "Softplus",
    "beta=1.0, threshold=20.0",
    show="beta threshold",
    doc="`log(1 + exp(beta * x)) / beta`, or `x` if `beta * x` is above the threshold.",
    example="Softplus()(tensor([0.0, 30.0])) -> tensor([ 0.6931, 30.0000])",
)
Softshrink = layer(
    "Softshrink",
    "lambd=0.5",
    show="*lambd",
    doc="`x - lambd` above lambd, `x + lambd` below -lambd, zero between them.",
    example="Softshrink()(tensor([0.4, -0.6])) -> tensor([ 0.0000, -0.1000])",
)
Softsign = layer("Softsign", doc="`x / (1 + abs(x))`.", example="Softsign()(tensor([1.0])) -> tensor([0.5000])")
Tanh = layer("Tanh", doc="The hyperbolic tangent.", example="Tanh()(tensor([0.0])) -> tensor([0.])")
Tanhshrink = layer("Tanhshrink", doc="`x - tanh(x)`.", example="Tanhshrink()(tensor([1.0])) -> tensor([0.2384])")
Threshold = layer(
    "Threshold",
    "threshold, value, inplace=False",
    show="threshold value inplace?",
    doc="`x` if it is above the threshold, `value` otherwise.",
    example="Threshold(0.5, 9.0)(tensor([0.0, 1.0])) -> tensor([9., 1.])",
)


class Softmax2d(Module):
    """The softmax over the channels of images (N, C, H, W) or (C, H, W). Raises ValueError for other shapes.

    >>> import adjoint
    >>> adjoint.nn.Softmax2d()(adjoint.zeros(2, 1, 1)).tolist()
    [[[0.5]], [[0.5]]]
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class PReLU(Module):
    """Leaky ReLU with learned slopes: one slope, or one for each channel (the second axis).

    The output has the shape of the input. Raises RuntimeError if the number of slopes differs from the channels.

    >>> import adjoint
    >>> adjoint.nn.PReLU()(adjoint.tensor([-1.0, 1.0])).tolist()
    [-0.25, 1.0]
    """

    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(creation.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.weight.detach().fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
