"""A picture of memory over time, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adjoint.tools.profiler.export.pictures import FONT, GAP, LEFT, MEMORY_HEIGHT, WIDTH, Picture, steps
from adjoint.tools.sizes import readable

BOTTOM = GAP + MEMORY_HEIGHT


class Line(NamedTuple):
    """Bytes after each step, under a name."""

    name: str
    colour: str
    sizes: Sequence[int]


def memory_picture(lines: Sequence[Line], budget: float | None = None) -> Picture:
    """Lines from left to right, each with its peak, and the budget if there is one."""
    most = max([budget or 0, 1, *[max(line.sizes, default=0) for line in lines]])
    height = MEMORY_HEIGHT / most
    parts = [part for i, line in enumerate(lines) for part in _polyline(line, i, height)]
    if budget is not None:
        y = BOTTOM - budget * height
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e8684a" stroke-dasharray="4"/>'
        )
        parts.append(f'<text x="{WIDTH - 160}" y="{GAP - 10}" fill="#e8684a">budget {readable(int(budget))}</text>')
    parts.append(f'<text x="4" y="{GAP + 6}">{readable(int(most))}</text>')
    parts.append(f'<text x="{LEFT}" y="{BOTTOM + 16}" fill="#666">saved arrays, forward and backward</text>')
    body = "\n".join(parts)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {BOTTOM + GAP}" width="{WIDTH}" '
        f'height="{BOTTOM + GAP}" {FONT}>\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _polyline(line: Line, i: int, height: float) -> Iterator[str]:
    """A line as a staircase over the whole width, and its name with its peak."""
    last = max(len(line.sizes), 1)
    corners = steps(range(last), line.sizes, 0, last, (WIDTH - LEFT) / last, BOTTOM, height)
    yield f'<polyline points="{" ".join(corners)}" fill="none" stroke="{line.colour}" stroke-width="1.5"/>'
    peak = readable(max(line.sizes, default=0))
    yield f'<text x="{LEFT + 200 * i}" y="{GAP - 10}" fill="{line.colour}">{line.name}, peak {peak}</text>'
