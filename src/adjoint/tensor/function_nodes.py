"""Nodes whose vjp is a Python function, for results that no declared operation gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import numpy_dtype
from adjoint.core.graph import FunctionNode, connect_inputs, new_node, next_sequence_nr

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def function_node(
    kind: type[FunctionNode], function: Callable[..., Any], inputs: Sequence[Tensor], like: Tensor
) -> Any:
    """A node for a tensor like the given one, from inputs that need a gradient; see `FunctionNode`."""
    node: Any = new_node(kind, FunctionNode)
    node.function = function
    connect_inputs(node, list(inputs))
    node._ad_n_outputs, node._ad_shape, node._ad_dtype = 1, like._array.shape, numpy_dtype(like._array.dtype)
    node._ad_sequence_nr = next_sequence_nr()
    return node
