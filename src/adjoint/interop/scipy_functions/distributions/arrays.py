"""Conversion between Tensors and the differentiable arrays on which SciPy's own code runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.graph import TensorBase, new_tensor
from adjoint.interop.numpy_array.array import Array
from adjoint.interop.numpy_array.base import unwrap

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def to_array(tensor: Tensor) -> Any:
    """The Tensor as a differentiable array."""
    return Array._new(tensor)


def to_tensor(value: Any) -> Tensor:
    """The result of a function of arrays, as a Tensor."""
    value = unwrap(value)
    return value if isinstance(value, TensorBase) else new_tensor(numpy.asarray(value))  # type: ignore[return-value]
