"""Derivatives of values that the engine does not differentiate: opaque values, and values in a user's own trace.

An opaque value has a user's type whose vector space has no basis, such as functions of a Hilbert space. Its cotangents
are values of that space. So the derivative is a trace of VJPNodes and a backward pass through them.

A traced value has nodes of a user's class. A derivative by it runs in the engine. The operations of both passes get
nodes, so the trace holds them beside the calls of primitives.
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
    """The result of `make_vjp` for an opaque x, or one with traced values in it; None for all others.

    leaves: the numbers, arrays and other values in x.
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
    """Makes a node for each operation on tensors that have one.

    kind: the class of nodes. nodes: by the identity of a tensor, the tensor and its node.
    """

    def __init__(self, kind: Any) -> None:
        super().__init__(NODES)
        self.kind = kind
        self.nodes: dict[int, tuple[Any, Any]] = {}

    def note(self, tensor: Any, node: Any) -> None:
        """Give a tensor a node. The tensor is kept, so that no other one gets its identity."""
        self.nodes[id(tensor)] = tensor, node

    def operation(self, operation: Any, values: list[Any]) -> Any:
        """Run an operation; its results get nodes."""
        result = operation.proceed(values, self.position)
        self.note_call(operation, values, result if isinstance(result, tuple) else (result,))
        return result

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        """Run an operation in place; the tensor that it writes into gets another node."""
        result = operation.proceed_in_place(values, self.position)
        self.note_call(operation, values, (result,))
        return result

    def note_call(self, operation: Any, values: list[Any], results: Any) -> None:
        """Give the results of a call their nodes, if an argument has one."""
        leaves, structure = flatten((tuple(values), {}))
        argnums = tuple(n for n, leaf in enumerate(leaves) if id(leaf) in self.nodes)
        if not argnums:
            return
        args = tuple(raw(cast("Tensor", leaf)) if isinstance(leaf, TensorBase) else leaf for leaf in leaves)
        parents = tuple(self.nodes[id(leaves[n])][1] for n in argnums)
        fun = operation if len(leaves) == len(values) else Regrouped(operation, structure)
        for tensor in results:
            self.note(tensor, self.kind(raw(tensor), fun, args, {}, argnums, parents))


class _Noted(ModeBlock):
    """A block in which operations get nodes."""

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

    def traced(leaf: Any) -> Any:
        if type(leaf) is not ArrayBox:
            return leaf
        _, node = nodes.nodes.get(id(leaf._tensor), (None, None))
        return raw(leaf._tensor) if node is None else new_box(raw(leaf._tensor), number, node)

    def exchanged(tree: Any, change: Callable[[Any], Any]) -> Any:
        members, shape = flatten(tree)
        return shape.unflatten([change(member) for member in members])

    with _Noted(nodes):
        vjp, y = vjp_of_leaves(fun, [engine_value(leaf) for leaf in leaves], structure, create=True)

    def vjp_with_nodes(g: Any) -> Any:
        with _Noted(nodes):
            gradients = vjp(exchanged(g, engine_value))
        return exchanged(gradients, traced)

    return vjp_with_nodes, exchanged(y, traced)


BY_NODES.append(vjp_by_nodes)
