"""`adjoint.compile`: functions that are recorded at their first call and replayed at the next."""

from __future__ import annotations

import copy
import functools
import inspect
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import numpy

from adjoint.compilation.budgets import call_as_is
from adjoint.compilation.entry import CONSTANTS, Entry, Refused
from adjoint.compilation.explanation import Explanation
from adjoint.compilation.matching import is_plain_thread, same_value
from adjoint.compilation.pieces import Pieces, pieces_of
from adjoint.compilation.recordings.reach import STAND_INS, Reach
from adjoint.compilation.recordings.recording import Recording, Unsupported, running_recording
from adjoint.core.graph import TensorBase
from adjoint.core.holders import TensorHolder
from adjoint.core.modes.interceptors import PROGRAM, Interceptor
from adjoint.core.modes.profiling import sole_profiler
from adjoint.core.modes.state import INTERCEPT, ModeBlock, current
from adjoint.program.plain_region import CheckFailed
from adjoint.runtime.caches import memoize, reset_with
from adjoint.runtime.forks import new_lock
from adjoint.runtime.once import warn_caller
from adjoint.runtime.pytree import flatten

_ndarray = numpy.ndarray
#: So many recordings has a function; calls of further kinds run it as it is.
MOST_RECORDINGS = 8
#: The number of kinds of calls with recordings; further kinds run eagerly.
MOST_REFUSED = 1024
#: How many recordings may end because a container grew, as the state of an optimizer does at its first step.
MOST_GROWTHS = 2
#: A piece of a function with fewer steps of arrays is as quick without a replay.
FEWEST_STEPS = 16
UNSUPPORTED = "adjoint.compile: {name} cannot be recorded as a whole: it {why}"
NOTHING = "adjoint.compile: {name} returns nothing and changes no tensor, so there is nothing to replay"
_every: weakref.WeakSet[Compiled] = weakref.WeakSet()


