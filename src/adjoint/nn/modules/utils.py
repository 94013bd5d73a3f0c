"""Arguments of layers: one number for all axes, or one number for each axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """A function that converts an iterable to a tuple, and repeats any other value n times."""
    return lambda value: tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, n))


_single, _pair, _triple, _quadruple = _ntuple(1), _ntuple(2), _ntuple(3), _ntuple(4)
