"""Lines of the user's code: the innermost frame outside this package."""

from __future__ import annotations

import linecache
import os
import os.path
import sys
from types import CodeType

import numpy

from adjoint.runtime.caches import memoize
from adjoint.runtime.once import PACKAGE, calling_frame, is_own

_STANDARD = os.path.dirname(os.path.realpath(os.__file__))
_NUMPY = os.path.dirname(os.path.realpath(numpy.__file__))

Location = tuple[CodeType, int]


@memoize()
def is_of_libraries(code: CodeType) -> bool:
    """True for code of this package, of NumPy and of Python's standard library."""
    path = os.path.realpath(code.co_filename)
    return is_own(code) or path.startswith(_NUMPY) or (path.startswith(_STANDARD) and "site-packages" not in path)


def caller() -> Location | None:
    """The code and line that called into this package, None if it was called by no Python code."""
    frame = calling_frame()
    return None if frame is None else (frame.f_code, frame.f_lineno)


def caller_of_libraries() -> Location | None:
    """The code and line that called into this package, be it through NumPy or the standard library."""
    frame = calling_frame()
    while frame is not None and is_of_libraries(frame.f_code):
        frame = frame.f_back
    return caller() if frame is None else (frame.f_code, frame.f_lineno)


def description(location: Location) -> str:
    """A location in words: File "model.py", line 12, in loss: h.mul_(2)."""
    code, line = location
    text = linecache.getline(code.co_filename, line).strip()
    return f'File "{code.co_filename}", line {line}, in {code.co_name}' + (f": {text}" if text else "")


def forward_traceback() -> list[str]:
    """The lines of a traceback to here, without frames of this package."""
    import traceback

    frames = traceback.extract_stack(sys._getframe(1))
    return traceback.format_list([frame for frame in frames if not frame.filename.startswith(PACKAGE)])
