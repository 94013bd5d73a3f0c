"""Where in the user's code something happened: the innermost frame outside this package."""

from __future__ import annotations

import linecache
import os.path
import sys
from types import CodeType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_own: dict[CodeType, bool] = {}

Location = tuple[CodeType, int]


def is_own(code: CodeType) -> bool:
    """True for code of this package."""
    known = _own.get(code)
    if known is None:
        known = _own[code] = code.co_filename.startswith(_PACKAGE)
    return known


def caller() -> Location | None:
    """The code and line that called into this package, None if it was called by no Python code."""
    frame = sys._getframe(1)
    while frame is not None:
        if not is_own(frame.f_code):
            return frame.f_code, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def described(location: Location) -> str:
    """A location in words: File "model.py", line 12, in loss: h.mul_(2)."""
    code, line = location
    text = linecache.getline(code.co_filename, line).strip()
    return f'File "{code.co_filename}", line {line}, in {code.co_name}' + (f": {text}" if text else "")


def forward_traceback() -> list[str]:
    """The lines of a traceback to here, without frames of this package."""
    import traceback

    frames = traceback.extract_stack(sys._getframe(1))
    return traceback.format_list([frame for frame in frames if not frame.filename.startswith(_PACKAGE)])
