"""torch.__config__: how the library was built."""

from __future__ import annotations

import contextlib
import io

import adjoint

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The text that `adjoint.show_config()` prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        adjoint.show_config()
    return text.getvalue()


def parallel_info() -> str:
    """The number of threads."""
    return f"adjoint.get_num_threads() : {adjoint.get_num_threads()}\n"
