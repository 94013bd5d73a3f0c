"""Anomaly mode: nodes remember where they were made, and a backward pass names the node that failed or made NaN."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

from numpy import ndarray

from adjoint.arrays.namespace import namespace, underlying
from adjoint.core import errors
from adjoint.core.graph import Node, TensorBase
from adjoint.core.locations import Location
from adjoint.core.modes.finite import watch_forward
from adjoint.core.modes.interceptors import ANOMALY, Interceptor
from adjoint.core.modes.state import ALL_THREADS, ModeBlock, current, set_anomaly
from adjoint.runtime.once import warn_caller

ENABLED = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
)
NO_FORWARD = "No forward pass information available. Enable detect anomaly during forward pass for more information."
ERROR_OF_FORWARD = "Error detected in {}. Traceback of forward call that caused the error:\n{}"
INDUCED = (
    "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the previous calculation:\n{}"
)
#: Operations that choose, with a way to keep NaN out of the branch that they did not choose.
SELECTIONS = {
    "Where": ("where()", "where(mask, f(where(mask, x, 1)), other)"),
    "MaskedFill": ("masked_fill()", "f(x.masked_fill(mask, 1)).masked_fill(mask, other)"),
}


class set_detect_anomaly(ModeBlock):
    """Switches anomaly mode on or off in all threads: at once when called, undone at the end of a with block.

    mode: on or off. check_nan: a backward pass that makes NaN raises RuntimeError.

    >>> import adjoint
    >>> with adjoint.autograd.set_detect_anomaly(True, check_nan=False):
    ...     adjoint.is_anomaly_enabled(), adjoint.is_anomaly_check_nan_enabled()
    (True, False)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = switch(mode, check_nan)

        self._setting = mode, check_nan

    def _changes(self) -> Any:
        # the constructor has made the switch already
        return ((ALL_THREADS, "anomaly", (self._setting, (self.prev, self.prev_check_nan))),)


class detect_anomaly(ModeBlock):
    """A block in which nodes remember the traceback of the operation that made them.

    If a backward pass raises, or (with check_nan) makes NaN, a warning shows the traceback of the operation whose
    gradient failed. If that operation was itself recorded by a backward pass, the warning also shows the operation of
    the first graph. If NaN is 0 times infinity, the error says so and names the source of the zeros. Errors about
    values overwritten in place name the line that saved and the line that modified them. Errors about a freed graph
    name the pass that freed it. Use it for debugging only: operations take many times longer.

    check_forward: an operation that makes NaN or infinity in the forward pass raises at once (see
    `graph.watch_forward`); in the calling thread only.

    >>> import adjoint, warnings
    >>> warnings.simplefilter("ignore")
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> try:
    ...     with adjoint.autograd.detect_anomaly():
    ...         ((x - 1).sqrt() * 0).sum().backward()
    ... except RuntimeError as error:
    ...     print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    At 2 of 2 places of NaN the gradient that arrived was 0, and 0 times an infinite or NaN derivative is NaN. ...
    """

    def __init__(self, check_nan: bool = True, *, check_forward: bool = False) -> None:
        state = current()
        self.prev, self.prev_check_nan = bool(state.anomaly), bool(state.check_nan)
        self.check_nan = check_nan
        self._forward = watch_forward() if check_forward else None
        warnings.warn(ENABLED, stacklevel=2)

    def _changes(self) -> Any:
        check_bools(True, self.check_nan)
        anomaly = (ALL_THREADS, "anomaly", ((True, self.check_nan), (self.prev, self.prev_check_nan)))
        return (anomaly,) if self._forward is None else (anomaly, *self._forward._changes())

    def _after_exit(self, error: BaseException | None) -> None:
        if self._forward is not None:
            self._forward._after_exit(error)


def check_bools(mode: bool, check_nan: bool) -> None:
    """Raise TypeError for anything but bools."""
    for n, (name, value) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {n}) must be bool, not {type(value).__name__}"
            )


def switch(mode: bool, check_nan: bool) -> tuple[bool, bool]:
    """Switch anomaly mode; returns the earlier setting. Raises TypeError for anything but bools."""
    check_bools(mode, check_nan)
    before = set_anomaly(mode, check_nan)
    return bool(before[0]), bool(before[1])


