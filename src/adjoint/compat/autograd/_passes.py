"""The two modes as nodes: for code that runs a trace of its own and goes back through it by hand.

The differential operators do not use these: they go through adjoint's engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from adjoint.arrays.pytree import flatten
from adjoint.compat.autograd._boxes import Box, getval
from adjoint.compat.autograd._nodes import Node, notrace_primitives, toposort
from adjoint.compat.autograd._primitives import Primitive, notrace_primitive
from adjoint.compat.autograd._sequences import subvals
from adjoint.compat.autograd._tracing import make_jvp, make_vjp
from adjoint.compat.autograd._vspaces import vspace

Function = Callable[..., Any]


def _of_arguments(fun: Function, args: Any, kwargs: Any, argnums: Sequence[int]) -> tuple[Function, tuple[Any, ...]]:
    """A call as a function of a tuple of the arguments in some places, and these."""


    def of(given: Any) -> Any:
        return fun(*subvals(args, zip(argnums, given, strict=True)), **kwargs)

    return of, tuple(args[n] for n in argnums)


def _is_inexact(value: Any) -> bool:
    return all(isinstance(leaf, Box) or numpy.asarray(leaf).dtype.kind in "fc" for leaf in flatten(value)[0])


class VJPNode(Node):
    """A call in reverse mode: vjp takes the cotangent of its result to those of the parents."""

    __slots__ = ("parents", "vjp")

    def __init__(
        self, value: Any, fun: Function, args: Any, kwargs: Any, parent_argnums: tuple[int, ...], parents: Any
    ) -> None:
        moving = [i for i, n in enumerate(parent_argnums) if _is_inexact(args[n])]
        self.parents = [parents[i] for i in moving]
        if moving and _is_inexact(value):
            self.vjp = make_vjp(*_of_arguments(fun, args, kwargs, [parent_argnums[i] for i in moving]))[0]
        else:
            self.parents, self.vjp = [], lambda g: ()

    def initialize_root(self) -> None:
        """The argument."""
        self.parents, self.vjp = [], lambda g: ()


class JVPNode(Node):
    """A call in forward mode: g is the tangent of its result."""

    __slots__ = ("g",)

    def __init__(
        self, value: Any, fun: Function, args: Any, kwargs: Any, parent_argnums: tuple[int, ...], parents: Any
    ) -> None:
        moving = [i for i, n in enumerate(parent_argnums) if parents[i].g is not None and _is_inexact(args[n])]
        self.g = None
        if moving and _is_inexact(value):
            of, x = _of_arguments(fun, args, kwargs, [parent_argnums[i] for i in moving])
            self.g = make_jvp(of, x)(tuple(parents[i].g for i in moving))[1]

    def initialize_root(self, g: Any) -> None:
        """The argument, with its tangent."""
        self.g = g


def backward_pass(g: Any, end_node: VJPNode) -> Any:
    """The cotangent of the argument that a trace with VJPNodes began at, from that of its result."""
    waiting: dict[Any, Any] = {end_node: g}
    for node in toposort(end_node):
        outgrad = waiting.pop(node)
        for parent, ingrad in zip(node.parents, node.vjp(outgrad), strict=True):
            known = waiting.get(parent)
            waiting[parent] = ingrad if known is None else vspace(getval(ingrad)).add(known, ingrad)
    return outgrad


def register_notrace(trace_type: type[Node], primitive_fun: Primitive) -> None:
    """Let a primitive's calls make no nodes of this class; in the two modes: let its results have no derivative."""
    notrace_primitives[trace_type].add(primitive_fun)
    if trace_type in (VJPNode, JVPNode):
        primitive_fun.of_boxes = notrace_primitive(primitive_fun.fun)
