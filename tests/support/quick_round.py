"""Selects the tests of the quick round (`pytest --quick`, `make quick`), the same ones each time.

A parametrised test keeps evenly spread cases, so every test function runs. The marker `quick(cases)` sets another
number if CASES takes too long, or finds too few faults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

#: The number of cases of a parametrised test without a marker.
CASES = 4
#: Tests that run with all cases.
WHOLE = ("tests/architecture/",)
T = TypeVar("T")


def function_of(node: str) -> str:
    """The test function of a case.

    >>> function_of("tests/rules/test_table.py::test_rule[sum-float64-vjp]")
    'tests/rules/test_table.py::test_rule'
    """
    return node.split("[", 1)[0]


def cases_of(item: pytest.Item) -> int | None:
    """The number of cases of a test in the quick round: the argument of its marker, or None."""
    if item.get_closest_marker("slow") is not None:
        return 0
    marker = item.get_closest_marker("quick")
    return None if marker is None else marker.args[0]


def choose(items: Sequence[T], name: Callable[[T], str], cases: Callable[[T], int | None]) -> list[T]:
    """The members of the quick round in their order.

    name: the full name of a case. cases: how many cases of its function are wanted, None for CASES.

    >>> nodes = [f"tests/a.py::test_b[{n}]" for n in range(7)]
    >>> choose(nodes, str, lambda node: 3)
    ['tests/a.py::test_b[0]', 'tests/a.py::test_b[3]', 'tests/a.py::test_b[6]']
    """
    functions: dict[str, list[T]] = {}
    for item in items:
        functions.setdefault(function_of(name(item)), []).append(item)
    ids: set[int] = set()
    for function, members in functions.items():
        number = cases(members[0])
        if function.startswith(WHOLE):
            number = len(members)
        elif number is None:
            number = CASES
        if number:
            step = -(-len(members) // number)
            ids.update(map(id, members[::step]))
    return [item for item in items if id(item) in ids]
