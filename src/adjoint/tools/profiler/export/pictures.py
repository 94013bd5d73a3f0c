"""Pictures of a profile as SVG: calls over time, by thread and depth, and the memory that was held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from adjoint.tools.profiler.export.formats import format_memory, format_time
from adjoint.tools.profiler.memory import CATEGORIES, MemoryTimeline

WIDTH, LEFT, ROW, GAP, MEMORY_HEIGHT = 1000, 90, 18, 26, 140
#: Narrower calls, in units of the picture, are not drawn; the picture says how many.
NARROWEST = 0.4
COLOURS = {"forward": "#5b8ff9", "backward": "#f6a04d", "label": "#9aa5b1"}
MEMORY_COLOURS = dict(zip(CATEGORIES, ("#5b8ff9", "#9aa5b1", "#f6a04d", "#5ad8a6", "#e8684a"), strict=True))
FONT = 'font-family="sans-serif" font-size="11"'


class Picture:
    """An SVG picture: notebooks show it, `save` writes it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")


def picture(events: Any) -> Picture:
    """Calls over time, one band for each thread, and below the memory by its use, if it was recorded."""
    calls = [event for event in events if event.on_cpu and event.name != "[memory]"]
    first, last = span(calls)
    scale = (WIDTH - LEFT) / (last - first)
    parts: list[str] = []
    y = GAP
    left_out = 0
    for thread in sorted({event.thread for event in calls}):
        thread_calls = [(event, depth(event)) for event in calls if event.thread == thread]
        wide = [(event, d) for event, d in thread_calls if event.time_range.elapsed_us() * scale >= NARROWEST]
        left_out += len(thread_calls) - len(wide)
        parts.append(f'<text x="4" y="{y + 13}">thread {thread}</text>')
        for event, d in wide:
            parts.append(box(event, LEFT + (event.time_range.start - first) * scale, y + d * ROW, scale))
        y += (max(d for _, d in thread_calls) + 1) * ROW + GAP
    parts.extend(axis(first, last, scale, y - GAP))
    timeline = getattr(events, "_timeline", None)
    if timeline is not None:
        parts.extend(areas(timeline, first, last, scale, y))
        y += MEMORY_HEIGHT + 2 * GAP
    if left_out:
        parts.append(f'<text x="{LEFT}" y="{y}" fill="#666">{left_out} calls are too short to be drawn</text>')
        y += GAP
    body = "\n".join(parts)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" {FONT}>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def span(calls: list[Any]) -> tuple[float, float]:
    """The span of time that has calls, in microseconds; it is never of length 0."""
    first = min((event.time_range.start for event in calls), default=0.0)
    last = max((event.time_range.end for event in calls), default=0.0)
    return first, max(last, first + 1.0)


def depth(event: Any) -> int:
    """Inside how many calls a call is."""
    deepest = 0
    while event.cpu_parent is not None:
        event, deepest = event.cpu_parent, deepest + 1
    return deepest


def kind(event: Any) -> str:
    """The kind of a call, for its colour."""
    if event.is_user_annotation:
        return "label"
    while event is not None:
        if event.scope == 1 or event.name.startswith("autograd::engine"):
            return "backward"
        event = event.cpu_parent
    return "forward"


def box(event: Any, x: float, y: float, scale: float) -> str:
    """One call as a rectangle, with its name where there is room."""
    width = event.time_range.elapsed_us() * scale
    words = f"{event.name}\n{format_time(event.time_range.elapsed_us())}"
    if event.input_shapes:
        words += f"\n{event.input_shapes}"
    if event.stack:
        words += f"\n{event.stack[0]}"
    name = event.name.removeprefix("autograd::engine::evaluate_function: ").removeprefix("aten::")
    room = int(width / 6.2)
    label = ""
    if room >= 3:
        text = name if len(name) <= room else name[: room - 1] + "…"
        label = f'<text x="{x + 3:.2f}" y="{y + 12:.1f}">{escape(text)}</text>'
    return (
        f'<g><title>{escape(words)}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" rx="2" '
        f'fill="{COLOURS[kind(event)]}"/>{label}</g>'
    )


def axis(first: float, last: float, scale: float, y: float) -> Iterator[str]:
    """Times along the bottom."""
    for k in range(6):
        time = first + k * (last - first) / 5
        x = LEFT + (time - first) * scale
        anchor = "end" if k == 5 else "middle" if k else "start"
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{GAP - 6}" y2="{y}" stroke="#ddd" stroke-width="0.5"/>'
        words = format_time(time - first)
        yield f'<text x="{x:.1f}" y="{y + 12}" fill="#666" text-anchor="{anchor}">{words}</text>'


def areas(timeline: MemoryTimeline, first: float, last: float, scale: float, top: float) -> Iterator[str]:
    """Memory over time, stacked by category, with the peak and the line that holds most of it."""
    most = max(timeline.of("total")) or 1
    bottom = top + MEMORY_HEIGHT + GAP
    height = MEMORY_HEIGHT / most
    below = [0] * len(timeline.times)
    x = LEFT
    for category in CATEGORIES:
        sizes = timeline.sizes[category]
        if not max(sizes):
            continue
        above = [low + size for low, size in zip(below, sizes, strict=True)]
        edge = list(steps(timeline.times, above, first, last, scale, bottom, height))
        base = list(steps(timeline.times, below, first, last, scale, bottom, height))
        points = " ".join([*edge, *reversed(base)])
        yield f'<polygon points="{points}" fill="{MEMORY_COLOURS[category]}"><title>{category}</title></polygon>'
        yield f'<rect x="{x}" y="{top + 2}" width="10" height="10" fill="{MEMORY_COLOURS[category]}"/>'
        yield f'<text x="{x + 14}" y="{top + 11}">{category}</text>'
        x += 30 + 7 * len(category)
        below = above
    yield f'<text x="4" y="{top + GAP + 6}">{format_memory(most)}</text>'
    peak = timeline.peaks.get("total")
    if peak is not None:
        at = LEFT + min(max(peak.time - first, 0.0), last - first) * scale
        ends = f'y1="{top + GAP - 4}" y2="{bottom}"'
        yield f'<line x1="{at:.1f}" x2="{at:.1f}" {ends} stroke="#333" stroke-dasharray="3"/>'
        yield f'<text x="{LEFT}" y="{bottom + 14}">Peak: {escape(str(peak))}</text>'


def steps(
    times: Iterable[float], sizes: Iterable[int], first: float, last: float, scale: float, bottom: float, height: float
) -> Iterator[str]:
    """The corners of a staircase, from the first time shown to the last."""
    y = bottom
    for time, size in zip(times, sizes, strict=True):
        x = LEFT + min(max(time - first, 0.0), last - first) * scale
        yield f"{x:.2f},{y:.2f}"
        y = bottom - size * height
        yield f"{x:.2f},{y:.2f}"
    yield f"{LEFT + (last - first) * scale:.2f},{y:.2f}"
