"""Faults that can be planted, names of branches, and the short form of `make mutants`."""

from __future__ import annotations

import ast
import doctest
import multiprocessing
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trust import branches, collected, coverage, judging, mutants, mutations, replaced_code

#: The whole round runs these tests of tests.
pytestmark = pytest.mark.quick(0)
PATH = "rules/elementwise.py"


def test_examples() -> None:
    assert doctest.testmod(branches).failed == 0
    assert doctest.testmod(replaced_code).failed == doctest.testmod(collected).failed == 0


def test_names_are_unique_and_faults_are_python() -> None:
    every = mutations.mutations_of(PATH)
    source = (branches.PACKAGE / PATH).read_bytes()
    assert len({mutation.name for mutation in every}) == len(every) > 1000
    for mutation in every[::50]:
        assert ast.unparse(ast.parse(mutation.apply(source))) != ast.unparse(ast.parse(source)), mutation.name


def test_every_kind_can_be_planted() -> None:
    assert {mutation.kind for mutation in mutations.all_mutations(("core", "transforms"))} == set(mutations.KINDS)


def test_a_draw_is_that_of_its_seed() -> None:
    first, again, other = (mutations.draw(("rules",), 30, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert mutations.draw(("rules",), 30, 1, frozenset([first[0].name]))[:5] != first[:5]


def test_equivalent_faults_can_still_be_planted() -> None:
    """An entry is out of date if its line has changed."""
    names = {mutation.name for mutation in mutations.all_mutations(branches.COUNTED)}
    assert [name for name in mutants.equivalent() if name not in names] == []
    assert all(reason for reason in mutants.equivalent().values())


def test_listed_branches_exist_and_have_a_reason() -> None:
    names = {branch.name for path in branches.modules(coverage.PACKAGES) for branch in branches.branches_of(path)}
    assert [name for name in coverage.listed_branches() if name not in names] == []
    assert [name for name, reason in coverage.listed_branches().items() if reason == coverage.NOT_YET] == []


def test_the_branches_of_a_function(tmp_path: object) -> None:
    marker = branches.Marker("a.py")
    text = (
        "def f(x):\n    'It has a docstring.'\n    if x:\n        return 1 if x > 1 else 2\n"
        "    for y in x:\n        pass\n    return lambda z: z\n"
    )
    tree = marker.visit(ast.parse(text))
    assert [branch.name.removeprefix("a.py f: ") for branch in marker.branches] == [
        "called", "if x", "1 if x > 1", "2 if not x > 1", "not if x", "for y in x", "end of for y in x", "lambda z: z",
    ]  # fmt: skip
    numbers: list[int] = []
    space = {branches.NOTE: numbers.append}
    exec(compile(tree, "a.py", "exec"), space)
    function: object = space["f"]
    assert function.__doc__ == "It has a docstring."
    assert function(2) == 1 and numbers == [0, 1, 2]  # type: ignore[operator]
    numbers.clear()
    assert function([])("z") == "z" and numbers == [0, 4, 6, 7]  # type: ignore[operator]
    conditions = [(branch.condition or ((0, 0),))[0] for branch in marker.branches]
    assert conditions == [(0, 0), (3, 7), (4, 20), (4, 20), (3, 7), (5, 13), (5, 13), (0, 0)]
    places = {(6, 8): "for y in x", (3, 7): "called", (5, 13): "not if x", (4, 20): "if x", (4, 15): "1 if x > 1"}
    for position, name in places.items():
        inner = branches.innermost(marker.branches, position)
        assert inner is not None and inner.name == f"a.py f: {name}"


def test_tests_of_the_rarer_side_of_a_condition_are_asked_first() -> None:
    """A fault in a condition takes the other side. Tests of the rarer side run early, after the module's own."""
    path = "transforms/duals.py"
    mutation = next(each for each in mutations.mutations_of(path) if each.old == "if derivative is None:")
    taking = {"if derivative is None": [2], "not if derivative is None": [1, 3]}
    tests: Any = SimpleNamespace(
        names=["", "tests/core/test_a.py::a", "tests/core/test_b.py::b", "tests/transforms/test_duals.py::c"],
        taking=lambda name: taking.get(name.partition(": ")[2], [1, 2, 3]),
        order=lambda members, path: sorted(members),
    )
    assert judging.tests_for(mutation, tests) == [3, 2, 1]


SOURCE = """
def declare(sign):
    return lambda x, y=(lambda: 2): sign * x, lambda x: sign * x

class C:
    def method(self):
        return [k + 1 for k in range(3)]

first, second = declare(1)
"""


@pytest.mark.parametrize(
    ("old", "new", "results"),
    [
        ("lambda x: sign * x", "lambda x: -sign * x", (5, -5, [1, 2, 3])),  # the second lambda of a line, in a closure
        ("k + 1", "k - 1", (5, 5, [-1, 0, 1])),  # inside of a comprehension
        ("2): sign", "3): sign", (5, 5, [1, 2, 3])),  # the program has taken the default before
    ],
)
def test_code_of_living_functions_is_replaced(old: str, new: str, results: tuple[object, ...]) -> None:
    space: dict[str, object] = {}
    exec(compile(SOURCE, "living.py", "exec"), space)
    living, changed = replaced_code.Living(), SOURCE.replace(old, new)
    for function, code in living.replacements("living.py", SOURCE.encode(), changed.encode()):
        function.__code__ = code
    first, second, kind = space["first"], space["second"], space["C"]
    assert (first(5), second(5), kind().method()) == results  # type: ignore[operator]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("declare(1)", "declare(2)"),  # the module has already run
        ("    def method", "    a = 1\n    def method"),  # the body of the class has already run
        ("lambda x: sign * x", "abs"),  # the new line has one lambda less
        ("lambda x: sign * x", "lambda x: x"),  # the closure is different
    ],
)
def test_other_faults_need_a_new_import(old: str, new: str) -> None:
    with pytest.raises(replaced_code.Unreplaceable):
        replaced_code.Living().replacements("living.py", SOURCE.encode(), SOURCE.replace(old, new).encode())


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork, if other tests left threads
def test_a_process_that_ends_is_started_again(tmp_path: Path) -> None:
    ended = tmp_path / "ended"

    def run_pytest(server: collected.Server) -> int:
        server.orders.send(1)
        while True:
            server.orders.recv()
            if not ended.exists():
                ended.touch()
                return 1
            server.orders.send("tests/a.py::test")

    process = collected.Collected(run_pytest, lambda tested, limit: tested())
    order = ("a.py", b"", b"", ["tests/a.py::test"], 1.0)
    # the loop must not start while a fault is planted
    assert [process.run(order) for _ in range(2)] == [None, None]
    process.ensure()
    assert [process.run(order) for _ in range(2)] == ["tests/a.py::test", "tests/a.py::test"]
    process.close()


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, MemoryError])
def test_a_fault_that_ends_pytest_is_found(error: type[BaseException]) -> None:
    def protocol(item: Any, nextitem: Any) -> None:
        if item.nodeid == "second":
            raise error

    config = SimpleNamespace(hook=SimpleNamespace(pytest_runtest_protocol=protocol))
    items = [SimpleNamespace(nodeid=name, config=config) for name in ("first", "second", "third")]
    ours, theirs = multiprocessing.Pipe()
    server = collected.Server(theirs, lambda tested, limit: tested())
    assert server._first_failure(items, []) == "second"
    ours.close()
    theirs.close()


def test_the_tests_find_faults_in_rules() -> None:
    command = [sys.executable, "-m", "trust.mutants"]
    result = subprocess.run(command, cwd=branches.ROOT, capture_output=True, text=True, check=False)
    # The short form runs only the tests of rules. They agree with some faults, such as another axis.
    match = re.search(r"(\d+) of (\d+) are found", result.stdout)
    assert match is not None, result.stdout + result.stderr
    assert int(match[2]) == mutants.SHORT and int(match[1]) >= mutants.SHORT - 2, result.stdout
