"""Helpers of large calls, forks and interpreters that end: python -m trust.scenarios.processes NAME [TIMES]"""

from __future__ import annotations

import atexit
import os
import random
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint.runtime import forks
from adjoint.runtime import threads as helpers
from adjoint.utils.checkpoint import checkpoint
from trust.scenarios.children import Scenarios, at_once, busy, check_child, run_from_command_line

ARRAY = np.random.default_rng(0).standard_normal((2000, 300))
SCENARIOS: Scenarios = {}


def scenario(function: Callable[[], None]) -> Callable[[], None]:
    SCENARIOS[function.__name__] = function
    return function


def softmax() -> Any:
    """A call large enough for helpers."""
    return adjoint.softmax(adjoint.from_numpy(ARRAY), 1)


def step() -> None:
    """A training step. Its large calls use helpers, locks and random numbers."""
    x = adjoint.from_numpy(ARRAY).requires_grad_()
    noise = adjoint.rand(300)
    for _ in range(2):
        (adjoint.log_softmax(x, 1).exp() * noise).sum().backward()


def right(result: Any) -> bool:
    shifted = np.exp(ARRAY - ARRAY.max(1, keepdims=True))
    return bool(np.allclose(result.numpy(), shifted / shifted.sum(1, keepdims=True)))


# threads --------------------------------------------------------------------------------------------------------------


@scenario
def first_large_calls_at_once() -> None:
    adjoint.set_num_threads(4)
    assert all(map(right, at_once([softmax] * 4)))


@scenario
def number_of_threads_is_raised() -> None:
    def raise_it() -> Any:
        for n in (2, 3, 5, 8):
            adjoint.set_num_threads(n)
            result = softmax()
        return result

    adjoint.set_num_threads(2)
    assert all(map(right, at_once([softmax, raise_it, lambda: [softmax() for _ in range(4)][-1], raise_it])))


@scenario
def helpers_cannot_be_started() -> None:
    adjoint.set_num_threads(4)
    # the address space has no room for a thread's stack
    threading.stack_size(1 << 30)
    with open("/proc/self/statm") as pages:
        address_space = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (address_space + (1 << 29),) * 2)
    assert right(softmax())
    assert helpers.n_helpers() == 0 if helpers.compiled else True


# forks ----------------------------------------------------------------------------------------------------------------


@scenario
def fork_while_a_thread_draws() -> None:
    with busy(lambda: adjoint.rand(300, 300)):
        check_child(lambda: adjoint.rand(3))


@scenario
def fork_while_a_thread_runs_backward() -> None:
    x = adjoint.from_numpy(np.ones((300, 3000))).requires_grad_()

    def run() -> None:
        (x * 2).sum().backward()

    with busy(run):
        check_child(run)


@scenario
def fork_while_a_thread_has_helpers() -> None:
    adjoint.set_num_threads(3)

    def check() -> None:
        assert right(softmax())

    with busy(softmax):
        check_child(check)


@scenario
def fork_while_every_lock_is_held() -> None:
    generator = adjoint.Generator()
    adjoint.rand(1)
    locks, all_taken, over = forks.locks(), threading.Event(), threading.Event()

    def hold() -> None:
        for lock in locks:
            lock.acquire()
        with generator._numpy.bit_generator.lock:
            all_taken.set()
            over.wait()
        for lock in locks:
            lock.release()

    def check() -> None:
        assert all(lock.acquire(blocking=False) for lock in locks)
        for lock in locks:
            lock.release()
        adjoint.rand(3, generator=generator)
        step()

    thread = threading.Thread(target=hold)
    thread.start()
    all_taken.wait()
    check_child(check)
    over.set()
    thread.join()


@scenario
def fork_inside_a_hook_of_a_pass() -> None:
    x = adjoint.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: check_child(adjoint.enable_grad()(step)))
    with busy(step):
        y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


# the end of an interpreter --------------------------------------------------------------------------------------------


