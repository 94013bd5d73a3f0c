"""Results of functions without derivative that, as in torch, require a gradient: computing it raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.core.graph import FunctionNode, TensorBase, needs_grad
from adjoint.core.modes.state import is_grad_enabled
from adjoint.tensor.function_nodes import function_node

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class Unknown(FunctionNode):
    """The node of an operation without a derivative."""

    __slots__ = ()

    def name(self) -> str:
        """The name that torch gives this node."""
        return "NotImplemented"


def unknown_node(result: Tensor, inputs: Sequence[Any], error: Exception) -> Any:
    """A node for the result whose backward raises; None if no input needs a gradient or recording is off."""
    needing: list[Any] = [each for each in inputs if isinstance(each, TensorBase) and needs_grad(each)]
    if not (needing and is_grad_enabled()):
        return None

    def refuse(node: Any, cotangent: Any, create_graph: bool) -> list[Any]:
        raise type(error)(*error.args)

    return function_node(Unknown, refuse, needing, result)


def without_derivative(result: Tensor, inputs: Sequence[Any], error: Exception) -> Tensor:
    """A new tensor that requires a gradient if one of the inputs does; a backward pass through it raises `error`."""
    node = unknown_node(result, inputs, error)
    if node is not None:
        result._node = node
    return result


def check_constants(function: str, **arguments: Any) -> None:
    """Raise RuntimeError for arguments that require a gradient although the function has none for them."""
    for name, value in arguments.items():
        if isinstance(value, TensorBase) and needs_grad(value) and is_grad_enabled():
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )
