"""The doors through which other libraries reach a Tensor: NumPy's protocols, the array API, DLPack.

The tables behind them stand on a floor above and are loaded when somebody first knocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Doors:
    """What answers a protocol, by name; `load` gives all answers, at the first look-up."""

    def __init__(self) -> None:
        self.load: Callable[[], dict[str, Callable[..., Any]]] = dict

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers = self.load()
        if name not in answers:
            raise AttributeError(name)
        self.__dict__.update(answers)
        return answers[name]


doors = Doors()
