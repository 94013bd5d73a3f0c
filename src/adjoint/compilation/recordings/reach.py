"""What a function can see besides its arguments: variables of enclosing functions, globals, attributes, members.

A recording holds for these as they were. Each one that a replay cannot read anew is compared before a replay, so that a
variable that is bound to another value, a changed flag or a longer list leads to another recording.
"""

from __future__ import annotations

import builtins
import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy

from adjoint.core.graph import TensorBase
from adjoint.core.holders import TensorHolder
from adjoint.core.locations import is_own
from adjoint.core.modes.random import Generator

#: So many objects are looked at for one function.
MOST = 20_000
ABSENT = object()
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_LIBRARIES = tuple(
    {
        os.path.realpath(path)
        for path in (*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("stdlib"))
    }
)


@functools.cache
def is_of_users(code: CodeType) -> bool:
    """True for code that belongs neither to this package nor to a library."""
    return not is_own(code) and not os.path.realpath(code.co_filename).startswith(_LIBRARIES)


@functools.cache
def names_in(code: CodeType) -> tuple[str, ...]:
    """All names of globals and attributes that code uses, that of inner functions too."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += names_in(constant)
    return tuple(dict.fromkeys(names))


class Slot:
    """A place that holds a value: how to read it, and what it held."""

    __slots__ = ("expected", "key", "kind", "owner")

    def __init__(self, owner: Any, kind: str, key: Any, expected: Any) -> None:
        self.owner, self.kind, self.key, self.expected = owner, kind, key, expected

    def read(self) -> Any:
        """The value now."""
        return _READERS[self.kind](self.owner, self.key)  # type: ignore[no-untyped-call]

    def is_unchanged(self) -> bool:
        """True if the value is the one that it was, or equal to it where values are compared."""
        value = self.read()
        return value is self.expected or (type(value) in _PLAIN and _same(value, self.expected))

    def __str__(self) -> str:
        if self.kind == "cell":
            return f"the variable {self.key}"
        if self.kind == "global":
            return f"the global {self.key}"
        if self.kind == "attribute":
            return f"the attribute {self.key} of a {type(self.owner).__name__}"
        return (
            f"the length of a {type(self.owner).__name__}"
            if self.kind == "length"
            else f"[{self.key!r}] of a {type(self.owner).__name__}"
        )


def _same(value: Any, expected: Any) -> bool:
    return type(value) is type(expected) and (value == expected or value != value) and repr(value) == repr(expected)


def _cell(owner: Any, key: Any) -> Any:
    try:
        return owner.cell_contents
    except ValueError:
        return ABSENT


def _member(owner: Any, key: Any) -> Any:
    try:
        return owner[key]
    except (KeyError, IndexError):
        return ABSENT


_READERS = {
    "cell": _cell,
    "global": lambda owner, key: owner.get(key, ABSENT),
    "attribute": lambda owner, key: getattr(owner, key, ABSENT),
    "member": _member,
    "length": lambda owner, key: len(owner),
}


class Reach:
    """The Tensors, arrays and generators that a function can see, and the slots that lead to them."""

    def __init__(self, function: Any) -> None:
        self.slots: list[Slot] = []
        self.tensors: list[TensorBase] = []
        self.arrays: list[Any] = []
        self.generators: list[Any] = []
        self._seen: dict[int, Any] = {}
        self._todo: list[Any] = [function]
        while self._todo:
            self._look(self._todo.pop())

    def changes(self) -> Iterator[Slot]:
        """The slots that hold another value now."""
        for slot in self.slots:
            if not slot.is_unchanged():
                yield slot

    def add(self, value: Any) -> None:
        """Look at a value, and at what can be seen from it."""
        self._todo.append(value)
        while self._todo:
            self._look(self._todo.pop())

    def _note(self, owner: Any, kind: str, key: Any) -> None:
        value = _READERS[kind](owner, key)  # type: ignore[no-untyped-call]
        self.slots.append(Slot(owner, kind, key, value))
        if type(value) not in _PLAIN and value is not ABSENT:
            self._todo.append(value)

    def _look(self, value: Any) -> None:
        if id(value) in self._seen or len(self._seen) >= MOST:
            return
        self._seen[id(value)] = value
        if isinstance(value, TensorBase):
            self.tensors.append(value)
        elif isinstance(value, TensorHolder):
            self.tensors.append(value._tensor)
        elif isinstance(value, numpy.ndarray):
            self.arrays.append(value)
        elif isinstance(value, (numpy.random.Generator, Generator)):
            self.generators.append(value)
        elif isinstance(value, FunctionType):
            self._look_at_function(value)
        elif isinstance(value, MethodType):
            self._todo += [value.__self__, value.__func__]
        elif isinstance(value, functools.partial):
            self._todo += [value.func, value.args, value.keywords]
        elif isinstance(value, (list, tuple)):
            self._note(value, "length", None)
            for k, member in enumerate(value):
                if isinstance(value, list):
                    self._note(value, "member", k)
                elif type(member) not in _PLAIN:
                    self._todo.append(member)
        elif isinstance(value, dict):
            self._note(value, "length", None)
            for key in list(value):
                self._note(value, "member", key)
        elif not isinstance(value, (type, ModuleType, BuiltinFunctionType, *_PLAIN)):
            self._look_at_object(value)

    def _look_at_function(self, function: Any) -> None:
        code = function.__code__
        of_users = is_of_users(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            value = _cell(cell, None)
            if not of_users and isinstance(value, (list, dict)):
                continue  # notes of a library's own
            self.slots.append(Slot(cell, "cell", name, value))
            if value is not ABSENT and type(value) not in _PLAIN:
                self._todo.append(value)
        self._todo += [function.__defaults__ or (), function.__kwdefaults__ or {}]
        if not of_users:
            return
        for name in names_in(code):
            if name in function.__globals__:
                value = function.__globals__[name]
                if isinstance(value, ModuleType):
                    self._look_at_module(value, names_in(code))
                else:
                    self._note(function.__globals__, "global", name)
            elif not hasattr(builtins, name):
                # it may become a global before the next call
                self.slots.append(Slot(function.__globals__, "global", name, ABSENT))

    def _look_at_module(self, module: Any, names: tuple[str, ...]) -> None:
        path = getattr(module, "__file__", None)
        if (
            path is None
            or os.path.realpath(path).startswith(_LIBRARIES)
            or module.__name__.partition(".")[0] == "adjoint"
        ):
            return
        for name in names:
            if name in vars(module):
                self._note(vars(module), "global", name)

    def _look_at_object(self, value: Any) -> None:
        kind = type(value)
        module = sys.modules.get(kind.__module__)
        path = getattr(module, "__file__", None)
        if hasattr(value, "__dict__") and isinstance(vars(value), dict):
            for name in list(vars(value)):
                self._note(value, "attribute", name)
        for name in (
            getattr(kind, "__slots__", ()) if path is None or not os.path.realpath(path).startswith(_LIBRARIES) else ()
        ):
            if isinstance(name, str) and not name.startswith("__"):
                self._note(value, "attribute", name)
        call = vars(kind).get("__call__")
        if isinstance(call, FunctionType) and is_of_users(call.__code__):
            self._todo.append(call)
        for name in vars(kind):
            method = vars(kind)[name]
            if isinstance(method, FunctionType) and is_of_users(method.__code__):
                self._todo.append(method)
