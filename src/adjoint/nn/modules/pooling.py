"""Pooling over windows of one, two or three axes."""

from __future__ import annotations

from functools import partial
from typing import Any

from adjoint.nn.modules._base.declare import Layer, layer
from adjoint.nn.modules.utils import _ntuple

WINDOW = "kernel_size, stride=None, padding=0"


class _MaxPoolNd(Layer):
    """The largest element of each window."""


class _AvgPoolNd(Layer):
    """The mean of each window."""


class _LPPoolNd(Layer):
    """A norm of each window."""


class _MaxUnpoolNd(Layer):
    """The inverse of max pooling: elements at their positions before pooling."""


class _AdaptiveMaxPoolNd(Layer):
    """The largest element of each window; the number of windows is the size of the output."""


class _AdaptiveAvgPoolNd(Layer):
    """The mean of each window; the number of windows is the size of the output."""


def _stride_of_window(self: Any) -> None:
    # without a stride, windows do not overlap
    self.stride = self.kernel_size if self.stride is None else self.stride


def _for_axes(n: int) -> Any:
    """A function that converts kernel_size, stride and padding to tuples."""

    def prepare(self: Any) -> None:
        _stride_of_window(self)
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, _ntuple(n)(getattr(self, name)))

    return prepare


_max = partial(
    layer,
    parameters=f"{WINDOW}, dilation=1, return_indices=False, ceil_mode=False",
    show="kernel_size stride padding dilation ceil_mode",
    prepare=_stride_of_window,
    base=_MaxPoolNd,
)
_MAX = "The largest element of each window; return_indices: with its place in the input as well."
MaxPool1d = _max(
    "MaxPool1d", function="max_pool1d", doc=_MAX, example="MaxPool1d(2)(tensor([[1.0, 2.0]])) -> tensor([[2.]])"
)
MaxPool2d = _max(
    "MaxPool2d", function="max_pool2d", doc=_MAX, example="MaxPool2d(2)(ones(1, 4, 4)).shape -> adjoint.Size([1, 2, 2])"
)
MaxPool3d = _max(
    "MaxPool3d", function="max_pool3d", doc=_MAX, example="MaxPool3d(2)(ones(1, 2, 2, 2)).tolist() -> [[[[1.0]]]]"
)

_mean = partial(layer, show="kernel_size stride padding", prepare=_stride_of_window, base=_AvgPoolNd)
_MEAN = "The mean of each window; count_include_pad: include the padding in the number of elements."
_DIVISOR = f"{WINDOW}, ceil_mode=False, count_include_pad=True, divisor_override=None"
AvgPool1d = _mean(
    "AvgPool1d",
    f"{WINDOW}, ceil_mode=False, count_include_pad=True",
    function="avg_pool1d",
    prepare=_for_axes(1),
    doc=_MEAN,
    example="AvgPool1d(2)(tensor([[1.0, 2.0]])) -> tensor([[1.5000]])",
)
AvgPool2d = _mean(
    "AvgPool2d",
    _DIVISOR,
    function="avg_pool2d",
    doc=_MEAN,
    example="AvgPool2d(2)(ones(1, 2, 2)).tolist() -> [[[1.0]]]",
)
AvgPool3d = _mean(
    "AvgPool3d",
    _DIVISOR,
    function="avg_pool3d",
    doc=_MEAN,
    example="AvgPool3d(2)(ones(1, 2, 2, 2)).tolist() -> [[[[1.0]]]]",
)

_norm = partial(
    layer,
    parameters="norm_type, kernel_size, stride=None, ceil_mode=False",
    show="norm_type kernel_size stride ceil_mode",
    base=_LPPoolNd,
    doc="`sum(x ** norm_type) ** (1 / norm_type)` of each window.",
)
LPPool1d = _norm("LPPool1d", function="lp_pool1d", example="LPPool1d(1, 2)(ones(1, 2)) -> tensor([[2.]])")
LPPool2d = _norm("LPPool2d", function="lp_pool2d", example="LPPool2d(1, 2)(ones(1, 2, 2)) -> tensor([[[4.]]])")
LPPool3d = _norm("LPPool3d", function="lp_pool3d", example="LPPool3d(1, 2)(ones(1, 2, 2, 2)).tolist() -> [[[[8.0]]]]")

