"""Where do crossovers lie on this machine? Prints each constant of `adjoint.runtime.crossovers` beside the best one.

    python -m benchmarks.crossovers

Each crossover is the size from which on a second way of doing the same is no slower. Both ways are timed in turn over
sizes around the constant, as elapsed time, since threads are one of the ways; run it on a quiet machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import numpy as np

from adjoint.program.fused import Fused
from adjoint.runtime import crossovers
from adjoint.runtime.memory import with_kept_memory
from adjoint.runtime.threads import get_num_threads, set_num_threads, usable_processors

ROUNDS = 21


def chain(x: Any) -> Any:
    """Eight steps of which the first four are expensive."""
    return np.tanh(np.exp(np.sin(np.tanh(x)))) * 0.5 + x * x - 1.0


def bent(x: Any) -> Any:
    """Cheap steps alone: what is gained is memory."""
    return (x * x + 1.0) * 0.5 - x


def rows(x: Any) -> Any:
    """A function that is not elementwise."""
    shifted = x - np.add.reduce(x, axis=-1, keepdims=True)
    return shifted * shifted


def seconds(work: Callable[[], Any], n: int) -> float:
    """Elapsed time of one call."""
    repeats = max(1, 300_000 // (n + 1000))
    begun = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begun) / repeats


def from_where(
    sizes: Iterable[int], ways: Callable[[int], tuple[Callable[[], Any], Callable[[], Any]]]
) -> tuple[int | None, dict[int, float]]:
    """The smallest size from which on the second way is quicker at all sizes, and the ratios first / second."""
    ratios = {}
    for n in sizes:
        first, second = ways(n)
        first()
        second()
        ratios[n] = median([seconds(first, n) / seconds(second, n) for _ in range(ROUNDS)])
    best = None
    for n in reversed(ratios):
        if ratios[n] < 1:
            break
        best = n
    return best, ratios


def kept_memory(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    x = np.random.default_rng(0).uniform(size=n)
    return (lambda: x * x), (lambda: with_kept_memory(np.multiply, (x, x)))


def programs(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    x = np.random.default_rng(0).uniform(size=(max(1, n // 100), 100))
    own = Fused(rows)
    before = crossovers.set_large(1)
    own.attempt([x], True)
    crossovers.set_large(before)

    def scheduled() -> Any:
        before = crossovers.set_large(1)
        try:
            return own.attempt([x], True)
        finally:
            crossovers.set_large(before)

    return (lambda: rows(x)), scheduled


def threads(function: Callable[..., Any], n_steps: int) -> Callable[[int], tuple[Callable[[], Any], Callable[[], Any]]]:
    def ways(work: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
        x = np.random.default_rng(0).uniform(size=work // n_steps)
        own = Fused(function)

        def run(n: int) -> Any:
            set_num_threads(n)
            return with_kept_memory(own.attempt, ([x], True))

        return (lambda: run(1)), (lambda: run(usable_processors()))

    return ways


def show(name: str, constant: int, found: tuple[int | None, dict[int, float]]) -> None:
    best, ratios = found
    print(f"{name:<28} is {constant:>8}, best here: {best if best is not None else 'larger than measured'}")
    print("    " + "  ".join(f"{n}: {ratio:.2f}" for n, ratio in ratios.items()), flush=True)


def main() -> None:
    """Print every crossover; numbers behind sizes say how many times as fast the second way is."""
    before = get_num_threads()
    octaves = [1 << k for k in range(9, 19)]
    show("KEPT_MEMORY (memory)", crossovers.KEPT_MEMORY, from_where(octaves, kept_memory))
    show("KEPT_MEMORY (programs)", crossovers.KEPT_MEMORY, from_where(octaves, programs))
    if usable_processors() > 1:
        work = [1 << k for k in range(14, 23)]
        for name, function, n_steps in (("expensive", chain, 8), ("cheap", bent, 4)):
            show(f"THREADED ({name} steps)", crossovers.THREADED, from_where(work, threads(function, n_steps)))
    else:
        print("THREADED needs two processors")
    set_num_threads(before)


if __name__ == "__main__":
    main()
