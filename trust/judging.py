"""Decides whether the tests find a fault: in a copy of the package, by the tests of its branch, in processes."""

from __future__ import annotations

import ast
import compileall
import gc
import itertools
import json
import math
import os
import py_compile
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trust.branches import PACKAGE, ROOT, Position, branches_of, innermost
from trust.collected import Collected, in_order
from trust.mutations import Mutation

TAKEN = ROOT / "build" / "trust" / "branches"
#: The folders of tests of a package, in the order in which they run.
FAMILIES = {
    "core": ("tests/core/", "tests/tensor/", "tests/function/"),
    "rules": ("tests/rules/", "tests/functions/", "tests/test_messages.py"),
    "functions": ("tests/functions/", "tests/test_messages.py", "tests/rules/", "tests/sparse_matrices/"),
    "transforms": ("tests/transforms/", "tests/function/"),
}
#: The tests of a package whose modules serve compiled ones. They run in the compiled form, all of them.
OF_COMPILED = {
    "program": (
        *(f"tests/program/test_{name}.py::*" for name in ("trace", "fused", "machine")),
        "tests/core/test_programs.py::*", "tests/compilation/test_programs.py::*",
        "tests/compilation/test_device.py::*", "tests/program/test_device.py::*",
    ),
}  # fmt: skip
#: The beginnings of the names of files with branches, for the two forms.
PLAIN_FORM, COMPILED_FORM = "tests-", "compiled-"
#: The text by which rules call loops in C. The plain form has no such loops.
LOOPS = "native("
#: Modules of these packages that replace compiled ones in the plain form, and their tests.
PLAIN_TWINS = {"program/plain_region.py": ("tests/compilation/test_programs.py::*",)}
#: The seconds of tests in each round. The quickest tests come first.
ROUNDS = (2.0, 6.0, 10.0)
#: The seconds of the last round. It runs all cases of functions, since some cases may not be among the noted tests.
SIBLINGS = 10.0
#: The limit of processor time, as a multiple of the time without a fault. A fault may cause an endless loop.
SLOWER = 5
#: The seconds that pytest itself needs for a test.
COLLECTING = 0.002
#: The limit of rounds of tests whose duration is unknown.
LONGEST = 300.0
#: The number of files of tests in the first round, since each file has to be collected.
FILES = 4
#: The additional seconds of a process that has to import the package, and the memory of each process.
PATIENCE = 40.0
MEMORY = 6 * 2**30
#: The exit status if pytest itself fails.
NOT_RUN = 99
#: The modules that the tests import besides the package.
PRELOADED = (
    "ml_dtypes", "array_api_compat.numpy", "threadpoolctl", "scipy.special", "scipy.linalg", "scipy.sparse",
    "scipy.fft", "scipy.optimize", "scipy.integrate", "scipy.stats", "hypothesis.extra.numpy", "mpmath",
)  # fmt: skip


# which tests ----------------------------------------------------------------------------------------------------------


