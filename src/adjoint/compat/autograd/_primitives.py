"""Primitives: functions of plain values, with derivatives from their authors or from the table of NumPy's functions."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy

from adjoint.compat.autograd._boxes import (
    FOREIGN,
    ArrayBox,
    carries_derivative,
    getval,
    holds_box,
    in_double,
    raw,
    to_read,
    to_tensor,
    unwrap,
    values,
    wrap,
)
from adjoint.compat.autograd._nodes import holds_traced, record, trace_primitives_map, trace_stack
from adjoint.compat.autograd._tracing import conjugate
from adjoint.core.graph import TensorBase, needs_grad, new_tensor
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.core.operations.naming import KeptByName
from adjoint.interop.numpy_array import calls
from adjoint.runtime.pytree import flatten
from adjoint.tensor.table import ops
from adjoint.transforms.custom_functions.function import Function as CustomFunction
from adjoint.transforms.forward import has_tangent

Function = Callable[..., Any]


class Primitive(KeptByName):
    """A function of plain values; calls with boxes among the arguments are recorded.

    fun: the function. of_boxes: the function for boxes without a derivative from the author.
    """

    #: All primitives.
    declared: ClassVar[weakref.WeakSet[Primitive]] = weakref.WeakSet()

    def __init__(self, fun: Function, of_boxes: Function | None = None) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        Primitive.declared.add(self)
        self.of_boxes = of_boxes
        #: By argument position: a function of (ans, *args, **kwargs) that returns a vjp, or None.
        self.vjps: dict[int, Function | None] = {}
        self.jvps: dict[int, Function | None] = {}
        #: For several arguments: functions of (argnums, ans, args, kwargs), and of (argnums, gs, ans, args, kwargs).
        self.joint_vjp: Function | None = None
        self.joint_jvp: Function | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if trace_stack.top >= 0 and holds_traced((args, kwargs)):
            return record(self, args, **kwargs)
        if type(args[0] if args else None) is not ArrayBox and not holds_box(args) and not holds_box(kwargs):
            return self.fun(*args, **kwargs)
        if self.of_boxes is not None and not (self.vjps or self.jvps or self.joint_vjp or self.joint_jvp):
            return self.of_boxes(*args, **kwargs)
        return Call(self, args, kwargs).run()

    def __getattr__(self, name: str) -> Any:
        # attributes of the function, for instance the methods of a ufunc
        if name == "fun":
            raise AttributeError(name)
        return getattr(self.fun, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<primitive {self.__name__}>"

    def undefined_error(self, kind: str, argnums: Sequence[int]) -> NotImplementedError:
        """The error for an undefined derivative."""
        return NotImplementedError(f"{kind} of {self.__name__} wrt argnums {tuple(argnums)} not defined")

    def pull(self, argnums: tuple[int, ...], g: Any, ans: Any, args: Any, kwargs: Any) -> Sequence[Any]:
        """The cotangents of the arguments at these positions; None for zero."""
        if self.joint_vjp is not None:
            return self.joint_vjp(argnums, ans, args, kwargs)(g)
        makers = [self.vjps[argnum] for argnum in argnums]
        return [None if maker is None else maker(ans, *args, **kwargs)(g) for maker in makers]

    def push(self, argnums: tuple[int, ...], gs: list[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        """The tangent of the result; None for zero."""
        if self.joint_jvp is not None:
            return self.joint_jvp(argnums, gs, ans, args, kwargs)
        total = None
        for argnum, g in zip(argnums, gs, strict=True):
            jvp = self.jvps[argnum]
            part = None if jvp is None else jvp(g, ans, *args, **kwargs)
            total = part if total is None else total if part is None else _sum(total, part)
        return total

    def check(self, kind: str, argnums: tuple[int, ...]) -> None:
        """Raise NotImplementedError unless derivatives are defined for these arguments."""
        joint, single = (self.joint_vjp, self.vjps) if kind == "VJP" else (self.joint_jvp, self.jvps)
        if joint is None and any(argnum not in single for argnum in argnums):
            raise self.undefined_error(kind, argnums)


def _sum(a: Any, b: Any) -> Any:
    leaves, structure = flatten(a)
    return structure.unflatten([x + y for x, y in zip(leaves, structure.flatten_up_to(b), strict=True)])


class Call:
    """One call of a primitive: the positions of the boxes, and the other arguments."""

    def __init__(self, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.primitive = primitive
        self.kwargs = kwargs
        self.leaves, self.structure = flatten(args)
        self.box_positions = [i for i, leaf in enumerate(self.leaves) if type(leaf) is ArrayBox]
        self.tensors = [to_read(self.leaves[i]) for i in self.box_positions]
        starts, n = [], 0
        for child in self.structure.children:
            starts.append(range(n, n + child.n_leaves))
            n += child.n_leaves
        #: The leaves of each argument.
        self.ranges = starts

    def arguments(self, tensors: Sequence[Any], change: Function) -> Any:
        """The arguments, with boxes replaced by these Tensors."""
        leaves = list(self.leaves)
        for position, tensor in zip(self.box_positions, tensors, strict=True):
            leaves[position] = change(tensor)
        return self.structure.unflatten(leaves)

    def argnums(self, flags: Sequence[bool]) -> tuple[int, ...]:
        """The positions of arguments with selected boxes."""
        positions = [position for position, is_chosen in zip(self.box_positions, flags, strict=True) if is_chosen]
        return tuple([n for n, span in enumerate(self.ranges) if any(position in span for position in positions)])

    def run(self) -> Any:
        """Call the primitive with plain values, and record the call."""
        if not self.box_positions:
            return self.primitive.fun(*values(self.arguments((), raw)), **self.kwargs)
        needs = [needs_grad(t) for t in self.tensors]
        if is_grad_enabled() and any(needs):
            self.primitive.check("VJP", self.argnums(needs))
        if current().dual_stack:
            moving = [has_tangent(t) for t in self.tensors]
            if any(moving):
                self.primitive.check("JVP", self.argnums(moving))
        outputs = Recorded.apply(self, *self.tensors)
        return self.answer(outputs, wrap)

    def answer(self, outputs: Any, change: Function) -> Any:
        """The result, with these Tensors as its differentiable parts."""
        leaves = list(self.constants)
        for position, tensor in zip(self.inexact, outputs, strict=True):
            leaves[position] = change(tensor)
        return self.structure_of_answer.unflatten(leaves)

    def keep(self, ans: Any) -> list[Any]:
        """Store the structure of the result; returns its differentiable parts as Tensors."""
        self.constants, self.structure_of_answer = flatten(ans)
        for leaf in self.constants:
            if type(leaf) in FOREIGN:
                raise TypeError(
                    f"{self.primitive.__name__}() returned a {type(leaf).__name__}, for which a Box or VSpace was "
                    "registered, but not both, or whose VSpace has no standard_basis(): register the other, define the "
                    "basis, or let primitives take and return numbers, arrays, and lists, tuples and dictionaries of "
                    "these"
                )
        arrays = [in_double(numpy.asarray(leaf)) if _is_inexact(leaf) else None for leaf in self.constants]
        self.inexact = [i for i, array in enumerate(arrays) if array is not None]
        return [new_tensor(arrays[i]) for i in self.inexact]

    def cotangents(self, results: Any, argnums: tuple[int, ...]) -> list[Any]:
        """The cotangent of each box, from the cotangents of the arguments."""
        by_position: dict[int, Any] = {}
        for argnum, value in zip(argnums, results, strict=True):
            if value is not None:
                span = self.ranges[argnum]
                parts = _parts(self.structure.children[argnum], _dense(value))
                by_position.update(zip(span, parts, strict=True))
        return [by_position.get(position) for position in self.box_positions]


def _parts(structure: Any, value: Any) -> list[Any]:
    """The leaves of a cotangent. For a sequence, it may be an array with the cotangents of the members as rows."""
    if structure.is_leaf:
        return [value]
    if isinstance(value, (list, tuple, numpy.ndarray, ArrayBox)):
        pairs = zip(structure.children, value, strict=True)
        return [leaf for child, member in pairs for leaf in _parts(child, member)]
    return structure.flatten_up_to(value)


def _is_inexact(leaf: Any) -> bool:
    if isinstance(leaf, (numpy.ndarray, numpy.generic)):
        return leaf.dtype.kind in "fc"
    return isinstance(leaf, (float, complex))


class SparseObject:
    """A cotangent that is 0 except at some indices.

    vs: the vector space. mut_add: a function that adds the cotangent to an array in place.
    """

    __slots__ = ("mut_add", "vs")

    def __init__(self, vs: Any, mut_add: Function) -> None:
        self.vs = vs
        self.mut_add = mut_add


def _dense(value: Any) -> Any:
    return value.mut_add(value.vs.zeros()) if isinstance(value, SparseObject) else value


class Recorded(CustomFunction):
    """A call of a primitive in the graph. Derivatives run with plain values, or with boxes if they are recorded."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: Any) -> Any:
        outputs = call.keep(call.primitive.fun(*call.arguments(tensors, raw), **call.kwargs))
        input_ids = {id(t._array) for t in tensors}
        outputs = [new_tensor(o._array.copy()) if id(o._array) in input_ids else o for o in outputs]
        ctx.call, ctx.n = call, len(tensors)
        ctx.save_for_backward(*tensors, *outputs)
        ctx.save_for_forward(*tensors, *outputs)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        call: Call = ctx.call
        saved = ctx.saved_tensors
        change = wrap if is_grad_enabled() or current().dual_stack else raw
        args = call.arguments(saved[: ctx.n], change)
        ans = call.answer(saved[ctx.n :], change)
        g = call.answer(gs, lambda t: change(conjugate(t)))
        argnums = call.argnums(ctx.needs_input_grad[1:])
        cotangents = call.cotangents(call.primitive.pull(argnums, g, ans, args, call.kwargs), argnums)
        return None, *[_fit(v, t) for v, t in zip(cotangents, saved[: ctx.n], strict=True)]

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        call: Call = ctx.call
        saved = ctx.saved_tensors
        args, ans = call.arguments(saved[: ctx.n], wrap), call.answer(saved[ctx.n :], wrap)
        moving = [t is not None for t in tangents]
        argnums = call.argnums(moving)
        zeros = [ops.zeros_like(s) if t is None else t for s, t in zip(saved[: ctx.n], tangents, strict=True)]
        all_of = call.arguments(zeros, wrap)
        tangent = call.primitive.push(argnums, [all_of[n] for n in argnums], ans, args, call.kwargs)
        outputs = saved[ctx.n :]
        if tangent is None:
            return tuple(ops.zeros_like(o) for o in outputs)
        parts = call.structure_of_answer.flatten_up_to(tangent)
        return tuple(_as_tangent(parts[i], o) for i, o in zip(call.inexact, outputs, strict=True))


