"""Workloads: data, a program in each possible dialect, and the unit of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from .contenders import Contender
from .gradients import as_numpy, check_agreement
from .timing import Block, block_of

Data = dict[str, np.ndarray]
Step = Callable[[], Sequence[Any]]
Program = Callable[[ModuleType, Data], Step]


@dataclass
class Prepared:
    """A workload that is ready for measurement: a block for each contender, or the reason why a contender has none."""

    blocks: dict[str, Block] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class Workload(Protocol):
    """An object that prepares blocks. Their times, divided by `operations`, are times per `unit`."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def operations(self) -> int: ...
    def prepare(self, contenders: Iterable[Contender], block_seconds: float) -> Prepared: ...


@dataclass(frozen=True)
class Steps:
    """A workload that repeats one step, forward and backward, which returns its gradients.

    `programs` maps a dialect to a function of the library's module and of new data. The function does the work that a
    user does once, such as making the parameters. It returns the step, which is timed.
    """

    name: str
    title: str
    data: Callable[[], Data]
    programs: Mapping[str, Program]
    unit: str = "step"
    operations: int = 1

    def prepare(self, contenders: Iterable[Contender], block_seconds: float) -> Prepared:
        """Compare the gradients, then make the blocks. Raises GradientMismatch if contenders disagree."""
        prepared, steps, results = Prepared(), {}, {}
        for contender in contenders:
            name = contender.name
            program = self.programs.get(contender.dialect)
            if program is None:
                prepared.left_out[name] = "cannot express it"
                continue
            with failures_noted(name, prepared.failed):
                step = program(contender.module, self.data())
                results[name] = [np.array(as_numpy(value)) for value in step()]
                steps[name] = step
        if results:
            check_agreement(results)
        for name, step in steps.items():
            with failures_noted(name, prepared.failed):
                prepared.blocks[name] = block_of(step, block_seconds)
        return prepared


@contextmanager
def failures_noted(name: str, failed: dict[str, str]) -> Iterator[None]:
    """Note a contender's error as a line of the report, so that the others continue."""
    try:
        yield
    except Exception as error:
        failed[name] = f"{type(error).__name__}: {error}"
