"""Warnings at the line that called into this package; some appear once in a process, as in torch."""

from __future__ import annotations

import os.path
import sys
import warnings
from typing import TYPE_CHECKING

from adjoint.runtime.caches import memoize

if TYPE_CHECKING:
    from types import CodeType, FrameType

_earlier_keys: dict[str, object] = {}
_always = False
#: The folder of this package.
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


@memoize()
def is_own(code: CodeType) -> bool:
    """True for code of this package."""
    return code.co_filename.startswith(PACKAGE)


def calling_frame() -> FrameType | None:
    """The frame that called into this package, None if no Python code did."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code):
        frame = frame.f_back
    return frame


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning at the line that called into this package.

    The number of frames in between, which warnings.warn asks for, differs where modules are compiled: they have none.
    """
    frame = calling_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    # Python's own name for code that exec() runs; without one it gives no warning
    module = frame.f_globals.get("__name__", "<string>")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def warn_once(message: str, *, key: str | None = None) -> None:
    """Warn the caller, the first time that this message (or key) comes, or every time after set_warn_always(True)."""
    key = key or message
    marker = object()
    # of several threads that come at once, one is the first
    if _earlier_keys.setdefault(key, marker) is not marker and not _always:
        return
    warn_caller(message)


def set_warn_always(b: bool) -> None:
    """Choose whether warnings that appear once in a process appear every time.

    >>> import adjoint
    >>> adjoint.set_warn_always(True)
    >>> adjoint.is_warn_always_enabled()
    True
    >>> adjoint.set_warn_always(False)
    """
    global _always
    _always = b


def is_warn_always_enabled() -> bool:
    """True if warnings that are given once per process are given every time.

    `set_warn_always` switches it.

    >>> import adjoint
    >>> adjoint.is_warn_always_enabled()
    False
    """
    return _always