class Compiled:
    """A function that is recorded once for each kind of arguments, and replayed.

    is_piece: it is a piece of a function; it gives no warnings and is replayed only if that is faster. gives_variables:
    its results are variables of that function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        fullgraph: bool = False,
        is_piece: bool = False,
        gives_variables: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.is_piece, self.gives_variables = is_piece, gives_variables
        #: The function in pieces, around a statement that cannot be replayed; None where it stays whole.
        self.pieces: Pieces | None = None
        #: How often values were others in replays, by the line of the function.
        self._failures: Counter[int] = Counter()
        #: The recordings, the newest first; another tuple after each change, so that threads go through one in peace.
        self.entries: tuple[Entry, ...] = ()
        #: Why calls of some kinds run as they are, by kind.
        self.refused: dict[Any, str] = {}
        #: How many recordings ended because a container grew.
        self._n_growths = 0
        #: Held by the thread that records.
        self._recording = new_lock()
        _every.add(self)

    @property
    def n_recordings(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<compiled {name_of(self.function)}: {count(self.n_recordings, 'recording')}>"

    def __reduce__(self) -> Any:
        # recordings are of this process: a copy makes its own
        return Compiled, (self.function, self.fullgraph, self.is_piece, self.gives_variables)

    def __deepcopy__(self, memo: Any) -> Compiled:
        return Compiled(copy.deepcopy(self.function, memo), self.fullgraph, self.is_piece, self.gives_variables)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_plain = is_plain_thread()
        if not is_plain and sole_profiler(current()) is None:
            return call_as_is(self.function, args, kwargs)
        if not kwargs and all(map(_is_leaf, args)):
            leaves, structure = list(args), flat_structure(len(args))
        else:
            leaves, structure = flatten((args, kwargs))
            if any(isinstance(leaf, TensorHolder) for leaf in leaves):
                # compile the enclosing transformation or solver instead
                return call_as_is(self.function, args, kwargs)
        entries = self.entries
        for entry in entries:
            if entry.structure_in is structure or entry.structure_in == structure:
                matcher = entry.matcher
                if matcher.fits(leaves) and matcher.holds(leaves):
                    if entry.is_on_trial and not self._passes(entry):
                        return self._try(entry, leaves, structure, args)
                    if entry.n_histories and not entry.pays:
                        return call_as_is(self.function, args, kwargs)
                    try:
                        return entry.replay(leaves, structure, (args, kwargs))
                    except CheckFailed as failed:
                        if failed.function_line is not None:
                            self._failures[failed.function_line] += 1
        # under a profiler nothing is recorded, so that it sees the operations; one thread records at a time
        if not is_plain:
            return call_as_is(self.function, args, kwargs)
        if self.is_refused(leaves, structure):
            return call_as_is(self.function if self.pieces is None else self.pieces, args, kwargs)
        if not self._recording.acquire(blocking=False):
            return call_as_is(self.function, args, kwargs)
        try:
            # another thread may have recorded this very call since
            return (
                self.record(leaves, structure, (args, kwargs))
                if self.entries is entries
                else call_as_is(self.function, args, kwargs)
            )
        finally:
            self._recording.release()

    @staticmethod
    def _passes(entry: Entry) -> bool:
        """True for a recording whose results are no numbers."""
        entry.is_on_trial = any(type(value) in _NUMBERS for _, value in entry.constants)
        return not entry.is_on_trial

    def _try(self, entry: Entry, leaves: list[Any], structure: Any, args: tuple[Any, ...]) -> Any:
        """Call the function eagerly, and compare its numbers with the recorded ones."""
        results = call_as_is(self.function, args, {})
        if all(same_value(results[k], value) for k, value in entry.constants):
            entry.is_on_trial = False
        else:
            self.entries = tuple([other for other in self.entries if other is not entry])
            self.refuse(key_of(leaves, structure), "gives other numbers at each call")
        return results

    def entry_for(self, leaves: list[Any], structure: Any) -> Entry | None:
        """The newest recording that holds for some arguments, before its checks of values."""
        for entry in self.entries:
            if entry.structure_in == structure and entry.matcher.fits(leaves) and entry.matcher.holds(leaves):
                return entry
        return None

    def record(self, leaves: list[Any], structure: Any, call: Any) -> Any:
        """Call the function and record it."""
        key = key_of(leaves, structure)
        reach = Reach(self.function)
        for leaf in leaves:
            if not isinstance(leaf, (TensorBase, _ndarray, *CONSTANTS)):
                reach.add(leaf)
        recording = Recording(self.fullgraph, getattr(self.function, "__code__", None))
        entry = Entry(self.function, recording, reach, leaves, structure, self.gives_variables)
        result = entry.record(leaves, structure, call)
        if recording.is_dropped:
            return result
        if self.is_piece and recording.reason is None and len(recording.steps) < FEWEST_STEPS:
            recording.reason = "is too short for a replay to pay"
        if recording.reason is None:
            try:
                entry.finish()
            except Refused as why:
                if why.is_growth and self._n_growths < MOST_GROWTHS:
                    self._n_growths += 1
                    return result
                recording.reason = str(why)
        if recording.reason is None and entry.is_idle:
            if not self.is_piece:
                raise TypeError(NOTHING.format(name=name_of(self.function)))
            recording.reason = "returns nothing and changes no tensor"
        if recording.reason is None:
            self.entries = (entry, *self.entries)
        elif self.fullgraph:
            raise Unsupported(UNSUPPORTED.format(name=name_of(self.function), why=recording.why()))
        else:
            self._take_apart(recording.function_line)
            self.refuse(key, recording.why())
        return result

    def _take_apart(self, line: int | None) -> None:
        """Take the function apart around the statement at a line, if there is one and it can be."""
        if line is not None and self.pieces is None:
            self.pieces = pieces_of(self.function, line, _piece)

    def is_refused(self, leaves: list[Any], structure: Any) -> bool:
        """Whether calls of this kind run as they are, because they cannot be recorded or have been too often."""
        if not self.refused and self.n_recordings < MOST_RECORDINGS:
            return False
        if len(self.refused) >= (MOST_RECORDINGS if self.is_piece else MOST_REFUSED):
            return True
        key = key_of(leaves, structure)
        if key not in self.refused and self.n_recordings >= MOST_RECORDINGS:
            for line, times in self._failures.most_common(1):
                if times >= MOST_RECORDINGS - 1:
                    self._take_apart(line)
            self.refuse(key, f"was recorded {MOST_RECORDINGS} times, each time for other values or shapes")
        return key in self.refused

    def refuse(self, key: Any, why: str) -> None:
        """Let calls of one kind run as they are, and say so once."""
        if not (self.refused or self.is_piece):
            name = name_of(self.function)
            if self.pieces is None:
                warn_caller(f"adjoint.compile: {name} runs as it is, without a recording: it {why}")
            else:
                warn_caller(
                    f"adjoint.compile: {name} is replayed in pieces: the statement at line {self.pieces.line} runs as "
                    f"it is, since the function {why}"
                )
        self.refused[key] = why

    def reset(self) -> None:
        """Forget all recordings."""
        self.entries = ()
        self.refused.clear()
        self.pieces = None
        self._n_growths = 0
        self._failures.clear()

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """A text with the program for these arguments and its times. The function runs, and is recorded if needed.

        >>> import adjoint
        >>> f = adjoint.compile(lambda x: (x * 2).tanh())
        >>> print(f.explain(adjoint.ones(3)).regions[0])
        region of (3,): multiply, tanh
        """
        leaves, structure = flatten((args, kwargs))
        entry = self.entry_for(leaves, structure)
        if entry is None:
            self(*args, **kwargs)
            entry = self.entry_for(leaves, structure)
        reason = next(iter(self.refused.values()), None)
        if reason is not None and self.pieces is not None:
            reason += f"; {self.pieces}"
        return Explanation(name_of(self.function), entry, leaves, None if entry else reason)


# what sees a compiled function sees the function, whose recordings come and go
STAND_INS[Compiled] = "function"
_NUMBERS = (int, float, complex, str, bytes)
_LEAVES = (TensorBase, _ndarray, float, int, str)


def _is_leaf(value: Any) -> bool:
    """True for an argument that is no container, and holds no Tensor."""
    return isinstance(value, _LEAVES)


@memoize()
def flat_structure(n: int) -> Any:
    """The structure of n arguments that are no containers."""
    return flatten(((0,) * n, {}))[1]


def _piece(function: Callable[..., Any], gives_variables: bool) -> Compiled:
    return Compiled(function, False, True, gives_variables)


def key_of(leaves: list[Any], structure: Any) -> Any:
    """The kind of a call."""
    return (structure, current().grad_enabled, *[part_of_key(leaf) for leaf in leaves])


def part_of_key(leaf: Any) -> Any:
    """The properties of an argument for which a recording holds."""
    if isinstance(leaf, TensorBase):
        array, grad = leaf._array, leaf._grad
        grad_layout = None if grad is None else (grad._array.shape, grad._array.strides, grad._array.dtype)
        return (
            type(leaf),
            type(array),
            array.dtype,
            array.shape,
            getattr(array, "strides", None),
            leaf._requires,
            leaf._node is None,
            grad_layout,
        )
    if type(leaf) is _ndarray:
        return _ndarray, leaf.dtype, leaf.shape, leaf.strides
    if isinstance(leaf, CONSTANTS):
        return type(leaf), repr(leaf) if type(leaf) in (float, complex) else leaf
    return type(leaf), id(leaf)


def name_of(function: Any) -> str:
    """How messages call a function."""
    return str(
        getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
    )


def count(n: int, noun: str) -> str:
    """A number with its noun."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


