"""Derivatives outside the engine: of opaque values, and of values in a user's trace.

An opaque value has a user's type whose vector space has no basis, for instance functions in a Hilbert space. Its
cotangents are values of this space. So the derivative is a trace of VJPNodes and a backward pass through them.

A traced value has nodes of a user's class. The engine computes the derivative with respect to it. The operations of
both passes get nodes, so that the trace contains them besides the calls of primitives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from adjoint.compat.autograd._boxes import OPAQUE, ArrayBox, Box, raw
from adjoint.compat.autograd._nodes import Regrouped, TracedBox, new_box, trace
from adjoint.compat.autograd._passes import VJPNode, backward_pass
from adjoint.compat.autograd._tracing import BY_NODES, argument_tensor, vjp_of_leaves
from adjoint.compat.autograd._vspaces import vspace
from adjoint.core.graph import TensorBase
from adjoint.core.modes.interceptors import NODES, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock
from adjoint.runtime.pytree import flatten

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Function = Callable[..., Any]


def vjp_by_nodes(fun: Function, x: Any, leaves: list[Any]) -> tuple[Function, Any] | None:
    """The result of `make_vjp` if x is opaque or contains traced values; None for other values.

    leaves: the leaves of x.
    """
    if Box.type_mappings.get(type(x)) in OPAQUE:
        return _vjp_of_opaque(fun, x)
    if any(type(leaf) is TracedBox for leaf in leaves):
        return _vjp_in_trace(fun, x)
    return None


def _vjp_of_opaque(fun: Function, x: Any) -> tuple[Function, Any]:
    value, node = trace(VJPNode.new_root(), fun, x)
    if node is None:
        return lambda g: vspace(x).zeros(), value
    return lambda g: backward_pass(g, node), value


class OperationNodes(Interceptor):
    """Makes a node for each operation on tensors with nodes.

    kind: the class of nodes. nodes: pairs of a tensor and its node, by the id of the tensor.
    """

    def __init__(self, kind: Any) -> None:
        super().__init__(NODES)
        self.kind = kind
        self.nodes: dict[int, tuple[Any, Any]] = {}

    def note(self, tensor: Any, node: Any) -> None:
        """Set the node of a tensor. The table refers to the tensor, so that no other object gets its id."""
        self.nodes[id(tensor)] = tensor, node

    def operation(self, operation: Any, values: list[Any]) -> Any:
        """Run an operation, and set the nodes of its results."""
        result = operation.proceed(values, self.position)
        self.note_call(operation, values, result if isinstance(result, tuple) else (result,))
        return result

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        """Run an operation in place, and set another node for the modified tensor."""
        result = operation.proceed_in_place(values, self.position)
        self.note_call(operation, values, (result,))
        return result

    def note_call(self, operation: Any, values: list[Any], results: Any) -> None:
        """Set the nodes of the results of a call if an argument has a node."""
        leaves, structure = flatten((tuple(values), {}))
        argnums = tuple(n for n, leaf in enumerate(leaves) if id(leaf) in self.nodes)
        if not argnums:
            return
        args = tuple(raw(cast("Tensor", leaf)) if isinstance(leaf, TensorBase) else leaf for leaf in leaves)
        parents = tuple(self.nodes[id(leaves[n])][1] for n in argnums)
        fun = operation if len(leaves) == len(values) else Regrouped(operation, structure)
        for tensor in results:
            self.note(tensor, self.kind(raw(tensor), fun, args, {}, argnums, parents))


class _WithNodes(ModeBlock):
    """A block that makes nodes for operations."""

    def __init__(self, nodes: OperationNodes) -> None:
        self.nodes = nodes

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (NODES, self.nodes)),)


def _vjp_in_trace(fun: Function, x: Any) -> tuple[Function, Any]:
    leaves, structure = flatten(x)
    innermost = max((leaf for leaf in leaves if type(leaf) is TracedBox), key=lambda box: box._trace)
    number, nodes = innermost._trace, OperationNodes(type(innermost._node))

    def engine_value(leaf: Any) -> Any:
        if type(leaf) is not TracedBox or leaf._trace != number:
            return leaf
        tensor = argument_tensor(leaf._value)
        nodes.note(tensor, leaf._node)
        return ArrayBox(tensor)

    def trace(leaf: Any) -> Any:
        if type(leaf) is not ArrayBox:
            return leaf
        _, node = nodes.nodes.get(id(leaf._tensor), (None, None))
        return raw(leaf._tensor) if node is None else new_box(raw(leaf._tensor), number, node)

    def exchange(tree: Any, change: Callable[[Any], Any]) -> Any:
        members, shape = flatten(tree)
        return shape.unflatten([change(member) for member in members])

    with _WithNodes(nodes):
        vjp, y = vjp_of_leaves(fun, [engine_value(leaf) for leaf in leaves], structure, create=True)

    def vjp_with_nodes(g: Any) -> Any:
        with _WithNodes(nodes):
            gradients = vjp(exchange(g, engine_value))
        return exchange(gradients, trace)

    return vjp_with_nodes, exchange(y, trace)


BY_NODES.append(vjp_by_nodes)
