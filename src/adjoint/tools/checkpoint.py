"""Checkpoints: run part of a program without saving values for its backward pass, and run it again for that pass.

While a checkpointed function runs, the graph saves a `Placeholder` instead of each tensor. When the backward pass
unpacks the first placeholder, the function runs again, and the tensors that it saves now replace the placeholders.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import math
import operator
import threading
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.namespace import CPU, device_of
from adjoint.arrays.size import Size
from adjoint.core import errors
from adjoint.core.engine import run_number
from adjoint.core.graph import SavedTensor, TensorBase, needs_grad
from adjoint.core.modes import random
from adjoint.core.modes.batches import numbering
from adjoint.core.modes.draws import drawing_from
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.modes.interceptors import CHECKPOINT, Interceptor
from adjoint.core.modes.state import ATTRIBUTE, INTERCEPT, ModeBlock, current
from adjoint.core.recorded import OpNode, operations, pack_by_mode, save_input, unpack_saved
from adjoint.core.saved_hooks import saved_tensors_hooks
from adjoint.runtime import pytree
from adjoint.tensor.differentiate import needing_grad
from adjoint.tools.reentrant import checkpoint_reentrant
from adjoint.transforms import forward

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Contexts = tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]

REENTRANT_IS_OPEN = (
    "adjoint.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
    "recommended; without it, use_reentrant=True is assumed, as in torch."
)
UNPACKED_TWICE = (
    "adjoint.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
    "calling ctx.saved_tensors in backward, make sure to do so only once."
)
TOO_MANY = (
    "adjoint.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass."
)


class CheckpointError(RuntimeError):
    """The recomputation of a checkpointed function differed from its first run.

    The message says how: the number of saved tensors, or the shape, dtype and device of each that differs.
    """


class _Enough(BaseException):
    """Ends a recomputation that has saved all that is needed."""


class _Switches:
    """The settings that the context managers below make for all checkpoints inside them."""

    early_stop: bool | None = None
    debug: bool | None = None


class _switching(ModeBlock, contextlib.ContextDecorator):
    """A block that sets one of these modes."""

    def __init__(self, name: str, value: bool | None) -> None:
        self.name, self.value = name, value

    def _changes(self) -> Any:
        return ((ATTRIBUTE, self.name, (_Switches, self.value)),)


class GraphExecGroup:
    """A block whose backward passes run each checkpointed function again at most once, all together.

    The passes must not unpack the same saved tensors. Checkpoints with use_reentrant=True are not affected. Blocks
    of this kind do not nest: that raises RuntimeError.

    >>> import adjoint
    >>> from adjoint.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x, runs = adjoint.ones(2, requires_grad=True), []
    >>> a, b = checkpoint(lambda x: (runs.append(1), (x.exp(), x.sin()))[1], x, use_reentrant=False)
    >>> with GraphExecGroup():
    ...     a.sum().backward()
    ...     b.sum().backward()
    >>> len(runs)
    2
    """

    _numbers = itertools.count(2**62)  # above the numbers of passes
    _open = threading.local()

    def __enter__(self) -> None:
        if getattr(self._open, "number", None) is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested.")
        self._open.number = next(self._numbers)

    def __exit__(self, *error: object) -> None:
        self._open.number = None

    @classmethod
    def number_of_run(cls) -> int:
        """The number of the running backward pass, or of the group that it belongs to.

        It is -1 outside of backward passes.
        """
        group = getattr(cls._open, "number", None)
        return run_number() if group is None else group


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The numbers of the CUDA devices that tensors among the arguments lie on, with the states of their generators.

    One generator draws for all devices: see `adjoint.cuda.get_rng_state`.

    >>> import adjoint
    >>> adjoint.utils.checkpoint.get_device_states(adjoint.ones(2))
    ([], [])
    """
    devices = sorted({x.get_device() for x in pytree.flatten(args)[0] if isinstance(x, TensorBase) and x.is_cuda})
    return devices, [random.get_rng_state() for _ in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: str | None = None) -> None:
    """Set the states of the generators of devices.

    devices: their numbers. states: one state for each, from `get_device_states`.
    device_type: accepted for programs written for torch.
    """
    for _, state in zip(devices, states, strict=True):
        random.set_rng_state(state)


