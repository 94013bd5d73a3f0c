"""Events as a table of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.tools.profiler.formats import flops_unit, format_memory, format_time, format_time_share

WIDTH = 12
GAP = "  "
SOURCE = "Source Location"


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
    device = device_of(events)
    device_total = device_time(events)
    if sort_by is not None:
        attribute = sort_by.replace("cuda", "device")
        events = sorted(events, key=lambda event: getattr(event, attribute), reverse=True)

    def time(name: str) -> Callable[[Any], str]:
        return lambda event: format_time(getattr(event, name), time_unit)

    def share(name: str, whole: float = total) -> Callable[[Any], str]:
        return lambda event: format_time_share(getattr(event, name), whole)

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
    if device:
        columns += [
            (f"Self {device}", WIDTH, time("self_device_time_total")),
            (f"Self {device} %", WIDTH, share("self_device_time_total", device_total)),
            (f"{device} total", WIDTH, time("device_time_total")),
            (f"{device} time avg", WIDTH, time("device_time")),
        ]
    if profile_memory:
        columns += [("CPU Mem", WIDTH, memory("cpu_memory_usage"))]
        columns += [("Self CPU Mem", WIDTH, memory("self_cpu_memory_usage"))]
        if device:
            columns += [(f"{device} Mem", WIDTH, memory("device_memory_usage"))]
            columns += [(f"Self {device} Mem", WIDTH, memory("self_device_memory_usage"))]
    columns.append(("# of Calls", WIDTH, lambda event: str(event.count)))
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    if shapes:
        shapes_width = fitted(shapes, max_shapes_column_width)
        columns.append(("Input Shapes", shapes_width, lambda event: str(event.input_shapes)[:shapes_width]))
    sources = [line for event in events for line in event.stack or ()]
    if sources:
        width = fitted(sources, max_src_column_width)
        columns.append((SOURCE, width, lambda event: source_line(event, 0, width)))
    if any(event.node_id != -1 for event in events):
        columns.append(("Node ID", WIDTH, lambda event: str(event.node_id)))
    flops = [event.flops for event in events if event.flops]
    if with_flops and flops:
        title, divisor = flops_unit(min(flops))
        columns.append((title, WIDTH, lambda event: f"{event.flops / divisor:.3f}" if event.flops else "--"))

    def row(cells: list[str]) -> str:
        aligned = [
            f"{cell:{'<' if title == SOURCE else '>'}{width}}{GAP}"
            for cell, (title, width, _) in zip(cells, columns, strict=True)
        ]
        return "".join(aligned) + "\n"

    line = row(["-" * width for _, width, _ in columns])
    length = len(line) - len(GAP) - 1
    above = [] if header is None else [header]
    if top_level_events_only:
        above.append("This report only display top-level ops statistics")
    text = [f"{'=' * length}\n{words}\n" for words in above]
    text += [line, row([title for title, _, _ in columns]), line]
    shown = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        text.append(row([cell(event) for _, _, cell in columns]))
        if sources:
            # the further lines that lead there, and an empty one between events
            for k in range(1, len(event.stack or ("",)) + 1):
                text.append(row([source_line(event, k, of) if title == SOURCE else "" for title, of, _ in columns]))
    text += [line, f"Self CPU time total: {format_time(total, time_unit)}\n"]
    if device:
        text.append(f"Self {device} time total: {format_time(device_total, time_unit)}\n")
    return "".join(text)


def device_of(events: Any) -> str:
    """The name of the device that events have times or memory on, in capitals; empty where they have none.

    Raises RuntimeError if they have times and the list does not say on what.
    """
    device = events._use_device
    used = any(event.device_time_total or event.device_memory_usage for event in events)
    if used and device is None:
        raise RuntimeError("use_device is None, but there is device performance data.")
    return device.upper() if used else ""


def device_time(events: Any) -> float:
    """Microseconds on a device: of the device's own events if there are such, which are what calls launched."""
    own = [event for event in events if event.device_type.name != "CPU"]
    return float(sum(event.self_device_time_total for event in own or events))


def fitted(entries: list[str], most: int) -> int:
    """The width of a column that holds these, with a margin, but not more than `most`."""
    return min(max(map(len, entries)) + 4, most)


def cut(text: str, most: int) -> str:
    """A name that fits into a column of this width."""
    return text if len(text) < most - 3 else text[: max(most - 3, 0)] + "..."


def source_line(event: Any, k: int, width: int) -> str:
    """The k-th line of the program that leads to an event; of a long one the end, which tells most."""
    stack = event.stack or ()
    text = str(stack[k]) if k < len(stack) else ""
    return text if len(text) <= width else "..." + text[len(text) - width + 3 :]
