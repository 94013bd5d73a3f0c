"""The values visible to a function besides its arguments: closure variables, globals, attributes, members.

A recording holds for their recorded state. A value that a replay cannot read again is compared before each replay. So a
rebound variable, a changed flag or a longer list leads to a new recording.
"""

from __future__ import annotations

import builtins
import functools
import os
import random
import site
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator
from io import IOBase
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy

from adjoint.compilation.matching import ABSENT, ATTRIBUTE, CELL, ENTRY, LENGTH, MEMBER, read_slot, same_value
from adjoint.core.graph import TensorBase
from adjoint.core.holders import TensorHolder
from adjoint.core.modes.random import Generator
from adjoint.runtime.caches import memoize
from adjoint.runtime.once import is_own

#: So many objects are looked at for one function.
MOST = 20_000
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
#: The folders of libraries.
_LIBRARIES = tuple(
    {
        os.path.realpath(path)
        for path in (*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("stdlib"))
    }
)


@memoize()
def is_of_users(code: CodeType) -> bool:
    """True for code that belongs neither to this package nor to a library."""
    return not is_own(code) and not os.path.realpath(code.co_filename).startswith(_LIBRARIES)


@memoize()
def names_in(code: CodeType) -> tuple[str, ...]:
    """All names of globals and attributes that code uses, also in inner functions."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += names_in(constant)
    return tuple(dict.fromkeys(names))


#: Classes whose objects wrap another object, and the attribute that holds it: recordings are no state.
STAND_INS: dict[type, str] = {}
#: A place that holds a value: the way to read it, its owner, its name or number, and the value.
Slot = tuple[int, Any, Any, Any]
_WORDS = {
    CELL: "the variable {key}", ENTRY: "the variable or entry {key!r}", ATTRIBUTE: "the attribute {key} of a {kind}",
    MEMBER: "member {key} of a {kind}", LENGTH: "the length of a {kind}",
}  # fmt: skip


def description(slot: Slot) -> str:
    """A slot in words."""
    kind, owner, key, _ = slot
    return _WORDS[kind].format(key=key, kind=type(owner).__name__)


class Reach:
    """The Tensors, arrays and generators that a function can see, and the slots that lead to them.

    A replay compares slots (`matching.py`) and contents. A generator of another library must stand where it stood after
    the recording, since its draws are no steps.
    """

    def __init__(self, function: Any) -> None:
        self.slots: list[Slot] = []
        self.tensors: list[TensorBase] = []
        #: Arrays and sets with their contents.
        self.contents: list[tuple[Any, Any]] = []
        #: Generators of other libraries with their states.
        self._positions: list[tuple[Any, Any]] = []
        #: Something whose state cannot be compared, or None.
        self.opaque: Any = None
        self._visited: dict[int, Any] = {}
        self._names: set[str] = set()
        self._classes: dict[type, set[str]] = {}
        self._todo: list[Any] = []
        self.add(function)

    def changes(self) -> Iterator[Slot]:
        """The slots that hold another value now."""
        for slot in self.slots:
            kind, owner, key, expected = slot
            if not same_value(read_slot(kind, owner, key), expected):
                yield slot

    @property
    def has_grown(self) -> bool:
        """True if a container has more members now."""
        return any(kind == LENGTH and len(owner) > expected for kind, owner, _, expected in self.changes())

    def is_unchanged(self) -> bool:
        """True if arrays and sets have the contents that they had."""
        return all(contents_of(value) == before for value, before in self.contents)

    @property
    def arrays(self) -> list[Any]:
        """The arrays of NumPy that the function sees."""
        return [value for value, _ in self.contents if isinstance(value, numpy.ndarray)]

    def why_not(self) -> str | None:
        """The reason why the function's surroundings prevent a replay, or None."""
        for slot in self.changes():
            return f"changed {description(slot)}"
        if not self.is_unchanged():
            return "changed the contents of an array or a set that it sees"
        for generator, before in self._positions:
            if _POSITIONS[type(generator)](generator) != before:
                return f"drew random numbers of a {type(generator).__name__}"
        return None if self.opaque is None else f"sees a {type(self.opaque).__name__}, whose state cannot be compared"

    def has_seen(self, value: Any) -> bool:
        """True for an object that the function can see."""
        return id(value) in self._visited

    def add(self, value: Any) -> None:
        """Visit a value and everything reachable from it."""
        self._todo.append(value)
        while self._todo:
            self._look(self._todo.pop())
            if not self._todo:
                self._look_at_methods()

    def _note(self, owner: Any, kind: int, key: Any) -> None:
        value = read_slot(kind, owner, key)
        self.slots.append((kind, owner, key, value))
        if type(value) not in _PLAIN and value is not ABSENT:
            self._todo.append(value)

    def _look(self, value: Any) -> None:
        if id(value) in self._visited or len(self._visited) >= MOST:
            return
        self._visited[id(value)] = value
        if isinstance(value, TensorBase):
            self.tensors.append(value)
        elif isinstance(value, TensorHolder):
            self.tensors.append(value._tensor)
        elif type(value) in _CONTENTS or isinstance(value, numpy.ndarray):
            self.contents.append((value, contents_of(value)))
        elif type(value) in _POSITIONS:
            self._positions.append((value, _POSITIONS[type(value)](value)))
        elif isinstance(value, Generator):
            pass  # its draws are steps
        elif isinstance(value, Iterator) and not isinstance(value, IOBase) and not is_class_of_users(type(value)):
            self.opaque = value
        elif type(value) in STAND_INS:
            self._todo.append(getattr(value, STAND_INS[type(value)]))
        elif isinstance(value, FunctionType):
            self._look_at_function(value)
        elif isinstance(value, MethodType):
            self._todo += [value.__self__, value.__func__]
        elif isinstance(value, functools.partial):
            self._todo += [value.func, value.args, value.keywords]
        elif isinstance(value, type):
            if is_class_of_users(value):
                self._look_at_classes(value)
        elif isinstance(value, (list, tuple, deque)):
            self._note(value, LENGTH, None)
            for k, member in enumerate(value):
                if not isinstance(value, tuple):
                    self._note(value, MEMBER, k)
                elif type(member) not in _PLAIN:
                    self._todo.append(member)
        elif isinstance(value, dict):
            self._note(value, LENGTH, None)
            for key in list(value):
                self._note(value, ENTRY, key)
        elif not isinstance(value, (ModuleType, BuiltinFunctionType, *_PLAIN)):
            self._look_at_object(value)

    def _look_at_function(self, function: Any) -> None:
        code = function.__code__
        of_users = is_of_users(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            value = read_slot(CELL, cell, name)
            if not of_users and isinstance(value, (list, dict)):
                continue  # notes of a library's own
            self.slots.append((CELL, cell, name, value))
            if value is not ABSENT and type(value) not in _PLAIN:
                self._todo.append(value)
        self._todo += [function.__defaults__ or (), function.__kwdefaults__ or {}]
        if not of_users:
            return
        self._names.update(names_in(code))
        for name in names_in(code):
            if name in function.__globals__:
                value = function.__globals__[name]
                if isinstance(value, ModuleType):
                    self._look_at_module(value, names_in(code))
                else:
                    self._note(function.__globals__, ENTRY, name)
            elif not hasattr(builtins, name):
                # it may become a global before the next call
                self.slots.append((ENTRY, function.__globals__, name, ABSENT))

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
                self._note(vars(module), ENTRY, name)

    def _look_at_object(self, value: Any) -> None:
        kind = type(value)
        if isinstance(getattr(value, "__dict__", None), dict):
            for name in list(vars(value)):
                self._note(value, ATTRIBUTE, name)
        for each in kind.__mro__:
            if is_class_of_users(each):
                for name in names_of_slots(each):
                    self._note(value, ATTRIBUTE, name)
        self._look_at_classes(kind)

    def _look_at_classes(self, kind: type) -> None:
        for each in kind.__mro__:
            if is_class_of_users(each):
                self._classes.setdefault(each, set())

    def _look_at_methods(self) -> None:
        """Visit the methods that code calls by name, the methods that Python calls itself, and attributes."""
        for kind, looked in self._classes.items():
            for name, method in vars(kind).items():
                is_called = name in self._names or (name.startswith("__") and _is_written(method))
                if not is_called or name in looked:
                    continue
                looked.add(name)
                if isinstance(method, FunctionType) or not hasattr(type(method), "__get__"):
                    self._note(kind, ATTRIBUTE, name)
                else:
                    self._todo.append(getattr(method, "__func__", getattr(method, "fget", method)))


def contents_of(value: Any) -> Any:
    """The comparable content of an array or a set."""
    if isinstance(value, numpy.ndarray):
        return value.shape, value.strides, value.dtype, value.tobytes()
    return bytes(value) if type(value) is bytearray else frozenset(value)


_CONTENTS = (set, frozenset, bytearray)
_POSITIONS: dict[type, Any] = {
    random.Random: lambda generator: generator.getstate(),
    numpy.random.Generator: lambda generator: repr(generator.bit_generator.state),
    numpy.random.RandomState: lambda generator: repr(generator.get_state()),
}


@memoize()
def is_class_of_users(kind: type) -> bool:
    """True for a class that belongs to no library."""
    module = sys.modules.get(kind.__module__)
    path = getattr(module, "__file__", None)
    if module is builtins or kind.__module__.partition(".")[0] == "adjoint":
        return False
    return path is None or not os.path.realpath(path).startswith(_LIBRARIES)


def names_of_slots(kind: type) -> list[str]:
    """The attributes that a class declares in __slots__."""
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else slots
    return [name for name in names if not name.startswith("__")]


def _is_written(method: Any) -> bool:
    """False for methods that a library made from text, such as those of data classes."""
    return isinstance(method, FunctionType) and method.__code__.co_filename != "<string>"