def _as_tensor(value: Any) -> Any:
    value = unwrap(value)
    return value if isinstance(value, TensorBase) else to_tensor(value)


def _fit(value: Any, model: Any) -> Any:
    """A cotangent for the engine: conjugated, real for a real argument, with the dtype of the argument."""
    if value is None:
        return None
    tensor = _as_tensor(value)
    if model._array.dtype.kind != "c" and tensor._array.dtype.kind == "c":
        tensor = ops.real(tensor)
    if tensor._array.dtype != model._array.dtype:
        tensor = ops.cast(tensor, model.dtype)
    if tensor._array.shape != model._array.shape:
        extra = tensor._array.ndim - model._array.ndim
        tensor = (
            ops.sum_to_size(tensor, model._array.shape)
            if extra > 0 or tensor.numel() > model.numel()
            else (ops.expand(tensor, model._array.shape))
        )
    return conjugate(tensor)


def _as_tangent(value: Any, model: Any) -> Any:
    tensor = _as_tensor(value)
    if tensor._array.dtype != model._array.dtype:
        tensor = ops.cast(ops.real(tensor) if model._array.dtype.kind != "c" else tensor, model.dtype)
    return tensor if tensor._array.shape == model._array.shape else ops.expand(tensor, model._array.shape)


# definitions of derivatives -------------------------------------------------------------------------------------------


