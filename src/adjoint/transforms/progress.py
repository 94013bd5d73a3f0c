"""A progress bar for long work: it appears, and its library is imported, after `SHOW_AFTER` seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from adjoint.runtime.forks import new_lock

#: Seconds until the bar appears; set to math.inf to see none.
SHOW_AFTER = 2.0
# a terminal has room for one bar: the outermost block shows it
_lock = new_lock()


class Progress:
    """Counts steps in a with block; draws a bar on a terminal once the block has lasted, if rich is installed.

    >>> with Progress("counting", 3) as progress:
    ...     for _ in range(3):
    ...         progress.advance()
    >>> progress.n_steps
    3
    """

    def __init__(self, title: str, total: int) -> None:
        self.title = title
        self.total = total
        self.n_steps = 0
        self._bar: Any = None
        self._due = 0.0

    def __enter__(self) -> Progress:
        self._due = time.monotonic() + SHOW_AFTER
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            _lock.release()

    def advance(self, steps: int = 1) -> None:
        """Some more steps are done."""
        self.n_steps += steps
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.n_steps)
        elif self.n_steps < self.total and time.monotonic() >= self._due:
            self._show()

    def _show(self) -> None:
        self._due = float("inf")
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ModuleNotFoundError:
            return
        console = Console(stderr=True)
        if not console.is_terminal or not _lock.acquire(blocking=False):
            return
        self._bar = Bar(console=console, transient=True)
        self._bar.add_task(self.title, total=self.total, completed=self.n_steps)
        self._bar.start()
