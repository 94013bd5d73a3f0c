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
    """The number of nested compiled functions that the calling thread runs eagerly."""

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
    """A with block, or a decorator, that bounds the bytes that a region of a compiled function saves for backward.

    budget: the fraction of the region's bytes to save, from 0.0 to 1.0. The backward pass recomputes the other values
    from saved values and from the function's arguments. Values with the lowest cost for their size are dropped first.
    Gradients are equal to the last bit. Each region has its own budget; the innermost of nested ones applies. With 0.0
    three kinds of values stay saved: results of random draws, results of functions that read memory that the function
    writes, and the function's own results. The first call of a compiled function runs eagerly and saves all values;
    replays keep to the budget. `explain` of the compiled function shows the saved bytes.

    Do not modify an argument that the backward pass reads: the pass then raises the error for modified saved tensors.

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
