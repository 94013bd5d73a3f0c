"""How much faster two threads are than one: python -m trust.scenarios.scaling [ROUNDS]

Each thread takes steps of training on small arrays of its own; with shared parameters, and with parameters of its own.
Prints a number for each, 2 for twice as fast.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from trust.scenarios.children import at_once

STEPS = 3000


def parameters() -> tuple[Any, Any]:
    generator = adjoint.Generator().manual_seed(0)
    return adjoint.rand(4, 4, generator=generator).requires_grad_(), adjoint.rand(
        4, generator=generator
    ).requires_grad_()


def steps(w: Any, b: Any) -> Callable[[], None]:
    """A function that takes steps with these parameters."""
    x = adjoint.from_numpy(np.ones((2, 4), np.float32))

    def take() -> None:
        for _ in range(STEPS):
            loss = ((x @ w + b).tanh() * 0.5).sum()
            adjoint.autograd.grad(loss, (w, b))

    return take


def seconds(functions: list[Callable[[], None]]) -> float:
    start = time.perf_counter()
    at_once(functions)
    return time.perf_counter() - start


def speedup(work: list[Callable[[], None]], rounds: int) -> float:
    """The time of one thread for all of the work, over that of a thread for each; the least of some rounds."""
    alone = min(sum(seconds([function]) for function in work) for _ in range(rounds))
    together = min(seconds(work) for _ in range(rounds))
    return alone / together


def main(rounds: int) -> None:
    shared = parameters()
    steps(*shared)()
    print(f"shared: {speedup([steps(*shared), steps(*shared)], rounds):.2f}")
    print(f"own: {speedup([steps(*parameters()), steps(*parameters())], rounds):.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
