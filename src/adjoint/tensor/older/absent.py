"""Placeholders of names that adjoint leaves out: errors that name the reason.

The reasons are in `left_out`, which is imported at the first use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def _reason(space: str, name: str) -> str | None:
    from adjoint.tensor.older.left_out import explanation

    return explanation(space, name)


class AttributeOf:
    """The `__getattr__` of a module: attributes made at first use, and errors that name the reason.

    makers: functions without arguments, by the names of the attributes.
    """

    def __init__(self, module: str, **makers: Callable[[], Any]) -> None:
        self.module, self.makers = module, makers
        self.space = module.partition(".")[2]

    def __call__(self, name: str) -> Any:
        if name in self.makers:
            return self.makers[name]()
        reason = _reason(self.space, name)
        raise AttributeError(
            f"module {self.module!r} has no attribute {name!r}" + (f": {reason}" if reason else ""),
            name=name,
            obj=sys.modules.get(self.module),
        )


class NoMethod:
    """A placeholder in Tensor for a torch method that is left out: access raises AttributeError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        kind = type(instance).__name__ if owner is None else owner.__name__
        raise AttributeError(
            f"{kind!r} object has no attribute {self.name!r}: {_reason('Tensor', self.name)}", name=self.name
        )
