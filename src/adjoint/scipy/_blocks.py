"""Blocks of `patched`: the threads inside a block, and the distinction of the user's code from adjoint's code."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import numpy

from adjoint.core.holders import TensorHolder
from adjoint.interop.operands import is_tracked
from adjoint.transforms.passing import CALLERS

#: The folder of adjoint's code.
FOLDER = str(Path(__file__).parents[1]) + os.sep

#: NumPy's functions that make arrays of constants; code often assigns to their elements.
FILLED = (
    "zeros", "ones", "empty", "full", "eye", "identity", "zeros_like", "ones_like", "empty_like", "full_like",
)  # fmt: skip

#: Functions that count as a part of their caller, like the functions of array_api_compat: constructors prepare an
#: object for the values of their caller.
PARTS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>", "__init__", "__new__"}
#: The largest number of members of a list that are examined.
MEMBERS = 64


class _Thread(threading.local):
    """depth: the number of blocks around the current code of a thread."""

    depth = 0


thread = _Thread()


def is_own(frame: FrameType | None) -> bool:
    """True for a frame of adjoint's code."""
    return frame is not None and frame.f_code.co_filename.startswith(FOLDER)


def serves_differentiated_code(frame: FrameType) -> bool:
    """Whether the caller is a user's function that computes with differentiable arrays.

    Such a caller has a variable that depends on a differentiated argument, or a variable with such a member or
    attribute. So code that works only on plain arrays, perhaps in C, gets plain arrays. The nearest frame of adjoint
    must be one that calls user functions; otherwise adjoint itself calls NumPy or SciPy.

    frame: the frame of the caller.
    """
    return has_arrays(frame) and _is_of_user(frame)


def has_arrays(frame: FrameType) -> bool:
    """True if a variable of a frame, or a member or attribute of one, depends on a differentiated argument."""
    variables = frame.f_locals.values()
    if _hold_arrays(variables) or any(_hold_arrays(_attributes(value)) for value in variables):
        return True
    is_part = frame.f_code.co_name in PARTS or "array_api_compat" in frame.f_globals.get("__name__", "")
    return is_part and frame.f_back is not None and has_arrays(frame.f_back)


def _hold_arrays(values: Iterable[Any]) -> bool:
    return any(depends(value) or _is_container_of_some(value) for value in values)


def depends(value: Any) -> bool:
    """True for a differentiable array that depends on a differentiated argument."""
    return isinstance(value, TensorHolder) and (is_tracked(value._tensor) or hasattr(value._tensor._array, "batches"))


def _is_container_of_some(value: Any) -> bool:
    if isinstance(value, numpy.ndarray):
        members: Iterable[Any] = value.flat if value.dtype.kind == "O" else ()
    else:
        members = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return any(depends(member) for member in islice(members, MEMBERS))


def _attributes(value: Any) -> Iterable[Any]:
    return () if isinstance(value, ModuleType) else list(getattr(value, "__dict__", {}).values())


def _is_of_user(frame: FrameType | None) -> bool:
    while frame is not None and not is_own(frame):
        frame = frame.f_back
    return frame is not None and frame.f_code in CALLERS
