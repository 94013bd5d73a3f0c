"""Paired timing: every contender is timed once in every round, so that a slow moment slows all of them.

A *block* is a callable that takes one measurement and returns seconds. How to take it (repeat a step and
divide, or start an interpreter) is the block's business; here it is only repeated and compared.
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
    """How one contender's times compare with another's, each round's pair being taken by itself too."""

    of_medians: float
    lower: float
    paired: float
    upper: float


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collect now, then keep the cyclic garbage collector out of the measurement."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def wait_for_idle_threads(slice_seconds: float = 0.01, most_slices: int = 100) -> bool:
    """Sleep until this process uses no CPU time; False if it still does after `most_slices`.

    The workers of a BLAS or of OpenMP spin for a while after their work (OpenBLAS: 0.1 s), which takes a core
    away from whoever is timed next.
    """
    for _ in range(most_slices):
        start = time.process_time()
        time.sleep(slice_seconds)
        if time.process_time() - start < slice_seconds / 10:
            return True
    return False


def repeats_for(step: Callable[[], object], seconds: float, clock: Clock = time.perf_counter) -> int:
    """How many times `step` fits into `seconds`, at least once; running it to find out warms it up."""
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
            for _ in range(untimed):  # caches and threads still know only the contender before this one
                step()
            start = clock()
            for _ in range(repeats):
                step()
            return (clock() - start) / repeats

    return block


def run_rounds(
    blocks: Mapping[str, Block], rounds: int, budget: float = math.inf, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds by contender, one per round, the blocks taking turns: A B C, A B C, ...

    After the warm-up rounds, whose times are thrown away, rounds are run until there are `rounds` of them, or
    until `budget` seconds are spent and there are at least three.
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

    Raises ValueError if the two do not come from the same, at least two, rounds.
    """
    paired = [a / b for a, b in zip(numerator, denominator, strict=True)]
    if len(paired) < 2:
        raise ValueError(f"quartiles need at least two rounds, got {len(paired)}; ask for more rounds")
    lower, middle, upper = quantiles(paired, n=4, method="inclusive")
    return Ratio(median(numerator) / median(denominator), lower, middle, upper)
