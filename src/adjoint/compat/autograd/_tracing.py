"""Running a function on boxes, backward and forward: the base of all differential operators.

The gradients of HIPS autograd are the complex conjugates of torch's: they are the factor of dz, not the direction of
steepest ascent. So cotangents are conjugated on their way into the engine and on their way out.
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

#: What makes the vjp by nodes for an x that the engine does not take, and None for others: `_node_derivatives`, which
#: is imported with the modules that make such values possible.
BY_NODES: list[Callable[[Function, Any, list[Any]], tuple[Function, Any] | None]] = []

INDEPENDENT = "Output seems independent of input."


class DifferentiatesInside(Exception):
    """A derivative was taken inside a function whose graph of calls is being recorded.

    A derivative is no call of a primitive, so that the graph cannot hold it.
    """


class _Depth(threading.local):
    """The number of functions that run on boxes in this thread, and whether a graph of calls is made."""

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
    """Raise DifferentiatesInside while a graph of calls is being made."""
    if _depth.in_graph:
        raise DifferentiatesInside


class tracing(ModeBlock):
    """A block that runs a function on boxes, with recording on.

    Errors that leave the block name the function's own call.
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
    """The numbers and arrays in an argument. Raises TypeError for None, which holds none."""
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
    """See `make_vjp`; x is given by its numbers and arrays and its containers.

    create: results are boxes and have derivatives.
    """
    targets = [_target(leaf) for leaf in leaves]
    kinds = [getattr(leaf, "dtype", None) for leaf in leaves]
    with tracing():
        # the function may write into its arguments, which must not reach those of the caller
        y = joined(fun(structure.unflatten([ArrayBox(ops.clone(target)) for target in targets])))
    return _pullback(y, targets, structure, kinds, create)


def joined(y: Any) -> Any:
    """A result in which boxes of arrays replace arrays of boxes, such as a plain array that was filled with boxes.

    Raises TypeError for such an array whose elements are no numbers.
    """
    if type(y) is ArrayBox:
        return y
    leaves, structure = flatten(y)
    if not any(isinstance(leaf, numpy.ndarray) and holds_box(leaf) for leaf in leaves):
        return y
    return structure.unflatten([_joined(leaf) if isinstance(leaf, numpy.ndarray) else leaf for leaf in leaves])


def _joined(array: Any) -> Any:
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
    # a target that is no leaf depends on something: another derivation goes on around
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
        # one tensor takes the quick way through `grad`
        ends, drivers = (roots[0], cotangents[0]) if len(roots) == 1 else (roots, cotangents)
        leaf_gradients = grad(ends, targets, drivers, retain_graph=True, create_graph=is_recorded, allow_unused=True)
        gradients = [
            zeros_like(target) if t is None else (wrap if is_recorded else plain_value)(conjugated(t))
            for target, t in zip(targets, leaf_gradients, strict=True)
        ]
        return structure.unflatten([_as_given(g, kind) for g, kind in zip(gradients, kinds, strict=True)])

    return vjp, shape_of_y.unflatten([plain_value(o._tensor) if type(o) is ArrayBox else o for o in outputs])


def _as_given(gradient: Any, kind: Any) -> Any:
    """A gradient in the extended precision that its argument had, though it was computed in double precision."""
    if type(gradient) is ArrayBox or kind is None or kind.char not in "gG":
        return gradient
    return gradient.astype(kind)


def zeros_like(tensor: Tensor) -> Any:
    """Plain zeros."""
    return numpy.zeros_like(tensor._array)[()]


def _cotangent(value: Any, root: Tensor) -> Tensor:
    """A cotangent as a Tensor of the shape and dtype of a result, conjugated."""
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
    return conjugated(value)


def conjugated(tensor: Tensor) -> Tensor:
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
            y = joined(fun(structure.unflatten([ArrayBox(dual) for dual in duals])))
            outputs, shape_of_y = flatten(y)
            pairs = [_apart(output, number) for output in outputs]
        # outside of the level only tangents of outer ones are left
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
