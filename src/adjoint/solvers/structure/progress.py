"""A bar for long computations, by rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def count_steps(steps: Sequence[T], title: str, with_bar: bool) -> Iterable[T]:
    """The steps one by one, with a bar that shows the progress.

    Raises ImportError if a bar is wanted and rich is not installed.
    """
    if not with_bar:
        return steps
    try:
        from rich.progress import track
    except ImportError as error:
        raise ImportError("progress=True needs the package rich: pip install rich") from error
    return track(steps, description=title)
