"""Caches of functions, in one registry, so that they can be emptied together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")

#: A function that empties each cache, in the order of registration.
_RESETS: list[Callable[[], object]] = []


def memoize(size: int | None = None, *, typed: bool = False) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Keep the last results of a function of hashable arguments: at most `size`, all for None.

    typed: arguments of different types are different, though they are equal.

    >>> @memoize(2)
    ... def square(n):
    ...     return n * n
    >>> square(3), square(3), square.cache_info().hits
    (9, 9, 1)
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        keeping = functools.lru_cache(size, typed)(function)
        reset_with(keeping.cache_clear)
        return keeping

    return decorate


def reset_with(reset: Callable[[], object]) -> None:
    """Register the function that empties a cache of another kind, as one of programs."""
    _RESETS.append(reset)


def reset_caches() -> int:
    """Empty all caches; returns how many there are. Results stay the same, the next calls take longer.

    >>> reset_caches() > 0
    True
    """
    for reset in _RESETS:
        reset()
    return len(_RESETS)
