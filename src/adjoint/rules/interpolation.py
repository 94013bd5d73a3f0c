"""Interpolation, average pooling and reflecting margins: linear maps along single axes.

An `AxisMap` (see `adjoint.arrays.kernels.axis_maps`) holds the weights of one axis. One operation, `along_axes`,
applies one map along each of the last axes. Its transpose is the same operation with the transposed maps, so the
derivative of `interpolate` is `along_axes` again, to any order.
"""

from typing import Any, NamedTuple

from adjoint.arrays.kernels import axis_maps
from adjoint.arrays.namespace import with_channels_as

from .declare import Array, linear, second_order_name


class Origin(NamedTuple):
    """The public operation of maps along axes: the name of its node, and the attributes that it shows."""

    node: str = "AlongAxesBackward0"
    attributes: tuple[tuple[str, Any], ...] = ()

    @property
    def second_order(self) -> "Origin":
        """The origin of the backward pass."""
        return Origin(second_order_name(self.node))


_UNNAMED = Origin()
#: PyTorch's nodes of these names save the input, so that a second backward pass raises; the shape is all they need.
_NODES_WITH_INPUT = tuple(
    f"{kind}{n}DBackward0"
    for kind in ("AvgPool", "AdaptiveAvgPool", "ReflectionPad", "ReplicationPad", "CircularPad")
    for n in (1, 2, 3)
)


@linear(
    method=False,
    function=False,
    dtypes="same",
    node=lambda input, maps, origin: origin.node,
    attributes=lambda origin: dict(origin.attributes),
    shown={"maps": None, "origin": None},
    runs_once=_NODES_WITH_INPUT,
)
def along_axes(xp, input: Array, maps, origin=_UNNAMED):
    """A linear map along each of the last axes."""
    return with_channels_as(axis_maps.sums(xp, input, maps), input)


@along_axes.vjp("input")
def _(ops, g, maps, origin):
    return ops.along_axes(g, tuple([axis_map.transpose for axis_map in maps]), origin.second_order)
