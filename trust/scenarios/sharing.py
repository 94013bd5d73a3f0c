"""Threads that share tensors, graphs, hooks, generators and programs: python -m trust.scenarios.sharing NAME [TIMES]"""

from __future__ import annotations

import io
import random
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import adjoint
from adjoint.core.modes.state import MODES, current
from adjoint.utils.checkpoint import checkpoint
from trust.scenarios.children import Scenarios, at_once, run_from_command_line
from trust.scenarios.functions import Square

THREADS = 6
SCENARIOS: Scenarios = {}
VALUES = np.linspace(1.0, 2.0, 5)
#: Without its lock, Python lets a thread that sets attributes of a class wait for all threads that look some up.
HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()


def scenario(function: Callable[[], None]) -> Callable[[], None]:
    SCENARIOS[function.__name__] = function
    return function


def leaf(values: Any = VALUES) -> Any:
    return adjoint.from_numpy(np.array(values)).requires_grad_()


def all_equal(results: list[Any]) -> bool:
    return all(result == results[0] for result in results)


def modes_are_initial() -> bool:
    return all(getattr(current(), name) == mode.initial for name, mode in MODES.items())


# first use ------------------------------------------------------------------------------------------------------------

NAMESPACES = ("", "linalg", "fft", "special", "nn", "nn.functional", "optim", "func", "autograd", "distributions",
              "sparse", "signal", "numpy", "masked", "integrate", "optimize")  # fmt: skip


def every_name(seed: int) -> list[str]:
    """Use every public name, in a different order in each thread. Returns the missing names."""
    order = random.Random(seed)
    missing = []
    spaces = list(NAMESPACES)
    order.shuffle(spaces)
    for space in spaces:
        module = adjoint
        for part in filter(None, space.split(".")):
            module = getattr(module, part)
        names = [name for name in dir(module) if not name.startswith("_")]
        order.shuffle(names)
        missing += [f"{space}.{name}" for name in names if not present(module, name)]
    return missing


