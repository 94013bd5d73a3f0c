"""Several results under their names: tuples like torch.return_types', which pickle finds in `adjoint.return_types`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from adjoint.arrays.size import printed

T = TypeVar("T", bound=type)

#: The result classes made so far, by the name of their function.
RESULTS: dict[str, type] = {}


_HELP = """The results of {function}(): {fields}.

A tuple whose members have names. It is called with one sequence of the results, as torch's class of the same name.
"""


def results_of(function: str) -> Callable[[T], T]:
    """Let a class of named results look like torch's, under the name of the function that gives them."""

    def decorate(kind: T) -> T:
        by_fields = kind.__new__

        def __new__(cls: Any, *results: Any, **fields: Any) -> Any:
            # torch's classes are called with one sequence, named tuples with each of the results
            if len(results) == 1 and not fields and isinstance(results[0], (tuple, list)):
                results = results[0]
            return by_fields(cls, *results, **fields)

        result_class: Any = kind
        result_class.__new__, result_class.__repr__ = __new__, text_of
        result_class.__name__ = result_class.__qualname__ = function
        result_class.__module__ = "adjoint.return_types"
        result_class.__doc__ = _HELP.format(function=function, fields=", ".join(result_class._fields))
        RESULTS[function] = kind
        return kind

    return decorate


def results_type(function: str, fields: Iterable[str]) -> Any:
    """A class of named results."""
    return results_of(function)(namedtuple(function, fields))  # type: ignore[misc]


def text_of(results: Any) -> str:
    """One result to a line."""
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(results._fields, results, strict=True))
    return f"{printed.module}.return_types.{type(results).__name__}(\n{lines})"
