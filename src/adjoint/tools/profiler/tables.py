"""Events as a table of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.tools.profiler.formats import flops_unit, format_memory, format_time, format_time_share

WIDTH = 12
GAP = "  "


def build_table(
    events: Any,
    *,
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int,
    max_name_column_width: int,
    max_shapes_column_width: int,
    header: str | None,
    profile_memory: bool,
    with_flops: bool,
    top_level_events_only: bool,
    time_unit: str | None,
) -> str:
    """The table, see `EventList.table`; of no events, nothing."""
    if len(events) == 0:
        return ""
    total = events.self_cpu_time_total
    if sort_by is not None:
        attribute = sort_by.replace("cuda", "device")
        events = sorted(events, key=lambda event: getattr(event, attribute), reverse=True)

    def time(name: str) -> Callable[[Any], str]:
        return lambda event: format_time(getattr(event, name), time_unit)

    def share(name: str) -> Callable[[Any], str]:
        return lambda event: format_time_share(getattr(event, name), total)

    def memory(name: str) -> Callable[[Any], str]:
        return lambda event: format_memory(getattr(event, name))

    names = [event.key for event in events]
    columns = [("Name", fitted(names, max_name_column_width), lambda event: cut(event.key, max_name_column_width))]
    columns += [
        ("Self CPU %", WIDTH, share("self_cpu_time_total")),
        ("Self CPU", WIDTH, time("self_cpu_time_total")),
        ("CPU total %", WIDTH, share("cpu_time_total")),
        ("CPU total", WIDTH, time("cpu_time_total")),
        ("CPU time avg", WIDTH, time("cpu_time")),
    ]
    if profile_memory:
        columns += [("CPU Mem", WIDTH, memory("cpu_memory_usage"))]
        columns += [("Self CPU Mem", WIDTH, memory("self_cpu_memory_usage"))]
    columns.append(("# of Calls", WIDTH, lambda event: str(event.count)))
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    if shapes:
        width = fitted(shapes, max_shapes_column_width)
        columns.append(("Input Shapes", max(width, WIDTH), lambda event: str(event.input_shapes or "")[:width]))
    largest = max((event.flops or 0 for event in events), default=0)
    if with_flops and largest > 0:
        title, divisor = flops_unit(largest)
        columns.append((title, WIDTH, lambda event: f"{event.flops / divisor:.3f}" if event.flops else "--"))
    sources = [line for event in events for line in event.stack or ()]
    if sources:
        width = fitted(sources, max_src_column_width)
        columns.append(("Source Location", max(width, 15), lambda event: source_line(event, 0, width)))

    def row(cells: list[str]) -> str:
        return "".join(f"{cell:>{width}}{GAP}" for cell, (_, width, _) in zip(cells, columns, strict=True)) + "\n"

    line = row(["-" * width for _, width, _ in columns])
    length = len(line) - len(GAP) - 1
    text = [f"{'=' * length}\n{header}\n{'=' * length}\n"] if header is not None else []
    if top_level_events_only:
        text.append("This report only display top-level ops statistics\n")
    text += [line, row([title for title, _, _ in columns]), line]
    shown = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        text.append(row([cell(event) for _, _, cell in columns]))
        for k in range(1, len(event.stack or ()) if sources else 0):
            text.append(row([""] * (len(columns) - 1) + [source_line(event, k, columns[-1][1])]))
    text += [line, f"Self CPU time total: {format_time(total, time_unit)}\n"]
    return "".join(text)


def fitted(entries: list[str], most: int) -> int:
    """The width of a column that holds these, with a margin, but not more than `most`."""
    return min(max(map(len, entries)) + 4, most)


def cut(text: str, most: int) -> str:
    """A name that fits into a column of this width."""
    return text if len(text) < most - 3 else text[: max(most - 3, 0)] + "..."


def source_line(event: Any, k: int, width: int) -> str:
    """The k-th line of the program that leads to an event; of a long one the end, which tells most."""
    stack = event.stack or ()
    return stack[k][-width:] if k < len(stack) else ""
