"""Runs functions with boxes, in reverse and forward mode: the base of all differential operators.

The gradients of HIPS autograd are the complex conjugates of torch's gradients: they are the factors of dz, not the
direction of steepest ascent. So cotangents are conjugated before and after a backward pass.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.compat.autograd._boxes import (
    OPAQUE,
    ArrayBox,
    carries_derivative,
    dispatch,
    holds_box,
    in_double,
    raw,
    to_tensor,
    unwrap,
    wrap,
)
from adjoint.compat.autograd._nodes import trace_stack
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.modes.state import ATTRIBUTE, PUSH, SET, ModeBlock, current
from adjoint.core.operations.dependence import leads_elsewhere, show_cause
from adjoint.runtime.pytree import TreeDef, flatten
from adjoint.tensor.differentiate import grad
from adjoint.tensor.table import ops
from adjoint.transforms import forward

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Function = Callable[..., Any]

#: A function that makes the vjp by nodes for an x outside the engine, and returns None for other values. The module
#: `_node_derivatives` sets it; it is imported by the modules that define such values.
BY_NODES: list[Callable[[Function, Any, list[Any]], tuple[Function, Any] | None]] = []

INDEPENDENT = "Output seems independent of input."


class DifferentiatesInside(Exception):
    """A derivative was computed in a function whose graph of calls is being recorded.

    A derivative is not a call of a primitive, so that the graph cannot contain it.
    """


class _Depth(threading.local):
    """The number of functions with boxes that run in this thread, and whether a graph of calls is recorded."""

    count = 0
    in_graph = False


_depth = _Depth()


class in_graph(ModeBlock):
    """A block that records a graph of calls.

    A derivative inside raises DifferentiatesInside.
    """

    def _changes(self) -> Any:
        return ((ATTRIBUTE, "in_graph", (_depth, True)),)


def refuse_in_graph() -> None:
    """Raise DifferentiatesInside while a graph of calls is being recorded."""
    if _depth.in_graph:
        raise DifferentiatesInside


class tracing(ModeBlock):
    """A block that runs a function with boxes and enables recording.

    Errors from the block show the call of the function.
    """

    def _changes(self) -> Any:
        counted = (ATTRIBUTE, "count", (_depth, _depth.count + 1))
        return counted, (SET, "grad_enabled", True), (PUSH, "differentiated", ())

    def _after_exit(self, error: BaseException | None) -> None:
        show_cause(error)


def argument_tensor(leaf: Any) -> Tensor:
    """One argument as a Tensor. Raises TypeError for a value without derivatives."""
    if type(leaf) is ArrayBox:
        return leaf._tensor
    if type(leaf) is numpy.ndarray and leaf.dtype.char in "fdFD":
        return new_tensor(leaf)
    if isinstance(leaf, TensorBase):
        return leaf  # type: ignore[return-value]
    array = in_double(numpy.asarray(leaf))
    if array.dtype.kind == "i" and isinstance(leaf, numpy.ndarray):
        array = array.astype(numpy.float64)
    if array.dtype.kind not in "fc" or (not isinstance(leaf, numpy.ndarray) and type(leaf) is int):
        raise TypeError(f"Can't differentiate w.r.t. type {type(leaf)}")
    return new_tensor(array)


def taken_apart(x: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of an argument, and its structure. Raises TypeError for None, which has no leaves."""
    if x is None:
        raise TypeError(f"Can't differentiate w.r.t. type {type(x)}")
    return flatten(x)


def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """A function from cotangents of the result to cotangents of x, and the result.

    In `adjoint.compat.autograd`, make_vjp(fun, argnum=0) is a function of fun's arguments that returns the pair.

    >>> from adjoint.compat.autograd import make_vjp
    >>> vjp, y = make_vjp(lambda x: x * x)(3.0)
    >>> print(vjp(1.0), y)
    6.0 9.0
    """
    refuse_in_graph()
    leaves, structure = taken_apart(x)
    if OPAQUE or trace_stack.top >= 0:
        for make in BY_NODES:
            by_nodes = make(fun, x, leaves)
            if by_nodes is not None:
                return by_nodes
    return vjp_of_leaves(fun, leaves, structure)


