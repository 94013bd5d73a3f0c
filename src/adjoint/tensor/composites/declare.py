"""Composites: public functions made of declared operations, such as overloads that pick an operation by arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from adjoint.core.recorded import TensorOps

F = TypeVar("F", bound=Callable[..., Any])

#: The declared operations, called on Tensors (and numbers or arrays) and recorded.
ops = TensorOps()


class Composite(NamedTuple):
    """A composite and where it appears: in which namespace as a function, and under which name as a method."""

    function: Callable[..., Any]
    namespace: str
    method: str | None


#: All composites by (namespace, name); the namespace is "" for adjoint itself, or "linalg", "nn.functional" ...
COMPOSITES: dict[tuple[str, str], Composite] = {}


def composite(*, namespace: str | None = "", method: bool | str = True, name: str | None = None) -> Callable[[F], F]:
    """Declare a composite; its first parameter is the Tensor it is a method of.

    namespace None: only a method. method False: only a function; a string: the method's name where it differs.
    """

    def declare(function: F) -> F:
        # a function's trailing underscore avoids Python's own names, a method's says that it works in place
        own = name or (function.__name__ if namespace is None else function.__name__.rstrip("_"))
        key = ("(method)" if namespace is None else namespace, own)
        if key in COMPOSITES:
            raise ValueError(f"composite {own!r} is declared twice in namespace {namespace!r}")
        bound = (own if method is True else method) or None
        COMPOSITES[key] = Composite(function, key[0], bound)
        return function

    return declare
