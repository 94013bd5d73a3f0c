"""Events in the trace-event format, which chrome://tracing and Perfetto show."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

Entry = dict[str, Any]


def trace_events(events: Any) -> list[Entry]:
    """The entries of a trace: names of process and threads, calls, arrows from forward to backward, memory."""
    process = os.getpid()
    entries = list(names(process, sorted({event.thread for event in events})))
    entries += [call(process, event) for event in events if not is_memory(event)]
    entries += arrows(process, events)
    entries += memory(process, events)
    return entries


def names(process: int, threads: Iterable[int]) -> Iterable[Entry]:
    """The names of process and threads."""
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": "python"}}
    for thread in threads:
        name = {"name": f"thread {thread}"}
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "ts": 0, "args": name}


def is_memory(event: Any) -> bool:
    """True for events that are allocations or releases of memory between calls."""
    return bool(event.name == "[memory]")


def call(process: int, event: Any) -> Entry:
    """One call as a complete event."""
    arguments: Entry = {"External id": event.id}
    if event.sequence_nr >= 0:
        arguments["Sequence number"] = event.sequence_nr
        arguments["Fwd thread id"] = event.fwd_thread or 0
    if event.input_shapes:
        arguments["Input Dims"] = event.input_shapes
    if event.stack:
        arguments["Call stack"] = ";".join(event.stack)
    if event.flops:
        arguments["flops"] = event.flops
    return {
        "ph": "X",
        "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
        "name": event.trace_name or event.name,
        "pid": process,
        "tid": event.thread,
        "ts": event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "args": arguments,
    }


def arrows(process: int, events: Any) -> Iterable[Entry]:
    """From each operation to the nodes of backward passes that belong to it, by their sequence numbers."""
    arrows_made: dict[tuple[int, int], Any] = {}
    for event in events:
        if event.sequence_nr >= 0 and not event.fwd_thread:
            arrows_made.setdefault((event.thread, event.sequence_nr), event)
    number = 0
    for event in events:
        source = arrows_made.get((event.fwd_thread, event.sequence_nr)) if event.fwd_thread else None
        if source is None or event.scope != 1:
            continue
        number += 1
        common = {"cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": process}
        yield common | {"ph": "s", "tid": source.thread, "ts": source.time_range.start}
        yield common | {"ph": "f", "bp": "e", "tid": event.thread, "ts": event.time_range.start}


def memory(process: int, events: Any) -> Iterable[Entry]:
    """The memory in use after each change: by use, or, if that is unknown, allocated and not freed."""
    common: Entry = {"ph": "C", "name": "memory", "pid": process, "tid": 0}
    timeline = getattr(events, "_timeline", None)
    if timeline is not None:
        for k, time in enumerate(timeline.times):
            yield common | {"ts": time, "args": {name: sizes[k] for name, sizes in timeline.sizes.items()}}
        return
    changes = [(event.time_range.end, event.self_cpu_memory_usage) for event in events if event.self_cpu_memory_usage]
    total = 0
    for time, change in sorted(changes):
        total += change
        yield common | {"ts": time, "args": {"bytes": total}}
