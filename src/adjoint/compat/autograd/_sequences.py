"""Copies of sequences with some members replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A tuple of the members of a sequence, with some of them replaced.

    >>> subvals((1, 2, 3), [(0, 10)])
    (10, 2, 3)
    """
    members = list(x)
    for i, value in ivs:
        members[i] = value
    return tuple(members)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """A tuple of the members of a sequence, with one of them replaced.

    x: the sequence. i: the position. v: the new member.
    """
    return subvals(x, [(i, v)])
