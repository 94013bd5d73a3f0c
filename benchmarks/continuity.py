"""Time per element by size, which shows whether a function becomes slower where another method begins.

    python -m benchmarks.continuity                  # 20 functions, forward and backward, float32 and float64
    python -m benchmarks.continuity --only tanh,mul --json steps.json

Sizes go from 2^6 to 2^21, in steps of a quarter of an octave around each crossover, and of one octave elsewhere. The
cost of a call is the time for one element, and is subtracted. Only sizes whose elements cost at least as much as the
call count. A step is the ratio of the time per element at one size and at the size before. NumPy's own loops also have
steps, at the sizes of caches. The last column is the largest step in relation to NumPy's step at the same size. Each
round has all sizes, so neighbours run at the same clock rate. A step is the median of the rounds. Times are elapsed
times, or with --processor the times of all threads together.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

import adjoint
from adjoint.runtime import crossovers

#: name: (function of tensors, the same of arrays, number of operands).
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "add": (lambda x, y: x + y, np.add, 2),
    "mul": (lambda x, y: x * y, np.multiply, 2),
    "div": (lambda x, y: x / y, np.divide, 2),
    "maximum": (adjoint.maximum, np.maximum, 2),
    "hypot": (adjoint.hypot, np.hypot, 2),
    "neg": (lambda x: -x, np.negative, 1),
    "abs": (lambda x: x.abs(), np.abs, 1),
    "square": (lambda x: x.square(), np.square, 1),
    "cube": (lambda x: x**3, lambda x: x * x * x, 1),
    "sqrt": (lambda x: x.sqrt(), np.sqrt, 1),
    "exp": (lambda x: x.exp(), np.exp, 1),
    "log": (lambda x: x.log(), np.log, 1),
    "sin": (lambda x: x.sin(), np.sin, 1),
    "tanh": (lambda x: x.tanh(), np.tanh, 1),
    "tanh of x*x": (lambda x: (x * x).tanh(), lambda x: np.tanh(x * x), 1),
    "sigmoid": (lambda x: x.sigmoid(), lambda x: 1 / (1 + np.exp(-x)), 1),
    "relu": (lambda x: x.relu(), lambda x: np.maximum(x, 0), 1),
    "gelu": (adjoint.nn.functional.gelu, lambda x: x * np.tanh(x), 1),
    "silu": (adjoint.nn.functional.silu, lambda x: x / (1 + np.exp(-x)), 1),
    "softplus": (adjoint.nn.functional.softplus, lambda x: np.log1p(np.exp(x)), 1),
}
ROUNDS = 15
KINDS = ("forward", "backward", "NumPy")


def sizes() -> list[int]:
    """Octaves, and quarters of octaves around each crossover."""
    results = {1 << k for k in range(6, 22)}
    for crossover in (crossovers.KEPT_MEMORY, crossovers.UNLOCKED, crossovers.THREADED, 2048):
        results |= {int(crossover * 2 ** (k / 4)) for k in range(-2, 3)}
        results |= {crossover - 8, crossover + 8}
    return sorted(results)


def works(name: str, dtype: Any, n: int) -> dict[str, Callable[[], Any]]:
    """The forward pass, the backward pass, and NumPy's forward pass, on n elements."""
    function, plain, n_operands = FUNCTIONS[name]
    rng = np.random.default_rng(n)
    arrays = [rng.uniform(0.5, 2, n).astype(dtype) for _ in range(n_operands)]
    tensors = [adjoint.from_numpy(array).requires_grad_() for array in arrays]
    y = function(*tensors)
    g = adjoint.from_numpy(rng.uniform(0.5, 2, n).astype(dtype))
    return {
        "forward": lambda: function(*tensors),
        "backward": lambda: adjoint.autograd.grad(y, tensors, g, retain_graph=True),
        "NumPy": lambda: plain(*arrays),
    }


def seconds(work: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    """Time of one call."""
    start = clock()
    for _ in range(repeats):
        work()
    return (clock() - start) / repeats


def times(name: str, dtype: Any, clock: Callable[[], float]) -> dict[str, list[dict[int, float]]]:
    """The time per element of each work by size and round, without the call. Sizes with short times are left out."""
    by_size = {n: works(name, dtype, n) for n in (1, *sizes())}
    calls: dict[str, list[dict[int, float]]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind, rounds in calls.items():
            repeats = {n: max(1, 200_000 // (n + 1000)) for n in by_size}
            rounds.append({n: seconds(kinds[kind], repeats[n], clock) for n, kinds in by_size.items()})
    result = {}
    for kind, rounds in calls.items():
        call = median([each[1] for each in rounds])
        counted = [n for n in sizes() if median([each[n] for each in rounds]) >= 2 * call]
        result[kind] = [{n: (each[n] - each[1]) / n for n in counted} for each in rounds]
    return result


def steps(rounds: list[dict[int, float]]) -> dict[int, float]:
    """The steps by size: the time per element divided by that at the size before, as the median of the rounds."""
    return {b: median([each[b] / each[a] for each in rounds]) for a, b in pairwise(rounds[0])}


def largest(by_size: dict[int, float]) -> tuple[float, int]:
    """The largest step, and its size."""
    return max((step, n) for n, step in by_size.items())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FUNCTIONS), help="names, with commas between them")
    parser.add_argument("--json", help="a file for all times")
    parser.add_argument("--processor", action="store_true", help="processor time of all threads in place of the wall's")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
    everything = {}
    print(f"{'function':<14}{'dtype':<9}{'work':<10}{'step':>6}  {'at':>8}  {'beyond NumPy':>12}  {'at':>8}")
    for name in options.only.split(","):
        for dtype in ("float32", "float64"):
            per_element = everything[f"{name} {dtype}"] = times(name, dtype, clock)
            plain = steps(per_element["NumPy"])
            for kind in ("forward", "backward"):
                ours = steps(per_element[kind])
                if not ours:  # the backward pass of add has no loop; only the call would count
                    continue
                step, n = largest(ours)
                beyond, m = largest({size: ratio / max(1.0, plain.get(size, 1.0)) for size, ratio in ours.items()})
                print(f"{name:<14}{dtype:<9}{kind:<10}{step:6.2f}  {n:8}  {beyond:12.2f}  {m:8}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(everything, file)


if __name__ == "__main__":
    main()
