"""Threads, forks and interpreters that end, each in a child process: python process_scenarios.py NAME [TIMES]

A scenario runs in a fork of this process, which has imported adjoint and done nothing else, so that each time is the
first. One that does not end with 0 within LIMIT seconds is a failure. tests/core/test_processes.py calls this.
"""

from __future__ import annotations

import atexit
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import adjoint
from adjoint.runtime import forks
from adjoint.runtime import threads as helpers

LIMIT = 60.0
ARRAY = np.random.default_rng(0).standard_normal((2000, 300))
SCENARIOS: dict[str, Callable[[], None]] = {}


def scenario(function: Callable[[], None]) -> Callable[[], None]:
    SCENARIOS[function.__name__] = function
    return function


def softmax() -> Any:
    """A call large enough for helpers."""
    return adjoint.softmax(adjoint.from_numpy(ARRAY), 1)


def step() -> None:
    """A training step whose large calls use helpers, locks and random numbers."""
    x = adjoint.from_numpy(ARRAY).requires_grad_()
    noise = adjoint.rand(300)
    for _ in range(2):
        (adjoint.log_softmax(x, 1).exp() * noise).sum().backward()


def right(result: Any) -> bool:
    shifted = np.exp(ARRAY - ARRAY.max(1, keepdims=True))
    return bool(np.allclose(result.numpy(), shifted / shifted.sum(1, keepdims=True)))


def at_once(functions: list[Callable[[], Any]]) -> list[Any]:
    """Run functions in threads that begin together."""
    barrier = threading.Barrier(len(functions))
    results: list[Any] = [None] * len(functions)

    def run(i: int) -> None:
        barrier.wait()
        results[i] = functions[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


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
    # no room in the address space for a thread's stack
    threading.stack_size(1 << 30)
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29),) * 2)
    assert right(softmax())
    assert helpers.n_helpers() == 0 if helpers.compiled else True


# forks ----------------------------------------------------------------------------------------------------------------


@contextmanager
def busy(function: Callable[[], Any]) -> Iterator[None]:
    """Another thread that calls a function all the time."""
    ended, begun = threading.Event(), threading.Event()

    def work() -> None:
        while not ended.is_set():
            function()
            begun.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def check_child(function: Callable[[], Any]) -> None:
    """Fork now; the child calls a function and must end with 0."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(int(LIMIT / 2))
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


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
    locks, taken, over = forks.locks(), threading.Event(), threading.Event()

    def hold() -> None:
        for lock in locks:
            lock.acquire()
        with generator._numpy.bit_generator.lock:
            taken.set()
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
    taken.wait()
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
        except Exception:  # modules may be torn down, which is no matter here: that it ends is
            pass


@scenario
def large_call_in_a_finalizer_of_a_module() -> None:
    adjoint.set_num_threads(4)
    # the main module is torn down when no thread of Python's can be started any more
    globals()["_kept"] = _CallsAtTheEnd()


@scenario
def large_call_at_exit() -> None:
    adjoint.set_num_threads(4)
    atexit.register(step)


@scenario
def exit_while_threads_make_large_calls() -> None:
    adjoint.set_num_threads(3)

    def forever() -> None:
        while True:
            step()

    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.02)


# ----------------------------------------------------------------------------------------------------------------------


def status_of(child: int) -> int | None:
    """How a child process ended; None if it had to be killed."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main(name: str, times: int) -> None:
    for done in range(times):
        child = os.fork()
        if child == 0:
            # returns, so that the interpreter ends as usual
            SCENARIOS[name]()
            return
        status = status_of(child)
        if status != 0:
            raise SystemExit(f"{name}: time {done + 1}: " + ("no end" if status is None else f"status {status}"))
    print(f"{name}: {times} times")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
