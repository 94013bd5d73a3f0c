"""Arguments of layers: one number for all axes, or one for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of an iterable, and n times the same of anything else."""
    return lambda value: tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, n))


_single, _pair, _triple, _quadruple = _ntuple(1), _ntuple(2), _ntuple(3), _ntuple(4)
