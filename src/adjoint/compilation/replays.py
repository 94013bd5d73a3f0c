"""Replays with a gradient: a node whose forward and backward pass are programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.compilation.recordings.recording import plain_array
from adjoint.core.graph import TensorBase, new_tensor, version_of
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.modes.interceptors import ENDS, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock, current
from adjoint.runtime.pytree import flatten
from adjoint.tensor.differentiate import grad
from adjoint.transforms.batching.batched import BatchedArray
from adjoint.transforms.custom_functions.function import Function
from adjoint.transforms.forward import tangent_of

if TYPE_CHECKING:
    from adjoint.compilation.entry import Entry

HISTORY = (
    "adjoint.compile: the gradient of a compiled function that writes to tensors, or sets .grad, cannot be recorded "
    "(create_graph=True), since the function would have to run again; call the function itself"
)
CHANGED = (
    "adjoint.compile: the gradient of a compiled function with a history of its own (create_graph=True) is computed by "
    "the function itself, and a tensor or a variable that the function uses has changed since it was called"
)


class Replay(Function):
    """The results of a program, whose backward pass is a program too."""

    @staticmethod
    def forward(ctx: Any, entry: Entry, arrays: Any, tensors: Any, call: Any, *inputs: Any) -> Any:
        """Run the first program."""
        values = entry.forward(arrays)
        ctx.entry, ctx.call, ctx.inputs = entry, call, inputs
        ctx.tensors, ctx.versions = tensors, versions_of(tensors)
        ctx.set_materialize_grads(False)
        saved = [new_tensor(array) for array in values[entry.n_results :]]
        to_save = [*saved, *[as_tensor(tensors[k]) for k in entry.read_again]]
        ctx.n_saved = len(to_save)
        if entry.runs_once and not to_save:
            to_save.append(new_tensor(numpy.empty(0)))
        ctx.save_for_backward(*to_save)
        results = [new_tensor(array) for array in values[: entry.n_results]]
        ctx.mark_non_differentiable(*[result for k, result in enumerate(results) if k not in entry.with_history])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Run the second program on the cotangents."""
        entry = ctx.entry
        own = [cotangents[k] for k in entry.with_history]
        run = pull_with_history if current().grad_enabled or has_tangents(own) else pull
        return (None, None, None, None, *run(entry, ctx, own))


def as_tensor(value: Any) -> TensorBase:
    """A Tensor, also of an array of the caller's."""
    return value if isinstance(value, TensorBase) else new_tensor(value)


def versions_of(tensors: list[Any]) -> list[int]:
    """How often each Tensor was modified in place; caller's arrays are not counted."""
    return [version_of(tensor) if isinstance(tensor, TensorBase) else 0 for tensor in tensors]


def has_tangents(cotangents: list[Any]) -> bool:
    """True if forward mode follows one of the cotangents."""
    levels = current().dual_stack
    return any(g is not None and tangent_of(g, number) is not None for number in levels for g in cotangents)


# gradients ------------------------------------------------------------------------------------------------------------


def pull(entry: Entry, ctx: Any, cotangents: list[Any]) -> list[Any]:
    """The gradients, by the second program; None for inputs on which no result with a cotangent depends."""
    saved = [tensor._array for tensor in ctx.saved_tensors[: ctx.n_saved]]
    arrays = [None if g is None else plain_array(g._array) for g in cotangents]
    return [None if array is None else new_tensor(array) for array in gradients(entry, arrays, saved)]


def gradients(entry: Entry, cotangents: list[Any], saved: list[Any]) -> list[Any]:
    """The gradients as arrays; of cotangents in a batch member by member."""
    level = max((array.level for array in cotangents if type(array) is BatchedArray), default=None)
    if level is None:
        models = zip(cotangents, entry.cotangents, strict=True)
        return entry.pulls.run([None if g is None else _laid_out(g, model) for g, model in models], saved)
    is_here = [type(array) is BatchedArray and array.level == level for array in cotangents]
    n = next(len(array.data) for array, here in zip(cotangents, is_here, strict=True) if here)
    batches = list(zip(cotangents, is_here, strict=True))
    members = [gradients(entry, [a.data[i] if here else a for a, here in batches], saved) for i in range(n)]
    if not members:
        # a member of zeros shows which gradients there are, and their dtypes
        zeros = [numpy.zeros(a.data.shape[1:], a.data.dtype) if here else a for a, here in batches]
        members = [gradients(entry, zeros, saved)]
    columns = zip(*members, strict=True)
    return [None if column[0] is None else BatchedArray(level, _stacked(column)[:n]) for column in columns]


def _stacked(arrays: Any, axis: int = 0) -> Any:
    """Arrays along a new axis; those of another batch have theirs in front."""
    if type(arrays[0]) is BatchedArray:
        return BatchedArray(arrays[0].level, _stacked([array.data for array in arrays], axis + 1))
    return numpy.stack(arrays, axis)


class Model(NamedTuple):
    """The layout of a cotangent in the recording; its axes are dense in some order."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any


def _laid_out(array: Any, model: Model) -> Any:
    """An array with the strides of the recorded one."""
    if array.strides == model.strides:
        return array
    result = numpy.ndarray(model.shape, model.dtype, numpy.empty(array.nbytes, numpy.uint8), 0, model.strides)
    result[...] = array
    return result


def pull_with_history(entry: Entry, ctx: Any, cotangents: list[Any]) -> list[Any]:
    """The gradients with a history of their own: the function itself runs, and is differentiated."""
    if entry.targets or entry.grads or entry.draws:
        raise RuntimeError(HISTORY)
    if (
        ctx.versions != versions_of(ctx.tensors)
        or any(True for _ in entry.reach.changes())
        or not entry.reach.is_unchanged()
    ):
        raise RuntimeError(CHANGED)
    leaves, structure = ctx.call
    args, kwargs = structure.unflatten(leaves)
    with enable_grad():
        members = flatten(entry.function(*args, **kwargs))[0]
        before = {id(tensor) for tensor in ctx.inputs}
        outputs = [
            member
            for member in members
            if isinstance(member, TensorBase) and member.requires_grad and id(member) not in before
        ]
    pairs = [(output, g) for output, g in zip(outputs, cotangents, strict=True) if g is not None]
    outputs = [output for output, _ in pairs]
    with pass_ends_at(ctx.inputs):
        return list(grad(outputs, ctx.inputs, [g for _, g in pairs], create_graph=True, allow_unused=True))


class PassEnds(Interceptor):
    """Ends backward passes at nodes, also where the graph goes on to another one of them."""

    def __init__(self, nodes: set[Any]) -> None:
        super().__init__(ENDS)
        self.nodes = nodes

    def node(self, run: Any, node: Any) -> Any:
        """Run a node, or end at it."""
        if node not in self.nodes:
            return run.proceed(node, self.position)
        run.end_at(node, run.received(node))
        return None


class pass_ends_at(ModeBlock):
    """A block in which backward passes end at inputs: one of them may depend on another."""

    def __init__(self, inputs: Sequence[TensorBase]) -> None:
        self.nodes = {tensor._node for tensor in inputs if tensor._node is not None}

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (ENDS, PassEnds(self.nodes))),)