def primitive(f_raw: Function) -> Primitive:
    """Make a function a primitive: calls with boxes are recorded, and defvjp and defjvp define derivatives.

    The function itself receives plain values instead of boxes.

    >>> from adjoint.compat.autograd import grad
    >>> @primitive
    ... def double(x):
    ...     return 2 * x
    >>> defvjp(double, lambda ans, x: lambda g: 2 * g)
    >>> float(grad(double)(1.0))
    2.0
    """
    return Primitive(f_raw)


def notrace_primitive(f_raw: Function) -> Function:
    """A function that receives plain values instead of boxes; its results have no derivative.

    f_raw: a function of plain values.
    """

    @functools.wraps(f_raw)
    def call(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*map(getval, values(args)), **{name: getval(value) for name, value in values(kwargs).items()})

    return call


def _record(fun: Any, name: str) -> Primitive:
    """The primitive for a definition of a derivative. Other functions are accepted without effect, as in autograd."""
    if isinstance(fun, Primitive):
        return fun
    warnings.warn(
        f"{name}(): {getattr(fun, '__name__', fun)} is not a primitive, so that its derivative is never asked for; "
        "decorate it with @primitive",
        stacklevel=3,
    )
    return Primitive(fun)


def defvjp(fun: Primitive, *vjpmakers: Function | None, argnums: Sequence[int] | None = None) -> None:
    """Define the derivative in reverse mode: one maker for each argument, or for each argument in `argnums`.

    A maker takes (ans, *args, **kwargs) and returns a function from the cotangent of ans to the cotangent of the
    argument. None means that the derivative is zero.
    """
    primitive = _record(fun, "defvjp")
    for argnum, maker in zip(range(len(vjpmakers)) if argnums is None else argnums, vjpmakers, strict=False):
        primitive.vjps[argnum] = maker


