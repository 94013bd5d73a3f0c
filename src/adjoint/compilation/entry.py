"""One recording of a function, prepared for replays: its inputs, results and effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_not
from typing import Any

import numpy

from adjoint.arrays.dtypes import dtype as DType
from adjoint.arrays.namespace import device_of, is_on_device
from adjoint.arrays.size import CPU, Size
from adjoint.compilation.aliasing import Aliasing
from adjoint.compilation.matching import Matcher
from adjoint.compilation.programs import device_program
from adjoint.compilation.programs.lowering import Lowering, whole_copy
from adjoint.compilation.programs.passes.partition import Dependent, Halves
from adjoint.compilation.programs.passes.recomputation import Budgets
from adjoint.compilation.programs.replay import Pack, Program
from adjoint.compilation.programs.views import EXTERNAL, Memory, View, byte_bounds
from adjoint.compilation.pulls import ALL_CHOICES, Pull, Pulls, choices_of
from adjoint.compilation.recordings.outlines import root_of
from adjoint.compilation.recordings.reach import Reach
from adjoint.compilation.recordings.recorded_array import RecordedArray
from adjoint.compilation.recordings.recording import Recording, plain_array, recording_into, release
from adjoint.compilation.recordings.twins import Twins
from adjoint.compilation.replays import (
    Model,
    connect,
    connect_freed,
    is_freed,
    owner_of,
    pass_ends_at,
    shared_bases,
    view_of,
)
from adjoint.compilation.surroundings import has_hidden_tensor, modes, random_state
from adjoint.core.graph import (
    TensorBase,
    bump_version,
    counter_of,
    gradient_edge,
    is_hooked,
    new_tensor,
    node_of,
    nodes_behind,
    version_of,
)
from adjoint.core.recorded import OpNode
from adjoint.interop.numpy_array.array import Array
from adjoint.interop.numpy_array.passing import plain
from adjoint.program.plain_region import CheckFailed
from adjoint.runtime.pytree import flatten, is_container, mutable_containers
from adjoint.tensor.differentiate import grad

_ndarray = numpy.ndarray
CONSTANTS = (bool, int, float, complex, str, bytes, type(None))
#: The kinds of members of a result: a constant value; a Tensor, a view, a leaf, or a NumPy array, in memory of the
#: program; an existing Tensor or array; a container among the arguments.
CONSTANT, TENSOR, VIEW, LEAF, ARRAY, SAME = "constant", "tensor", "view", "leaf", "array", "same"
CONTAINER = "container"


#: The number of gradients with their own history that is too small for a decision.
_FEW = 4


class Refused(Exception):
    """A recording that cannot be replayed; the message says why.

    is_growth: a container grew, such as the state of an optimizer at its first step. A later call may be recorded.
    """

    def __init__(self, why: str, is_growth: bool = False) -> None:
        super().__init__(why)
        self.is_growth = is_growth


class External:
    """A Tensor whose memory a program reads and writes: an argument, or a Tensor that the function can see.

    position: the number of the argument, or None. Other fields: its state before the recording.
    """

    __slots__ = (
        "array", "grad", "grad_version", "has_grad", "history", "needs_grad", "position", "tensor", "version",
    )  # fmt: skip

    def __init__(self, tensor: TensorBase, position: int | None) -> None:
        self.tensor, self.position = tensor, position
        self.array, self.grad = tensor._array, tensor._grad
        self.has_grad = tensor._grad is not None
        self.history: tuple[Any, ...] = history_of(tensor)
        self.needs_grad = bool(tensor.requires_grad)
        self.version = version_of(tensor)
        self.grad_version = 0 if self.grad is None else version_of(self.grad)

    def forget(self) -> None:
        """Release the arguments of the recorded call; keep the Tensors that the function sees."""
        self.array = self.grad = None
        self.history = ()
        if self.position is not None:
            del self.tensor


def history_of(tensor: TensorBase) -> tuple[Any, ...]:
    """The facts that decide where the gradient of a Tensor goes; for a view also the facts of its base."""
    view = tensor._view
    history = (tensor._node, tensor._requires)
    # `node_of` updates a view after a write through another view of its base
    return history if view is None else (*history, view.rewritten, view.base._node, view.base._requires)


def layout_of(array: Any) -> tuple[Any, Any]:
    """The shape and the strides of an array."""
    concrete_array = plain_array(array)
    return concrete_array.shape, getattr(concrete_array, "strides", None)


class Entry:
    """A recording and its program."""

    def __init__(
        self,
        function: Callable[..., Any],
        recording: Recording,
        reach: Reach,
        leaves: list[Any],
        structure: Any,
        gives_variables: bool = False,
    ) -> None:
        self.function, self.recording, self.reach = function, recording, reach
        self.gives_variables = gives_variables
        #: True for a piece until a second call has given the same numbers: a clock or a counter gives others.
        self.is_on_trial = gives_variables
        self.structure_in = structure
        self.externals: list[External] = []
        #: Arguments that are NumPy's arrays, as the Tensors under the differentiable arrays that the function gets.
        self.of_arrays: dict[int, Any] = {}
        ids: set[int] = set()
        for k, leaf in enumerate(leaves):
            tensor = leaf
            if type(leaf) is _ndarray:
                tensor = self.of_arrays[k] = new_tensor(leaf)
            if isinstance(tensor, TensorBase) and id(tensor) not in ids:
                ids.add(id(tensor))
                self.externals.append(External(tensor, k))
        visible = {id(tensor) for tensor in reach.tensors}
        #: Arguments that the function can see by another way, too.
        self.fixed: list[tuple[Any, Any]] = [
            (external.position, external.tensor) for external in self.externals if id(external.tensor) in visible
        ]
        for tensor in reach.tensors:
            if id(tensor) not in ids:
                ids.add(id(tensor))
                self.externals.append(External(tensor, None))
        self.grads_before = [external.grad for external in self.externals if external.grad is not None]
        self.matcher = Matcher(
            leaves,
            [external.tensor for external in self.externals if external.position is None],
            reach.slots,
            self.fixed,
            [e.tensor if e.position is None else e.position for e in self.externals],
            [k for k, external in enumerate(self.externals) if external.grad is not None],
        )
        self.random = random_state()
        self.has_history = False
        #: The saved bytes, and the saved bytes without budgets; None if there are no budgets.
        self.saved_bytes: tuple[int, int] | None = None
        #: The numbers of replays, and of gradients with their own history, for which the function ran again.
        self.n_replays = self.n_histories = 0

    # recording --------------------------------------------------------------------------------------------------------

    def record(self, leaves: list[Any], structure: Any, call: Any) -> Any:
        """Call the function while its steps are recorded; returns its result. call: its arguments, as a tree."""
        recording = self.recording
        arguments = [self._argument(k, leaf) for k, leaf in enumerate(leaves)]
        # the function may change containers, or know them again
        args, kwargs = inner_call = structure.unflatten(arguments) if self.of_arrays else call
        callers_containers, containers = mutable_containers(call), mutable_containers(inner_call)
        with recording_into(recording):
            try:
                self._adopt()
                before = modes()
                result = self.function(*args, **kwargs)
                if modes() != before:
                    recording.stop("leaves a mode that was another one before")
                #: The numbers of the containers among the arguments, which may be members of the result.
                self.containers = {id(container): k for k, container in enumerate(containers)}
                returned = mutable_containers(result)
                reachable = {id(container) for container in returned if self.reach.has_seen(container)}
                members, self.structure = flatten(
                    result, lambda part: id(part) in self.containers or id(part) in reachable
                )
                self._check_containers(inner_call, arguments, structure)
                if len({id(container) for container in returned}) < len(returned):
                    recording.stop("returned a container twice")
                tensors = [self._tensor_of(member) for member in members]
                self._look_around(members, tensors)
            finally:
                recording.give_back()
                for external in self.externals:
                    release(external.tensor._grad)
        self._write_back(leaves, arguments)
        for tensor in tensors:
            release(tensor)
        results = [self._result(*pair, leaves) for pair in zip(members, tensors, strict=True)]
        self._results = [tensor for tensor in tensors if isinstance(tensor, TensorBase)]
        if not self.of_arrays and not any(map(is_not, members, results)):
            return result
        return self._for_caller(result, list(zip(callers_containers, containers, strict=True)), leaves)

    def _check_containers(self, inner_call: Any, arguments: list[Any], structure: Any) -> None:
        """Stop if the function changed a list, a dictionary or the like among its arguments."""
        members, after = flatten(inner_call)
        self.has_changed_containers = after != structure or any(map(is_not, members, arguments))
        if self.has_changed_containers:
            self.recording.stop("changed a container among its arguments")

    def _for_caller(self, result: Any, pairs: list[tuple[Any, Any]], leaves: list[Any]) -> Any:
        """A result in the caller's own arrays and containers. pairs: of the caller's containers and the function's."""
        counterparts = {id(inner): callers for callers, inner in pairs}

        def give_back(member: Any) -> Any:
            if id(member) in counterparts:
                return counterparts[id(member)]
            if not is_container(type(member)):
                tensor = self._tensor_of(member)
                release(tensor)
                return self._result(member, tensor, leaves)
            children, structure = flatten(member, lambda part: part is not member)
            counterparts[id(member)] = container = structure.unflatten([give_back(child) for child in children])
            return container

        for callers, inner in pairs if self.has_changed_containers else ():
            if type(inner) is list:
                callers[:] = [give_back(member) for member in inner]
            elif type(inner) is dict:
                members = {key: give_back(member) for key, member in inner.items()}
                callers.clear()
                callers.update(members)
        return give_back(result)

    def _look_around(self, members: list[Any], tensors: list[Any]) -> None:
        """Record the results and effects of the function, up to the first that cannot be replayed."""
        self._look_at_outputs(members, tensors)
        for look in (self._look_at_effects, self._count_versions, self._derive):
            if self.recording.reason is None:
                look()

    def _argument(self, k: int, leaf: Any) -> Any:
        """The argument that the function gets: a NumPy array is replaced by a differentiable or a recorded one."""
        tensor = self.of_arrays.get(k)
        if tensor is None:
            return leaf
        return Array._wrap(tensor) if leaf.dtype.kind in "fc" else self.recording.capture(leaf)

    def _tensor_of(self, member: Any) -> Any:
        """The Tensor under a member of the result; other objects are returned unchanged."""
        if isinstance(member, Array):
            return member._tensor
        if type(member) is not RecordedArray:
            return member
        same = [tensor for tensor in self.of_arrays.values() if plain_array(tensor._array) is member.array]
        return same[0] if same else new_tensor(member)

    def _result(self, member: Any, tensor: Any, leaves: list[Any]) -> Any:
        """A member of the result as the caller gets it."""
        for k, argument in self.of_arrays.items():
            if argument is tensor:
                return leaves[k]
        if isinstance(member, Array):
            return plain(tensor)
        if type(member) is RecordedArray:
            return member.array if member.array.ndim else member.array[()]
        return member

    def _adopt(self) -> None:
        """Let all Tensors that the function can see hold recorded arrays."""
        self._pair_with_twins()
        for external in self.externals:
            if not self.recording.can_capture(external.array):
                self.recording.stop("uses a tensor that is no NumPy array")
                continue
            external.array = self.recording.in_main_memory(external.array)
            self.recording.outlines.note_caller(external.array)
            self.recording.adopt(external.tensor)
        for gradient in self.grads_before:
            self.recording.adopt(gradient)

    def _pair_with_twins(self) -> None:
        """Give arrays of a device their twins, where all that the function takes and sees lies on one device."""
        arrays = [external.array for external in self.externals]
        arrays += [gradient._array for gradient in self.grads_before]
        devices = {device_of(array) for array in arrays if is_on_device(array)}
        if not devices:
            return
        if len(devices) > 1 or not all(map(is_on_device, arrays)):
            self.recording.stop("uses tensors of several devices")
        else:
            self.recording.twins = Twins(devices.pop(), arrays)

    def _write_back(self, leaves: list[Any], arguments: list[Any]) -> None:
        """Give the caller's arrays the values that the function wrote into its own."""
        for k, tensor in self.of_arrays.items():
            if not isinstance(arguments[k], Array):
                continue
            array = plain_array(arguments[k]._tensor._array)
            if arguments[k]._tensor is not tensor or array is not leaves[k]:
                leaves[k][...] = array
                self.recording.reason = self.recording.reason or "wrote into an argument that is a NumPy array"

    def _look_at_effects(self) -> None:
        """Note which Tensors that were there before have other gradients."""
        self.effects = [self._effect(external) for external in self.externals]

    def _effect(self, external: External) -> Any:
        """The new gradient of a Tensor: None if it is unchanged, a text if it was removed."""
        tensor = external.tensor
        if any(map(is_not, history_of(tensor), external.history)):
            self.recording.stop("gave a tensor that was there before another history")
        if tensor._hooks or tensor._post_hooks:
            self.recording.stop("uses a tensor with hooks")
        if plain_array(tensor._array) is not external.array:
            self.recording.stop("gave a tensor that was there before other memory")
        if tensor._grad is external.grad:
            return None
        if tensor._grad is None:
            return "none"
        if type(tensor._grad._array) is not RecordedArray:
            self.recording.drop()
        return tensor._grad._array

    def _count_versions(self) -> None:
        """Note how often each piece of memory was modified in place."""
        #: As (number of the external Tensor, is it its gradient, times); shared memory is counted once.
        self.bumps: list[tuple[int, bool, int]] = []
        counted: set[int] = set()
        for k, external in enumerate(self.externals):
            for tensor, before in ((external.tensor, external.version), (external.grad, external.grad_version)):
                if tensor is None or version_of(tensor) == before or id(counter_of(tensor)) in counted:
                    continue
                counted.add(id(counter_of(tensor)))
                self.bumps.append((k, tensor is external.grad, version_of(tensor) - before))

    def _look_at_outputs(self, members: list[Any], tensors: list[Any]) -> None:
        """Record how each member of the result is made, and the new arrays."""
        #: The new arrays, and the versions of their memory.
        self.results: list[Any] = []
        self.versions: list[int] = []
        #: The Tensors with a history among them, and their numbers; the numbers of Tensors whose history is already
        #: freed, with the Tensors behind it.
        self.outputs: list[Any] = []
        self.with_history: list[int] = []
        self.freed: list[tuple[int, list[int]]] = []
        self.returned: list[tuple[str, Any]] = []
        if self.gives_variables and any(not child.is_leaf for child in self.structure.children):
            # a container is known by its identity, too
            self.recording.stop("has a container among its variables")
            return
        before = {id(external.tensor): k for k, external in enumerate(self.externals)}
        numbers: dict[int, int] = {}
        bases = shared_bases(tensors)
        for member, tensor in zip(members, tensors, strict=True):
            if self.recording.reason is not None:
                return
            if id(tensor) in before:
                self.returned.append((SAME, before[id(tensor)]))
            elif id(member) in self.containers:
                self.returned.append((CONTAINER, self.containers[id(member)]))
            elif is_container(type(member)):
                # the function sees this container, so its members are compared
                self.returned.append((CONSTANT, member))
            elif isinstance(tensor, TensorBase):
                why = self._why_not_returned(tensor, member, before, bases)
                if why is not None:
                    self.recording.stop(f"returned {why}")
                else:
                    self.returned.append(self._result_maker(tensor, member, numbers, bases))
            elif isinstance(member, (*CONSTANTS, Size, DType, numpy.dtype, type)):
                self.returned.append((CONSTANT, member))
            else:
                self.recording.stop(f"returned a {type(member).__name__}")

    def _why_not_returned(self, tensor: TensorBase, member: Any, before: dict[int, int], bases: set[int]) -> str | None:
        """The reason why no replay can make a result, or None."""
        view = tensor._view
        if tensor.is_inference():
            return "an inference tensor"
        if has_lost_history(tensor):
            return "a view whose history an operation in place has made invalid"
        if view is not None and id(view.base) in before and type(tensor._array) is RecordedArray:
            return "a view of a tensor that was there before"
        if self.recording.twins is not None and device_of(tensor._array) == CPU:
            return "a tensor in main memory beside those of a device"
        if view is None or isinstance(member, (Array, RecordedArray)) or owner_of(tensor, bases) is tensor:
            return None
        if is_leaf(view.base):
            return "views of a leaf of its own"
        if tensor.requires_grad and not view.base.requires_grad:
            return "a view with a history of a result that it took out of the graph"
        if has_own_history(tensor):
            return "a tensor and a view of it by a custom function or with hooks"
        if layout_of(view.base._array) != layout_of(view.layout):
            return "a view of a result that it reshaped in place"
        if type(plain_array(view.base._array)) is not _ndarray:
            return "several views of a result of vmap"
        return None

    def _result_maker(
        self, tensor: TensorBase, member: Any, numbers: dict[int, int], bases: set[int]
    ) -> tuple[str, Any]:
        """How a replay makes a result that is a Tensor in the function."""
        view = tensor._view
        if isinstance(member, (Array, RecordedArray)):
            return ARRAY, self._add_result(tensor, numbers)
        if view is not None and owner_of(tensor, bases) is not tensor:
            return VIEW, (self._add_result(view.base, numbers), view.replay, view.origin)
        return LEAF if is_leaf(tensor) else TENSOR, self._add_result(tensor, numbers)

    def _add_result(self, tensor: TensorBase, numbers: dict[int, int]) -> int:
        """The number of a Tensor among the new ones; numbers: the numbers of Tensors added before."""
        number = numbers.setdefault(id(tensor), len(self.results))
        if number == len(self.results):
            self.results.append(self.recording.in_main_memory(tensor._array))
            self.versions.append(version_of(tensor))
            if tensor.requires_grad and is_freed(tensor):
                behind = set(nodes_behind([tensor._node]))
                inputs = [k for k, e in enumerate(self.externals) if e.needs_grad and gradient_edge(e.tensor) in behind]
                self.freed.append((number, inputs))
            elif tensor.requires_grad:
                self.outputs.append(tensor)
                self.with_history.append(number)
        return number

    def _derive(self) -> None:
        """Record the backward pass of results with a history."""
        if any(kind is LEAF for kind, _ in self.returned):
            if len(self.outputs) > 1:
                self.recording.stop("returned a leaf of its own beside other results with a gradient")
            self.outputs = []
        #: The Tensors whose gradients the program reads.
        if self.gives_variables and len(self.outputs) > ALL_CHOICES:
            # if some have no cotangent, the gradients of the others would be summed in another order
            self.recording.stop("has too many variables with a gradient")
        self.grads_read = [k for k, external in enumerate(self.externals) if external.has_grad]
        self.by = [k for k, external in enumerate(self.externals) if external.needs_grad]
        self.cotangents: list[Any] = []
        self.pulls = Pulls(len(self.outputs))
        if not self.outputs or self.recording.reason is not None:
            return
        self.has_history = True
        nodes = [
            node
            for node in nodes_behind([output._node for output in self.outputs])
            if node._ad_sequence_nr >= self.recording.first_node
        ]
        #: True if eager nodes free their saved values, so that a second pass is an error.
        self.runs_once = any(node._ad_runs_once() for node in nodes)
        #: The memory that eager nodes save, so that a write to it is an error.
        self.saved_memory = [byte_bounds(array) for node in nodes for array in saved_arrays(node)]
        roots = []
        for output in self.outputs:
            array = output._array
            cotangent = numpy.ones_like(plain_array(array))
            self.cotangents.append(cotangent)
            roots.append(new_tensor(self.recording.capture_new(cotangent)))
        inputs = [self.externals[k].tensor for k in self.by]
        try:
            for choice in choices_of(len(self.outputs)):
                outputs, cotangents = [self.outputs[k] for k in choice], [roots[k] for k in choice]
                with pass_ends_at(inputs):
                    pulled = grad(outputs, inputs, cotangents, retain_graph=True, allow_unused=True)
                self.pulls.of[choice] = Pull(
                    [None if g is None else self.recording.in_main_memory(g._array) for g in pulled]
                )
        except Exception as error:
            # the caller may never request the gradient, or may give cotangents with a program
            self.recording.stop(f"has a gradient that cannot be computed for all cotangents ({error})")

    # making the programs ----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Make the programs. Raises Refused if the recording cannot be replayed."""
        self._check_surroundings()
        arrays = [external.array for external in self.externals]
        arrays += [self.recording.in_main_memory(gradient._array) for gradient in self.grads_before]
        self._add_gradients()
        lowering = self._lowering(arrays)
        values, *gradients = lowering.results
        self.n_results = len(values)
        externals, cotangents = lowering.externals[: len(arrays)], lowering.externals[len(arrays) :]
        instructions, saved, pack = lowering.instructions, [], None
        self.draws = any(getattr(instruction, "draws", False) for instruction in instructions)
        if self.has_history:
            halves = self._halves(lowering, externals, values, cotangents, gradients)
            values, copies = self._copy_results(values, halves, lowering.memory)
            instructions = halves.forward + copies
            pack = Pack(Pack.packable(halves.saved, instructions, values))
            pairs = pack.pairs(halves.saved, halves.entries)
            saved = [view for view, _ in pairs]
            entries = [*[entry for _, entry in pairs], *[lowering.externals[k] for k in halves.externals]]
            self._prepare_pulls(halves, cotangents, gradients, entries, pack)
        self.program = self._make_program(instructions, externals, [*values, *saved], pack)
        self._share_memory(values, saved)
        self._note_writes(instructions, externals)
        lowering.memory.release()
        self._forget()

    def _add_gradients(self) -> None:
        """Add the new gradients to the results."""
        #: New gradients, as (Tensor, number of the new array, or None).
        self.grads: list[tuple[External, int | None]] = []
        for external, effect in zip(self.externals, self.effects, strict=True):
            if isinstance(effect, str):
                self.grads.append((external, None))
            elif effect is not None:
                self.grads.append((external, len(self.results)))
                self.versions.append(version_of(external.tensor._grad))
                self.results.append(self.recording.in_main_memory(effect))

    def _lowering(self, arrays: list[Any]) -> Lowering:
        """The steps as instructions, for the arrays that the function gets."""
        recording = self.recording
        groups = [self.results, *[pull.results for pull in self.pulls.of.values()]]
        groups = [recording.outlines.of_all(group) for group in groups]
        lowering = Lowering(recording, arrays + self.cotangents, groups, self.reach.arrays)
        if any(view.buffer.kind == EXTERNAL for view in lowering.results[0]):
            raise Refused("returned a view of memory that was there before")
        self._check_device(lowering.instructions)
        return lowering

    def _halves(
        self,
        lowering: Lowering,
        externals: list[View],
        values: list[View],
        cotangents: list[View],
        gradients: list[list[View]],
    ) -> Halves:
        """The instructions of the forward and of the backward program."""
        try:
            return Halves(
                lowering.instructions,
                externals,
                values,
                {view.buffer.number for view in cotangents},
                [view for views in gradients for view in views],
                lowering.memory,
                self._budgets(lowering, values),
            )
        except Dependent:
            raise Refused(
                "has a gradient that looks at values, or that needs memory which the function writes into"
            ) from None

    def _prepare_pulls(
        self, halves: Halves, cotangents: list[View], gradients: list[list[View]], entries: list[View], pack: Pack
    ) -> None:
        """Prepare the backward programs. entries: saved values and externals, as they enter these programs."""
        self.read_again = halves.externals
        if halves.again is not None:
            all_bytes, saved_bytes = [
                sum([buffer.n_bytes for buffer in buffers.values()])
                for buffers in (halves.again.saved, halves.again.still_saved)
            ]
            self.saved_bytes = saved_bytes, all_bytes
        for (choice, pull), views in zip(self.pulls.of.items(), gradients, strict=True):
            pull.prepare(self._make_program, halves, [cotangents[k] for k in choice], entries, views, pack)

    def _note_writes(self, instructions: list[Any], externals: list[View]) -> None:
        """Note which arrays of the caller the program writes, and which may share memory with these."""
        dirty = {view.buffer.number for instruction in instructions for view in instruction.writes}
        arguments = {k for k, external in enumerate(self.externals) if external.position is not None}
        arrays = [external.tensor._array for external in self.externals]
        arrays += [gradient._array for gradient in self.grads_before]
        self.aliasing = Aliasing(externals, arrays, dirty, arguments)
        self.compares_memory = bool(self.aliasing or self.reach.contents)
        self.targets = [
            external for external, view in zip(self.externals, externals, strict=False) if view.buffer.number in dirty
        ]

    def _budgets(self, lowering: Lowering, values: list[View]) -> Budgets | None:
        """The budgets of the regions, None without any. Arrays of the caller's have no versions to check."""
        shares = self.recording.budgets
        if all(share is None for share in shares):
            return None
        pairs = zip(self.externals, lowering.externals, strict=False)
        unsteady = {view.buffer.number for e, view in pairs if e.position is not None and e.position in self.of_arrays}
        return Budgets(shares, lowering.regions, {view.buffer.number for view in values}, unsteady)

    def _copy_results(self, values: list[View], halves: Halves, memory: Memory) -> tuple[list[View], list[Any]]:
        """The results, and instructions that copy results that the first part saves but no eager node does."""
        saved = {view.buffer.number for view in halves.saved}
        shared: dict[int, list[int]] = {}
        for k, view in enumerate(values):
            if view.buffer.number in saved:
                shared.setdefault(view.buffer.number, []).append(k)
        copies: list[Any] = []
        values = list(values)
        for numbers in shared.values():
            owners = [byte_bounds(root_of(self.results[k])) for k in numbers]
            if any(low < end and begin < high for low, high in owners for begin, end in self.saved_memory):
                continue
            copy = whole_copy(values[numbers[0]], memory)
            copies.append(copy)
            for k in numbers:
                values[k] = values[k].replace(buffer=copy.out.buffer)
        return values, copies

    def _check_device(self, instructions: list[Any]) -> None:
        twins = self.recording.twins
        if twins is not None:
            why = device_program.missing_function(instructions, twins.xp)
            if why is not None:
                raise Refused(f"needs a function that is not there: {why}")

    def _make_program(self, *parts: Any) -> Program:
        """The program of instructions, for the device that the function's arrays lie on."""
        twins = self.recording.twins
        return Program(*parts) if twins is None else device_program.DeviceProgram(twins.device, *parts)

    @property
    def is_idle(self) -> bool:
        """True if the function has no result and no effect."""
        returns = any(each != (CONSTANT, None) for each in self.returned)
        return not (returns or self.targets or self.grads or self.draws or self.bumps)

    def _forget(self) -> None:
        """Let go of the recorded call: of its arguments, results and graph."""
        self.recording.steps.clear()
        self.recording.captures.clear()
        self.recording.originals.clear()
        if self.recording.twins is not None:
            self.recording.twins.forget()
        self.cotangents = [Model(array.shape, array.strides, array.dtype) for array in self.cotangents]
        for pull in self.pulls.of.values():
            pull.forget()
        for external in self.externals:
            external.forget()
        for parts in (self.results, self.outputs, self.effects, self.grads_before):
            parts.clear()
        self.of_arrays.clear()
        self.containers.clear()

    def _check_surroundings(self) -> None:
        why = self.reach.why_not()
        if why is not None:
            raise Refused(why, self.reach.has_grown)
        if self._has_hidden_tensor():
            raise Refused("uses a tensor that its variables, arguments and attributes do not lead to")
        if random_state() != self.random:
            raise Refused("drew random numbers of NumPy or of Python's random")

    def _has_hidden_tensor(self) -> bool:
        results, self._results = self._results, []
        adopted, self.recording.adopted = self.recording.adopted, []
        ids = {id(tensor) for tensor in results}
        ids |= {id(tensor._view.base) for tensor in results if tensor._view is not None}
        for external in self.externals:
            ids |= {id(tensor) for tensor in (external.tensor, external.tensor._grad, external.grad)}
        return has_hidden_tensor(adopted, ids, [tensor._node for tensor in results])

    # replays ----------------------------------------------------------------------------------------------------------

    @property
    def pays(self) -> bool:
        """False if after most replays the function had to run again for a gradient."""
        return self.n_histories < _FEW or 2 * self.n_histories < self.n_replays

    def time_parts(self, leaves: list[Any], repeats: int) -> list[float | None]:
        """The time of each region and call of the program, in seconds, the best of some runs; None if it writes."""
        if self.targets or self.grads or self.draws:
            return [None] * len(self.program.order)
        arrays = self.matcher.arrays(self.matcher.tensors(leaves))
        runs = [self.program.time_parts(arrays) for _ in range(repeats)]
        return [min(times) for times in zip(*runs, strict=True)]

    def replay(self, leaves: list[Any], structure: Any, call: Any) -> Any:
        """The results of the function, by the program. call: the arguments as a tree."""
        tensors = self.matcher.tensors(leaves)
        arrays = self.matcher.arrays(tensors)
        if self.compares_memory and not (self.aliasing.holds(arrays) and self.reach.is_unchanged()):
            raise CheckFailed
        values = self.forward(arrays)
        self.n_replays += 1
        result_tensors = self._tensors(values)
        if self.has_history:
            connect(self, result_tensors, values[self.n_results :], tensors, (leaves, structure))
        if self.is_simple:
            return self.structure.unflatten([result_tensors[value] for _, value in self.returned])
        for k, inputs in self.freed:
            connect_freed(self, result_tensors[k], [tensors[i] for i in inputs])
        for k, is_grad, times in self.bumps:
            target = tensors[k]._grad if is_grad else tensors[k]
            # another thread may have removed a gradient
            if isinstance(target, TensorBase):
                for _ in range(times):
                    bump_version(target)
        results = [self._result_of(kind, value, result_tensors, values, tensors) for kind, value in self.returned]
        if self.has_containers:
            containers = mutable_containers(call)
            pairs = zip(self.returned, results, strict=True)
            results = [containers[value] if kind is CONTAINER else result for (kind, value), result in pairs]
        for external, number in self.grads:
            tensor: Any = external.tensor if external.position is None else leaves[external.position]
            tensor._grad = None if number is None else result_tensors[number]
        return self.structure.unflatten(results)

    @staticmethod
    def _result_of(kind: str, value: Any, result_tensors: list[Any], values: list[Any], tensors: list[Any]) -> Any:
        """A member of the result of a replay."""
        if kind is TENSOR:
            return result_tensors[value]
        if kind is VIEW:
            return view_of(result_tensors[value[0]], *value[1:])
        if kind is LEAF:
            return result_tensors[value].requires_grad_()
        if kind is ARRAY:
            return values[value] if values[value].ndim else values[value][()]
        return tensors[value] if kind is SAME else value

    @property
    def constants(self) -> list[tuple[int, Any]]:
        """The results that are the same value at each call, with their numbers."""
        return [(k, value) for k, (kind, value) in enumerate(self.returned) if kind is CONSTANT]

    def forward(self, arrays: list[Any]) -> list[Any]:
        """Run the first program; where it fails, all is as before, and the function itself has to tell the error."""
        try:
            return self.program.run(arrays)
        except CheckFailed:
            raise
        except Exception as error:
            raise CheckFailed from error

    def _tensors(self, values: list[Any]) -> list[Any]:
        """The results of a program as Tensors, with the versions that they have in the function."""
        tensors = list(map(new_tensor, values[: self.n_results]))
        for k, first in self._in_memory_of:
            tensors[k]._counter = counter_of(tensors[first])
        for k, version in self._changed:
            for _ in range(version):
                bump_version(tensors[k])
        return tensors

    def _share_memory(self, values: list[View], saved: list[View]) -> None:
        """Note which results, and saved values, lie in memory of an earlier result."""
        first: dict[int, int] = {}
        for k, view in enumerate(values):
            first.setdefault(view.buffer.number, k)
        owners = [first[view.buffer.number] for view in values]
        #: (number of a result, number of the first result in its memory) for results that are not the first.
        self._in_memory_of = [(k, owner) for k, owner in enumerate(owners) if owner != k]
        #: (number of a result, version) for results that the function has modified.
        self._changed = [(k, n) for k, n in enumerate(self.versions) if n and owners[k] == k]
        #: For each saved value the number of the result that shares its memory, or None.
        self.saved_in_memory = [first.get(view.buffer.number) for view in saved]
        self.saves_results = any(number is not None for number in self.saved_in_memory)
        self.has_containers = any(kind is CONTAINER for kind, _ in self.returned)
        #: True if a replay does no more than to make Tensors.
        self.is_simple = not (self.freed or self.bumps or self.grads) and all(
            kind is TENSOR for kind, _ in self.returned
        )


def saved_arrays(node: Any) -> Iterator[Any]:
    """The NumPy arrays that a node saves."""
    for _, value in node._ad_saved_items():
        array = plain_array(value._array if isinstance(value, TensorBase) else getattr(value, "array", value))
        if type(array) is _ndarray:
            yield array


def has_lost_history(tensor: TensorBase) -> bool:
    """True for a view that must no longer be used, since its base was modified."""
    try:
        node_of(tensor)
    except RuntimeError:
        return True
    return False


def has_own_history(tensor: TensorBase) -> bool:
    """True for a view by a custom function, or with hooks: its steps from the base do not give its gradient."""
    node, end = node_of(tensor), node_of(tensor._view.base)
    while node is not None and node is not end:
        if not isinstance(node, OpNode) or is_hooked(node):
            return True
        node = node.next_functions[0][0]
    return False


def is_leaf(tensor: TensorBase) -> bool:
    """True for a Tensor that requires a gradient and has no history."""
    return bool(tensor.requires_grad and tensor._node is None and tensor._view is None)