def set_checkpoint_early_stop(enable: bool) -> contextlib.AbstractContextManager[None]:
    """A block whose checkpoints stop recomputation as soon as everything needed was recomputed, or do not.

    >>> import adjoint
    >>> from adjoint.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(adjoint.exp, x, use_reentrant=False)
    """
    return _switching("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> contextlib.AbstractContextManager[None]:
    """A block that sets `debug` for all checkpoints in it.

    enabled: True lists all operations of both runs in errors, False does not, None leaves it to each checkpoint.
    """
    return _switching("debug", enabled)


def noop_context_fn() -> Contexts:
    """Two context managers that do nothing, for the two runs of a checkpoint.

    It is the default of `context_fn` in `checkpoint`.
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


class Placeholder:
    """The placeholder of one saved tensor.

    number: its number in one run of the function. owner: the operation that saved it; None for a custom function.
    """

    __slots__ = ("__weakref__", "number", "owner")

    def __init__(self, number: int, owner: int | None) -> None:
        self.number, self.owner = number, owner


class Note:
    """The record of a saved tensor, for the comparison of both runs: its kind, and the operation that saved it."""

    __slots__ = ("dtype", "operation", "shape")

    def __init__(self, tensor: Tensor) -> None:
        self.shape = tensor._array.shape
        self.dtype = tensor._array.dtype
        node = current().saving
        self.operation = "an operation" if node is None else errors.name_of(node)

    def fits(self, other: Note) -> bool:
        """True if both are of one shape and dtype."""
        return bool(self.shape == other.shape and self.dtype == other.dtype)

    def metadata(self) -> str:
        """Shape, dtype and device, as torch shows them."""
        dtype = from_numpy_dtype(self.dtype)
        return f"{{'shape': {Size(self.shape)}, 'dtype': {dtype}, 'device': device(type='cpu')}}"

    def __str__(self) -> str:
        return f"{from_numpy_dtype(self.dtype)} of shape {tuple(self.shape)}, saved by {self.operation}"


class Region:
    """One call of a checkpointed function."""

    def __init__(
        self, function: Callable[..., Any], args: Any, kwargs: Any, again: Callable[[], Any], **options: Any
    ) -> None:
        self.function = function
        # the levels of forward mode that it takes part in: their tangents are recomputed, too
        self.levels = () if current().forward_off else current().dual_stack
        # levels of Taylor mode propagate series
        self.propagations = {n: forward.propagation_of(n) for n in self.levels}
        # tensors are saved as the graph saves them, so that outer checkpoints hold placeholders of them
        self.arguments = pytree.map(lambda value: _keep(value, self.levels), (args, kwargs))
        self.again = again
        # the levels of the batches that the first run runs
        self.batches: list[int] = []
        self.early_stop: bool = options["early_stop"]
        self.check: bool = options["check"]
        self.debug: bool = options["debug"]
        self.random_state = random.get_rng_state() if options["preserve_rng_state"] else None
        self.references: list[weakref.ref[Placeholder]] = []
        self.notes: list[Note] = []
        self.stopped_early = False
        # recomputed tensors, by the numbers of the backward pass and of the placeholder
        self.recomputed: dict[int, dict[int, Tensor]] = {}
        # the last node that unpacked tensors, and these tensors: several formulas of a node may unpack the same tensor
        self.asking_node: int | None = None
        self.handed_out: dict[tuple[int, int], Tensor] = {}

    def pack(self, tensor: Tensor) -> Placeholder:
        """A placeholder for a saved tensor; the tensor itself is not kept."""
        node = current().saving
        placeholder = Placeholder(len(self.references), id(node) if isinstance(node, OpNode) else None)
        self.references.append(weakref.ref(placeholder))
        self.notes.append(Note(tensor))
        return placeholder

    def unpack(self, placeholder: Placeholder) -> Tensor:
        """The tensor of a placeholder. The function runs again if this backward pass has not recomputed it yet."""
        number = GraphExecGroup.number_of_run()
        if placeholder.owner is None or placeholder.owner != self.asking_node:
            self.asking_node, self.handed_out = placeholder.owner, {}
        elif (number, placeholder.number) in self.handed_out:
            return self.handed_out[number, placeholder.number]
        if number not in self.recomputed:
            # only this pass and the passes around it can unpack further tensors
            self.recomputed = {n: value for n, value in self.recomputed.items() if 0 <= n < number and value}
            self.recomputed[number] = self.recompute()
        value = self.recomputed[number]
        if placeholder.number not in value:
            raise CheckpointError(UNPACKED_TWICE)
        if number < 0:
            # outside of backward passes each unpacking recomputes
            return self.recomputed.pop(number)[placeholder.number]
        tensor = value.pop(placeholder.number)
        if placeholder.owner is not None:
            self.handed_out[number, placeholder.number] = tensor
        return tensor

    def recompute(self) -> dict[int, Tensor]:
        """Run the function again; the tensors that it saves, by their places."""
        saved: dict[int, Tensor] = {}
        notes: list[Note] = []

        def pack(tensor: Tensor) -> Tensor:
            number = len(notes)
            notes.append(Note(tensor))
            if number < len(self.references) and self.references[number]() is not None:
                saved[number] = tensor.detach()
            if self.early_stop and number + 1 >= len(self.references):
                raise _Enough
            return tensor.detach()

        with (
            _in_levels(self.levels, self.propagations) as levels,
            numbering(self.batches),
            drawing_from(self.random_state),
            enable_grad(),
            self.again(),
            saved_tensors_hooks(pack, lambda packed: packed),
            contextlib.suppress(_Enough),
        ):
            args, kwargs = pytree.map(lambda value: _take(value, levels), self.arguments)
            self.function(*args, **kwargs)
        self.compare_numbers(notes)
        if self.check:
            self.compare(notes)
        return saved

    def compare_numbers(self, notes: list[Note]) -> None:
        """Raise CheckpointError if the two runs saved different numbers of tensors."""
        if len(notes) > len(self.notes):
            raise CheckpointError(TOO_MANY + self.explanation(notes))
        if len(notes) < len(self.notes):
            raise CheckpointError(
                "adjoint.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.notes)}\nNumber of tensors saved "
                f"during recomputation: {len(notes)}." + self.explanation(notes)
            )

    def compare(self, notes: list[Note]) -> None:
        """Raise CheckpointError if the two runs, which saved equally many tensors, saved others."""
        differing = [
            f"tensor at position {i}:\nsaved metadata: {first.metadata()}\nrecomputed metadata: {second.metadata()}"
            for i, (first, second) in enumerate(zip(self.notes, notes, strict=True))
            if not first.fits(second)
        ]
        if differing:
            raise CheckpointError(
                "adjoint.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "\n".join(differing) + self.explanation(notes)
            )

    def explanation(self, notes: list[Note]) -> str:
        """The first operation that differs, and with debug, all operations of both runs."""
        runs = {"first run": self.notes, "recomputation": notes}
        n = min(map(len, runs.values()))
        first = next((i for i in range(n) if not self.notes[i].fits(notes[i])), n)
        text = "\nThe first difference: " + "; ".join(
            f"in the {name}, " + (str(run[first]) if first < len(run) else "nothing more was saved")
            for name, run in runs.items()
        )
        text += ". The function must do the same both times: look for state that it changes or reads."
        if self.debug:
            for name, run in runs.items():
                text += f"\nSaved during the {name}:" + "".join(f"\n  {i}: {note}" for i, note in enumerate(run))
        return text


def renew(propagation: forward.Propagation | None) -> forward.Propagation | None:
    """The propagation of tangents at a level, which replaces one that has ended."""
    return None if propagation is None else type(propagation)()


@contextlib.contextmanager
def _in_levels(numbers: tuple[int, ...], propagations: dict[int, Any]) -> Iterator[dict[int, int]]:
    """Run with exactly these levels of forward mode; new levels replace those that have ended."""
    with contextlib.ExitStack() as ended:
        levels = {
            n: n if forward.is_open(n) else ended.enter_context(forward.level(renew(propagations[n]))) for n in numbers
        }
        with forward.outside(tuple(levels.values())):
            yield levels


class _Argument:
    """A tensor that a checkpointed function was given, with its tangents by their levels."""

    __slots__ = ("saved", "tangents")

    def __init__(self, saved: SavedTensor, tangents: dict[int, Any]) -> None:
        self.saved, self.tangents = saved, tangents


def _keep(value: Any, levels: tuple[int, ...]) -> Any:
    """An argument of a checkpointed function as the region keeps it."""
    if not isinstance(value, TensorBase):
        return value
    saved = save_input(value)
    saved.original = value
    pack_by_mode(saved, value, None)
    tangents = {n: forward.tangent_of(value, n) for n in levels}
    return _Argument(saved, {n: _keep(t, levels) for n, t in tangents.items() if t is not None})


def _take(value: Any, levels: dict[int, int]) -> Any:
    """The argument again: a tensor without the history outside of the region, with its tangents."""
    if not isinstance(value, _Argument):
        return value
    tensor = unpack_saved(value.saved, None)
    twin = tensor.detach()
    twin = needing_grad(twin) if needs_grad(tensor) else twin
    for n, tangent in value.tangents.items():
        forward.set_tangent(twin, levels[n], _take(tangent, levels))
    return twin


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` without saving values for its backward pass, which runs the function again.

    Args:
        function: must repeat its computation when it runs with the same arguments.
        use_reentrant: False records the graph and recomputes the saved values. It supports all modes of
            differentiation, any nesting and any arguments. True runs the function without recording and calls backward
            inside backward. It works only with `backward()`, and differentiates only by tensors among args. None warns
            and means True.
        context_fn: returns two context managers, one for each run (only with use_reentrant=False).
        determinism_check: "default" compares shapes and dtypes of both runs, "none" does not.
        debug: errors list all saved tensors of both runs.
        early_stop: end the recomputation as soon as all needed values are recomputed.
        preserve_rng_state: both runs draw the same random numbers.

    Raises:
        CheckpointError: during backward, if the recomputation differed; it names the first operation that did.
        ValueError: unknown arguments.

    >>> import adjoint
    >>> from adjoint.utils.checkpoint import checkpoint
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([5.4366, 5.4366])
    """
    if use_reentrant is None:
        warnings.warn(REENTRANT_IS_OPEN, stacklevel=2)
        use_reentrant = True
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return checkpoint_reentrant(function, preserve_rng_state, args)
    forward, again = context_fn()
    region = Region(
        function,
        args,
        kwargs,
        lambda: again,
        early_stop=early_stop if _Switches.early_stop is None else _Switches.early_stop,
        check=determinism_check == "default",
        debug=debug if _Switches.debug is None else _Switches.debug,
        preserve_rng_state=preserve_rng_state,
    )
    if not current().grad_enabled:
        with forward:
            return function(*args, **kwargs)
    with saved_tensors_hooks(region.pack, region.unpack), numbering(region.batches), forward:
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions in sequence, in `segments` checkpointed parts of equal length; the last part saves its values.

    >>> import adjoint
    >>> from adjoint.utils.checkpoint import checkpoint_sequential
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> checkpoint_sequential([adjoint.exp, adjoint.sin, adjoint.exp], 2, x, use_reentrant=False)
    tensor([1.5080, 1.5080], grad_fn=<ExpBackward0>)
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        warnings.warn(REENTRANT_IS_OPEN, stacklevel=2)
        use_reentrant = True
    functions = list(functions.children() if hasattr(functions, "children") else functions)
    size = len(functions) // segments

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in functions[start:end]:
                value = function(value)
            return value

        return run

    for start in range(0, size * (segments - 1), size or 1):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(size * (segments - 1), len(functions))(input)


def checkpoint_chain(steps: Sequence[Callable[[Any], Any]], input: Any, *, snapshots: int) -> Any:
    """Call `steps` in sequence, with at most `snapshots` intermediate values in memory.

    The backward pass recomputes steps from the nearest snapshot by the binomial schedule, which is optimal: with n
    steps and s snapshots, each step runs at most t + 1 times, for the smallest t with binomial(s + t, s) >= n. So a
    chain of 1,000 steps needs 10 snapshots and at most 5 runs of each step.

    Source: A. Griewank, A. Walther, "Algorithm 799: revolve", ACM Trans. Math. Softw. 26 (2000) 19-45.

    Args:
        steps: functions of one value (a tensor or a pytree of them) to the next.
        input: the first value.
        snapshots: at least 1.

    >>> import adjoint
    >>> from adjoint.utils.checkpoint import checkpoint_chain
    >>> x = adjoint.tensor(0.5, requires_grad=True)
    >>> checkpoint_chain([adjoint.sin] * 100, x, snapshots=4).backward()
    >>> x.grad
    tensor(0.0328)
    """
    snapshots = operator.index(snapshots)
    if snapshots < 1:
        raise ValueError(f"snapshots must be at least 1, got {snapshots}: the input itself is one")
    return _chain(steps, 0, len(steps), snapshots, input)


def _chain(steps: Sequence[Callable[[Any], Any]], start: int, end: int, snapshots: int, value: Any) -> Any:
    """Steps start to end, with the left part as a checkpoint; it is reversed last, when its snapshot is free again."""
    while end - start > 1:
        middle = start + _left_part(end - start, snapshots)
        value = checkpoint(
            lambda value, start=start, middle=middle, snapshots=snapshots: _chain(
                steps, start, middle, snapshots, value
            ),
            value,
            use_reentrant=False,
        )
        start, snapshots = middle, max(snapshots - 1, 1)
    return steps[start](value) if end > start else value


def _left_part(n: int, snapshots: int) -> int:
    """The number of n steps that the binomial schedule puts before the next snapshot.

    >>> _left_part(10, 1), _left_part(10, 3)
    (9, 4)
    """
    if snapshots <= 1:
        return n - 1
    repeats = next(t for t in range(n + 1) if math.comb(snapshots + t, snapshots) >= n)
    return max(1, min(n - 1, math.comb(snapshots + repeats - 1, snapshots)))


# selective ---------------------------------------------------------------------------------------------------------


class CheckpointPolicy(enum.Enum):
    """The treatment of an operation's result in a selective checkpoint: stored or recomputed.

    CPU_OFFLOAD moves it to the host's memory, and back to its device for the recomputation. A result in the host's
    memory stays there, as with SAVE.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


#: Operations without computation, which a selective checkpoint never passes to its policy.
SAC_IGNORED_OPS: frozenset[str] = frozenset(("detach",))

_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_OFFLOADED = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """The first argument of a policy of selective checkpoints.

    is_recompute: True during the recomputation. op_output: the result of the operation's first run, or None.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., CheckpointPolicy | bool] | Sequence[Any],
    allow_cache_entry_mutation: bool = False,
) -> Contexts:
    """Two context managers for `checkpoint(context_fn=...)` that keep the results of some operations.

    Args:
        policy_fn_or_list: names of operations ("mm") or their functions (adjoint.mm) whose results are kept; or a
            function of (context, operation, *arguments) that returns a CheckpointPolicy (or True for MUST_SAVE). The
            operation has a `name`, the arguments are arrays and plain values in the order of its signature.
        allow_cache_entry_mutation: True lets the function modify kept results in place, which makes the recomputation
            wrong; False keeps copies.

    >>> import functools, adjoint
    >>> from adjoint.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, ["mm"])
    >>> x = adjoint.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    elif not isinstance(policy_fn_or_list, (list, tuple)):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    else:
        names = {_name_of(entry) for entry in policy_fn_or_list}

        def policy(context: Any, operation: Any, *arguments: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if operation.name in names else CheckpointPolicy.PREFER_RECOMPUTE

    stored: defaultdict[str, list[Any]] = defaultdict(list)

    def first_run(operation: Any, raw: list[Any], run: Callable[[], Any]) -> Any:
        outs = run()
        decision = policy(SelectiveCheckpointContext(is_recompute=False, op_output=outs), operation, *raw)
        if decision is True or decision in _SAVED or decision in _OFFLOADED:
            stored[operation.name].append(_StoredResults(outs, decision in _OFFLOADED, not allow_cache_entry_mutation))
        else:
            stored[operation.name].append(None)
        return outs

    counts: defaultdict[str, int] = defaultdict(int)

    def recomputation(operation: Any, raw: list[Any], run: Callable[[], Any]) -> Any:
        number = counts[operation.name]
        counts[operation.name] += 1
        results = stored[operation.name]
        if number >= len(results) or results[number] is None:
            return run()
        return results[number].on_original_devices()

    return _Selective(first_run), _Selective(recomputation, counts.clear)


def _name_of(entry: Any) -> str:
    name = entry if isinstance(entry, str) else getattr(entry, "__name__", None)
    if name is None:
        raise TypeError(f"operations are given by their functions or names, but got {type(entry).__name__}")
    return str(name)


class _StoredResults:
    """The results of an operation, stored until the recomputation: on their device, or in host memory."""

    def __init__(self, outs: Any, offloaded: bool, copied: bool) -> None:
        self.is_sequence = isinstance(outs, (list, tuple))
        arrays = outs if self.is_sequence else [outs]
        self.devices = [device_of(array) for array in arrays]
        copies = [_on_device(array, CPU) for array in arrays] if offloaded else arrays
        self.arrays = [
            array.copy() if copied and array is before else array for array, before in zip(copies, arrays, strict=True)
        ]

    def on_original_devices(self) -> Any:
        """The results on their original devices."""
        arrays = [_on_device(array, device) for array, device in zip(self.arrays, self.devices, strict=True)]
        return arrays if self.is_sequence else arrays[0]


def _on_device(array: Any, target: Any) -> Any:
    """An array, which may be of a batch, on another device; itself where it lies there already."""
    source = device_of(array)
    return array if source == target else operations["move"].run([array, target, source], None)


class _Selective(ModeBlock):
    """A block in which a function of the operation, the raw arguments and the kernel's call runs each kernel."""

    def __init__(self, run: Callable[..., Any], begin: Callable[[], None] = lambda: None) -> None:
        self.interceptor = _StoredKernels(run)
        self.begin = begin

    def _changes(self) -> Any:
        self.begin()
        return ((INTERCEPT, "interceptors", (CHECKPOINT, self.interceptor)),)


class _StoredKernels(Interceptor):
    def __init__(self, run: Callable[..., Any]) -> None:
        super().__init__(CHECKPOINT)
        self.run = run

    def kernel(self, operation: Any, raw: list[Any], half: Any) -> Any:
        return self.run(operation, raw, lambda: operation.proceed_to_kernel(raw, half, self.position))

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        # a tensor that is written into is not stored: this interceptor leaves the chain
        with _KernelsOfNoCheckpoint():
            return operation.proceed_in_place(values, self.position)


class _KernelsOfNoCheckpoint(ModeBlock):
    """A block without the checkpoint's interceptor in the chain."""

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (CHECKPOINT, None)),)
