"""The measurement of one workload, from preparation to results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from .contenders import BY_HAND, SUBJECT, Contender
from .gradients import GradientMismatch
from .timing import Ratio, ratio, run_rounds
from .workload import Workload


@dataclass(frozen=True)
class Effort:
    """The size of a measurement: rounds, seconds per block, and seconds after which a workload stops early."""

    rounds: int
    block_seconds: float
    budget: float


@dataclass
class Result:
    """A workload's times per unit, in seconds, one per round; `errors` make the whole run fail."""

    name: str
    title: str
    unit: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        return max(map(len, self.seconds.values()), default=0)

    def comparison(self, name: str) -> tuple[str, Ratio] | None:
        """A contender's ratio to adjoint, and its two times. None without times of both, or for adjoint itself.

        For a peer, the ratio is how many times faster adjoint is. For NumPy by hand, it is how many times slower
        adjoint is.
        """
        if name == SUBJECT or not {SUBJECT, name} <= self.seconds.keys():
            return None
        upper, lower = (SUBJECT, name) if name == BY_HAND else (name, SUBJECT)
        return f"{upper}/{lower}", ratio(self.seconds[upper], self.seconds[lower])

    def as_json(self) -> dict[str, Any]:
        contenders = {}
        for name, times in self.seconds.items():
            contenders[name] = {"median": median(times), "seconds": times}
            comparison = self.comparison(name)
            if comparison:
                contenders[name]["ratio"] = {"of": comparison[0], **vars(comparison[1])}
        return {
            "title": self.title,
            "unit": self.unit,
            "contenders": contenders,
            "left_out": self.left_out,
            "errors": self.errors,
        }


def measure(workload: Workload, contenders: Sequence[Contender], effort: Effort) -> Result:
    """Compare gradients, then run the rounds. A peer that fails is left out. A failure of adjoint is an error."""
    result = Result(workload.name, workload.title, workload.unit)
    try:
        prepared = workload.prepare(contenders, effort.block_seconds)
    except GradientMismatch as error:
        result.errors.append(f"gradients disagree: {error}")
        return result
    result.left_out = prepared.left_out | prepared.failed
    if SUBJECT in prepared.failed:
        result.errors.append(f"{SUBJECT} failed: {prepared.failed[SUBJECT]}")
    seconds = run_rounds(prepared.blocks, effort.rounds, effort.budget)
    result.seconds = {name: [time / workload.operations for time in times] for name, times in seconds.items()}
    return result
