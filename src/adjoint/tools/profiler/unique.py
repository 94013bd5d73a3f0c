"""A check that keys are seen once."""

from __future__ import annotations

from typing import Any


class EnforceUnique:
    """Raises RuntimeError if a key is seen more than once.

    >>> from adjoint.autograd.profiler import EnforceUnique
    >>> keys = EnforceUnique()
    >>> keys.see("load", 1)
    >>> keys.see("load", 1)
    Traceback (most recent call last):
        ...
    RuntimeError: duplicate key: ('load', 1)
    """

    def __init__(self) -> None:
        self.keys: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Remember a key, which is a tuple of all arguments.

        Raises RuntimeError if it was given before.
        """
        if key in self.keys:
            raise RuntimeError("duplicate key: " + str(key))
        self.keys.add(key)
