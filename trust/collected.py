"""A process that imports the package and collects the tests once. Its forks run some of the tests with a fault."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import pytest

from trust.replaced_code import Living, Replacement, Unreplaceable

#: A file, its source, the source with a fault, names of tests, the limit in seconds.
Order = tuple[str, bytes, bytes, Sequence[str], float]


def in_order(names: Sequence[str], items: dict[str, Any]) -> list[Any]:
    """The tests with names, in their order.

    A name that ends in "*" means all names that begin with the rest. A name behind "-" is left out.

    >>> in_order(["b", "a*", "-a2"], {"a1": 1, "a2": 2, "b": 3})
    [3, 1]
    """
    beginnings = tuple(name[:-1] for name in names if name.endswith("*"))
    matches = [name for name in names if name in items]
    matches += [name for name in items if beginnings and name.startswith(beginnings)]
    left_out = {name[1:] for name in names if name.startswith("-")}
    return [items[name] for name in dict.fromkeys(matches) if name not in left_out]


def are_among(names: Sequence[str], items: Iterable[str]) -> bool:
    """Whether there is a test for each name and for each beginning of names.

    >>> are_among(["a*", "-c"], ["a1"]), are_among(["a1", "b"], ["a1"])
    (True, False)
    """
    beginnings = [name[:-1] for name in names if name.endswith("*")]
    left = {name for name in names if not name.endswith("*") and not name.startswith("-")}.difference(items)
    return not left and all(any(item.startswith(beginning) for item in items) for beginning in beginnings)


class Failures:
    """A plugin of pytest: the first test that fails."""

    def __init__(self) -> None:
        self.first = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note it."""
        if report.failed and not self.first:
            self.first = report.nodeid


class Server:
    """A plugin of pytest. Instead of running the tests, it carries out orders, each in a fork."""

    def __init__(self, orders: Connection, run: Callable[[Callable[[], str], float], str]) -> None:
        self.orders, self._in_fork = orders, run
        self.failures = Failures()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer each order with the first test that fails, or with None if another process has to decide.

        Another process has to decide if the fault needs a new import, or if all tests here pass and some are not
        collected.
        """
        session.config.pluginmanager.register(self.failures)
        items = {item.nodeid: item for item in session.items}
        living = Living()
        self.orders.send(len(items))
        while True:
            try:
                file, source, changed, names, limit = self.orders.recv()
            except EOFError:
                return True
            try:
                replacements = living.replacements(file, source, changed)
            except Unreplaceable:
                self.orders.send(None)
                continue

            selection = in_order(names, items)
            failure = self._in_fork(partial(self._first_failure, selection, replacements), limit)
            self.orders.send(failure if failure or are_among(names, items) else None)

    def _first_failure(self, items: list[Any], replacements: list[Replacement]) -> str:
        """The first test that fails after functions got other code."""
        for function, code in replacements:
            function.__code__ = code
        for item, following in zip(items, [*items[1:], None], strict=True):
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException:  # a fault may end pytest itself
                return str(item.nodeid)
            if self.failures.first:
                break
        return self.failures.first


class Collected:
    """The process with the collected tests.

    It calls `run_pytest` with the plugin. If it ends, `ensure` starts another one.
    """

    def __init__(self, run_pytest: Callable[[Server], int], in_fork: Callable[[Callable[[], str], float], str]):
        self._run_pytest, self._in_fork = run_pytest, in_fork
        self._child = 0
        self.ensure()

    def ensure(self) -> None:
        """Start the process if there is none. At that time the modules that it imports must have no fault."""
        if self._child:
            return
        self._orders, theirs = multiprocessing.Pipe()
        self._child = os.fork()
        if not self._child:
            self._orders.close()
            try:
                self._run_pytest(Server(theirs, self._in_fork))
            finally:
                os._exit(1)
        theirs.close()
        try:
            self.number = self._orders.recv()
        except EOFError:
            raise RuntimeError("pytest does not collect the tests") from None

    def run(self, order: Order) -> str | None:
        """The first test that fails, an empty text if all pass, or words in brackets.

        None if the fault needs a process of its own: because it needs a new import, or because this process has ended.
        """
        if not self._child:
            return None
        try:
            self._orders.send(order)
            answer: str | None = self._orders.recv()
        except (EOFError, OSError):
            self.close()
            return None
        return answer

    def close(self) -> None:
        """End the process."""
        self._orders.close()
        os.waitpid(self._child, 0)
        self._child = 0
