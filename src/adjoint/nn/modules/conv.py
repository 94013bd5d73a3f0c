"""Convolutions of signals, images and volumes, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adjoint.nn import functional as F
from adjoint.nn import init
from adjoint.nn.modules.module import Module
from adjoint.nn.modules.utils import _ntuple
from adjoint.nn.parameter import Parameter
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor

PADDING_MODES = ("zeros", "circular", "reflect", "replicate")


class _ConvNd(Module):
    """The base class of convolutions: sizes for each axis, weight and bias."""

    _axes = 0
    _function = ""
    transposed = False
    weight: Tensor
    bias: Tensor | None

    def _make(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        each = _ntuple(self._axes)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = each(kernel_size), each(stride), each(dilation)
        self.padding: Any = padding if isinstance(padding, str) else each(padding)
        self.output_padding, self.padding_mode = each(output_padding), padding_mode
        self._check_padding()
        self._reversed_padding_repeated_twice = [length for pair in reversed(self._edges()) for length in pair]
        channels = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *self.kernel_size)
        self.weight = Parameter(creation.empty(shape, device=device, dtype=dtype))
        bias_or_none = Parameter(creation.empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", bias_or_none)
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in PADDING_MODES:
            modes = ", ".join(map(repr, PADDING_MODES))
            raise ValueError(f"padding_mode must be one of {{{modes}}}, but got padding_mode={self.padding_mode!r}")

    def _edges(self) -> list[tuple[int, int]]:
        """The padding before and after each axis."""
        if self.padding == "valid":
            return [(0, 0)] * self._axes
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [(total // 2, total - total // 2) for total in totals]
        lengths: Any = self.padding
        return [(length, length) for length in lengths]

    def reset_parameters(self) -> None:
        # with this slope, kaiming_uniform_() has the same bound as the bias: 1 / sqrt(fan_in)
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            if fan_in != 0:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        zeros, ones = (0,) * self._axes, (1,) * self._axes
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        defaults = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1}
        parts += [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)


class _Convolution(_ConvNd):
    """A convolution along any number of axes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (kernel_size, stride, padding, dilation, 0)
        self._make(in_channels, out_channels, *sizes, groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        function = getattr(F, self._function)
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    """Convolution of signals (N, in_channels, L) or (in_channels, L); see nn.functional.conv1d().

    The output has the shape (N, out_channels, L') or (out_channels, L'). padding: a number, "same" or "valid".
    padding_mode: "zeros", "reflect", "replicate" or "circular".

    Raises ValueError if groups does not divide both numbers of channels, and for other paddings.

    >>> import adjoint
    >>> adjoint.nn.Conv1d(2, 3, 4)(adjoint.ones(1, 2, 10)).shape
    adjoint.Size([1, 3, 7])
    """

    _axes, _function = 1, "conv1d"


class Conv2d(_Convolution):
    """Convolution of images (N, in_channels, H, W) or (in_channels, H, W), with the arguments and errors of Conv1d.

    >>> import adjoint
    >>> adjoint.nn.Conv2d(2, 3, 3, padding="same")(adjoint.ones(1, 2, 5, 5)).shape
    adjoint.Size([1, 3, 5, 5])
    """

    _axes, _function = 2, "conv2d"


class Conv3d(_Convolution):
    """Convolution of volumes (N, in_channels, D, H, W) or without N, with the arguments and errors of Conv1d.

    >>> import adjoint
    >>> adjoint.nn.Conv3d(1, 2, 3)(adjoint.ones(1, 1, 3, 3, 3)).shape
    adjoint.Size([1, 2, 1, 1, 1])
    """

    _axes, _function = 3, "conv3d"


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution along any number of axes."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__()
        sizes = (kernel_size, stride, padding, dilation, output_padding)
        self._make(in_channels, out_channels, *sizes, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        output_padding = self._output_padding(input, output_size)
        function = getattr(F, self._function)
        return function(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """The padding of the output for a size of the output. Raises ValueError for an impossible size."""
        if output_size is None:
            return self.output_padding
        n = self._axes
        leading = input.ndim - n
        if len(output_size) == leading + n:
            output_size = output_size[leading:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {leading + n} elements "
                f"(got {len(output_size)})"
            )
        smallest = [
            (input.shape[leading + k] - 1) * self.stride[k]
            - 2 * self.padding[k]
            + self.dilation[k] * (self.kernel_size[k] - 1)
            + 1
            for k in range(n)
        ]
        largest = [smallest[k] + self.stride[k] - 1 for k in range(n)]
        if any(not smallest[k] <= output_size[k] <= largest[k] for k in range(n)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for "
                f"an input of {input.size()[leading:]})"
            )
        return tuple(output_size[k] - smallest[k] for k in range(n))


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d; see nn.functional.conv_transpose1d().

    Shapes: (N, in_channels, L) or (in_channels, L) to (N, out_channels, L') or (out_channels, L'). The argument
    output_size of forward() replaces output_padding.

    Raises ValueError if groups does not divide both numbers of channels, for padding modes other than "zeros", and
    for impossible sizes of the output.

    >>> import adjoint
    >>> adjoint.nn.ConvTranspose1d(2, 3, 4)(adjoint.ones(1, 2, 7)).shape
    adjoint.Size([1, 3, 10])
    """

    _axes, _function = 1, "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d, with the arguments and errors of ConvTranspose1d.

    >>> import adjoint
    >>> adjoint.nn.ConvTranspose2d(2, 3, 3, stride=2)(adjoint.ones(1, 2, 3, 3), output_size=(8, 8)).shape
    adjoint.Size([1, 3, 8, 8])
    """

    _axes, _function = 2, "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d, with the arguments and errors of ConvTranspose1d.

    >>> import adjoint
    >>> adjoint.nn.ConvTranspose3d(1, 2, 3)(adjoint.ones(1, 1, 1, 1, 1)).shape
    adjoint.Size([1, 2, 3, 3, 3])
    """

    _axes, _function = 3, "conv_transpose3d"
