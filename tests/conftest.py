"""Selection of tests for --quick (support/quick_round.py), names without addresses, little garbage collection."""

from __future__ import annotations

import gc
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.errors import HypothesisWarning
from hypothesis.strategies import none

from support.quick_round import cases_of, choose


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="some cases of each test: a round of a minute")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if re.search(r" at 0x[0-9a-f]", item.nodeid):
            raise pytest.UsageError(
                f"the name of a test has an address, which differs from process to process: {item.nodeid}. Give ids="
            )
    if config.getoption("--quick"):
        selection = choose(items, lambda item: item.nodeid, cases_of)
        ids = set(map(id, selection))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in ids])
        items[:] = selection


#: The random generators of each module, with their states after its import.
_generators: dict[Any, list[tuple[np.random.Generator, Any]]] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    # each test gets the same random numbers, whichever tests ran before it
    for generator, state in _generators.get(getattr(item, "module", None), ()):
        generator.bit_generator.state = state


def pytest_collection_finish(session: pytest.Session) -> None:
    for module in {getattr(item, "module", None) for item in session.items} - {None}:
        generators = [value for value in vars(module).values() if isinstance(value, np.random.Generator)]
        _generators[module] = [(generator, generator.bit_generator.state) for generator in generators]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)
        start_hypothesis()
    leave_to_itself()


@given(none())
def start_hypothesis(_: None) -> None:
    """Let hypothesis make its random generator.

    It warns if it finds nobody who holds the generator, and does not look among objects that are excluded here.
    """


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is not None and nextitem.path != item.path:
        leave_to_itself()


def leave_to_itself() -> None:
    """Exclude all live objects from later collections: tests, modules and their caches.

    Otherwise a test that calls gc.collect() or gc.get_referrers() would search them all.
    """
    gc.collect()
    gc.freeze()
