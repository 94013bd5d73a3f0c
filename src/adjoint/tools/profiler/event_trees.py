"""Events made from notes."""

from __future__ import annotations

import re
from typing import Any

from adjoint.core.modes.profiling import CUSTOM, NODE, OPERATION, USER
from adjoint.tools.profiler import names
from adjoint.tools.profiler.devices import Clock
from adjoint.tools.profiler.events import EventList, FunctionEvent, MemRecordsAcc
from adjoint.tools.profiler.memory import Memory
from adjoint.tools.profiler.recorder import Note, line_of, thread_number

#: Labels of steps, which count as one name.
STEPS = re.compile("^ProfilerStep#[0-9]+$")


def assemble(notes: list[tuple[Any, ...]], memory: list[Memory], clock: Clock | None, origin: int) -> list[Any]:
    """All events, nested, those around others first; changes of memory between them come last.

    origin: the time from which theirs are counted, in nanoseconds.
    """
    completed_notes = sorted(complete(notes), key=lambda note: (note.start, -note.end))
    events = EventList(events_of(completed_notes, memory, origin))
    marks = {id(event): note.marks for event, note in zip(events, completed_notes, strict=True) if note.marks}
    events._build_tree()
    if clock is not None:
        for event in events:
            if id(event) in marks and not any(id(inner) in marks for inner in descendants(event)):
                first, last, device = marks[id(event)]
                event.append_kernel(event.name, device, clock.elapsed_us(first, last))
    return [*events, *loose_memory(events, memory, origin)]


def descendants(event: FunctionEvent) -> list[FunctionEvent]:
    """All calls inside a call."""
    events = list(event.cpu_children)
    for inner in events:
        events.extend(inner.cpu_children)
    return events


def complete(notes: list[tuple[Any, ...]]) -> list[Note]:
    """Notes under their public names, those of nodes inside an event of the engine's."""
    events = []
    for fields in notes:
        note = Note(*fields)
        if note.scope == OPERATION:
            note = note._replace(name=names.operation(note.name))
        elif note.scope == CUSTOM:
            note = note._replace(scope=OPERATION)
        elif note.scope == NODE:
            events.append(note._replace(name=names.EVALUATE + note.name, scope=OPERATION, shapes=None))
        events.append(note)
    return events


def is_backward(note: Note) -> bool:
    """True for nodes and for the engine's work around them."""
    return note.scope == NODE or note.name.startswith(names.EVALUATE)


def events_of(notes: list[Note], memory: list[Memory], origin: int) -> list[FunctionEvent]:
    """An event for each note, with the memory that it changed."""
    changes = {
        ident: MemRecordsAcc([(change, False) for change in memory if change.ident == ident])
        for ident in {change.ident for change in memory}
    }
    made_in = {note.sequence_nr: thread_number(note.ident) for note in notes if not is_backward(note)}
    events = []
    for number, note in enumerate(notes, 1):
        of_thread = changes.get(note.ident)
        memory_changes = () if of_thread is None else of_thread.in_interval(note.start, note.end)
        backward = is_backward(note) and note.sequence_nr >= 0
        events.append(
            FunctionEvent(
                number,
                STEPS.sub("ProfilerStep*", note.name),
                thread_number(note.ident),
                (note.start - origin) / 1000,
                (note.end - origin) / 1000,
                overload_name="",
                fwd_thread=made_in.get(note.sequence_nr, 0) if backward else 0,
                input_shapes=note.shapes or [],
                stack=[line_of(location) for location in note.stack or ()],
                scope=note.scope,
                cpu_memory_usage=sum(change.nbytes for change, _ in memory_changes),
                sequence_nr=note.sequence_nr,
                flops=note.flops,
                trace_name=note.name,
                is_user_annotation=note.scope == USER,
            )
        )
    return events


def loose_memory(events: EventList, memory: list[Memory], origin: int) -> list[FunctionEvent]:
    """An event "[memory]" for each change of memory between events."""
    memory_events: list[FunctionEvent] = []
    spans = [(event.thread, event.time_range) for event in events if event.cpu_parent is None]
    for ident in {change.ident for change in memory}:
        thread = thread_number(ident)
        thread_spans = iter(sorted((span for of, span in spans if of == thread), key=lambda span: span.start))
        span = next(thread_spans, None)
        for change in sorted(change for change in memory if change.ident == ident):
            time = (change.time - origin) / 1000
            while span is not None and span.end < time:
                span = next(thread_spans, None)
            if span is None or time < span.start:
                number = len(events) + len(memory_events) + 1
                memory_events.append(
                    FunctionEvent(
                        number,
                        "[memory]",
                        thread,
                        time,
                        time,
                        overload_name="",
                        input_shapes=[],
                        stack=[],
                        cpu_memory_usage=change.nbytes,
                        flops=0,
                    )
                )
    return memory_events
