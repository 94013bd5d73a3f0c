"""Tables of the times of programs, in the order of the ratios to PyTorch's times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log

from ..report import quantity
from .measurement import Timing

LIMITS = (1.0, 0.7)


def by_ratio(rows: Iterable[Timing]) -> list[Timing]:
    """Programs with errors, then programs with a ratio, in ascending order."""
    return sorted(rows, key=lambda row: -1.0 if row.error else row.ratio or 0.0)


def summary(rows: Sequence[Timing]) -> str:
    """The geometric mean of the ratios, and the number of ratios below each limit."""
    ratios = [row.ratio for row in rows if row.ratio]
    gains = [row.gain for row in rows if row.gain]
    compiled = f" Compiled steps are {geometric_mean(gains):.2f} times as fast as eager ones." if gains else ""
    if not ratios:
        return f"{len(rows)} programs, without torch.{compiled}"
    below = ", ".join(f"{sum(ratio < limit for ratio in ratios)} below {limit}" for limit in LIMITS)
    return f"{len(ratios)} programs, geometric mean {geometric_mean(ratios):.2f}, {below}.{compiled}"


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean of ratios.

    >>> geometric_mean([2.0, 8.0])
    4.0
    """
    return exp(sum(map(log, ratios)) / len(ratios))


def text_table(rows: Sequence[Timing]) -> str:
    """The table for a terminal."""
    lines = [
        f"  {row.name}: {row.error}"
        if row.error
        else f"{cell(row.ratio):>6}  {quantity(row.ours or 0):>9}  {row.name} ({row.field})"
        for row in by_ratio(rows)
    ]
    return "\n".join([*lines, summary(rows), ""])


def markdown_table(rows: Sequence[Timing], *others: Sequence[Timing]) -> str:
    """The table for the page.

    It has the ratios by the first clock, which orders the rows, and by the second if there is one.
    """
    seconds = [{row.name: row.ratio for row in each} for each in others]
    titles = ["program", "field", "adjoint", "torch/adjoint", "eager/compiled", *["two threads, wall"] * len(seconds)]
    lines = ["| " + " | ".join(titles) + " |", "|---|---" + "|---:" * (len(titles) - 2) + "|"]
    for row in by_ratio(rows):
        ours = row.error or quantity(row.ours or 0)
        cells = [row.name, row.field, ours, cell(row.ratio), cell(row.gain)]
        cells += [cell(second.get(row.name)) for second in seconds]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(ratio: float | None) -> str:
    """A ratio, or an empty text if there is none."""
    return "" if ratio is None else f"{ratio:.2f}"
