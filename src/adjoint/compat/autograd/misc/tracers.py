"""Functions as graphs of the primitives that they call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from adjoint.compat.autograd._nodes import Node, toposort, trace
from adjoint.compat.autograd._sequences import subvals
from adjoint.compat.autograd._tracing import DifferentiatesInside, in_graph

Function = Callable[..., Any]


class ConstGraphNode(Node):
    """The node of a call that can be repeated with other values of the traced arguments.

    partial_fun: a function of the values of the parents.
    """

    __slots__ = ("parents", "partial_fun")

    def __init__(
        self, value: Any, fun: Function, args: Any, kwargs: Any, parent_argnums: tuple[int, ...], parents: Any
    ) -> None:
        # the traced values themselves are not needed again
        rest = subvals(args, [(n, None) for n in parent_argnums])
        self.parents = parents
        self.partial_fun: Callable[[list[Any]], Any] = lambda values: fun(
            *subvals(rest, zip(parent_argnums, values, strict=True)), **kwargs
        )

    def initialize_root(self) -> None:
        """The argument."""
        self.parents = ()


def const_graph_unary(fun: Function) -> Function:
    """A function of one argument that is run once: later calls repeat the primitives that this run called.

    A function that takes derivatives inside is run in each call: they are no primitives.
    """
    waiting: list[Function] = [fun]
    nodes: list[ConstGraphNode] = []
    differentiates = False

    def run_or_repeat(x: Any) -> Any:
        nonlocal differentiates
        if differentiates:
            return waiting[0](x)
        if not nodes:
            try:
                with in_graph():
                    value, end = trace(ConstGraphNode.new_root(), waiting[0], x)
            except DifferentiatesInside:
                differentiates = True
                return waiting[0](x)
            if end is None:
                raise ValueError("Output is independent of input")
            nodes.extend(reversed(list(toposort(end))))
            # the values that the function holds can be freed
            waiting.clear()
            return value
        values = {nodes[0]: x}
        for node in nodes[1:]:
            values[node] = node.partial_fun([values[parent] for parent in node.parents])
        return values[nodes[-1]]

    return run_or_repeat


def const_graph(fun: Function, *args: Any, **kwargs: Any) -> Function:
    """The function with its first arguments given, run once: later calls repeat the primitives that this run called.

    So its branches must not depend on values, and it must not depend on anything that changes besides its arguments. A
    function that takes derivatives inside is run in each call.
    """
    repeat = const_graph_unary(lambda rest: fun(*args, *rest, **kwargs))

    @functools.wraps(fun, updated=())
    def call(*rest: Any) -> Any:
        return repeat(rest)

    return call


class FullGraphNode(Node):
    """The node of a call with all of its arguments.

    recipe: (fun, args, kwargs, [(position of a parent, parent), ...]).
    """

    __slots__ = ("recipe", "value")

    def __init__(
        self, value: Any, fun: Function, args: Any, kwargs: Any, parent_argnums: tuple[int, ...], parents: Any
    ) -> None:
        self.value = value
        self.recipe = (fun, args, kwargs, list(zip(parent_argnums, parents, strict=True)))

    def initialize_root(self) -> None:
        """The arguments."""
        self.value = None
        self.recipe = (lambda x: x, (), {}, [])


def full_graph(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """The node of a function's result.

    Its recipe holds the last call and the nodes of its arguments, and so on up to the arguments of fun.
    """
    return trace(FullGraphNode.new_root(), lambda values: fun(*values, **kwargs), args)[1]
