"""Graphs of user-defined nodes: each call of a primitive with traced values makes a node.

A class of nodes defines `__init__`, which stores values of a call, and `initialize_root`, which initializes a root. The
code of derivatives is in `_boxes` and `_tracing`; this module only passes values and records calls.

    class Depth(Node):
        def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
            self.depth = 1 + max(parent.depth for parent in parents)

        def initialize_root(self):
            self.depth = 0

    value, node = trace(Depth.new_root(), lambda x: np.sin(x) * x, 2.0)     # node.depth is 2
"""

from __future__ import annotations

import functools
import operator
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from adjoint.compat.autograd._boxes import OPAQUE, ArrayBox, Box
from adjoint.compat.autograd._sequences import subvals
from adjoint.core.modes.state import ATTRIBUTE, ModeBlock
from adjoint.runtime.caches import memoize
from adjoint.runtime.pytree import flatten

Function = Callable[..., Any]


class Node:
    """The base class of nodes; a trace makes one node for each call of a primitive.

    A subclass defines `__init__`, which receives the call, and `initialize_root`, for a node without parents.
    """

    __slots__: Sequence[str] = ()

    def __init__(
        self,
        value: Any,
        fun: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: tuple[int, ...],
        parents: tuple[Any, ...],
    ) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} has no __init__: define it, to take the value, function, arguments and parents "
            "of a call"
        )

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Initialize this node as a root, without parents."""
        raise NotImplementedError(f"{type(self).__name__} does not define initialize_root")

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Node:
        """A new root, the start of a trace."""
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


#: The primitives whose calls make no nodes, by the class of nodes.
notrace_primitives: dict[type, set[Any]] = defaultdict(set)

#: The primitives, by the function that they were made from.
trace_primitives_map: dict[Any, Any] = {}


class TraceStack(threading.local):
    """The open traces of a thread.

    top: the number of the innermost trace, -1 without open traces.
    """

    top = -1

    def new_trace(self) -> ModeBlock:
        """A block that opens one more trace."""
        return _NewTrace(self)


class _NewTrace(ModeBlock):
    def __init__(self, stack: TraceStack) -> None:
        self.stack = stack

    def _changes(self) -> Any:
        self.number = self.stack.top + 1
        return ((ATTRIBUTE, "top", (self.stack, self.number)),)

    def _entry_value(self) -> int:
        return self.number


trace_stack = TraceStack()


class TracedBox(Box):
    """A value with recorded uses. It has the operators, methods and functions of an ndarray."""

    __slots__ = ("_node", "_trace")
    __array_priority__ = 110.0

    def __init__(self, value: Any, trace: int, node: Any) -> None:
        self._content, self._trace, self._node = value, trace, node

    shape = property(lambda self: numpy.shape(self._value))
    ndim = property(lambda self: numpy.ndim(self._value))
    size = property(lambda self: int(numpy.prod(numpy.shape(self._value))))
    dtype = property(lambda self: self._value.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if callable(getattr(numpy.ndarray, name)):
            return functools.partial(record, _method(name), (self,))
        return record(_attribute(name), (self,))

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return record(_of(ufunc if method == "__call__" else getattr(ufunc, method)), inputs, **kwargs)

    def __array_function__(self, function: Function, types: Any, args: Any, kwargs: Any) -> Any:
        return record(_of(function), args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        return record(take, (self, index))

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._value)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Autograd {type(self).__name__} with value {self._value}"

    __str__ = __repr__


_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "mod": "remainder",
    "matmul": "matmul", "floordiv": "floor_divide",
}  # fmt: skip
_OTHERS = {
    "neg": "negative", "pos": "positive", "abs": "absolute", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip


def _operator(name: str, ufunc: numpy.ufunc) -> None:
    setattr(TracedBox, f"__{name}__", lambda *args: record(_of(ufunc), args))
    if name in _OPERATORS:
        setattr(TracedBox, f"__r{name}__", lambda a, b: record(_of(ufunc), (b, a)))


for _name, _ufunc in (_OPERATORS | _OTHERS).items():
    _operator(_name, getattr(numpy, _ufunc))


def _of(function: Any) -> Any:
    return trace_primitives_map.get(function, function)


def take(container: Any, index: Any) -> Any:
    """An element or a part of a container or array."""
    return container[index]


@memoize()
def _method(name: str) -> Function:
    def method(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    method.__name__ = name
    return method


@memoize()
def _attribute(name: str) -> Function:
    def attribute(array: Any) -> Any:
        return getattr(array, name)

    attribute.__name__ = name
    return attribute


class Regrouped:
    """A function of the leaves of the containers that another function takes."""

    def __init__(self, fun: Function, structure: Any) -> None:
        self.fun, self.structure = fun, structure
        self.__name__ = getattr(fun, "__name__", "call")

    def __call__(self, *leaves: Any) -> Any:
        args, kwargs = self.structure.unflatten(list(leaves))
        return self.fun(*args, **kwargs)


def is_traced(value: Any) -> bool:
    """True for the box of an array or of an opaque value in a trace."""
    return type(value) is TracedBox or type(value) in OPAQUE


def holds_traced(value: Any) -> bool:
    """True for a traced value, and for a container with a traced value."""
    return any(is_traced(leaf) for leaf in flatten(value)[0])


def record(primitive: Any, args: tuple[Any, ...], *more: Any, **kwargs: Any) -> Any:
    """Call a primitive with traced values among its arguments, and make a node for the innermost trace."""
    value, node, trace = _record(primitive, (*args, *more), kwargs)
    return value if node is None else new_box(value, trace, node)


def _record(primitive: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, int]:
    leaves, structure = flatten((args, kwargs))
    boxes = [leaf for leaf in leaves if is_traced(leaf)]
    trace = max(box._trace for box in boxes)
    arguments, fun = args, primitive
    inner = [box for box in boxes if box._trace == trace]
    if sum(is_traced(arg) and arg._trace == trace for arg in args) < len(inner):
        arguments, fun, kwargs = tuple(leaves), Regrouped(primitive, structure), {}
    argnums = tuple(n for n, arg in enumerate(arguments) if is_traced(arg) and arg._trace == trace)
    values = subvals(arguments, [(n, arguments[n]._value) for n in argnums])
    parents = tuple(arguments[n]._node for n in argnums)
    kind = type(parents[0])
    ans = fun(*values, **kwargs)
    if primitive in notrace_primitives[kind]:
        return ans, None, trace
    return ans, kind(ans, fun, values, kwargs, argnums, parents), trace


def new_box(value: Any, trace: int, node: Any) -> Any:
    """The box of a value in a trace; for a container, a container of boxes.

    trace: the number of the trace. node: the node of the value. Raises TypeError for values without derivatives.
    """
    if isinstance(value, (list, tuple, dict)):
        leaves, structure = flatten(value)
        keys = structure.unflatten(list(range(len(leaves))))
        paths = {number: path for path, number in _paths(keys)}
        return structure.unflatten([_part(value, paths[i], trace, node) for i in range(len(leaves))])
    kind: Any = Box.type_mappings.get(type(value))
    if kind in OPAQUE:
        box: Any = kind.__new__(kind)
        box._content, box._trace, box._node = value, trace, node
        return box
    if not isinstance(value, (Box, numpy.ndarray, numpy.generic, float, complex, int, bool)):
        raise TypeError(f"Can't differentiate w.r.t. type {type(value)}")
    return TracedBox(value if isinstance(value, Box) else numpy.asarray(value)[()], trace, node)


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], int]]:
    if isinstance(tree, int):
        yield path, tree
    else:
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from _paths(tree[key], (*path, key))


def _part(value: Any, path: tuple[Any, ...], trace: int, node: Any) -> Any:
    for key in path:
        value, whole = value[key], value
        node = type(node)(value, take, (whole, key), {}, (0,), (node,))
    return new_box(value, trace, node)


def trace(start_node: Any, fun: Function, x: Any) -> tuple[Any, Any]:
    """Run `fun` at x, with the node start_node for x; returns the value and its node.

    The node is None, with a warning, if the value does not depend on x.
    """
    with trace_stack.new_trace() as number:
        end = fun(new_box(x, number, start_node))
        leaves = [leaf for leaf in flatten(end)[0] if is_traced(leaf) and leaf._trace == number]
        if leaves and is_traced(end):
            return end._value, end._node
        if leaves:
            return _record(_as_it_is, (end,), {})[:2]
    warnings.warn("Output seems independent of input.", stacklevel=2)
    return end, None


def _as_it_is(value: Any) -> Any:
    return value


def toposort(end_node: Any, parents: Callable[[Any], Any] = operator.attrgetter("parents")) -> Iterator[Any]:
    """The ancestors of end_node and itself, each node after all nodes that use it.

    parents: a function from a node to its parents.
    """
    waits: dict[Any, int] = {end_node: 1}
    nodes = [end_node]
    for node in nodes:
        for parent in parents(node):
            if parent not in waits:
                waits[parent] = 0
                nodes.append(parent)
            waits[parent] += 1
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in parents(node):
            waits[parent] -= 1
            if not waits[parent]:
                ready.append(parent)


__all__ = ["ArrayBox", "Node", "TracedBox", "new_box", "notrace_primitives", "record", "take", "toposort", "trace",
           "trace_primitives_map", "trace_stack"]  # fmt: skip