class _CallsAtTheEnd:
    def __del__(self, call: Any = adjoint.softmax, x: Any = adjoint.from_numpy(ARRAY)) -> None:  # noqa: B008
        try:
            call(x, 1)
        except Exception:  # the end of the process matters here, not the modules that are torn down
            pass


@scenario
def large_call_in_a_finalizer_of_a_module() -> None:
    adjoint.set_num_threads(4)
    # when the main module is torn down, Python cannot start threads any more
    globals()["_kept"] = _CallsAtTheEnd()


@scenario
def large_call_at_exit() -> None:
    adjoint.set_num_threads(4)
    atexit.register(step)


@scenario
def exit_while_threads_make_large_calls() -> None:
    adjoint.set_num_threads(3)

    for _ in range(3):
        threading.Thread(target=forever, args=(step,), daemon=True).start()
    time.sleep(random.uniform(0, 0.05))


# where a program leaves -----------------------------------------------------------------------------------------------


def with_hook(hook: Callable[[Any], Any]) -> Any:
    """The sum of a leaf's function whose cotangent a hook sees."""
    x = adjoint.from_numpy(ARRAY).requires_grad_()
    y = x * 2
    y.register_hook(hook)
    return y.sum()


@scenario
def sys_exit_in_a_hook() -> None:
    with_hook(lambda g: sys.exit(7)).backward()


@scenario
def sys_exit_in_a_hook_of_a_deep_pass() -> None:
    """A pass that is deep enough for a separate thread."""

    def deeper(depth: int) -> None:
        x = adjoint.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: adjoint.enable_grad()(deeper)(depth - 1) if depth else sys.exit(7))
        y.sum().backward()

    deeper(40)


@scenario
def os_exit_in_a_hook() -> None:
    with_hook(lambda g: os._exit(7)).backward()


@scenario
def os_exit_in_a_child_of_a_hook() -> None:
    """The child exits in the middle of its copy of the pass. The parent completes the pass."""

    def hook(g: Any) -> None:
        child = os.fork()
        if child == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    with_hook(hook).backward()
    step()


@scenario
def sys_exit_while_threads_run_backward() -> None:
    for _ in range(3):
        threading.Thread(target=forever, args=(step,), daemon=True).start()
    time.sleep(random.uniform(0, 0.05))
    sys.exit(7)


@scenario
def exit_while_threads_run_everything() -> None:
    """Threads in forward, backward, transformations, checkpoints, compiled functions and draws."""
    x = adjoint.ones(300, requires_grad=True)
    compiled = adjoint.compile(lambda x: (x.sin() * x).sum())
    # a recording refuses actions of other threads at the same time, such as draws
    for _ in range(2):
        compiled(x).backward()
    works = [
        step,
        lambda: compiled(x).backward(),
        lambda: adjoint.func.hessian(lambda x: (x**3).sum())(adjoint.ones(4)),
        lambda: checkpoint(lambda x: x.sin().sum(), x, use_reentrant=False).backward(),
        lambda: adjoint.rand(300, 300).normal_(),
        lambda: with_hook(lambda g: g * 2).backward(),
    ]
    for work in works:
        threading.Thread(target=forever, args=(work,), daemon=True).start()
    time.sleep(random.uniform(0, 0.2))


def forever(function: Callable[[], Any]) -> None:
    while True:
        function()


@scenario
def exit_with_a_long_graph() -> None:
    """Modules are torn down while a graph of many nodes is alive."""
    y = adjoint.ones(3, requires_grad=True)
    for _ in range(100_000):
        y = y * 1.0
    globals()["_kept"] = y


@scenario
def backward_in_a_finalizer_of_a_module() -> None:
    class Last:
        def __del__(self, y: Any = with_hook(lambda g: None)) -> None:  # noqa: B008
            try:
                y.backward()
            except Exception:  # as above
                pass

    globals()["_kept"] = Last()


#: The exit status of scenarios that do not end with 0.
STATUS = {name: 7 for name in SCENARIOS if name.startswith("sys_exit") or name == "os_exit_in_a_hook"}

if __name__ == "__main__":
    run_from_command_line(SCENARIOS, STATUS)
