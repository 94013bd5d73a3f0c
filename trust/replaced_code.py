"""Puts a fault into existing functions by other code, if the fault changes only the bodies of functions."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType

#: A function, and its new code.
Replacement = tuple[FunctionType, CodeType]


class Unreplaceable(Exception):
    """The fault changes code that runs at import, or the closure of a function."""


def nested_code(code: CodeType) -> list[CodeType]:
    """The code of the functions and classes within."""
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def behaviour(code: CodeType) -> tuple[object, ...]:
    """The behaviour of code without its inner functions, independent of its place in the file."""
    values = tuple((type(each), each) for each in code.co_consts if not isinstance(each, CodeType))
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, repr(values)


def differing(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The code of functions that differ, by themselves or within, each with its new code.

    >>> texts = ["f = lambda x: x\\ng = lambda x: -x", "f = lambda x: x\\ng = lambda x: x"]
    >>> before, after = [compile(text, "a.py", "exec") for text in texts]
    >>> [code.co_firstlineno for code, _ in differing(before, after)]
    [2]
    """
    pairs = list(zip(nested_code(before), nested_code(after), strict=False))
    if len(nested_code(before)) != len(nested_code(after)):
        raise Unreplaceable("a function has gone")
    for one, other in pairs:
        within = list(differing(one, other))
        yield from within
        if behaviour(one) != behaviour(other) and not is_function(one):
            raise Unreplaceable("the body of a class has run")
        if (within or behaviour(one) != behaviour(other)) and is_function(one):
            if one.co_freevars != other.co_freevars:
                raise Unreplaceable("a closure has other variables")
            yield one, other


def is_function(code: CodeType) -> bool:
    """Whether code is that of a function, not of a module or a class."""
    return bool(code.co_flags & 0x2)  # CO_NEWLOCALS


def place(code: CodeType) -> tuple[object, ...]:
    """The identity of code within its module, also of several lambdas on one line."""
    return code.co_qualname, code.co_firstlineno, tuple(code.co_positions())


class Living:
    """The existing functions, by their file."""

    def __init__(self) -> None:
        gc.unfreeze()  # gc does not list frozen objects
        self._functions: dict[str, list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if type(each) is FunctionType:
                self._functions[each.__code__.co_filename].append(each)
        gc.freeze()

    def replacements(self, file: str, source: bytes, changed: bytes) -> list[Replacement]:
        """The functions of a file that a change of its source affects. Raises Unreplaceable for other changes."""
        before, after = [compile(text, file, "exec", dont_inherit=True) for text in (source, changed)]
        if behaviour(before) != behaviour(after):
            raise Unreplaceable("the module has run")
        codes = {place(one): other for one, other in differing(before, after)}
        functions = [(each, codes.get(place(each.__code__))) for each in self._functions[file]]
        return [(function, code) for function, code in functions if code is not None]
