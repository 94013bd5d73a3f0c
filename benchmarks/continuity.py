"""Time per element over sizes: does a function become slower where another way of computing it begins?

    python -m benchmarks.continuity                  # 20 functions, forward and backward, float32 and float64
    python -m benchmarks.continuity --only tanh,mul --json steps.json

Sizes go from 2^6 to 2^21 in steps of a quarter of an octave around each crossover, and of one octave elsewhere. The
cost of a call is taken off first: it is what an array of one element costs. A row shows the largest step, the time per
element at one size over that at the size before; times are medians of processor time, all sizes in turn. A step that
NumPy's own loops have at the same place, as where arrays leave a cache, is shown beside it.
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
ROUNDS = 9


def sizes() -> list[int]:
    """Octaves, and quarters of octaves around each crossover."""
    found = {1 << k for k in range(6, 22)}
    for place in (crossovers.KEPT_MEMORY, crossovers.UNLOCKED, crossovers.THREADED, 2048):
        found |= {int(place * 2 ** (k / 4)) for k in range(-2, 3)}
        found |= {place - 8, place + 8}
    return sorted(found)


def works(name: str, dtype: Any, n: int) -> dict[str, Callable[[], Any]]:
    """Forward pass, backward pass, and NumPy's forward pass, on n elements."""
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


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Processor time of one call, all threads together."""
    begun = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - begun) / repeats


def times(name: str, dtype: Any) -> dict[str, dict[int, float]]:
    """By work and size the time per element, without the cost of a call."""
    by_size = {n: works(name, dtype, n) for n in (1, *sizes())}
    taken: dict[str, dict[int, list[float]]] = {
        kind: {n: [] for n in by_size} for kind in ("forward", "backward", "NumPy")
    }
    for number in range(ROUNDS + 1):
        for n, kinds in by_size.items():
            for kind, work in kinds.items():
                found = seconds(work, max(1, 200_000 // (n + 1000)))
                if number:
                    taken[kind][n].append(found)
    result = {}
    for kind, columns in taken.items():
        call = median(columns.pop(1))
        result[kind] = {n: max(median(column) - call, 0.0) / n for n, column in columns.items()}
    return result


def largest_step(per_element: dict[int, float], smallest: int = 512) -> tuple[float, int]:
    """The largest ratio of neighbouring sizes, and the size where it is; below `smallest` calls count for more."""
    found = [n for n in per_element if n >= smallest and per_element[n] > 0]
    return max((per_element[b] / per_element[a], b) for a, b in pairwise(found))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FUNCTIONS), help="names, with commas between them")
    parser.add_argument("--json", help="a file for all times")
    options = parser.parse_args()
    kept = {}
    print(f"{'function':<14}{'dtype':<9}{'work':<10}{'step':>6}  {'at':>8}  {'NumPy there':>11}")
    for name in options.only.split(","):
        for dtype in ("float32", "float64"):
            found = times(name, dtype)
            kept[f"{name} {dtype}"] = found
            plain = found["NumPy"]
            places = list(plain)
            for kind in ("forward", "backward"):
                step, place = largest_step(found[kind])
                before = plain[places[places.index(place) - 1]]
                there = plain[place] / before if before else float("nan")
                print(f"{name:<14}{dtype:<9}{kind:<10}{step:6.2f}  {place:8}  {there:11.2f}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(kept, file)


if __name__ == "__main__":
    main()
