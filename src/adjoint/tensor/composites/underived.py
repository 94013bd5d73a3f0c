"""Results of functions that have no derivative but, as in torch, require a gradient: asking for one raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.core.graph import FunctionNode, gradient_edge, needs_grad, new_node, next_sequence_nr
from adjoint.core.modes import is_grad_enabled

Tensor = Any


class Unknown(FunctionNode):
    """The node of an operation without a derivative."""

    __slots__ = ()

    def name(self) -> str:
        """The name that torch gives this node."""
        return "NotImplemented"


def unknown_node(result: Tensor, inputs: Sequence[Tensor | None], error: Exception) -> Any:
    """A node for the result whose way back raises; None where no input needs a gradient or nothing is recorded."""
    needing = [tensor for tensor in inputs if tensor is not None and needs_grad(tensor)]
    if not (needing and is_grad_enabled()):
        return None

    def refuse(node: Any, cotangent: Any, create_graph: bool) -> list[Any]:
        raise type(error)(*error.args)

    array = result._array
    node: Any = new_node(Unknown, FunctionNode)
    node.function = refuse
    node._ad_set_edges(tuple(gradient_edge(tensor) for tensor in needing))
    node._ad_n_outputs, node._ad_shape, node._ad_dtype = 1, array.shape, array.dtype
    node._ad_sequence_nr = next_sequence_nr()
    return node


def without_derivative(result: Tensor, inputs: Sequence[Tensor | None], error: Exception) -> Tensor:
    """A new tensor that requires a gradient if one of the inputs does; `error` is raised where it is asked for."""
    node = unknown_node(result, inputs, error)
    if node is not None:
        result._node = node
    return result