_unpool = partial(
    layer,
    parameters=WINDOW,
    inputs="input, indices, output_size=None",
    call="kernel_size stride padding",
    show="kernel_size stride padding",
    base=_MaxUnpoolNd,
    doc="Elements at the indices from max pooling with return_indices=True, zeros elsewhere.",
)
MaxUnpool1d = _unpool(
    "MaxUnpool1d",
    function="max_unpool1d",
    prepare=_for_axes(1),
    example="MaxUnpool1d(2)(ones(1, 1), tensor([[1]])) -> tensor([[0., 1.]])",
)
MaxUnpool2d = _unpool(
    "MaxUnpool2d",
    function="max_unpool2d",
    prepare=_for_axes(2),
    example="MaxUnpool2d(2)(ones(1, 1, 1), tensor([[[1]]])).tolist() -> [[[0.0, 1.0], [0.0, 0.0]]]",
)
MaxUnpool3d = _unpool(
    "MaxUnpool3d",
    function="max_unpool3d",
    prepare=_for_axes(3),
    example="MaxUnpool3d(2)(ones(1, 1, 1, 1), tensor([[[[1]]]])).sum() -> tensor(1.)",
)

_adaptive_mean = partial(
    layer,
    parameters="output_size",
    show="output_size",
    base=_AdaptiveAvgPoolNd,
    doc="The mean of each window; the windows are chosen for this output size. None keeps the length of an axis.",
)
AdaptiveAvgPool1d = _adaptive_mean(
    "AdaptiveAvgPool1d",
    function="adaptive_avg_pool1d",
    example="AdaptiveAvgPool1d(1)(tensor([[1.0, 2.0]])) -> tensor([[1.5000]])",
)
AdaptiveAvgPool2d = _adaptive_mean(
    "AdaptiveAvgPool2d",
    function="adaptive_avg_pool2d",
    example="AdaptiveAvgPool2d((1, None))(ones(1, 4, 4)).shape -> adjoint.Size([1, 1, 4])",
)
AdaptiveAvgPool3d = _adaptive_mean(
    "AdaptiveAvgPool3d",
    function="adaptive_avg_pool3d",
    example="AdaptiveAvgPool3d(1)(ones(1, 2, 2, 2)).tolist() -> [[[[1.0]]]]",
)
_adaptive_max = partial(
    layer,
    parameters="output_size, return_indices=False",
    show="output_size",
    base=_AdaptiveMaxPoolNd,
    doc="The largest element of each window; the windows are chosen for this output size.",
)
AdaptiveMaxPool1d = _adaptive_max(
    "AdaptiveMaxPool1d",
    function="adaptive_max_pool1d",
    example="AdaptiveMaxPool1d(1)(tensor([[1.0, 2.0]])) -> tensor([[2.]])",
)
AdaptiveMaxPool2d = _adaptive_max(
    "AdaptiveMaxPool2d",
    function="adaptive_max_pool2d",
    example="AdaptiveMaxPool2d(1)(ones(1, 4, 4)).shape -> adjoint.Size([1, 1, 1])",
)
AdaptiveMaxPool3d = _adaptive_max(
    "AdaptiveMaxPool3d",
    function="adaptive_max_pool3d",
    example="AdaptiveMaxPool3d(1)(ones(1, 2, 2, 2)).tolist() -> [[[[1.0]]]]",
)


def _fractional_for(n: int) -> Any:
    """A function that checks output_size and output_ratio, and converts the sizes to tuples."""

    def prepare(self: Any) -> None:
        name = type(self).__name__
        if self.output_size is None and self.output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size = _ntuple(n)(self.kernel_size)
        if self.output_size is not None:
            self.output_size = _ntuple(n)(self.output_size)
        else:
            self.output_ratio = _ntuple(n)(self.output_ratio)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                ratios = self.output_ratio[0] if len(set(self.output_ratio)) == 1 else self.output_ratio
                raise ValueError(f"output_ratio must be between 0 and 1 (got {ratios})")

    return prepare


_fractional = partial(
    layer,
    parameters="kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None",
    buffers="_random_samples",
    doc="The largest element of windows at random positions; output_size or output_ratio is the size of the output.\n\n"
    "Raises ValueError unless exactly one of output_size and output_ratio is present.",
)
FractionalMaxPool2d = _fractional(
    "FractionalMaxPool2d",
    function="fractional_max_pool2d",
    prepare=_fractional_for(2),
    example="FractionalMaxPool2d(2, 3)(ones(1, 5, 5)).shape -> adjoint.Size([1, 3, 3])",
)
FractionalMaxPool3d = _fractional(
    "FractionalMaxPool3d",
    function="fractional_max_pool3d",
    prepare=_fractional_for(3),
    example="FractionalMaxPool3d(2, 3)(ones(1, 5, 5, 5)).shape -> adjoint.Size([1, 3, 3, 3])",
)
