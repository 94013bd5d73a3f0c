"""Paired times: every round measures every contender once, so a slow moment affects all of them.

A *block* is a callable that makes one measurement and returns seconds. The block decides how it measures: it repeats a
step and divides, or it starts an interpreter. This module only repeats and compares blocks.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median, quantiles

Block = Callable[[], float]
Clock = Callable[[], float]

WARM_UP_ROUNDS = 2
FEWEST_ROUNDS = 3


@dataclass(frozen=True)
class Ratio:
    """The ratio of two contenders' times: of their medians, and of the pairs of each round."""

    of_medians: float
    lower: float
    paired: float
    upper: float


@contextmanager
def collector_paused() -> Iterator[None]:
    """Run the garbage collector, then disable it during the measurement."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def wait_for_idle_threads(slice_seconds: float = 0.01, most_slices: int = 100) -> bool:
    """Sleep until this process uses no CPU time. Returns False if it still does after `most_slices`.

    The threads of a BLAS or of OpenMP spin for a while after their work (OpenBLAS: 0.1 s). Meanwhile they use a core,
    which would slow the next contender.
    """
    for _ in range(most_slices):
        start = time.process_time()
        time.sleep(slice_seconds)
        if time.process_time() - start < slice_seconds / 10:
            return True
    return False


def repeats_for(step: Callable[[], object], seconds: float, clock: Clock = time.perf_counter) -> int:
    """The number of times that `step` fits into `seconds`, at least 1. The runs also warm the step up."""
    repeats = 1
    while True:
        start = clock()
        for _ in range(repeats):
            step()
        elapsed = clock() - start
        if elapsed >= seconds / 2:
            return max(1, round(repeats * seconds / elapsed))
        repeats *= 2


def block_of(step: Callable[[], object], seconds: float, clock: Clock = time.perf_counter) -> Block:
    """A block that runs `step` for about `seconds` and returns the seconds of one step."""
    repeats = repeats_for(step, seconds, clock)
    untimed = math.ceil(repeats / 10)

    def block() -> float:
        wait_for_idle_threads()
        with collector_paused():
            for _ in range(untimed):  # caches and threads still belong to the previous contender
                step()
            start = clock()
            for _ in range(repeats):
                step()
            return (clock() - start) / repeats

    return block


def run_rounds(
    blocks: Mapping[str, Block], rounds: int, budget: float = math.inf, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds by contender, one for each round. The blocks take turns: A B C, A B C, ...

    The times of the warm-up rounds do not count. Then there are `rounds` rounds, or fewer if `budget` seconds have
    passed, but at least three.
    """
    for _ in range(WARM_UP_ROUNDS):
        for block in blocks.values():
            block()
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    start = clock()
    for k in range(rounds):
        if k >= FEWEST_ROUNDS and clock() - start > budget:
            break
        for name, block in blocks.items():
            seconds[name].append(block())
    return seconds


def ratio(numerator: list[float], denominator: list[float]) -> Ratio:
    """Compare times of the same rounds: the ratio of the medians, and the quartiles of the paired ratios.

    Raises ValueError if the two have different numbers of rounds, or fewer than two.
    """
    paired = [a / b for a, b in zip(numerator, denominator, strict=True)]
    if len(paired) < 2:
        raise ValueError(f"quartiles need at least two rounds, got {len(paired)}; ask for more rounds")
    lower, middle, upper = quantiles(paired, n=4, method="inclusive")
    return Ratio(median(numerator) / median(denominator), lower, middle, upper)