def present(module: Any, name: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hasattr(module, name)


@scenario
def first_use_of_every_name() -> None:
    results = at_once([partial(every_name, seed) for seed in range(THREADS)])
    assert results == [[]] * THREADS, results


def every_method(seed: int) -> list[Any]:
    """Call methods of Tensor without arguments, in a different order in each thread."""
    x = leaf(np.full((2, 2), 0.5))
    names = ["sin", "exp", "softmax", "cumsum", "sort", "norm", "logsumexp", "var", "median", "inverse", "det", "svd",
             "diff", "flip", "roll", "tril", "erf", "lgamma", "sinc", "topk", "renorm"]  # fmt: skip
    random.Random(seed).shuffle(names)
    needed = {"softmax": (0,), "cumsum": (0,), "logsumexp": (0,), "flip": (0,), "roll": (1,), "topk": (1,),
              "renorm": (2, 0, 1.0)}  # fmt: skip
    y = x + adjoint.eye(2, dtype=adjoint.float64)
    results = {}
    for name in names:
        result = getattr(y, name)(*needed.get(name, ()))
        first = result[0] if isinstance(result, tuple) else result
        results[name] = first.tolist()
        if first.requires_grad:
            results[name] = [results[name], adjoint.autograd.grad(first.sum(), x)[0].tolist()]
    return sorted(results.items())


@scenario
def first_use_of_methods_and_rules() -> None:
    assert all_equal(at_once([partial(every_method, seed) for seed in range(THREADS)]))


# tensors and graphs ---------------------------------------------------------------------------------------------------


@scenario
def shared_leaves() -> None:
    """A leaf has the sum of all threads' gradients. The numbers are whole, so the sum does not depend on the order."""
    x, large = leaf(), leaf(np.ones(20_000))

    def work() -> None:
        for _ in range(60):
            (x * 3).sum().backward()
            (large * 2).sum().backward()

    at_once([work] * THREADS)
    assert x.grad.tolist() == [3.0 * 60 * THREADS] * 5, x.grad
    assert (large.grad == 2.0 * 60 * THREADS).all()


@scenario
def gradients_are_read_and_reset() -> None:
    """Threads read and remove the gradient of a leaf, while others add to it and to that of another leaf."""
    x, w = leaf(), leaf()
    ended = threading.Event()

    def work() -> None:
        for _ in range(150):
            ((x + w) * 3).sum().backward()

    def look() -> None:
        while not ended.is_set():
            gradient = x.grad
            assert gradient is None or (gradient.numpy() % 3 == 0).all()
            x.grad = None

    def all_work() -> None:
        try:
            at_once([work] * (THREADS - 2))
        finally:
            ended.set()

    at_once([all_work, look, look])
    assert w.grad.tolist() == [3.0 * 150 * (THREADS - 2)] * 5, w.grad


@scenario
def parameters_that_all_threads_train() -> None:
    """Threads write their steps into the same parameter, each from data of its own, without a lock (Hogwild)."""
    target = np.linspace(-1.0, 1.0, 5)
    w = leaf(np.zeros(5))

    def train(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            data = adjoint.from_numpy(rng.standard_normal((8, 5)))
            loss = ((data @ w - data @ adjoint.from_numpy(target)) ** 2).mean()
            (gradient,) = adjoint.autograd.grad(loss, w)
            with adjoint.no_grad():
                w.sub_(gradient * 0.05)

    at_once([partial(train, seed) for seed in range(THREADS)])
    assert np.abs(w.detach().numpy() - target).max() < 1e-3, w


@scenario
def shared_graph() -> None:
    x = leaf()
    y = x
    for _ in range(40):
        y = (y.sin() + y * 0.5) * x
    y = y.sum()
    expected = adjoint.autograd.grad(y, x, retain_graph=True)[0].tolist()

    def work() -> Any:
        return [adjoint.autograd.grad(y, x, retain_graph=True)[0].tolist() for _ in range(15)]

    assert at_once([work] * THREADS) == [[expected] * 15] * THREADS


@scenario
def shared_graph_of_second_order() -> None:
    x = leaf()
    y = (x.sin() * x.exp()).sum()
    (g,) = adjoint.autograd.grad(y, x, create_graph=True)
    expected = adjoint.autograd.grad(g.sum(), x, retain_graph=True)[0].tolist()

    def work() -> Any:
        (gradient,) = adjoint.autograd.grad(y, x, create_graph=True)
        return [adjoint.autograd.grad(z.sum(), x, retain_graph=True)[0].tolist() for z in (gradient, g)]

    assert at_once([work] * THREADS) == [[expected] * 2] * THREADS


@scenario
def graph_freed_by_several() -> None:
    """Several passes free one graph.

    Each pass gives the right gradient or an error that says that the graph is freed.
    """
    for _ in range(30):
        x = leaf()
        y = x
        for _ in range(20):
            y = y.sin() * 1.5
        y = y.sum()
        expected = adjoint.autograd.grad(y, x, retain_graph=True)[0].tolist()

        def work(y: Any = y, x: Any = x) -> Any:
            try:
                return adjoint.autograd.grad(y, x)[0].tolist()
            except RuntimeError as error:
                return None if "a second time" in str(error) else str(error)

        results = at_once([work] * THREADS)
        assert any(result is not None for result in results)
        assert all(result in (None, expected) for result in results), results


@scenario
def shared_views() -> None:
    """All threads at once use the history of a view whose base was modified before."""
    for _ in range(30):
        x = leaf()
        base = x * 1
        views = [base[1:], base[:3], base.view(5, 1)]
        base.mul_(2)

        def work(views: Any = views, x: Any = x) -> Any:
            return [adjoint.autograd.grad(v.sum(), x, retain_graph=True)[0].tolist() for v in views]

        results = at_once([work] * THREADS)
        assert results == [[[0.0, 2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 0.0, 0.0], [2.0] * 5]] * THREADS, results


@scenario
def shared_saved_tensors_are_written() -> None:
    """Every pass of every thread notices a write to a saved tensor."""
    x = leaf()
    y = x * 1
    z = y.exp().sum() + (y * y).sum()
    with adjoint.no_grad():
        y.add_(1)

    def work() -> str:
        try:
            adjoint.autograd.grad(z, x, retain_graph=True)
        except RuntimeError as error:
            return str(error)[:40]
        return "no error"

    results = at_once([work] * THREADS)
    assert all_equal(results) and results[0] != "no error", results


# modes and hooks ------------------------------------------------------------------------------------------------------


@scenario
def modes_of_threads() -> None:
    """Each thread has its own modes, independent of the others."""

    def work(seed: int) -> None:
        order = random.Random(seed)
        x = leaf()
        blocks: list[tuple[Any, bool]] = [
            (adjoint.no_grad, False), (adjoint.enable_grad, True), (adjoint.inference_mode, False),
            (lambda: adjoint.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t), True),
            (lambda: adjoint.autograd.graph.save_on_cpu(), True), (lambda: adjoint.set_grad_enabled(True), True),
        ]  # fmt: skip
        for _ in range(200):
            make, records = order.choice(blocks)
            with make():
                assert (x * 2).requires_grad == records
                with adjoint.enable_grad():
                    x.exp()
            assert modes_are_initial()

    at_once([partial(work, seed) for seed in range(THREADS)])


@scenario
def modes_of_all_threads() -> None:
    """A thread switches anomaly mode and profilers while other threads train."""
    ended = threading.Event()

    def switch() -> None:
        for _ in range(60 if HAS_LOCK else 6):
            with adjoint.autograd.detect_anomaly(check_nan=False):
                pass
            with adjoint.autograd.profiler.profile():
                leaf().exp().sum().backward()
        ended.set()

    def work() -> None:
        while not ended.is_set():
            x = leaf()
            (x.exp() * x).sum().backward()
            assert np.allclose(x.grad.numpy(), (VALUES + 1) * np.exp(VALUES))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not HAS_LOCK:
            with adjoint.autograd.profiler.profile():
                pass
        at_once([switch, *[work] * 4])
    assert at_once([modes_are_initial] * 2) == [True, True] and modes_are_initial()


@scenario
def hooks_come_and_go() -> None:
    """No hook is lost or replaced by a hook of another thread."""
    x = leaf()
    handles: list[list[Any]] = [[] for _ in range(THREADS)]

    def register(k: int) -> None:
        for _ in range(2000):
            handles[k].append(x.register_hook(lambda g: None))

    at_once([partial(register, k) for k in range(THREADS)])
    assert len(x._hooks) == 2000 * THREADS, len(x._hooks)
    ids = [handle.id for handles_of_thread in handles for handle in handles_of_thread]
    assert len(set(ids)) == len(ids)

    def remove(k: int) -> None:
        for handle in handles[k]:
            handle.remove()

    at_once([*[partial(remove, k) for k in range(THREADS)], lambda: (x * 2).sum().backward()])
    assert len(x._hooks) == 0 and x.grad.tolist() == [2.0] * 5


@scenario
def hooks_run_in_every_thread() -> None:
    x = leaf()
    thread_ids: list[int] = []
    x.register_hook(lambda g: thread_ids.append(threading.get_ident()) or g * 2)

    def work() -> Any:
        return [adjoint.autograd.grad((x * 3).sum(), x)[0].tolist() for _ in range(50)]

    assert at_once([work] * THREADS) == [[[6.0] * 5] * 50] * THREADS
    assert len(thread_ids) == 50 * THREADS and len(set(thread_ids)) == THREADS


# memory, numbers, generators ------------------------------------------------------------------------------------------


@scenario
def allocator() -> None:
    """Threads allocate and free arrays of many sizes, while another thread changes limits and empties the cache."""
    ended = threading.Event()

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        tensors: list[tuple[Any, float]] = []
        for k in range(300):
            value = float(seed * 1000 + k)
            tensors.append((adjoint.full((int(rng.integers(1, 60_000)),), value, dtype=adjoint.float64) + 0.0, value))
            if rng.random() < 0.6:
                tensor, expected = tensors.pop(int(rng.integers(len(tensors))))
                assert (tensor.numpy() == expected).all()
        assert all((tensor.numpy() == expected).all() for tensor, expected in tensors)

    def disturb() -> None:
        limit = adjoint.memory.get_cache_limit()
        while not ended.is_set():
            adjoint.memory.empty_cache()
            adjoint.memory.set_cache_limit(random.choice([0, 1 << 16, limit]))
            adjoint.memory.memory_stats()
        adjoint.memory.set_cache_limit(limit)

    def all_work() -> None:
        try:
            at_once([partial(work, seed) for seed in range(THREADS)])
        finally:
            ended.set()

    at_once([all_work, disturb])
    stats = adjoint.memory.memory_stats()
    assert stats["live"] == 0, stats


@scenario
def a_generator_of_all_threads() -> None:
    """Threads get different parts of one stream of random numbers."""
    generator = adjoint.Generator().manual_seed(5)
    results = at_once([lambda: [adjoint.rand(7, generator=generator).tolist() for _ in range(100)]] * THREADS)
    numbers = sorted(value for parts in results for part in parts for value in part)
    stream = adjoint.Generator().manual_seed(5)
    expected = sorted(v for _ in range(100 * THREADS) for v in adjoint.rand(7, generator=stream).tolist())
    assert numbers == expected


@scenario
def seeds_and_states_of_the_default_generator() -> None:
    def work(seed: int) -> None:
        for _ in range(50):
            adjoint.manual_seed(seed)
            state = adjoint.get_rng_state()
            adjoint.rand(300)
            with adjoint.random.fork_rng():
                adjoint.randn(20)
            adjoint.set_rng_state(state)

    at_once([partial(work, seed) for seed in range(THREADS)])
    adjoint.manual_seed(1)
    first = adjoint.rand(3).tolist()
    adjoint.manual_seed(1)
    assert adjoint.rand(3).tolist() == first


# transformations and programs -----------------------------------------------------------------------------------------


@scenario
def transforms() -> None:
    def work(seed: int) -> Any:
        x = adjoint.from_numpy(VALUES + seed)
        rows = adjoint.stack([x, x * 2])
        f = lambda x: (x.sin() * x).sum()
        for _ in range(5):
            results = [
                adjoint.func.vmap(adjoint.func.grad(f))(rows).tolist(),
                adjoint.func.hessian(f)(x).tolist(),
                adjoint.func.jvp(f, (x,), (x,))[1].tolist(),
                adjoint.func.jacrev(lambda x: x * x)(x).tolist(),
                adjoint.func.vmap(lambda a: adjoint.func.vmap(lambda b: a * b)(x))(x).tolist(),
            ]
        assert modes_are_initial()
        return results

    expected = [work(seed) for seed in range(3)]
    assert at_once([partial(work, seed) for seed in [0, 1, 2] * 2]) == expected * 2


@scenario
def forward_mode() -> None:
    """Threads push tangents through the same tensors, each at levels of its own."""
    x, w = adjoint.from_numpy(VALUES), leaf()
    f = lambda x: (x * w).sin().sum()

    def work(seed: int) -> Any:
        t = adjoint.from_numpy(VALUES * (seed + 1))
        results = []
        for _ in range(10):
            with adjoint.autograd.forward_ad.dual_level():
                dual = adjoint.autograd.forward_ad.make_dual(x, t)
                results.append(adjoint.autograd.forward_ad.unpack_dual(f(dual)).tangent.item())
            results.append(adjoint.func.jvp(f, (x,), (t,))[1].item())
            results.append(adjoint.func.jvp(lambda v: adjoint.func.jvp(f, (v,), (t,))[1], (x,), (t,))[1].item())
        return results

    expected = [work(seed) for seed in range(3)]
    assert at_once([partial(work, seed) for seed in [0, 1, 2] * 2]) == expected * 2


@scenario
def checkpoints_and_custom_functions() -> None:
    x = leaf()

    def work() -> Any:
        grads = []
        for _ in range(20):
            y = checkpoint(lambda x: Square.apply(x.sin()).exp(), x, use_reentrant=False)
            grads.append(adjoint.autograd.grad(y.sum(), x)[0].tolist())
        return grads

    expected = work()
    assert at_once([work] * THREADS) == [expected] * THREADS


@scenario
def a_compiled_function() -> None:
    """All threads record one function at once for several shapes, while another thread resets the recordings."""
    compiled = adjoint.compile(lambda x, w: (x.sin() @ w).exp().sum())
    plain = lambda x, w: (x.sin() @ w).exp().sum()
    rng = np.random.default_rng(0)
    inputs = [(rng.standard_normal((n, 3)), rng.standard_normal((3, 2))) for n in (1, 2, 5, 9)]

    def gradients(function: Any, values: Any) -> Any:
        x, w = (leaf(value) for value in values)
        return [g.numpy().round(9).tolist() for g in adjoint.autograd.grad(function(x, w), (x, w))]

    expected = [gradients(plain, values) for values in inputs]

    def work() -> None:
        for k in range(24):
            assert gradients(compiled, inputs[k % 4]) == expected[k % 4]

    def forget() -> None:
        for _ in range(5):
            adjoint.compiler.reset()

    at_once([*[work] * THREADS, forget])


@scenario
def a_compiled_step_of_training() -> None:
    """Each thread trains its own model by one function, with the result of a single thread."""

    def train(seed: int) -> Any:
        generator = adjoint.Generator().manual_seed(seed)
        w = adjoint.rand(3, 1, generator=generator).requires_grad_()
        optimizer = adjoint.optim.SGD([w], lr=0.1, momentum=0.9)
        x = adjoint.rand(8, 3, generator=generator)
        for _ in range(30):
            optimizer.zero_grad()
            loss(x, w).backward()
            optimizer.step()
        return w.tolist()

    loss = adjoint.compile(lambda x, w: ((x @ w).tanh() ** 2).mean())
    expected = [train(seed) for seed in range(THREADS)]
    assert at_once([partial(train, seed) for seed in range(THREADS)]) == expected


@scenario
def files_and_copies() -> None:
    x = leaf()

    def work() -> None:
        for _ in range(30):
            file = io.BytesIO()
            adjoint.save({"x": x, "y": [x * 2]}, file)
            file.seek(0)
            assert adjoint.load(file)["y"][0].tolist() == (VALUES * 2).tolist()

    at_once([work] * THREADS)


@scenario
def warnings_given_once() -> None:
    from adjoint.runtime.once import warn_once

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at_once([lambda: [warn_once(f"message {k}") for k in range(300)]] * THREADS)
    assert len(caught) == 300, len(caught)


if __name__ == "__main__":
    # so that the interpreter switches between threads as often as possible
    sys.setswitchinterval(1e-6)
    run_from_command_line(SCENARIOS, {})
