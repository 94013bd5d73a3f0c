"""Replays with a gradient: a node whose forward and backward pass are programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.arrays.namespace import namespace
from adjoint.compilation.budgets import call_as_is
from adjoint.compilation.matching import versions_of
from adjoint.compilation.recordings.recording import plain_array
from adjoint.core import errors
from adjoint.core.graph import (
    ContextNode,
    SavedTensor,
    TensorBase,
    connect_inputs,
    connect_outputs,
    counter_of,
    new_node,
    new_tensor,
    nodes_behind,
    replay_view,
)
from adjoint.core.locations import caller
from adjoint.core.modes.grad_mode import enable_grad, no_grad
from adjoint.core.modes.interceptors import ENDS, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock, current
from adjoint.core.recorded import drop, pack_by_mode, save_input, unpack_saved
from adjoint.runtime.pytree import flatten
from adjoint.tensor.differentiate import grad
from adjoint.transforms.batching.batched import BatchedArray

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


class ReplayBackward(ContextNode):
    """The node of the results of a program: its backward pass is a program, too.

    entry: the recording. call, inputs, tensors, versions: the arguments, and the Tensors that the program reads, for a
    gradient with a history of its own.
    """

    entry: Entry
    call: Any
    inputs: list[Any]
    tensors: list[Any]
    versions: list[int]
    _ad_saved: tuple[Any, ...] | None
    _ad_freed: bool

    def _ad_pull_back(self, cotangent: Any, create_graph: bool) -> list[Any]:
        """The cotangents of the inputs, by the second program, or by the function itself if create_graph is true."""
        if self._ad_freed:
            raise errors.freed_error(self)
        cotangents = [cotangent] if self._ad_n_outputs == 1 else cotangent or []
        if all(g is None for g in cotangents):
            return [None] * len(self.inputs)
        saved = [
            unpack_saved(slot, self)._array if type(slot) is SavedTensor else slot for slot in self._ad_saved or ()
        ]
        return (pull_with_history if create_graph else pull)(self, cotangents, saved)

    def _ad_map_saved(self, function: Any) -> None:
        """Replace each saved array by function(array)."""
        slots = self._ad_saved or ()
        for slot in slots:
            if type(slot) is SavedTensor:
                slot.array = function(slot.array)
        self._ad_saved = tuple([slot if type(slot) is SavedTensor else function(slot) for slot in slots])

    def _ad_runs_once(self) -> bool:
        """True if eager nodes free their saved values."""
        return self.entry.runs_once

    def _ad_free(self) -> None:
        """Free the saved arrays, and let go of the arguments."""
        if self.entry.runs_once:
            self._ad_freed = True
            drop(self._ad_saved or ())
            self._ad_saved = None
            self.call = None
            self.tensors = []

    def _ad_saved_items(self) -> list[tuple[str, Any]]:
        """The saved arrays, as (name, `SavedTensor`) pairs."""
        return [(f"saved_tensors[{k}]", slot) for k, slot in enumerate(self._ad_saved or ())]


def connect(entry: Entry, results: list[Any], saved: list[Any], tensors: list[Any], call: Any) -> None:
    """Give the results of a program a node, which saves the values that the second program reads.

    results: the results of the program. saved: the arrays of the first program for the second one. tensors: the Tensors
    that the first program read. call: the arguments of the call.
    """
    node = node_over(entry, [tensors[k] for k in entry.by], [results[k] for k in entry.with_history])
    if entry.grads_read:
        tensors = [*tensors, *[tensors[k]._grad for k in entry.grads_read]]
    node.call, node.tensors, node.versions = call, tensors, versions_of(tensors)
    state = current()
    hooks = bool(state.saved_hooks)
    # memory that no caller can reach needs no version
    slots = saved
    if hooks or entry.saves_results:
        slots = [
            array if number is None and not hooks else save_input(with_counter(array, results, number))
            for array, number in zip(saved, entry.saved_in_memory, strict=True)
        ]
    slots += [save_input(as_tensor(tensors[k])) for k in entry.read_again]
    node._ad_saved = tuple(slots)
    if hooks:
        for slot in slots:
            tensor = new_tensor(slot.array)
            tensor._counter = slot.counter
            pack_by_mode(slot, tensor, node)
    if state.locations:
        node._ad_saved_at = caller()


def with_counter(array: Any, results: list[Any], number: int | None) -> TensorBase:
    """A saved array as a Tensor; in the memory of a result it has the version of that."""
    tensor: TensorBase = new_tensor(array)
    if number is not None:
        tensor._counter = counter_of(results[number])
    return tensor


def connect_freed(entry: Entry, output: TensorBase, inputs: list[Any]) -> None:
    """Let a result whose history the function has freed itself have a node that says so."""
    node_over(entry, inputs, [output])._ad_freed = True


def node_over(entry: Entry, inputs: list[Any], outputs: list[Any]) -> Any:
    """A new node between inputs and outputs."""
    node: Any = new_node(ReplayBackward, ContextNode)
    node.entry, node.inputs = entry, inputs
    connect_inputs(node, inputs)
    connect_outputs(node, outputs)
    return node


def is_freed(tensor: TensorBase) -> bool:
    """True if a pass through the history of a Tensor would meet saved values that were freed."""
    return any(node._ad_is_freed() for node in nodes_behind([tensor._node]))


def view_of(base: Any, steps: Any, origin: str | None) -> Any:
    """A view of a result of a program, by the steps of the recorded one."""
    with no_grad() if origin == "no_grad" else nullcontext():
        view = replay_view(steps, base)
    view._view.origin = origin
    return view


def shared_bases(tensors: list[Any]) -> set[int]:
    """The ids of the Tensors whose memory several of a function's results share."""
    results = {id(tensor): tensor for tensor in tensors if isinstance(tensor, TensorBase)}
    owners = [id(tensor) if tensor._view is None else id(tensor._view.base) for tensor in results.values()]
    return {owner for owner, n in Counter(owners).items() if n > 1}


