"""Padding of the last one, two or three axes."""

from __future__ import annotations

from functools import partial
from typing import Any

from adjoint.nn.modules._base.declare import Layer, layer
from adjoint.nn.modules.utils import _ntuple


class _ConstantPadNd(Layer):
    """Padding with one number."""

    value: float


class _ReflectionPadNd(Layer):
    """Padding with the elements before an edge, in reverse order."""


class _ReplicationPadNd(Layer):
    """Padding with the elements at an edge."""


class _CircularPadNd(Layer):
    """Padding with the elements from the other end."""


def _for_axes(n: int, mode: str) -> Any:
    """A function that converts the padding to a tuple; one number is used at both ends of all axes."""

    def prepare(self: Any) -> None:
        self.padding = _ntuple(2 * n)(self.padding)
        self.mode = mode

    return prepare


_pad = partial(layer, function="pad", call="pad=padding mode")
_constant = partial(
    _pad,
    parameters="padding, value",
    call="pad=padding mode value",
    show="padding value",
    base=_ConstantPadNd,
    doc="A constant at both ends of the last axes. padding: one number, or two for each axis, the last axis first.",
)
ConstantPad1d = _constant(
    "ConstantPad1d",
    prepare=_for_axes(1, "constant"),
    example="ConstantPad1d(1, 3.0)(ones(1, 2)) -> tensor([[3., 1., 1., 3.]])",
)
ConstantPad2d = _constant(
    "ConstantPad2d",
    prepare=_for_axes(2, "constant"),
    example="ConstantPad2d(1, 3.0)(ones(1, 2, 2)).shape -> adjoint.Size([1, 4, 4])",
)
ConstantPad3d = _constant(
    "ConstantPad3d",
    prepare=_for_axes(3, "constant"),
    example="ConstantPad3d(1, 3.0)(ones(1, 2, 2, 2)).shape -> adjoint.Size([1, 4, 4, 4])",
)


def _zero_for(n: int) -> Any:
    prepare = _for_axes(n, "constant")

    def with_value(self: Any) -> None:
        prepare(self)
        self.value = 0.0

    return with_value


_zero = partial(
    _pad,
    parameters="padding",
    call="pad=padding mode value",
    show="*padding",
    doc="Zeros at both ends of the last axes. padding: one number, or two for each axis, the last axis first.",
)
ZeroPad1d = _zero(
    "ZeroPad1d",
    base=ConstantPad1d,
    prepare=_zero_for(1),
    example="ZeroPad1d(1)(ones(1, 2)) -> tensor([[0., 1., 1., 0.]])",
)
ZeroPad2d = _zero(
    "ZeroPad2d",
    base=ConstantPad2d,
    prepare=_zero_for(2),
    example="ZeroPad2d(1)(ones(1, 2, 2)).shape -> adjoint.Size([1, 4, 4])",
)
ZeroPad3d = _zero(
    "ZeroPad3d",
    base=ConstantPad3d,
    prepare=_zero_for(3),
    example="ZeroPad3d(1)(ones(1, 2, 2, 2)).shape -> adjoint.Size([1, 4, 4, 4])",
)

_of_input = partial(_pad, parameters="padding", show="*padding")
_reflected = partial(
    _of_input,
    base=_ReflectionPadNd,
    doc="The elements next to an edge in reverse order, at both ends of the last axes.",
)
ReflectionPad1d = _reflected(
    "ReflectionPad1d",
    prepare=_for_axes(1, "reflect"),
    example="ReflectionPad1d(1)(tensor([[1.0, 2.0]])) -> tensor([[2., 1., 2., 1.]])",
)
ReflectionPad2d = _reflected(
    "ReflectionPad2d",
    prepare=_for_axes(2, "reflect"),
    example="ReflectionPad2d(1)(ones(1, 2, 2)).shape -> adjoint.Size([1, 4, 4])",
)
ReflectionPad3d = _reflected(
    "ReflectionPad3d",
    prepare=_for_axes(3, "reflect"),
    example="ReflectionPad3d(1)(ones(1, 2, 2, 2)).shape -> adjoint.Size([1, 4, 4, 4])",
)
_repeated = partial(_of_input, base=_ReplicationPadNd, doc="The element at an edge, at both ends of the last axes.")
ReplicationPad1d = _repeated(
    "ReplicationPad1d",
    prepare=_for_axes(1, "replicate"),
    example="ReplicationPad1d(1)(tensor([[1.0, 2.0]])) -> tensor([[1., 1., 2., 2.]])",
)
ReplicationPad2d = _repeated(
    "ReplicationPad2d",
    prepare=_for_axes(2, "replicate"),
    example="ReplicationPad2d(1)(ones(1, 2, 2)).shape -> adjoint.Size([1, 4, 4])",
)
ReplicationPad3d = _repeated(
    "ReplicationPad3d",
    prepare=_for_axes(3, "replicate"),
    example="ReplicationPad3d(1)(ones(1, 2, 2, 2)).shape -> adjoint.Size([1, 4, 4, 4])",
)
_wrapped = partial(
    _of_input, base=_CircularPadNd, doc="The elements from the other end, at both ends of the last axes."
)
CircularPad1d = _wrapped(
    "CircularPad1d",
    prepare=_for_axes(1, "circular"),
    example="CircularPad1d(1)(tensor([[1.0, 2.0]])) -> tensor([[2., 1., 2., 1.]])",
)
CircularPad2d = _wrapped(
    "CircularPad2d",
    prepare=_for_axes(2, "circular"),
    example="CircularPad2d(1)(ones(1, 2, 2)).shape -> adjoint.Size([1, 4, 4])",
)
CircularPad3d = _wrapped(
    "CircularPad3d",
    prepare=_for_axes(3, "circular"),
    example="CircularPad3d(1)(ones(1, 2, 2, 2)).shape -> adjoint.Size([1, 4, 4, 4])",
)
