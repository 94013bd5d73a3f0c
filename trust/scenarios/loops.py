"""Loops of many steps: python -m trust.scenarios.loops NAME STEPS

It prints its measurements. For a loop, these are the growth of resident memory after the first tenth, in bytes, and the
processor time of a step in the first and in the last fifth. For a feat, which is one large graph, these are its time
and its peak of memory.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import adjoint
from adjoint.utils.checkpoint import checkpoint
from trust.scenarios.functions import Square

LOOPS: dict[str, Callable[[], Callable[[int], Any]]] = {}
FEATS: dict[str, Callable[[int], None]] = {}
PARTS = 20


def loop(*, short: int, long: int) -> Any:
    """Declare a function that prepares a loop and returns its step. The step gets its number."""

    def declare(function: Callable[[], Callable[[int], Any]]) -> Any:
        LOOPS[function.__name__] = function
        return function

    return declare


def feat(*, short: int, long: int) -> Any:
    """Declare a function of a size."""

    def declare(function: Callable[[int], None]) -> Any:
        FEATS[function.__name__] = function
        return function

    return declare


# training -------------------------------------------------------------------------------------------------------------


def data() -> tuple[Any, Any]:
    generator = adjoint.Generator().manual_seed(0)
    return adjoint.rand(8, 4, generator=generator), adjoint.rand(8, 1, generator=generator)


@loop(short=2_000, long=1_000_000)
def steps_of_a_model_and_an_optimizer() -> Any:
    x, y = data()
    model = adjoint.nn.Sequential(adjoint.nn.Linear(4, 8), adjoint.nn.Tanh(), adjoint.nn.Linear(8, 1))
    optimizer = adjoint.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(k: int) -> None:
        optimizer.zero_grad()
        adjoint.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step


@loop(short=3_000, long=1_000_000)
def steps_by_hand() -> Any:
    x, y = data()
    w = adjoint.zeros(4, 1, requires_grad=True)

    def step(k: int) -> None:
        ((x @ w - y) ** 2).mean().backward()
        with adjoint.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None

    return step


@loop(short=3_000, long=1_000_000)
def compiled_steps() -> Any:
    x, y = data()
    w = adjoint.zeros(4, 1, requires_grad=True)
    optimizer = adjoint.optim.Adam([w], lr=0.01)
    loss = adjoint.compile(lambda w: ((x @ w - y).tanh() ** 2).mean())

    def step(k: int) -> None:
        optimizer.zero_grad()
        loss(w).backward()
        optimizer.step()

    return step


# the parts of the library ---------------------------------------------------------------------------------------------


@loop(short=2_000, long=100_000)
def checkpoints() -> Any:
    x = adjoint.ones(20, requires_grad=True)

    def step(k: int) -> None:
        checkpoint(lambda x: x.sin().exp() * x, x, use_reentrant=bool(k % 2)).sum().backward()
        x.grad = None

    return step


@loop(short=2_000, long=100_000)
def ever_new_shapes() -> Any:
    def step(k: int) -> None:
        x = adjoint.ones(1 + k % 331, 1 + k // 331, requires_grad=True)
        (x.sin() * x.sum(0) + x.softmax(1)).sum().backward()

    return step


@loop(short=60, long=5_000)
def compiled_functions_of_ever_new_shapes() -> Any:
    compiled = [adjoint.compile(lambda x: (x.sin() * x).sum())]

    def step(k: int) -> None:
        if k % 7 == 0:
            adjoint.compiler.reset()
            compiled[0] = adjoint.compile(lambda x: (x.sin() * x).sum())
        x = adjoint.ones(1 + k, requires_grad=True)
        compiled[0](x).backward()

    return step


@loop(short=2_000, long=200_000)
def views_and_writes_in_place() -> Any:
    x = adjoint.ones(6, 4, requires_grad=True)
    base = adjoint.zeros(6, 4)

    def step(k: int) -> None:
        y = x * 2
        y[k % 6].mul_(3)
        y.t()[1:3].add_(y[0, 0])
        base[k % 6] = y.detach()[0]
        y.view(-1)[::2].sum().backward()
        x.grad = None

    return step


@loop(short=200, long=20_000)
def vmap_and_jacobians() -> Any:
    x = adjoint.ones(4)
    f = lambda x: (x.sin() * x).cumsum(0)

    def step(k: int) -> None:
        adjoint.func.jacrev(f)(x)
        adjoint.func.vmap(adjoint.func.grad(lambda x: f(x).sum()))(adjoint.stack([x, x]))
        adjoint.func.hessian(lambda x: f(x).sum())(x)

    return step


@loop(short=20_000, long=1_000_000)
def hooks_added_and_removed() -> Any:
    x = adjoint.ones(3, requires_grad=True)
    y = x * 2

    def step(k: int) -> None:
        handle, other = x.register_hook(print), y.register_hook(print)
        other.remove()
        handle.remove()

    return step


@loop(short=3_000, long=100_000)
def errors_in_hooks() -> Any:
    x = adjoint.ones(20, requires_grad=True)

    def fail(g: Any) -> None:
        raise ValueError("no")

    def step(k: int) -> None:
        y = x * 2
        y.register_hook(fail)
        try:
            (y.exp() * y).sum().backward()
        except ValueError:
            return
        raise AssertionError("the error is lost")

    return step


@loop(short=3_000, long=100_000)
def passes_over_one_graph() -> Any:
    x = adjoint.ones(20, requires_grad=True)
    y = (x.sin() * x.exp()).sum()

    def step(k: int) -> None:
        adjoint.autograd.grad(y, x, retain_graph=True)
        (g,) = adjoint.autograd.grad(y, x, create_graph=True)
        adjoint.autograd.grad(g.sum(), x, retain_graph=True)

    return step


@loop(short=3_000, long=200_000)
def custom_functions_and_modes() -> Any:
    x = adjoint.ones(5, requires_grad=True)

    def step(k: int) -> None:
        with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = Square.apply(x)
        with adjoint.no_grad(), adjoint.inference_mode():
            x * 2
        y.sum().backward()
        x.grad = None

    return step


@loop(short=2_000, long=100_000)
def draws_and_generators() -> Any:
    def step(k: int) -> None:
        generator = adjoint.Generator().manual_seed(k)
        adjoint.rand(10_000, generator=generator)
        adjoint.nn.functional.dropout(adjoint.ones(100), 0.5)
        with adjoint.random.fork_rng():
            adjoint.randn(3)

    return step


@loop(short=200, long=20_000)
def a_thread_for_each_step() -> Any:
    x = adjoint.ones(2000, requires_grad=True)

    def work() -> None:
        with adjoint.enable_grad():
            adjoint.autograd.grad((x * x).sum(), x)

    def step(k: int) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    return step


@loop(short=20, long=2_000)
def dask_arrays() -> Any:
    if importlib.util.find_spec("dask") is None:
        return "dask is not installed"
    import dask.array

    blocks = dask.array.ones((40, 3), chunks=(10, 3))

    def step(k: int) -> None:
        w = adjoint.as_tensor(dask.array.ones(3)).requires_grad_()
        loss = ((adjoint.as_tensor(blocks) @ w) ** 2).sum()
        loss.backward()
        adjoint.distributed.compute(w - w.grad, scheduler="synchronous")

    return step


# large graphs ---------------------------------------------------------------------------------------------------------


@feat(short=100_000, long=10_000_000)
def a_chain_of_nodes(n: int) -> None:
    x = adjoint.ones(1, requires_grad=True)
    y = x
    for _ in range(n):
        y = y * 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


@feat(short=20_000, long=1_000_000)
def a_node_with_many_users(n: int) -> None:
    x = adjoint.ones(1, requires_grad=True)
    y = x * 2
    adjoint.cat([y * 1.0 for _ in range(n)]).sum().backward()
    assert x.grad.tolist() == [2.0 * n]


@feat(short=20_000, long=1_000_000)
def hooks_at_one_tensor(n: int) -> None:
    x = adjoint.ones(1, requires_grad=True)
    handles = [x.register_hook(lambda g: None) for _ in range(n)]
    (x * 2).sum().backward()
    for handle in handles:
        handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4.0]


# measuring ------------------------------------------------------------------------------------------------------------


def resident() -> int:
    """Resident memory in bytes. Its peak if the system does not report the current value."""
    try:
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[1]) * resource.getpagesize()
    except OSError:
        return peak()


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure_loop(make: Callable[[], Any], steps: int) -> dict[str, Any]:
    step = make()
    if isinstance(step, str):
        return {"left_out": step}
    times: list[float] = []
    memory_at_start = 0
    size = max(1, steps // PARTS)
    for part in range(PARTS):
        start = time.process_time()
        for k in range(part * size, part * size + size):
            step(k)
        times.append((time.process_time() - start) / size)
        if part == PARTS // 10 - 1:
            gc.collect()
            memory_at_start = resident()
    gc.collect()
    fifth = PARTS // 5
    # the first steps make tables
    return {"grown": resident() - memory_at_start, "first": min(times[1 : 1 + fifth]), "last": min(times[-fifth:])}


def measure_feat(function: Callable[[int], None], size: int) -> dict[str, Any]:
    start = time.process_time()
    function(size)
    gc.collect()
    return {"seconds": time.process_time() - start, "peak": peak(), "left": resident()}


def main(name: str, size: int) -> None:
    measured = measure_feat(FEATS[name], size) if name in FEATS else measure_loop(LOOPS[name], size)
    print(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
