"""Values of user-defined types with a registered box and vector space.

In the graph, such a value is the vector of its coordinates: its inner products with the basis of its space. So its type
is a container of this vector, and its box is a container of the vector's box. A space without standard_basis() has no
coordinates; its values are opaque, see `_node_derivatives`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from adjoint.compat.autograd._boxes import CONNECT, FOREIGN, HOLDERS, OPAQUE, ArrayBox, Box
from adjoint.compat.autograd._vspaces import VSpace, vspace
from adjoint.runtime import pytree


def connect(value_type: type) -> None:
    """Register a type as a container if it has both a box and a vector space."""
    box = Box.type_mappings.get(value_type)
    if box is None or value_type not in VSpace.mappings:
        return
    if not _has_basis(VSpace.mappings[value_type]):
        OPAQUE.add(box)
        return
    if not pytree.is_registered(value_type):
        pytree.register(value_type, taken_apart, put_together)
    if not pytree.is_registered(box):
        pytree.register_stand_in(box, value_type)
    HOLDERS.add(box)
    FOREIGN.discard(value_type)


def _has_basis(maker: Any) -> bool:
    return getattr(maker, "standard_basis", None) is not VSpace.standard_basis


def taken_apart(value: Any) -> tuple[Sequence[Any], VSpace]:
    """The coordinates of a value, or of a box as a box, and the vector space."""
    if isinstance(value, Box):
        return (ArrayBox(value._tensor),), vspace(value)
    space = vspace(value)
    return (coordinates(space, value),), space


def put_together(parts: Sequence[Any], space: VSpace) -> Any:
    """The value with these coordinates, or the box for a box of coordinates; placeholders of a structure unchanged."""
    (part,) = parts
    if type(part) is ArrayBox:
        value = combination(space, part._value)
        box: Any = Box.type_mappings[type(value)]
        result = box.__new__(box)
        result._content, result._tensor = value, part._tensor
        return result
    return combination(space, part) if isinstance(part, numpy.ndarray) else part


def coordinates(space: VSpace, value: Any) -> Any:
    """The inner products of a value with the basis of its space."""
    if space.iscomplex:
        raise TypeError(f"{type(space).__name__} is complex: values of users' own types have real vector spaces")
    return numpy.array([float(space.inner_prod(vector, value)) for vector in space.standard_basis()])


def combination(space: VSpace, numbers: Any) -> Any:
    """The value with the given coordinates."""
    total = space.zeros()
    for vector, number in zip(space.standard_basis(), numbers, strict=True):
        total = space.add(total, space.scalar_mul(vector, float(number)))
    return total


CONNECT.append(connect)
