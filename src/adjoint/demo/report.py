"""Parts that the three jobs share: a stopwatch, a check against a target, and the table at the end."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


class Stopwatch:
    """Time the laps of a loop: ``with watch: ...`` is one lap.

    >>> watch = Stopwatch()
    >>> for _ in range(3):
    ...     with watch:
    ...         total = sum(range(10))
    >>> watch.laps
    3
    """

    def __init__(self) -> None:
        """Start at zero laps."""
        self.laps = 0
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> Stopwatch:
        """Begin a lap."""
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        """End the lap; its time counts even if it raised."""
        self.seconds += time.perf_counter() - self._start
        self.laps += 1

    def per_lap(self) -> str:
        """Return the mean time of a lap, in a readable unit.

        Raises ZeroDivisionError when no lap was run.
        """
        return duration(self.seconds / self.laps)


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it.

    >>> duration(0.000042), duration(0.0123), duration(2.5)
    ('42.0 µs', '12.3 ms', '2.5 s')
    """
    for unit, scale in (("µs", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            return f"{seconds * scale:.1f} {unit}"
    return f"{seconds:.1f} s"


@dataclass(frozen=True)
class Check:
    """One line of the final table: what was computed, what came out, and whether it met its target."""

    job: str
    computed: str
    result: str
    target: str
    is_met: bool
    step: str

    def complaint(self) -> str:
        """Say in one sentence how the target was missed."""
        return f"{self.job}: {self.computed} is {self.result}, the target is {self.target}"


def failures(checks: Iterable[Check]) -> list[str]:
    """Return one sentence for each check that missed its target."""
    return [check.complaint() for check in checks if not check.is_met]


def table(checks: Iterable[Check]) -> Table:
    """Lay the checks out as a table, one row each; a job is named on its first row only."""
    from rich.table import Table

    layout = Table(title="What was computed, how exact, how fast", title_justify="left")
    for heading in ("job", "computed"):
        layout.add_column(heading, overflow="fold")
    for heading in ("result", "target", "time per step"):
        layout.add_column(heading, justify="right", overflow="fold")
    layout.add_column("met")
    previous = ""
    for check in checks:
        new_job = check.job != previous
        if new_job and previous:
            layout.add_section()
        mark = "[green]yes[/]" if check.is_met else "[bold red]NO[/]"
        job = check.job if new_job else ""
        layout.add_row(job, check.computed, check.result, check.target, check.step, mark)
        previous = check.job
    return layout
