"""Ranges and marks in the timeline of NVIDIA's profilers, under torch.cuda.nvtx's names.

They need the package nvtx (extra "nvtx"), but no device.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _package() -> Any:
    try:
        return importlib.import_module("nvtx")
    except ImportError as error:
        raise ImportError(
            'adjoint.cuda.nvtx needs the package nvtx, which is not installed: pip install "adjoint-autograd[nvtx]"'
        ) from error


def range_push(msg: str) -> None:
    """Open a range inside the open ranges of the thread.

    msg: its text. Raises ImportError without the package nvtx.
    """
    _package().push_range(msg)


def range_pop() -> None:
    """Close the innermost range of the thread.

    Raises ImportError without the package nvtx.
    """
    _package().pop_range()


def range_start(msg: str) -> Any:
    """Open a range that another thread may close.

    msg: its text. Returns the number for `range_end`. Raises ImportError without the package nvtx.
    """
    return _package().start_range(msg)


def range_end(range_id: Any) -> None:
    """Close a range that `range_start` has opened.

    range_id: the number that `range_start` returned. Raises ImportError without the package nvtx.
    """
    _package().end_range(range_id)


def mark(msg: str) -> None:
    """Mark the present time in the profile.

    msg: its text. Raises ImportError without the package nvtx.
    """
    _package().mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block, or a function, inside a range; the message is formatted with the arguments.

    Raises ImportError without the package nvtx.
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


def __dir__() -> list[str]:
    return sorted(__all__)
