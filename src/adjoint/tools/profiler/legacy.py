"""The older profiler: the same events, fewer arguments, and errors where it has not run."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from adjoint.tools.profiler import profile as single
from adjoint.tools.profiler.events import EventList, FunctionEventAvg


class profile:
    """Deprecated: `autograd.profiler.profile`, which takes these arguments too.

    Raises RuntimeError if it is entered twice, or if results are read before its block has ended.

    >>> import adjoint
    >>> with adjoint.autograd.profiler_legacy.profile() as prof:
    ...     y = adjoint.ones(2) * 2
    >>> [event.name for event in prof.function_events]
    ['aten::ones', 'aten::mul']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
    ) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes or with_flops
        self.with_flops, self.profile_memory = with_flops, profile_memory
        self.with_stack, self.with_modules = with_stack, with_modules
        device = "cuda" if use_cuda and enabled else None
        if device is not None and single.clock_of(device) is None:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
            device = None
        self.use_cuda = device is not None
        self._profile = single.profile(
            enabled,
            use_device=device,
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
        )

    @property
    def entered(self) -> bool:
        """True once its block was entered."""
        return self._profile.entered

    def __enter__(self) -> profile | None:
        return None if self._profile.__enter__() is None else self

    def __exit__(self, *exception: object) -> None:
        self._profile.__exit__(*exception)

    def __repr__(self) -> str:
        return repr(self._profile) if self._profile.finished else "<unfinished profiler_legacy.profile>"

    def __str__(self) -> str:
        return str(self._profile) if self._profile.finished else "<unfinished profile.profiler_legacy.profile>"

    def _finished_profile(self) -> single.profile:
        if not self._profile.finished:
            raise RuntimeError("Profiler didn't finish running")
        return self._profile

    @property
    def function_events(self) -> EventList:
        """The events."""
        return self._finished_profile().function_events

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as a table: a string with one line for each event.

        The arguments are those of `EventList.table`. Raises RuntimeError before the block has ended.
        """
        return self._finished_profile().table(*args, **kwargs)

    def export_chrome_trace(self, path: str | Path) -> None:
        """Write the events as a JSON file for chrome://tracing or Perfetto.

        path: the name of the file; with the ending .gz it is compressed. Raises RuntimeError before the block has
        ended.
        """
        self._finished_profile().export_chrome_trace(path)

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for a flame graph: a line for each event, its frames from the outermost on and microseconds.

        metric: the time that is written, one of `EventList.supported_export_stacks_metrics`. Raises AssertionError
        without with_stack, ValueError for another metric, and RuntimeError before the block has ended.
        """
        self._finished_profile().export_stacks(path, metric)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Sums over all calls of the same name, as a list with one entry for each name.

        group_by_input_shape: a separate entry for each combination of shapes; needs record_shapes. group_by_stack_n: a
        separate entry for each call site, identified by this number of innermost lines; needs with_stack. Raises
        RuntimeError before the block has ended.
        """
        return self._finished_profile().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """Sums over all events, as one entry under the key Total.

        Raises RuntimeError before the block has ended.
        """
        return self._finished_profile().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all events."""
        return self._finished_profile().self_cpu_time_total