def defvjp_argnum(fun: Primitive, vjpmaker: Function) -> None:
    """Define the derivative in reverse mode for all arguments by one function.

    vjpmaker: a function of (argnum, ans, args, kwargs) that returns a function from cotangent to cotangent.
    """
    primitive = _record(fun, "defvjp_argnum")

    def joint(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Function:
        makers = [vjpmaker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: [vjp(g) for vjp in makers]

    primitive.joint_vjp = joint


def defvjp_argnums(fun: Primitive, vjpmaker: Function) -> None:
    """Define the derivative in reverse mode for several arguments at once.

    vjpmaker: a function of (argnums, ans, args, kwargs) that returns a function from the cotangent of the result to a
    sequence of cotangents, one for each argument.
    """
    primitive = _record(fun, "defvjp_argnums")
    primitive.joint_vjp = vjpmaker


def defjvp(fun: Primitive, *jvpfuns: Function | str | None, argnums: Sequence[int] | None = None) -> None:
    """Define the derivative in forward mode: one function of (g, ans, *args, **kwargs) for each argument.

    "same" means that the primitive is linear in the argument.
    """
    primitive = _record(fun, "defjvp")
    for argnum, jvp in zip(range(len(jvpfuns)) if argnums is None else argnums, jvpfuns, strict=False):
        primitive.jvps[argnum] = _linear_jvp(primitive, argnum) if jvp == "same" else jvp  # type: ignore[assignment]


def _linear_jvp(fun: Primitive, argnum: int) -> Function:
    def jvp(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return fun(*args[:argnum], g, *args[argnum + 1 :], **kwargs)

    return jvp


def defjvp_argnum(fun: Primitive, jvpmaker: Function) -> None:
    """Define the derivative in forward mode for all arguments by one function.

    jvpmaker: a function of (argnum, g, ans, args, kwargs) that returns the tangent of the result.
    """
    primitive = _record(fun, "defjvp_argnum")

    def joint(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        parts = [jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs, strict=True)]
        return functools.reduce(_sum, parts)

    primitive.joint_jvp = joint


def defjvp_argnums(fun: Primitive, jvpmaker: Function) -> None:
    """Define the derivative in forward mode for several arguments at once.

    jvpmaker: a function of (argnums, gs, ans, args, kwargs) that returns the tangent of the result.
    """
    primitive = _record(fun, "defjvp_argnums")
    primitive.joint_jvp = jvpmaker


def def_linear(fun: Primitive) -> None:
    """Define the derivative in forward mode of a primitive that is linear in each argument.

    The tangent of the result is a sum over the arguments: the primitive with one argument replaced by its tangent.
    """
    primitive = _record(fun, "def_linear")

    def joint(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        parts = [_linear_jvp(primitive, argnum)(g, ans, *args, **kwargs) for argnum, g in zip(argnums, gs, strict=True)]
        return functools.reduce(_sum, parts)

    primitive.joint_jvp = joint


# namespaces -----------------------------------------------------------------------------------------------------------


class Joining(Primitive):
    """A function that joins arrays; it also takes an iterator of arrays."""

    def __call__(self, arrays: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(list(arrays) if isinstance(arrays, Iterator) else arrays, *args, **kwargs)


_JOINING = (numpy.concatenate, numpy.stack)


def make_primitive(function: Function) -> Primitive:
    """A function of NumPy that also takes boxes, also in nested lists."""
    kind = Joining if function in _JOINING else Primitive
    primitive = trace_primitives_map[function] = kind(function, functools.partial(_dispatch, function))
    return primitive


def _dispatch(function: Function, *args: Any, **kwargs: Any) -> Any:
    return calls.dispatch(ArrayBox, function, args, kwargs)


def is_tracked(value: Any) -> bool:
    """True for a box whose Tensor has derivatives."""
    return type(value) is ArrayBox and carries_derivative(value._tensor)
