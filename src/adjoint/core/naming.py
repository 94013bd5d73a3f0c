"""The names under which functions are public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class KeptByName:
    """What stands for a function: as functions are, it is pickled by its public name and is its own copy."""

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[attr-defined,no-any-return]


def known_by(function: F, module: str, name: str) -> F:
    """The function, with its public name, by which a pickle of it finds it again wherever it is defined.

    >>> import adjoint, pickle
    >>> pickle.loads(pickle.dumps(adjoint.where)) is adjoint.where
    True
    """
    function.__module__, function.__qualname__ = module, name
    return function
