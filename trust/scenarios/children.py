"""Scenarios in forks of a process that has only imported adjoint.

So each run is the first run of its process. A scenario fails if it does not end with 0 within LIMIT seconds.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LIMIT = 60.0

Scenarios = dict[str, Callable[[], None]]


def at_once(functions: list[Callable[[], Any]]) -> list[Any]:
    """Run functions in threads that begin together; returns their results, or raises the first of their errors."""
    barrier = threading.Barrier(len(functions))
    results: list[Any] = [None] * len(functions)
    errors: list[BaseException] = []

    def run(i: int) -> None:
        barrier.wait()
        try:
            results[i] = functions[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


@contextmanager
def busy(function: Callable[[], Any]) -> Iterator[None]:
    """A block in which another thread calls a function repeatedly."""
    ended, has_begun = threading.Event(), threading.Event()

    def work() -> None:
        while not ended.is_set():
            function()
            has_begun.set()

    thread = threading.Thread(target=work)
    thread.start()
    has_begun.wait()
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


def status_of(child: int) -> int | None:
    """The status of a child process. None if it had to be killed."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main(scenarios: Scenarios, names: list[str], times: int, expected: dict[str, int]) -> None:
    """Run scenarios a number of times. Each run has its own fork, which ends like a normal process."""
    for name in names:
        for k in range(times):
            child = os.fork()
            if child == 0:
                # returns, so that the interpreter ends as usual
                scenarios[name]()
                return
            status = status_of(child)
            if status is None or os.waitstatus_to_exitcode(status) != expected.get(name, 0):
                raise SystemExit(f"{name}: time {k + 1}: " + ("no end" if status is None else f"status {status}"))
        # a fork would print buffered text again
        print(f"{name}: {times} times", flush=True)


def run_from_command_line(scenarios: Scenarios, expected: dict[str, int]) -> None:
    names, times = sys.argv[1].split(","), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    main(scenarios, names, times, expected)
