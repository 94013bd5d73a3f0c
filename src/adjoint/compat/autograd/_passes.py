"""Forward and reverse mode as node classes, for code with its own trace and backward pass.

The differential operators do not use these classes: they use adjoint's engine.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

import numpy

from adjoint.compat.autograd._boxes import NO_TRACE, OPAQUE, Box, getval
from adjoint.compat.autograd._nodes import Node, notrace_primitives, toposort
from adjoint.compat.autograd._primitives import Primitive, defjvp_argnums, defvjp_argnums, notrace_primitive
from adjoint.compat.autograd._sequences import subvals
from adjoint.compat.autograd._tracing import make_jvp, make_vjp
from adjoint.compat.autograd._vspaces import vspace
from adjoint.runtime.pytree import flatten

Function = Callable[..., Any]


def _of_arguments(fun: Function, args: Any, kwargs: Any, argnums: Sequence[int]) -> tuple[Function, tuple[Any, ...]]:
    """A call as a function of the tuple of some arguments, and this tuple."""

    def of(values: Any) -> Any:
        return fun(*subvals(args, zip(argnums, values, strict=True)), **kwargs)

    return of, tuple(args[n] for n in argnums)


def _is_inexact(value: Any) -> bool:
    return all(
        isinstance(leaf, Box) or Box.type_mappings.get(type(leaf)) in OPAQUE or numpy.asarray(leaf).dtype.kind in "fc"
        for leaf in flatten(value)[0]
    )


def _vjp_from_author(primitive: Primitive, argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Function:
    return lambda g: tuple(primitive.pull(tuple(argnums), g, ans, args, kwargs))


class VJPNode(Node):
    """The node of a call in reverse mode.

    parents: the nodes of its arguments. vjp: a function from the cotangent of the result to the cotangents of the
    parents.
    """

    __slots__ = ("parents", "vjp")

    def __init__(
        self, value: Any, fun: Function, args: Any, kwargs: Any, parent_argnums: tuple[int, ...], parents: Any
    ) -> None:
        moving = [i for i, n in enumerate(parent_argnums) if _is_inexact(args[n])]
        self.parents = [parents[i] for i in moving]
        if moving and _is_inexact(value):
            argnums = tuple(parent_argnums[i] for i in moving)
            if isinstance(fun, Primitive) and (fun.joint_vjp is not None or fun.vjps):
                self.vjp = _vjp_from_author(fun, argnums, value, args, kwargs)
            else:
                self.vjp = make_vjp(*_of_arguments(fun, args, kwargs, argnums))[0]
        else:
            self.parents, self.vjp = [], lambda g: ()

    def initialize_root(self) -> None:
        """Initialize the node of the argument."""
        self.parents, self.vjp = [], lambda g: ()


class JVPNode(Node):
    """The node of a call in forward mode.

    g: the tangent of the result, or None if no argument has one.
    """

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
        """Initialize the node of the argument, with its tangent."""
        self.g = g


class Derivatives(MutableMapping[Any, Function]):
    """A table from primitives to derivatives: functions of (argnums, ans, args, kwargs), in forward mode with tangents.

    A user's definition is returned unchanged. For a function in NumPy's table, the derivative is made from a call of
    the primitive. A new entry defines the derivative by all arguments, like defvjp_argnums or defjvp_argnums.
    """

    def __init__(self, derive: Callable[[Primitive], Function | None], define: Function) -> None:
        self.derive, self.define = derive, define

    def __getitem__(self, primitive: Any) -> Function:
        rule = self.derive(primitive) if isinstance(primitive, Primitive) else None
        if rule is None:
            raise KeyError(primitive)
        return rule

    def __setitem__(self, primitive: Any, derivative: Function) -> None:
        self.define(primitive, derivative)

    def __delitem__(self, primitive: Any) -> None:
        raise TypeError(f"the derivative of {primitive!r:.80} cannot be removed: define another one")

    def __iter__(self) -> Iterator[Any]:
        return iter([primitive for primitive in list(Primitive.declared) if self.derive(primitive) is not None])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _is_of_numpy(primitive: Primitive) -> bool:
    """True for a primitive with a derivative in NumPy's or SciPy's table."""
    traced = primitive.of_boxes is not None and not isinstance(primitive.of_boxes, types.FunctionType)
    return traced and primitive.fun not in NO_TRACE


def _vjp_of(primitive: Primitive) -> Function | None:
    if primitive.joint_vjp is not None or primitive.vjps:
        return functools.partial(_vjp_from_author, primitive)
    if not _is_of_numpy(primitive):
        return None
    return lambda argnums, ans, args, kwargs: make_vjp(*_of_arguments(primitive, args, kwargs, argnums))[0]


def _jvp_of(primitive: Primitive) -> Function | None:
    if primitive.joint_jvp is not None or primitive.jvps:
        return lambda argnums, gs, ans, args, kwargs: primitive.push(argnums, list(gs), ans, args, kwargs)
    if not _is_of_numpy(primitive):
        return None

    def push(argnums: Sequence[int], gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return make_jvp(*_of_arguments(primitive, args, kwargs, argnums))(tuple(gs))[1]

    return push


primitive_vjps = Derivatives(_vjp_of, defvjp_argnums)
primitive_jvps = Derivatives(_jvp_of, defjvp_argnums)


def backward_pass(g: Any, end_node: VJPNode) -> Any:
    """The cotangent of the argument, from a trace of VJPNodes.

    g: the cotangent of the result. end_node: the node of the result.
    """
    waiting: dict[Any, Any] = {end_node: g}
    for node in toposort(end_node):
        outgrad = waiting.pop(node)
        for parent, ingrad in zip(node.parents, node.vjp(outgrad), strict=True):
            total = waiting.get(parent)
            waiting[parent] = ingrad if total is None else vspace(getval(ingrad)).add(total, ingrad)
    return outgrad


def register_notrace(trace_type: type[Node], primitive_fun: Primitive) -> None:
    """Exclude a primitive from traces with a class of nodes: its calls make no nodes.

    trace_type: the class. For VJPNode and JVPNode, the results have no derivative. primitive_fun: the primitive.
    """
    notrace_primitives[trace_type].add(primitive_fun)
    if trace_type in (VJPNode, JVPNode):
        primitive_fun.of_boxes = notrace_primitive(primitive_fun.fun)
