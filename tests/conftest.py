"""The option --quick, a round of tests within a minute (support/quick_round.py), and a collector with little to do."""

from __future__ import annotations

import gc

import pytest

from support.quick_round import cases_of, choose


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="some cases of each test: a round of a minute")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        chosen = choose(items, lambda item: item.nodeid, cases_of)
        kept = set(map(id, chosen))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = chosen


def pytest_collection_finish() -> None:
    # tens of thousands of tests would be searched each time that one of them calls gc.collect()
    gc.collect()
    gc.freeze()
