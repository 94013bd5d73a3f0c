"""Budgets of memory for regions of compiled functions, and calls of these as they are."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from adjoint.compilation.recordings.recording import running_recording
from adjoint.core.modes.state import ModeBlock

OUTSIDE = (
    "region_activation_memory_budget has an effect under adjoint.compile alone: use it in a compiled function, or "
    "adjoint.utils.checkpoint.auto(f, budget) for one that is not compiled"
)


class _Calls(threading.local):
    """How many compiled functions the calling thread runs as they are, one inside the other."""

    depth = 0


_calls = _Calls()


def call_as_is(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call the function under a compiled one, without a recording: budgets have no effect on it, and no error."""
    _calls.depth += 1
    try:
        return function(*args, **kwargs)
    finally:
        _calls.depth -= 1


class region_activation_memory_budget(ModeBlock, contextlib.ContextDecorator):
    """A with block, or a decorator, that bounds what a region of a compiled function saves for its backward pass.

    budget: the part of the bytes that the region would save, from 0.0 to 1.0. The backward pass computes again what is
    not saved, from saved values and from the function's arguments; values that cost least for their size go first.
    Gradients are the same to the last bit. Regions have budgets of their own; of nested ones the innermost holds.
    With 0.0 what stays saved are results of random draws, of functions that read memory which the function writes, and
    the function's own results. The first call of a compiled function runs as always, and saves all; replays keep to the
    budget. `explain` of the compiled function shows how much is saved.

    An argument that is read in the backward pass must not be modified in between; the pass then raises the error of
    saved tensors that were modified.

    Raises ValueError for a budget outside of [0, 1], TypeError if it is no number, RuntimeError outside of a compiled
    function.

    >>> import adjoint
    >>> @adjoint.compile
    ... def f(x):
    ...     with adjoint.autograd.graph.region_activation_memory_budget(0.0):
    ...         return x.sin().exp().tanh().sum()
    >>> x = adjoint.ones(1000, requires_grad=True)
    >>> f(x).item() == f(x).item()
    True
    >>> print([line for line in str(f.explain(x)).splitlines() if "saves" in line][0])
    backward: saves 0 of 8000 bytes, the others are computed again:
    """

    def __init__(self, budget: float) -> None:
        if isinstance(budget, bool) or not isinstance(budget, (int, float)):
            raise TypeError(f"region_activation_memory_budget: budget must be a number, got {type(budget).__name__}")
        if not 0 <= budget <= 1:
            raise ValueError(f"region_activation_memory_budget: budget must be between 0.0 and 1.0, got {budget}")
        self.budget = float(budget)

    def _recreate_cm(self) -> region_activation_memory_budget:
        return type(self)(self.budget)

    def _entry_value(self) -> None:
        recording = running_recording()
        if recording is not None:
            recording.begin_region(self.budget)
        elif not _calls.depth:
            raise RuntimeError(OUTSIDE)

    def _after_exit(self, error: BaseException | None) -> None:
        recording = running_recording()
        if recording is not None:
            recording.end_region()
