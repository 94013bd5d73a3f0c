"""Objects of other classes that hold a Tensor: operations take them for the Tensor that they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.arrays.namespace import held_array
from adjoint.core.graph import new_tensor

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class TensorHolder:
    """The base class of such objects."""

    __slots__ = ("__weakref__", "_tensor")

    _tensor: Tensor


def tensor_of_array(value: Any) -> Tensor:
    """The Tensor that an object holds, or a new one around an array, without history.

    Raises TypeError for types that tensors do not have and for masked arrays, ValueError for another byte order.

    >>> import numpy
    >>> tensor_of_array(numpy.ones(2)).shape
    adjoint.Size([2])
    """
    return value._tensor if isinstance(value, TensorHolder) else new_tensor(held_array(value))  # type: ignore[return-value]
