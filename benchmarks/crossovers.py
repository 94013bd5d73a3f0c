"""The crossovers of this machine: each constant of `adjoint.runtime.crossovers`, and the best one.

    python -m benchmarks.crossovers

A crossover is the size from which a second method is not slower. The two methods take turns at sizes around the
constant. Times are elapsed times, since threads are one of the methods, so the machine must be quiet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import numpy as np
import scipy.special

from adjoint.arrays.kernels import vector_ufuncs
from adjoint.program.form import ARITHMETIC, ELEMENTARY, SPECIAL, Step
from adjoint.program.fused import Fused
from adjoint.program.trace import trace
from adjoint.runtime import crossovers
from adjoint.runtime.memory import with_kept_memory
from adjoint.runtime.threads import get_num_threads, set_num_threads, usable_processors

ROUNDS = 21


def chain(x: Any) -> Any:
    """Eight steps. The first four are expensive."""
    return np.tanh(np.exp(np.sin(np.tanh(x)))) * 0.5 + x * x - 1.0


def cheap_steps(x: Any) -> Any:
    """Cheap steps. A program saves only memory traffic."""
    return (x * x + 1.0) * 0.5 - x


def rows(x: Any) -> Any:
    """A function that is not elementwise."""
    shifted = x - np.add.reduce(x, axis=-1, keepdims=True)
    return shifted * shifted


def seconds(work: Callable[[], Any], n: int) -> float:
    """Elapsed time of one call."""
    repeats = max(1, 300_000 // (n + 1000))
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - start) / repeats


def from_where(
    sizes: Iterable[int], ways: Callable[[int], tuple[Callable[[], Any], Callable[[], Any]]]
) -> tuple[int | None, dict[int, float]]:
    """The smallest size from which the second method is faster at all sizes, and the ratios first / second."""
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
    fused = Fused(rows)
    before = crossovers.set_large(1)
    fused.attempt([x], True)
    crossovers.set_large(before)

    def run_in_tiles() -> Any:
        before = crossovers.set_large(1)
        try:
            return fused.attempt([x], True)
        finally:
            crossovers.set_large(before)

    return (lambda: rows(x)), run_in_tiles


def threads(function: Callable[..., Any]) -> Callable[[int], tuple[Callable[[], Any], Callable[[], Any]]]:
    cost = trace(function, (np.ones(1),)).cost

    def ways(work: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
        x = np.random.default_rng(0).uniform(size=work // cost)
        fused = Fused(function)

        def run(n: int) -> Any:
            set_num_threads(n)
            return with_kept_memory(fused.attempt, ([x], True))

        return (lambda: run(1)), (lambda: run(usable_processors()))

    return ways


def cost_of(ufunc: Any) -> float:
    """The processor time of a ufunc for one element in the cache, relative to an addition."""
    n = 2048
    x = np.random.default_rng(0).uniform(0.1, 0.9, n)
    out = np.empty(n)

    def least(function: Any, n_elements: int) -> float:
        arrays = [x[:n_elements]] * function.nin
        times = []
        for _ in range(ROUNDS):
            start = time.thread_time()
            for _ in range(200):
                function(*arrays, out=out[:n_elements])
            times.append(time.thread_time() - start)
        return min(times)

    return (least(ufunc, n) - least(ufunc, 1)) / (least(np.add, n) - least(np.add, 1))


def show_costs() -> None:
    """Print the cost of each kind of step and its constant."""
    special = [getattr(scipy.special, name) for name in ("xlogy", "j0", "j1", "log_ndtr")]
    elementary = [vector_ufuncs.of(name) for name in ("exp", "log", "tanh", "sin", "power", "expit", "erf", "psi")]
    kinds = {
        "ARITHMETIC": (ARITHMETIC, [np.multiply, np.negative, np.divide, np.less]),
        "ELEMENTARY": (ELEMENTARY, [np.sqrt, *elementary]),
        "SPECIAL": (SPECIAL, special),
    }
    for name, (constant, ufuncs) in kinds.items():
        wrong = [ufunc.__name__ for ufunc in ufuncs if Step(ufunc, (0,), "d").cost != constant]
        assert not wrong, f"{wrong} are not {name}"
        costs = {ufunc.__name__: cost_of(ufunc) for ufunc in ufuncs}
        print(f"{name:<28} is {constant:>8}, median here: {median(costs.values()):.1f}")
        print("    " + "  ".join(f"{ufunc}: {cost:.1f}" for ufunc, cost in costs.items()), flush=True)


def show(name: str, constant: int, measurement: tuple[int | None, dict[int, float]]) -> None:
    best, ratios = measurement
    print(f"{name:<28} is {constant:>8}, best here: {best if best is not None else 'larger than measured'}")
    print("    " + "  ".join(f"{n}: {ratio:.2f}" for n, ratio in ratios.items()), flush=True)


def main() -> None:
    """Print every crossover. The number after a size is the second method's speed divided by the first's."""
    before = get_num_threads()
    octaves = [1 << k for k in range(9, 19)]
    show_costs()
    show("KEPT_MEMORY (memory)", crossovers.KEPT_MEMORY, from_where(octaves, kept_memory))
    show("KEPT_MEMORY (programs)", crossovers.KEPT_MEMORY, from_where(octaves, programs))
    if usable_processors() > 1:
        work = [1 << k for k in range(14, 24)]
        for name, function in (("expensive", chain), ("cheap", cheap_steps), ("one", np.square)):
            show(f"THREADED ({name} steps)", crossovers.THREADED, from_where(work, threads(function)))
    else:
        print("THREADED needs two processors")
    set_num_threads(before)


if __name__ == "__main__":
    main()
