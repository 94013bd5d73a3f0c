"""Profiling training loops: some steps of many, by a schedule, with a handler for each trace."""

from __future__ import annotations

import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

from adjoint.tools.profiler import profile as single
from adjoint.tools.profiler.activities import KinetoStepTracker, ProfilerActivity
from adjoint.tools.profiler.events import EventList
from adjoint.tools.profiler.memory import MemoryTimeline

STEP = "ProfilerStep#"
NO_WARMUP = "Profiler won't be using warmup, this can skew profiler results"
CLEARED = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be reported. "
    "To keep events across cycles, set acc_events=True."
)


class ProfilerAction(Enum):
    """The action of a profiler during a step.

    A schedule returns one for the number of a step; see `adjoint.profiler.schedule`.
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be watched here: the processor, and CUDA with CuPy and a GPU.

    >>> import adjoint
    >>> adjoint.profiler.ProfilerActivity.CPU in adjoint.profiler.supported_activities()
    True
    """
    from adjoint.tools.profiler.devices import clock_of

    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if clock_of("cuda") is not None else set())


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """The schedule of a profile: skip `skip_first` steps, then repeatedly wait, warm up, and note `active` steps.

    repeat: the number of these cycles, 0 for no limit. skip_first_wait: other than 0, the first cycle does not wait.
    Returns a function from the number of a step to the profiler's action.

    Raises AssertionError for negative numbers, or if no step would be noted.

    >>> from adjoint.profiler import schedule
    >>> plan = schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got {wait=} (need >= 0), {warmup=} (need >= 0), "
            f"{active=} (need > 0), {repeat=} (need >= 0), {skip_first=} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(NO_WARMUP, stacklevel=2)
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        position = step % cycle
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:
    """Note every step."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """A function that writes each trace into a directory, under the names that TensorBoard's plug-in looks for.

    worker_name: the beginning of the names, by default host and process. use_gzip: write compressed files.
    use_python_export: has no effect, there is one way only. Raises RuntimeError for a directory that cannot be made.

    >>> import adjoint, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with adjoint.profiler.profile(on_trace_ready=adjoint.profiler.tensorboard_trace_handler(folder, "me")):
    ...         y = adjoint.ones(2) * 2
    ...     [name.endswith(".pt.trace.json") for name in os.listdir(folder)]
    [True]
    """

    def handler(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + str(dir_name)) from error
        worker = worker_name or f"{platform.node()}_{os.getpid()}"
        ending = ".pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return handler


class profile:
    """A profiler for loops: it records the steps that a schedule selects, and passes each trace to a handler.

    activities: the activities to watch, by default all available ones; `ProfilerActivity.CUDA` needs CuPy. schedule:
    the action of each step, see `schedule`; by default everything is recorded. on_trace_ready: called with this
    profiler when a trace is complete. acc_events: keep the events of earlier cycles. The others as in
    `autograd.profiler.profile`.

    Call `step()` at the end of each step. Raises AssertionError for unknown activities.

    >>> import adjoint
    >>> from adjoint.profiler import profile, schedule
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> seen = []
    >>> plan = schedule(wait=1, warmup=1, active=1, repeat=1)
    >>> with profile(schedule=plan, on_trace_ready=lambda prof: seen.append(prof.events()[1].name)) as prof:
    ...     for _ in range(4):
    ...         (x * 2).sum().backward()
    ...         prof.step()
    >>> seen
    ['aten::mul']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(supported_activities() if activities is None else names_of(activities))
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
            activity_set = {ProfilerActivity.CUDA} if use_cuda else set()
            self.activities = self.activities - {ProfilerActivity.CUDA} | activity_set
        if not self.activities or not all(isinstance(activity, ProfilerActivity) for activity in self.activities):
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: single.profile | None = None
        self.preset_metadata: dict[str, str] = {}
        self._metadata: dict[str, Any] = {}
        self._earlier: list[Any] = []
        self._cycles = 0
        self._label: single.record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        KinetoStepTracker.erase_step_count("Torch Profiler")

    def start(self) -> None:
        """Begin with step 0: `with profile(...)` does so.

        Recording begins if the schedule records the first step, or without a schedule. `stop` ends it.
        """
        KinetoStepTracker.init_step_count("Torch Profiler")
        self._change(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End: the trace of the last steps is complete, and `on_trace_ready` is called with the profiler.

        Its events stay readable, by `events` and `key_averages`.
        """
        self._end_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """End a step and begin the next: call it at the end of each iteration of a loop.

        From the number of the next step the schedule decides whether it is recorded, and whether a trace ends here.

        >>> import adjoint
        >>> from adjoint.profiler import profile, schedule
        >>> with profile(schedule=schedule(wait=1, warmup=1, active=1)) as p:
        ...     for _ in range(3):
        ...         _ = adjoint.ones(2).exp()
        ...         p.step()
        >>> [event.count for event in p.key_averages() if event.key == "aten::exp"]
        [1]
        """
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        KinetoStepTracker.increment_step("Torch Profiler")
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps and self.profiler is not None and not self.profiler.finished:
            self._label = single.record_function(f"{STEP}{self.step_num}")
            self._label.__enter__()

    def _end_step(self) -> None:
        if self._label is not None:
            self._label.__exit__(None, None, None)
            self._label = None

    def _change(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Go from one step's action to the next one's; None is the end."""
        noting = {ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE}
        ends = before is ProfilerAction.RECORD_AND_SAVE or (before in noting and after not in noting)
        if ends:
            self.stop_trace()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if after in noting and (ends or before not in noting):
            self.start_trace()

    def prepare_trace(self) -> None:
        """Prepare a trace, with a new profiler for one block.

        The events of an earlier trace are dropped, with a warning at the second one; acc_events keeps them.
        """
        if self.profiler is not None:
            if self.acc_events:
                self._earlier += self.profiler.function_events
            elif self._cycles == 1:
                warnings.warn(CLEARED, stacklevel=2)
        self.profiler = single.profile(
            use_cpu=ProfilerActivity.CPU in self.activities,
            use_device="cuda" if ProfilerActivity.CUDA in self.activities else None,
            use_kineto=True,
            record_shapes=self.record_shapes,
            with_flops=self.with_flops,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_modules=self.with_modules,
            experimental_config=self.experimental_config,
            acc_events=self.acc_events,
            custom_trace_id_callback=self.custom_trace_id_callback,
            post_processing_timeout_s=self.post_processing_timeout_s,
        )

    def start_trace(self) -> None:
        """Begin a trace: from now on every operation of the thread is recorded.

        The schedule calls it; without a schedule a program may call it instead of `start`.
        """
        self.prepare_trace()
        assert self.profiler is not None
        self._metadata = {key: json.loads(value) for key, value in self.preset_metadata.items()}
        self.profiler.__enter__()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()

    def stop_trace(self) -> None:
        """End the trace: recording stops, and the events can be read.

        Raises AssertionError if no trace was begun.
        """
        noted = self._require_profiler("stopping trace")
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        noted.__exit__()
        self._cycles += 1

    def _require_profiler(self, purpose: str) -> single.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last trace as an `EventList`, with acc_events=True those of earlier traces before them.

        Raises AssertionError if there is no trace.

        >>> import adjoint
        >>> from adjoint.profiler import profile
        >>> with profile() as p:
        ...     _ = adjoint.ones(2).exp()
        >>> "aten::exp" in [event.name for event in p.events()]
        True
        """
        events = self._require_profiler("accessing events").function_events
        if not self._earlier:
            return events
        all_events = EventList(
            [*self._earlier, *events],
            use_device=events._use_device,
            profile_memory=events._profile_memory,
            with_flops=events._with_flops,
        )
        all_events._tree_built = True
        all_events._timeline = events._timeline
        return all_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over the calls of each name, as an `EventList` of averages; steps count as one name.

        group_by_input_shape, group_by_stack_n, group_by_overload_name: see `EventList.key_averages`.

        Raises AssertionError if there is no trace.

        >>> import adjoint
        >>> from adjoint.profiler import profile
        >>> with profile() as p:
        ...     _ = adjoint.ones(2).exp()
        >>> [event.count for event in p.key_averages() if event.key == "aten::exp"]
        [1]
        """
        self._require_profiler("getting key averages")
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def memory_timeline(self) -> MemoryTimeline:
        """Memory over time by its use: gradients, parameters, activations.

        See `autograd.profiler.profile.memory_timeline`. Raises AssertionError if there is no trace.
        """
        return self._require_profiler("asking for memory").memory_timeline()

    def plot(self) -> Any:
        """A picture of the last trace, which needs matplotlib.

        See `autograd.profiler.profile.plot`. Raises AssertionError if there is no trace.
        """
        return self._require_profiler("drawing").plot()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Pause or resume recording inside a trace; without a trace it has no effect.

        enable: resume. activities: the activities concerned, see `autograd.profiler.profile.toggle_collection_dynamic`.
        """
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def export_chrome_trace(self, path: str | Path, use_python_export: bool = False) -> None:
        """Write the last trace, with its metadata, as a file for chrome://tracing or Perfetto.

        A path that ends in .gz is compressed. Raises AssertionError if there is no trace.
        """
        self._require_profiler("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for a flame graph, of a trace with with_stack=True.

        Raises AssertionError if there is no trace, and ValueError for a metric that is not supported.
        """
        self._require_profiler("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path: str | Path, device: str | None = None) -> None:
        """Write memory over time by category: a picture as .html or .svg, otherwise JSON, `.gz` compressed.

        JSON holds [times, sizes]: times in microseconds, and for each time the bytes of each of "categories".
        device: "cpu", the only one whose memory is followed. Raises ValueError without profile_memory.
        """
        if not self.profile_memory:
            raise ValueError("profile_memory=True required for memory profiling.")
        prof = self._require_profiler("exporting memory timeline")
        timeline = prof.memory_timeline()
        if str(path).endswith((".html", ".svg")):
            prof.plot().save(path)
            return
        sizes = [list(row) for row in zip(*timeline.sizes.values(), strict=True)]
        single.write_json(path, {"categories": list(timeline.sizes), "times": timeline.times, "sizes": sizes})

    def add_metadata(self, key: str, value: str) -> None:
        """Have an entry written into the file of this trace.

        key: its name. value: any text. An entry of the same name is replaced.
        """
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Have an entry written into the file of this trace, as the value of a JSON text.

        Raises json.JSONDecodeError for a text that is no JSON.
        """
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Have an entry written into the files of all traces that begin from now on, as the value of a JSON text.

        The text is read when a trace begins, which raises json.JSONDecodeError if it is no JSON.
        """
        self.preset_metadata[key] = value

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Have a function name the traces that begin from now on.

        callback: a function without arguments that returns the name, which `get_trace_id` gives.
        """
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the last trace, None if there is none.

        A number in hexadecimal digits, unless `set_custom_trace_id_callback` names traces.
        """
        return None if self.profiler is None else self.profiler.trace_id


def names_of(activities: Iterable[Any]) -> Iterable[Any]:
    """Activities, also those that are keys of a dict which names kinds of events."""
    for activity in activities:
        yield from activity if isinstance(activity, dict) else (activity,)