def vjp_of_leaves(fun: Function, leaves: list[Any], structure: TreeDef, create: bool = False) -> tuple[Function, Any]:
    """The result of `make_vjp` for x, given by its leaves and its structure.

    create: the results are boxes, with derivatives.
    """
    targets = [_target(leaf) for leaf in leaves]
    kinds = [getattr(leaf, "dtype", None) for leaf in leaves]
    with tracing():
        # the function may modify its arguments; the arguments of the caller must not change
        y = join(fun(structure.unflatten([ArrayBox(ops.clone(target)) for target in targets])))
    return _pullback(y, targets, structure, kinds, create)


def join(y: Any) -> Any:
    """A result with arrays of boxes replaced by boxes of arrays; such arrays arise from assignments of boxes.

    Raises TypeError for an array of boxes with elements other than numbers.
    """
    if type(y) is ArrayBox:
        return y
    leaves, structure = flatten(y)
    if not any(isinstance(leaf, numpy.ndarray) and holds_box(leaf) for leaf in leaves):
        return y
    return structure.unflatten([_join(leaf) if isinstance(leaf, numpy.ndarray) else leaf for leaf in leaves])


def _join(array: Any) -> Any:
    if not holds_box(array):
        return array
    members = [member if type(member) is ArrayBox else numpy.asarray(member)[()] for member in array.flat]
    if any(member.dtype.kind not in "biufc" for member in members):
        raise TypeError(
            "the function returned an array of objects that are no numbers: make it with autograd.numpy.array"
        )
    whole = dispatch(numpy.stack, (members,), {})
    return whole.reshape(*array.shape, *whole.shape[1:])


def _target(leaf: Any) -> Tensor:
    tensor = argument_tensor(leaf)
    if tensor.requires_grad:
        return ops.view(tensor, tensor._array.shape)
    if carries_derivative(tensor):
        with enable_grad():
            tensor = ops.view(tensor, tensor._array.shape)
    tensor.requires_grad = True
    return tensor


def _pullback(
    y: Any, targets: list[Tensor], structure: TreeDef, kinds: list[Any], create: bool
) -> tuple[Function, Any]:
    outputs, shape_of_y = flatten(y)
    positions = [i for i, output in enumerate(outputs) if type(output) is ArrayBox]
    roots = [outputs[i]._tensor for i in positions]
    # a target that is not a leaf depends on an outer derivative, which still needs the graph
    nested = create or (_depth.count > 0 and (not all(t.is_leaf for t in targets) or leads_elsewhere(roots, targets)))
    if not any(root.requires_grad for root in roots):
        roots, positions = [], []
        warnings.warn(INDEPENDENT, stacklevel=4)

    def plain_value(tensor: Tensor) -> Any:
        keep = nested or (bool(current().dual_stack) and forward.has_tangent(tensor))
        return ArrayBox(tensor) if keep else raw(tensor)

    def vjp(g: Any) -> Any:
        if not roots:
            zeros = [_as_given(zeros_like(target), kind) for target, kind in zip(targets, kinds, strict=True)]
            return structure.unflatten(zeros)
        cotangents = shape_of_y.flatten_up_to(g)
        cotangents = [_cotangent(cotangents[i], root) for i, root in zip(positions, roots, strict=True)]
        is_recorded = nested or any(carries_derivative(c) for c in cotangents)
        # a single tensor takes the faster function `grad`
        ends, drivers = (roots[0], cotangents[0]) if len(roots) == 1 else (roots, cotangents)
        leaf_gradients = grad(ends, targets, drivers, retain_graph=True, create_graph=is_recorded, allow_unused=True)
        gradients = [
            zeros_like(target) if t is None else (wrap if is_recorded else plain_value)(conjugate(t))
            for target, t in zip(targets, leaf_gradients, strict=True)
        ]
        return structure.unflatten([_as_given(g, kind) for g, kind in zip(gradients, kinds, strict=True)])

    return vjp, shape_of_y.unflatten([plain_value(o._tensor) if type(o) is ArrayBox else o for o in outputs])