def is_anomaly_enabled() -> bool:
    """True if anomaly mode is on in the calling thread.

    >>> import adjoint
    >>> with adjoint.autograd.detect_anomaly():
    ...     adjoint.is_anomaly_enabled()
    True
    """
    return bool(current().anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """True if backward passes in anomaly mode raise an error for NaN.

    `detect_anomaly` and `set_detect_anomaly` switch it with `check_nan`.

    >>> import adjoint
    >>> with adjoint.autograd.detect_anomaly(check_nan=False):
    ...     adjoint.is_anomaly_check_nan_enabled()
    False
    """
    return bool(current().check_nan)


class Watch(Interceptor):
    """Looks at the work of each node of one backward pass.

    zeros: for nodes that get zeros from another node, as where() sends them to unselected elements: that node.
    """

    def __init__(self) -> None:
        super().__init__(ANOMALY)
        self.zeros: dict[Node, Node] = {}

    def node(self, run: Any, node: Node) -> Any:
        """Let a node do its work, hooks included; if it raises or makes NaN, warn with the traceback of its making."""
        state = current()
        # until the next node runs: sums of cotangents count as this node's work; the pass restores the earlier value
        state.evaluating = node
        received = run.cotangents_at(node)
        try:
            pulled = run.proceed(node, self.position)
        except BaseException:
            warn_about(node)
            raise
        if pulled is not None and state.check_nan:
            self.check(node, received, pulled)
            self.follow_zeros(node, received, pulled)
        return pulled

    def check(self, node: Node, received: Any, pulled: list[Any]) -> None:
        """Raise RuntimeError if a node made NaN."""
        for i, value in enumerate(pulled):
            if value is not None and count(value, is_nan):
                text = f"Function '{errors.name_of(node)}' returned nan values in its {i}th output."
                text += self.origin(node, received, value)
                error = errors.explain(RuntimeError(text), "nan-in-gradient")
                warn_about(node)
                raise error

    def follow_zeros(self, node: Node, received: Any, pulled: list[Any]) -> None:
        """Note for the nodes behind this one where the zeros come from that they are going to get."""
        before = sum(count(value, is_zero) for value in defined_cotangents(received))
        for (target, _), value in zip(node.next_functions, pulled, strict=False):
            zeros = 0 if value is None or target is None else count(value, is_zero)
            source = node if zeros > before else self.zeros.get(node)
            if zeros and source is not None:
                self.zeros.setdefault(target, source)

    def origin(self, node: Node, received: Any, value: Any) -> str:
        """Whether NaN is 0 times infinity, and whose zeros they were."""
        if received is None or isinstance(received, list) or raw(received).shape != raw(value).shape:
            return ""
        nan, zero = is_nan(raw(value)), is_zero(raw(received))
        n = int((nan & zero).sum())
        if not n:
            return ""
        text = (
            f"\nAt {n} of {int(nan.sum())} places of NaN the gradient that arrived was 0, and 0 times an infinite or "
            "NaN derivative is NaN."
        )
        source = self.zeros.get(node)
        if source is None:
            return text
        lines = source.metadata.get("traceback_")
        location = f"\n{lines[-1].rstrip()}" if lines else ""
        selection, safe = SELECTIONS.get(errors.operation_of(source), (None, None))
        if selection is None:
            return f"{text} The zeros come from {errors.name_of(source)}.{location}"
        return (
            f"{text} NaN came from the branch that {selection} did not select.{location}\n"
            f"Give that branch a harmless input: {safe}."
        )


def defined_cotangents(received: Any) -> list[Any]:
    """The defined cotangents that a node received."""
    values = received if isinstance(received, list) else [received]
    return [value for value in values if value is not None]


def raw(value: Any) -> Any:
    """The array of a cotangent, which may be a Tensor; of a batch the whole, of a sparse array the values."""
    array = underlying(value._array if isinstance(value, TensorBase) else value)
    return array if isinstance(array, ndarray) else getattr(array, "values", array)


def is_nan(array: Any) -> Any:
    """The mask of NaN in an array."""
    return array != array


def is_zero(array: Any) -> Any:
    """The mask of zeros in an array."""
    return array == 0


def count(value: Any, what: Any) -> int:
    """The number of elements of a raw array or Tensor that satisfy a predicate."""
    mask = what(raw(value))
    return int(namespace(mask).sum(mask))


def note_release(node: Node, location: Location) -> None:
    """Store in a node which pass freed its saved values."""
    for freed in (node, getattr(node, "inner", None)):
        if freed is not None:
            freed.__dict__["_ad_freed_at"] = location


def warn_about(node: Node) -> None:
    """Show where a node was made, and the nodes whose backward passes made it.

    If warnings are errors, the text is printed instead, since the error of the pass must be raised.
    """
    for text in history(node):
        try:
            warn_caller(text)
        except UserWarning as warning:
            if sys.stderr is not None:
                print(f"{type(warning).__name__}: {warning}", file=sys.stderr)


def history(node: Node) -> Iterator[str]:
    """A text that says where a node was made, and where the nodes whose backward passes made it."""
    text, maker = ERROR_OF_FORWARD, node
    while maker is not None:
        name, lines = errors.name_of(maker), maker.metadata.get("traceback_")
        if lines is None:
            yield f"Error detected in {name}. {NO_FORWARD}"
            return
        yield text.format(name, "".join(lines))
        text, maker = INDUCED, maker.metadata.get("parent_")
