"""Random programs of views, writes in place, modes and passes, compared with a model without a graph and shared memory.

The model and the steps are those of the tests (tests/support/programs_of_views.py).
"""

from __future__ import annotations

import importlib
import random
import sys
import traceback
from collections.abc import Callable

import pytest

from trust.figures import ROOT
from trust.fuzz.faults import Fault

Step = tuple[int, int, int, int]


class Cases:
    """Programs of 4 to 40 steps."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        sys.path.append(str(ROOT / "tests"))
        self.programs = importlib.import_module("support.programs_of_views")

    def steps(self, number: int) -> list[Step]:
        draw = random.Random(f"{self.seed}:{number}")
        return [
            (draw.randrange(128), draw.randrange(128), draw.randrange(128), draw.randrange(128))
            for _ in range(draw.randint(4, 40))
        ]

    def text(self, number: int) -> str:
        return f"{shorten(self.steps(number), lambda steps: self.fails(steps) is not None)}"

    def fault(self, number: int) -> Fault | None:
        return self.fails(self.steps(number))

    def close(self) -> None:
        """Nothing is held."""

    def fails(self, steps: list[Step]) -> Fault | None:
        try:
            self.programs.run(steps)
        except (Exception, pytest.fail.Exception) as error:
            step = next(f.name for f in traceback.extract_tb(error.__traceback__) if f.name in self.names())
            return Fault(type(error).__name__, step, str(error))
        return None

    def names(self) -> set[str]:
        return {*self.programs.STEPS, "compare"}


def shorten(steps: list[Step], fails: Callable[[list[Step]], bool]) -> list[Step]:
    """The steps that the failure needs."""
    k = len(steps) - 1
    while k >= 0 and fails(steps):
        shorter = steps[:k] + steps[k + 1 :]
        if fails(shorter):
            steps = shorter
        k -= 1
    return steps