class _Bypass(Interceptor):
    """Makes a thread's state unusual, so that compiled functions run eagerly; it has no other effect."""


class bypassing(ModeBlock):
    """A with block in which compiled functions run eagerly."""

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (PROGRAM, _Bypass(PROGRAM))),)


# the public functions -------------------------------------------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A function that records `model` at its first call, and replays it at later calls without Python.

    model: a function of Tensors, or of NumPy arrays and numbers. It may also be a whole training step that computes a
    loss, calls `backward` or a gradient, and writes to parameters. For a module, a module that wraps it is returned.
    Arguments and results may be trees. Without a model, a decorator is returned.
    fullgraph: if a call cannot be recorded, raise `adjoint.compiler.Unsupported`, which names the line; otherwise the
    function runs eagerly, after one warning. disable: return the model unchanged. dynamic, backend, mode and options:
    accepted for programs written for torch, without effect. Each shape gets its own recording, up to eight, and no
    compiler is used.

    The first call runs the function and records it, forward and backward. Each further call with the same kinds of
    arguments (shapes, dtypes, strides, modes) replays the recording. Its results, gradients, writes and random numbers
    equal those of the function. Each call reads the present values of Tensors that the function uses, such as
    parameters. If a variable, an attribute or a value that the function read has changed, a new recording is made.
    Effects of Python code, such as printing, happen only in the recorded call.

    Raises TypeError if `model` is no function, or a generator or coroutine, and for a backend that is a function;
    RuntimeError for a mode that torch does not have.

    >>> import adjoint
    >>> @adjoint.compile
    ... def f(x):
    ...     return (x * 2).tanh().sum()
    >>> x = adjoint.ones(3, requires_grad=True)
    >>> f(x), f(x)
    (tensor(2.8921, grad_fn=<SumBackward0>), tensor(2.8921, grad_fn=<ReplayBackward>))
    """
    _check_options(backend, mode, options)
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, disable=disable)
    if disable or isinstance(model, Compiled):
        return model
    if not callable(model) or isinstance(model, type):
        raise TypeError(f"adjoint.compile: expected a function or a module, got {model!r:.80}")
    if inspect.isgeneratorfunction(model) or inspect.iscoroutinefunction(model) or inspect.isasyncgenfunction(model):
        raise TypeError(
            f"adjoint.compile: {name_of(model)} is a generator or a coroutine, which runs in pieces; "
            "give a plain function"
        )
    compiled = Compiled(model, fullgraph)
    # a module stays one
    as_module = getattr(model, "replayed_by", None)
    return compiled if as_module is None else as_module(compiled)


def _check_options(backend: Any, mode: str | None, options: dict[str, Any] | None) -> None:
    """Raise for options of torch.compile that it refuses, too, and for a backend that would have to be called."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if not isinstance(backend, str):
        raise TypeError(
            f"adjoint.compile: backend must be a name, not {backend!r:.80}: a function would get graphs of torch.fx, "
            "which are left out"
        )


#: The modes that torch.compile has.
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def reset() -> None:
    """Forget the recordings of all compiled functions, and the memory that they keep.

    >>> import adjoint
    >>> adjoint.compiler.reset()
    """
    for compiled in list(_every):
        compiled.reset()


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function in which compiled functions run eagerly. Without an argument, a decorator.

    recursive: if False, only the function itself runs eagerly, and compiled functions that it calls are replayed.
    reason: a note for readers.

    >>> import adjoint
    >>> f = adjoint.compiler.disable(adjoint.compile(lambda x: x * 2))
    >>> f(adjoint.ones(1))
    tensor([2.])
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    function = fn.function if isinstance(fn, Compiled) else fn
    if not recursive:
        return function

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with bypassing():
            return function(*args, **kwargs)

    return plain


def is_compiling() -> bool:
    """True while a compiled function is being recorded.

    >>> import adjoint
    >>> adjoint.compiler.is_compiling()
    False
    """
    return running_recording() is not None


reset_with(reset)