class Tests:
    """The branches that each test takes, from the files of `make coverage`: in one form, or in both."""

    def __init__(self, form: str = "", folder: Path = TAKEN) -> None:
        files = sorted(folder.glob(f"{form}*.npz"))
        if not files:
            raise FileNotFoundError(f"{folder} has no files: run `make coverage` first, which writes them")
        self.names: list[str] = []
        seconds: list[float] = []
        self._parts: list[tuple[dict[str, int], Any, int]] = []
        for file in files:
            data = np.load(file)
            numbers = {name: number for number, name in enumerate(json.loads(str(data["names"])))}
            self._parts.append((numbers, data["rows"], len(self.names)))
            self.names += json.loads(str(data["tests"]))
            seconds += data["seconds"].tolist()
        self.seconds = np.array(seconds)

    def taking(self, branch: str) -> list[int]:
        """The tests that take a branch. The first row of a file belongs to the collection, and not to a test."""
        members: list[int] = []
        for numbers, rows, first in self._parts:
            number = numbers.get(branch)
            if number is not None:
                column = rows[1:, number // 8] >> (7 - number % 8) & 1
                members += (np.flatnonzero(column) + first + 1).tolist()
        return members

    @cached_property
    def all_branches(self) -> set[str]:
        """The names of all branches that are taken, also by imports."""
        names: set[str] = set()
        for numbers, rows, _ in self._parts:
            bits = np.unpackbits(np.bitwise_or.reduce(rows, 0))
            names.update(name for name, number in numbers.items() if bits[number])
        return names

    @cached_property
    def of_functions(self) -> dict[str, float]:
        """The seconds that all cases of a function take, by its name."""
        seconds: dict[str, float] = {}
        for name, each in zip(self.names, self.seconds, strict=True):
            seconds[function_of(name)] = seconds.get(function_of(name), 0.0) + each + COLLECTING
        return seconds

    def order(self, members: Iterable[int], path: str) -> list[int]:
        """The tests in order: those of the module's own file, then those of its family.

        Functions take turns, quick cases first.
        """
        folders = FAMILIES[path.split("/")[0]]

        def distance(name: str) -> int:
            if own_file(path) in name:
                return -1
            return next((number for number, folder in enumerate(folders) if name.startswith(folder)), len(folders))

        functions: dict[str, list[int]] = {}
        for member in members:
            functions.setdefault(function_of(self.names[member]), []).append(member)
        for cases in functions.values():
            cases.sort(key=lambda member: self.seconds[member])
        by_rank = sorted(functions.items(), key=lambda item: (distance(item[0]), self.seconds[item[1][0]]))
        by_distance = itertools.groupby(by_rank, key=lambda item: distance(item[0]))
        ordered: list[int] = []
        for _, group in by_distance:
            turns = itertools.zip_longest(*[cases for _, cases in group])
            ordered += [member for turn in turns for member in turn if member is not None]
        return ordered


def function_of(name: str) -> str:
    """The name of a test without its case."""
    return name.split("[")[0]


def branches_around(path: str, position: Position) -> list[str]:
    """The branch at a position. For code that runs at import, the branches of its declaration."""
    branches = branches_of(path)
    around = innermost(branches, position)
    if around is not None:
        return [around.name]
    first, last = lines_of(statement_at(path, position))
    return [branch.name for branch in branches if first <= branch.line <= last]


def statement_at(path: str, position: Position) -> ast.stmt:
    """The outermost statement at a position."""
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        first, last = lines_of(node)
        if first <= position[0] <= last:
            return node
    raise ValueError(f"{path} has no statement at line {position[0]}")


def lines_of(node: Any) -> tuple[int, int]:
    """The first and the last line of a statement with its decorators."""
    decorators = [each.lineno for each in getattr(node, "decorator_list", [])]
    return min([node.lineno, *decorators]), node.end_lineno


def declared_at(mutation: Mutation) -> str:
    """The name that the statement of a mutation declares, or for which it has a formula.

    An empty text for other statements.
    """
    match statement_at(mutation.path, mutation.position):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.FunctionDef(name="_", decorator_list=[ast.Call(func=ast.Attribute(value=ast.Name(id=name))), *_]):
            return name
        case ast.FunctionDef(name=name, decorator_list=[_, *_]):
            return name
    return ""


def tests_for(mutation: Mutation, tests: Tests) -> list[int]:
    """The tests that take the branch of a mutation.

    If there are none, the tests that take another branch of its module.

    The tests of the module's own file come first. A fault in a condition changes the side that is taken. So the tests
    of the rarer side come next.
    """
    for names in (branches_around(mutation.path, mutation.position), [b.name for b in branches_of(mutation.path)]):
        members = {member for name in names for member in tests.taking(name)}
        if members:
            rare = rare_side(mutation.path, mutation.position, tests) & members
            ordered = tests.order(rare, mutation.path) + tests.order(members - rare, mutation.path)
            return sorted(ordered, key=lambda member: own_file(mutation.path) not in tests.names[member])
    return []


def own_file(path: str) -> str:
    """The part of a name that the tests in the module's own file have."""
    return f"/test_{Path(path).stem}.py::"


def needs_loops(mutation: Mutation, plain: Tests) -> bool:
    """Whether only the compiled form runs the code of a mutation."""
    if LOOPS in mutation.old:
        return True
    return not any(plain.taking(name) for name in branches_around(mutation.path, mutation.position))


def rare_side(path: str, position: Position, tests: Tests) -> set[int]:
    """The tests that take the rarer side of the condition at a position."""
    sides = [set(tests.taking(branch.name)) for branch in branches_of(path) if branch.depends_on(position)]
    return min((side for side in sides if side), key=len, default=set())


def rounds_of(mutation: Mutation, tests: Tests) -> Iterator[tuple[list[str], float]]:
    """The tests that could find a mutation, in rounds, and the limit of each round in seconds."""
    package = mutation.path.split("/")[0]
    if mutation.path in PLAIN_TWINS:
        yield from (([name], LONGEST) for name in PLAIN_TWINS[mutation.path])
        return
    if package in OF_COMPILED:
        file = f"tests/{package}/test_{Path(mutation.path).stem}.py"
        if (ROOT / file).exists():
            yield [f"{file}::*"], LONGEST
        yield from (([name], LONGEST) for name in OF_COMPILED[package])
        return
    members = tests_for(mutation, tests)
    files = list(dict.fromkeys(tests.names[member].split("::")[0] for member in members))
    first = [member for member in members if tests.names[member].split("::")[0] in files[:FILES]]
    for number, seconds in enumerate(ROUNDS):
        batch = within(members if number else first, tests, seconds)
        left = set(members) - set(batch)
        members = [member for member in members if member in left]
        if batch:
            yield [tests.names[member] for member in batch], SLOWER * max(seconds, float(tests.seconds[batch].sum()))
    functions = dict.fromkeys(function_of(tests.names[member]) for member in tests_for(mutation, tests))
    total = np.cumsum([tests.of_functions[name] for name in functions])
    siblings = [f"{name}[*" for name, seconds in zip(functions, total, strict=True) if seconds < SIBLINGS]
    if siblings:
        yield siblings, SLOWER * SIBLINGS


def within(members: Sequence[int], tests: Tests, seconds: float) -> list[int]:
    """The first tests that take at most this number of seconds, at least one."""
    total = np.cumsum(tests.seconds[list(members)] + COLLECTING)
    return list(members[: max(int(np.searchsorted(total, seconds)), 1)])


#: A module of a copy, its source, and the source with a fault.
Fault = tuple[Path, bytes, bytes]

# one fault ------------------------------------------------------------------------------------------------------------


@dataclass
class Verdict:
    """The result for a mutation: the test that found it, or none, and the seconds that were needed."""

    name: str
    id: str
    found_by: str
    seconds: float
    tests: int


class Selection:
    """A plugin of pytest that selects tests by their names, in their order, and notes the first one that fails.

    So pytest collects a file with thousands of cases once, instead of searching for each of thousands of arguments.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the selected tests."""
        selection = in_order(self.names, {item.nodeid: item for item in items})
        left = set(items) - set(selection)
        config.hook.pytest_deselected(items=list(left))
        items[:] = selection

    def _note(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    pytest_runtest_logreport = pytest_collectreport = _note


class Copy:
    """A copy of the package in a scratch folder, in which one module at a time has a fault.

    Tests run in forks of this process, or in forks of a process that has collected them (`collect`). This process has
    imported the modules that tests need, but not the package. The copy runs as plain Python. If `compiled`, it runs
    with the built extensions.
    """

    def __init__(self, folder: Path, compiled: bool = False) -> None:
        self.folder, self.compiled = folder, compiled
        self.source = folder / "src"
        self.answer_file = folder / "failed.txt"
        self.collected: Collected | None = None
        #: Tests that failed with a fault, and whether they pass without it. Tests that fail without a fault do not
        #: count.
        self.sound: dict[str, bool] = {}
        left = ("__pycache__",) if compiled else ("__pycache__", "*.so")
        shutil.copytree(PACKAGE, self.source / "adjoint", ignore=shutil.ignore_patterns(*left))
        # by their contents, since a file may be written twice within a second
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.source, quiet=1, invalidation_mode=mode)
        preload()

    def collect(self, files: Iterable[str]) -> None:
        """Start a process that collects the tests of files. Its forks run some of these tests."""
        names = sorted(files)
        self.collected = Collected(lambda server: self._run_pytest(names, server), self.in_fork)

    def run(self, names: Sequence[str], limit: float) -> str:
        """The first test that fails, or an empty text if all pass.

        Words in brackets for a crash or a run beyond the limit.
        """
        files = sorted({name.split("::")[0].removesuffix("*") for name in names if not name.startswith("-")})

        def run_tests() -> str:
            selection = Selection(names)
            status = self._run_pytest(files, selection)
            no_failure = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
            return "" if no_failure else selection.failed or f"(pytest ends with {status})"

        return self.in_fork(run_tests, limit + PATIENCE)

    def in_fork(self, tested: Callable[[], str], limit: float) -> str:
        """The answer of a function in a fork. Words in brackets for a crash or a run beyond the limit.

        The limit counts processor time. A process that only waits is killed after four times the limit.
        """
        self.answer_file.write_text("", encoding="utf-8")
        child = os.fork()
        if not child:
            status = NOT_RUN
            try:
                os.setsid()
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
                self.answer_file.write_text(tested(), encoding="utf-8")
                status = 0
            except BaseException:
                self.answer_file.write_text(traceback.format_exc(), encoding="utf-8")
            finally:
                os._exit(status)
        ended = wait(child, 4 * limit)
        answer = self.answer_file.read_text(encoding="utf-8")
        if ended == NOT_RUN:
            raise RuntimeError(f"pytest does not run:\n{answer}")
        if ended is None or ended == -signal.SIGXCPU:
            return "(no end)"
        return answer if ended == 0 else f"(exit status {ended})"

    def _run_pytest(self, files: Sequence[str], plugin: Any) -> int:
        """Run pytest with a plugin; in a fork."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        paths = list(map(str, (self.source, ROOT / "tests", ROOT)))
        sys.path[:0] = paths
        sys.dont_write_bytecode = False
        os.environ.update(PYTHONPATH=os.pathsep.join(paths))
        os.environ.update(ADJOINT_DISABLE_EXT="1" * (not self.compiled), ADJOINT_REQUIRE_EXT="1" * self.compiled)
        os.chdir(ROOT)
        words = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
        words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of plugins that are imported already
        return int(pytest.main([*words, *files], plugins=[plugin]))

    def judge(self, mutation: Mutation, rounds: Iterable[tuple[Sequence[str], float]]) -> Verdict:
        """Plant a fault, run tests that could find it in rounds with a limit each, and remove the fault.

        A collected process changes only its functions. So a fault that survives there runs once more in a new process,
        with the tests of the first round. Then the values that the package computes at import have the fault, too.
        """
        start = time.perf_counter()
        if self.collected:
            self.collected.ensure()
        file = self.source / "adjoint" / mutation.path
        source = file.read_bytes()
        changed = mutation.apply(source)
        fault = (file, source, changed)
        runs: list[tuple[Sequence[str], float]] = []
        failure = ""
        file.write_bytes(changed)
        try:
            for names, limit in rounds:
                runs.append((names, limit))
                failure = self.sound_failure(partial(self.first_failure, fault), names, limit, fault)
                if failure:
                    break
            if self.collected and not failure and runs:
                failure = self.sound_failure(self.run, *runs[0], fault)
        finally:
            file.write_bytes(source)
        number = sum(len(names) for names, _ in runs)
        return Verdict(mutation.name, mutation.id, failure, round(time.perf_counter() - start, 1), number)

    def first_failure(self, fault: Fault, names: Sequence[str], limit: float) -> str:
        """The first test that fails with a fault. The process that has collected the tests runs them if it can."""
        file, source, changed = fault
        answer = self.collected.run((str(file), source, changed, names, limit)) if self.collected else None
        return self.run(names, limit) if answer is None else answer

    def sound_failure(
        self, first_failure: Callable[[Sequence[str], float], str], names: Sequence[str], limit: float, fault: Fault
    ) -> str:
        """The first test that fails with a fault in a file and passes without it."""
        file, source, changed = fault
        while True:
            left_out = [f"-{name}" for name, is_sound in self.sound.items() if not is_sound]
            failure = first_failure([*names, *left_out], limit)
            if "::" not in failure or self.sound.get(failure):
                return failure
            file.write_bytes(source)
            self.sound[failure] = not self.first_failure((file, source, source), [failure], 600.0)
            file.write_bytes(changed)


@cache
def preload() -> None:
    """Import the modules that tests need besides the package."""
    for module in PRELOADED:
        import_module(module)
    if "adjoint" in sys.modules:
        raise RuntimeError("adjoint is imported in the process that judges: its forks would not import the copy")
    gc.collect()
    gc.freeze()


def wait(child: int, limit: float) -> int | None:
    """The exit status of a process, negative for a signal. None if the process was killed at the end of the limit."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for a copy."""
    return tempfile.TemporaryDirectory(prefix="adjoint-mutants-")