def _as_given(gradient: Any, kind: Any) -> Any:
    """A gradient, converted from double precision to the extended precision of its argument."""
    if type(gradient) is ArrayBox or kind is None or kind.char not in "gG":
        return gradient
    return gradient.astype(kind)


def zeros_like(tensor: Tensor) -> Any:
    """Plain zeros."""
    return numpy.zeros_like(tensor._array)[()]


def _cotangent(value: Any, root: Tensor) -> Tensor:
    """A cotangent as a conjugated Tensor with the shape and dtype of a result."""
    value = unwrap(value)
    if not isinstance(value, TensorBase):
        value = to_tensor(value)
    kind = root._array.dtype
    if value._array.dtype.kind == "c" and kind.kind != "c":
        value = ops.real(value)
    if value._array.dtype != kind:
        value = ops.cast(value, root.dtype)
    if value._array.shape != root._array.shape:
        value = ops.expand(value, root._array.shape)
    return conjugate(value)


def conjugate(tensor: Tensor) -> Tensor:
    """The complex conjugate."""
    return ops.conj(tensor) if tensor._array.dtype.kind == "c" else tensor


def make_jvp(fun: Function, x: Any) -> Function:
    """A function of tangents of x that returns the result of fun and its tangent.

    Each call runs fun once, in forward mode. Warns if the result does not depend on x.

    >>> from adjoint.compat.autograd import make_jvp
    >>> print(*make_jvp(lambda x: x * x)(3.0)(1.0))
    9.0 6.0
    """

    refuse_in_graph()

    def jvp(g: Any) -> tuple[Any, Any]:
        leaves, structure = taken_apart(x)
        primals = [argument_tensor(leaf) for leaf in leaves]
        tangents = [_tangent(t, p) for t, p in zip(structure.flatten_up_to(g), primals, strict=True)]
        with forward.level() as number, tracing():
            duals = [forward.dual(ops.clone(p), t, number) for p, t in zip(primals, tangents, strict=True)]
            y = join(fun(structure.unflatten([ArrayBox(dual) for dual in duals])))
            outputs, shape_of_y = flatten(y)
            pairs = [_apart(output, number) for output in outputs]
        # outside the level, only tangents of outer levels remain
        if not any(t is not None for _, t in pairs):
            warnings.warn(INDEPENDENT, stacklevel=2)
        values = [wrap(p) for p, _ in pairs]
        results = [_zeros_of(p) if t is None else wrap(t) for p, t in pairs]
        return shape_of_y.unflatten(values), shape_of_y.unflatten(results)

    return jvp


def _apart(output: Any, number: int) -> tuple[Any, Any]:
    if type(output) is not ArrayBox:
        return output, None
    outer, inner = forward.around(number)
    return forward.taken_apart(output._tensor, number, outer, inner)


def _zeros_of(value: Any) -> Any:
    return zeros_like(value) if isinstance(value, TensorBase) else numpy.zeros_like(value)[()]  # type: ignore[arg-type]


def _tangent(value: Any, primal: Tensor) -> Tensor:
    value = unwrap(value)
    if not isinstance(value, TensorBase):
        value = to_tensor(value)
    kind = primal._array.dtype
    if value._array.dtype.kind == "c" and kind.kind != "c":
        value = ops.real(value)
    if value._array.dtype != kind:
        value = ops.cast(value, primal.dtype)
    return value if value._array.shape == primal._array.shape else ops.expand(value, primal._array.shape)
