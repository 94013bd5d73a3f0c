"""The part of ``cython`` that the hot modules use, for runs without Cython: they then run as plain Python."""

from collections.abc import Callable
from typing import Any, TypeVar

compiled = False
_T = TypeVar("_T")


def _identity(decorated: _T) -> _T:
    return decorated


def _decorator(*_arguments: object, **_options: object) -> Callable[[_T], _T]:
    return _identity


cclass = final = _identity
trashcan = freelist = _decorator
int = long = longlong = ulonglong = Py_ssize_t = bint = double = object


class critical_section:
    """A block that needs no lock in plain Python."""

    def __init__(self, _owner: object) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        pass


def cast(_type: Any, value: _T, **_options: object) -> _T:
    return value
