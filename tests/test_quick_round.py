"""The quick round selects the same cases each time, and some of each test function."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.quick_round import CASES, cases_of, choose, function_of

TESTS = Path(__file__).parent


def cases(function: str, number: int) -> list[str]:
    return [f"{function}[{n}]" for n in range(number)]


@pytest.mark.parametrize("number", [1, CASES - 1, CASES, CASES + 1, 7 * CASES, 10 * CASES + 3])
def test_cases_are_spread_evenly(number: int) -> None:
    nodes = cases("tests/rules/test_a.py::test_a", number)
    selection = choose(nodes, str, lambda node: None)
    places = [nodes.index(node) for node in selection]
    assert min(number, CASES // 2) <= len(selection) <= CASES and places[0] == 0
    assert len(set(map(int.__sub__, places[1:], places))) <= 1 and number - places[-1] <= -(-number // CASES)


def test_a_marker_gives_another_number() -> None:
    few, none, whole = "tests/a.py::test_few", "tests/a.py::test_none", "tests/architecture/a.py::test_whole"
    nodes = [*cases(few, 100), *cases(none, 9), *cases(whole, 100)]
    selection = choose(nodes, str, lambda node: {few: 4, none: 0, whole: 2}[function_of(node)])
    assert selection == [*nodes[:100:25], *nodes[109:]]


@pytest.mark.quick(0)
def test_every_folder_and_nearly_every_file_is_touched(request: pytest.FixtureRequest) -> None:
    """All tests that this run has collected. In `make test` these are all tests."""
    items = request.session.items
    touched = {item.path for item in choose(items, lambda item: item.nodeid, cases_of)}
    files = {item.path for item in items}
    if len(files) < 0.9 * len(set(TESTS.rglob("test_*.py"))):
        pytest.skip("needs a run that collects all tests")
    assert {file.parent for file in touched} == {file.parent for file in files}
    assert touched <= files and len(touched) > 0.95 * len(files)
