"""Events as a table of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from adjoint.tools.profiler.export.formats import flops_unit, format_memory, format_time, format_time_share

WIDTH = 12
GAP = "  "
SOURCE = "Source Location"


class Column(NamedTuple):
    """A column: its title, its width, and its text for an event."""

    title: str
    width: int
    cell: Callable[[Any], str]

    def align(self, text: str) -> str:
        return f"{text:{'<' if self.title == SOURCE else '>'}{self.width}}{GAP}"


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
    total, device, device_total = events.self_cpu_time_total, device_of(events), device_time(events)
    if sort_by is not None:
        attribute = sort_by.replace("cuda", "device")
        events = sorted(events, key=lambda event: getattr(event, attribute), reverse=True)
    columns = [
        name_column(events, max_name_column_width),
        *time_columns(total, device, device_total, time_unit),
        *(memory_columns(device) if profile_memory else ()),
        Column("# of Calls", WIDTH, lambda event: str(event.count)),
        *detail_columns(events, max_shapes_column_width, max_src_column_width),
        *(flops_columns(events) if with_flops else ()),
    ]
    line = row(columns, ["-" * column.width for column in columns])
    above = [] if header is None else [header]
    if top_level_events_only:
        above.append("This report only display top-level ops statistics")
    text = [f"{'=' * (len(line) - len(GAP) - 1)}\n{words}\n" for words in above]
    text += [line, row(columns, [column.title for column in columns]), line]
    visible = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
    for event in visible if row_limit < 0 else visible[:row_limit]:
        text += rows_of(event, columns)
    text += [line, f"Self CPU time total: {format_time(total, time_unit)}\n"]
    if device:
        text.append(f"Self {device} time total: {format_time(device_total, time_unit)}\n")
    return "".join(text)


def row(columns: list[Column], cells: list[str]) -> str:
    """One line of text."""
    return "".join([column.align(cell) for column, cell in zip(columns, cells, strict=True)]) + "\n"


def rows_of(event: Any, columns: list[Column]) -> Iterator[str]:
    """The lines of an event: with source lines, the further ones that lead there and an empty one behind."""
    yield row(columns, [column.cell(event) for column in columns])
    if any(column.title == SOURCE for column in columns):
        for k in range(1, len(event.stack or ("",)) + 1):
            yield row(columns, [source_line(event, k, each.width) if each.title == SOURCE else "" for each in columns])


def name_column(events: Any, most: int) -> Column:
    """The events' names, cut where they are longer than `most`."""
    return Column("Name", fitting_width([event.key for event in events], most), lambda event: shorten(event.key, most))


def time_columns(total: float, device: str, device_total: float, unit: str | None) -> list[Column]:
    """Times on the processor and, where there is one, on a device."""

    def time(title: str, name: str) -> Column:
        return Column(title, WIDTH, lambda event: format_time(getattr(event, name), unit))

    def share(title: str, name: str, whole: float) -> Column:
        return Column(title, WIDTH, lambda event: format_time_share(getattr(event, name), whole))

    columns = [
        share("Self CPU %", "self_cpu_time_total", total),
        time("Self CPU", "self_cpu_time_total"),
        share("CPU total %", "cpu_time_total", total),
        time("CPU total", "cpu_time_total"),
        time("CPU time avg", "cpu_time"),
    ]
    if device:
        columns += [
            time(f"Self {device}", "self_device_time_total"),
            share(f"Self {device} %", "self_device_time_total", device_total),
            time(f"{device} total", "device_time_total"),
            time(f"{device} time avg", "device_time"),
        ]
    return columns


def memory_columns(device: str) -> list[Column]:
    """Memory of the processor and, where there is one, of a device."""

    def memory(title: str, name: str) -> Column:
        return Column(title, WIDTH, lambda event: format_memory(getattr(event, name)))

    columns = [memory("CPU Mem", "cpu_memory_usage"), memory("Self CPU Mem", "self_cpu_memory_usage")]
    if device:
        columns.append(memory(f"{device} Mem", "device_memory_usage"))
        columns.append(memory(f"Self {device} Mem", "self_device_memory_usage"))
    return columns


def detail_columns(events: Any, most_shapes: int, most_source: int) -> list[Column]:
    """Shapes, source lines and nodes, each where an event has some."""
    columns = []
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    if shapes:
        width = fitting_width(shapes, most_shapes)
        columns.append(Column("Input Shapes", width, lambda event: str(event.input_shapes)[:width]))
    sources = [line for event in events for line in event.stack or ()]
    if sources:
        room = fitting_width(sources, most_source)
        columns.append(Column(SOURCE, room, lambda event: source_line(event, 0, room)))
    if any(event.node_id != -1 for event in events):
        columns.append(Column("Node ID", WIDTH, lambda event: str(event.node_id)))
    return columns


def flops_columns(events: Any) -> list[Column]:
    """Floating-point operations, where some are known."""
    flops = [event.flops for event in events if event.flops]
    if not flops:
        return []
    title, divisor = flops_unit(min(flops))
    return [Column(title, WIDTH, lambda event: f"{event.flops / divisor:.3f}" if event.flops else "--")]


def device_of(events: Any) -> str:
    """The name of the device that events have times or memory on, in capitals; empty where they have none.

    Raises RuntimeError if they have times and the list does not name the device.
    """
    device = events._use_device
    has_device_times = any(event.device_time_total or event.device_memory_usage for event in events)
    if has_device_times and device is None:
        raise RuntimeError("use_device is None, but there is device performance data.")
    return device.upper() if has_device_times else ""


def device_time(events: Any) -> float:
    """Microseconds on a device: of the device's own events if there are any, which are the launched kernels."""
    device_events = [event for event in events if event.device_type.name != "CPU"]
    return float(sum(event.self_device_time_total for event in device_events or events))


def fitting_width(entries: list[str], most: int) -> int:
    """The width of a column that holds these, with a margin, but not more than `most`."""
    return min(max(map(len, entries)) + 4, most)


def shorten(text: str, most: int) -> str:
    """A name that fits into a column of this width."""
    return text if len(text) < most - 3 else text[: max(most - 3, 0)] + "..."


def source_line(event: Any, k: int, width: int) -> str:
    """The k-th line of the program that leads to an event; of a long one the end."""
    stack = event.stack or ()
    text = str(stack[k]) if k < len(stack) else ""
    return text if len(text) <= width else "..." + text[len(text) - width + 3 :]
