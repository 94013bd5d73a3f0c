"""Pools of processes: fork, spawn, forkserver, joblib's loky: python -m trust.scenarios.pools NAME [TIMES]

A pool starts while threads of its parent train. Each worker gets tensors and must return gradients, independent of the
state that it inherits.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import adjoint
from trust.scenarios.children import Scenarios, busy, run_from_command_line
from trust.scenarios.processes import softmax, step

SCENARIOS: Scenarios = {}
WORKERS, CALLS = 2, 6


def compiled_loss(w: Any) -> Any:
    return (w.sin() * w).sum()


def gradient(w: Any) -> Any:
    """The work of a worker: large calls, random numbers, a compiled function and a gradient."""
    adjoint.set_num_threads(2)
    softmax()
    adjoint.rand(3)
    leaf = w.detach().clone().requires_grad_()
    compiled = adjoint.compile(compiled_loss)
    for _ in range(2):
        leaf.grad = None
        compiled(leaf).backward()
    return leaf.grad


def check(results: list[Any], inputs: list[Any]) -> None:
    for result, w in zip(results, inputs, strict=True):
        w = w.numpy()
        assert np.allclose(result.numpy(), np.sin(w) + w * np.cos(w))


def tensors() -> list[Any]:
    return [adjoint.from_numpy(np.linspace(k, k + 1.0, 4)) for k in range(CALLS)]


def with_pool(method: str) -> None:
    adjoint.set_num_threads(2)
    softmax()
    inputs = tensors()
    with busy(step), warnings.catch_warnings():
        # newer Pythons warn of forks in processes with threads, which this scenario tests
        warnings.filterwarnings("ignore", message="This process", category=DeprecationWarning)
        with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context(method)) as pool:
            check(list(pool.map(gradient, inputs)), inputs)


def fork() -> None:
    with_pool("fork")


def spawn() -> None:
    with_pool("spawn")


def forkserver() -> None:
    with_pool("forkserver")


def loky() -> None:
    """The default of joblib: processes that continue after the call."""
    import joblib

    inputs = tensors()
    with busy(step):
        for _ in range(2):
            check(joblib.Parallel(WORKERS)(joblib.delayed(gradient)(w) for w in inputs), inputs)


def joblib_threads() -> None:
    import joblib

    inputs = tensors()
    with busy(step):
        check(joblib.Parallel(WORKERS, backend="threading")(joblib.delayed(gradient)(w) for w in inputs), inputs)


def queue_of_tensors() -> None:
    """Tensors sent through a queue, with and without a gradient."""
    context = multiprocessing.get_context("spawn")
    queue, back = context.Queue(), context.Queue()
    worker = context.Process(target=answer, args=(queue, back))
    worker.start()
    x = adjoint.ones(3, requires_grad=True)
    queue.put([x, adjoint.zeros(20_000)])
    assert back.get(timeout=60) == [[1.0, 1.0, 1.0], True, 20_000]
    worker.join()


def answer(queue: Any, back: Any) -> None:
    x, large = queue.get(timeout=60)
    back.put([x.tolist(), x.requires_grad, large.numel()])


SCENARIOS |= {f.__name__: f for f in (fork, spawn, forkserver, loky, joblib_threads, queue_of_tensors)}

if __name__ == "__main__":
    sys.modules.setdefault("trust.scenarios.pools", sys.modules["__main__"])
    run_from_command_line(SCENARIOS, {})