def owner_of(tensor: TensorBase, bases: set[int]) -> TensorBase:
    """The Tensor that a replay makes for a result: its base where other results lie in the same memory."""
    view = tensor._view
    return tensor if view is None or id(view.base) not in bases else view.base


def as_tensor(value: Any) -> TensorBase:
    """A Tensor, also of an array of the caller's."""
    return value if isinstance(value, TensorBase) else new_tensor(value)


# gradients ------------------------------------------------------------------------------------------------------------


def pull(node: ReplayBackward, cotangents: list[Any], saved: list[Any]) -> list[Any]:
    """The gradients from the second program; None for an input on which no result with a cotangent depends."""
    return gradients(node.entry, [plain_array(g) for g in cotangents], saved)


def gradients(entry: Entry, cotangents: list[Any], saved: list[Any]) -> list[Any]:
    """The gradients as arrays; of cotangents in a batch member by member."""
    if len(cotangents) == 1 and type(cotangents[0]) is numpy.ndarray:
        return entry.pulls.whole.run([_lay_out(cotangents[0], entry.cotangents[0]), *saved])
    level = max((array.level for array in cotangents if type(array) is BatchedArray), default=None)
    if level is None:
        models = zip(cotangents, entry.cotangents, strict=True)
        return entry.pulls.run([None if g is None else _lay_out(g, model) for g, model in models], saved)
    is_here = [type(array) is BatchedArray and array.level == level for array in cotangents]
    n = next(len(array.data) for array, here in zip(cotangents, is_here, strict=True) if here)
    batches = list(zip(cotangents, is_here, strict=True))
    members = [gradients(entry, [a.data[i] if here else a for a, here in batches], saved) for i in range(n)]
    if not members:
        # a member of zeros shows which gradients there are, and their dtypes
        zeros = [namespace(a.data).zeros(a.data.shape[1:], a.data.dtype) if here else a for a, here in batches]
        members = [gradients(entry, zeros, saved)]
    columns = zip(*members, strict=True)
    return [None if column[0] is None else BatchedArray(level, _stack(column)[:n]) for column in columns]


def _stack(arrays: Any, axis: int = 0) -> Any:
    """Stacks arrays along a new axis; arrays of another batch have their axis in front."""
    if type(arrays[0]) is BatchedArray:
        return BatchedArray(arrays[0].level, _stack([array.data for array in arrays], axis + 1))
    return namespace(arrays[0]).stack(arrays, axis)


class Model(NamedTuple):
    """The layout of a cotangent in the recording; its axes are dense in some order."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any


def _lay_out(array: Any, model: Model) -> Any:
    """An array with the strides of the recorded one."""
    if array.strides == model.strides:
        return array
    xp = namespace(array)
    result = xp.view_with_strides(xp.empty(array.size, model.dtype), model.shape, model.strides)
    result[...] = array
    return result


def pull_with_history(node: ReplayBackward, cotangents: list[Any], saved: list[Any]) -> list[Any]:
    """The gradients with a history of their own: the function itself runs, and is differentiated."""
    entry = node.entry
    if entry.targets or entry.grads or entry.draws:
        raise RuntimeError(HISTORY)
    if (
        node.versions != versions_of(node.tensors)
        or any(True for _ in entry.reach.changes())
        or not entry.reach.is_unchanged()
    ):
        raise RuntimeError(CHANGED)
    entry.n_histories += 1
    leaves, structure = node.call
    args, kwargs = structure.unflatten(leaves)
    with enable_grad():
        results = flatten(call_as_is(entry.function, args, kwargs))[0]
        members = [member for member in results if isinstance(member, TensorBase)]
        before = {id(tensor) for tensor in node.inputs}
        owners = [owner_of(member, shared_bases(members)) for member in members if id(member) not in before]
        outputs = [
            owner
            for owner in {id(owner): owner for owner in owners}.values()
            if owner.requires_grad and not is_freed(owner)
        ]
    pairs = [(output, g) for output, g in zip(outputs, cotangents, strict=True) if g is not None]
    outputs = [output for output, _ in pairs]
    with pass_ends_at(node.inputs):
        return list(grad(outputs, node.inputs, [g for _, g in pairs], create_graph=True, allow_unused=True))


class PassEnds(Interceptor):
    """Ends backward passes at nodes, also where the graph goes on to another one of them."""

    def __init__(self, nodes: set[Any]) -> None:
        super().__init__(ENDS)
        self.nodes = nodes

    def node(self, run: Any, node: Any) -> Any:
        """Run a node, or end at it."""
        if node not in self.nodes:
            return run.proceed(node, self.position)
        run.end_at(node, run.cotangents_at(node))
        return None


class pass_ends_at(ModeBlock):
    """A block in which backward passes end at the inputs: an input may depend on another."""

    def __init__(self, inputs: Sequence[TensorBase]) -> None:
        self.nodes = {tensor._node for tensor in inputs if tensor._node is not None}

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (ENDS, PassEnds(self.nodes))),)
