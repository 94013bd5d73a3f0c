"""How fast two threads are, against two processes: python -m trust.scenarios.scaling [ROUNDS]

Each thread takes steps of training on small arrays of its own; with shared parameters, and with parameters of its own.
Prints the speed of the threads in percent of that of processes, which share nothing. Both have the same processors, so
that the numbers hold on a busy machine, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from trust.scenarios.children import at_once

STEPS = 20_000


def parameters() -> tuple[Any, Any]:
    adjoint.manual_seed(0)
    return adjoint.rand(4, 4).requires_grad_(), adjoint.rand(4).requires_grad_()


def steps(w: Any, b: Any) -> Callable[[], None]:
    """A function that takes steps with these parameters."""
    x = adjoint.from_numpy(np.ones((2, 4), np.float32))

    def take() -> None:
        for _ in range(STEPS):
            loss = ((x @ w + b).tanh() * 0.5).sum()
            adjoint.autograd.grad(loss, (w, b))

    return take


def in_processes(functions: list[Callable[[], None]]) -> None:
    """Run each function in a fork of this process, all at the same time."""
    children = []
    for function in functions:
        child = os.fork()
        if child == 0:
            function()
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


def seconds(run: Callable[[list[Callable[[], None]]], Any], work: list[Callable[[], None]]) -> float:
    start = time.perf_counter()
    run(work)
    return time.perf_counter() - start


def speed(work: list[Callable[[], None]], rounds: int) -> float:
    """The least time of processes over that of threads, in percent."""
    times = [(seconds(in_processes, work), seconds(at_once, work)) for _ in range(rounds)]
    return 100 * min(times)[0] / min(of_threads for _, of_threads in times)


def main(rounds: int) -> None:
    shared = parameters()
    steps(*shared)()
    print(f"shared: {speed([steps(*shared), steps(*shared)], rounds):.0f}")
    print(f"own: {speed([steps(*parameters()), steps(*parameters())], rounds):.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
