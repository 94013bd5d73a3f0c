"""The parts of `make sanitize` find faults that are planted in a separate module."""

from __future__ import annotations

import doctest
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from trust.figures import Recorder

from trust import builds, emulation, machines, sanitize, suite

PLANTED = Path(__file__).parent / "data" / "planted.c"
#: By number: the sanitizers' name of the fault.
FAULTS = (
    "heap-buffer-overflow",
    "signed integer overflow",
    "outside the range of representable values",
    "leak: in fault",
)
COMPILERS = [compiler for compiler in ("gcc", "clang") if shutil.which(compiler) and sys.platform == "linux"]


def test_examples() -> None:
    assert sum(doctest.testmod(module).failed for module in (suite, sanitize, builds, machines, emulation)) == 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_sanitizers_find_planted_faults(compiler: str, tmp_path: Path) -> None:
    name = {build.compiler: name for name, build in builds.BUILDS.items() if name.startswith("sanitize")}[compiler]
    if not Path(sanitize.preload(compiler).partition(":")[0]).is_absolute():
        pytest.skip(f"{compiler} has no sanitizers here")
    # the folder replaces the package's folder, whose leaks count
    library = tmp_path / "adjoint" / "planted.so"
    library.parent.mkdir()
    source = shutil.copy(PLANTED, library.parent)
    include = f"-I{sysconfig.get_path('include')}"
    options = [*builds.BUILDS[name].flags, "-shared", "-fPIC", include, source, "-o", str(library)]
    subprocess.run([compiler, *options], check=True)
    environment = os.environ | sanitize.environment(name, tmp_path) | {"PYTHONPATH": str(library.parent)}
    results = []
    for number in range(len(FAULTS) + 1):
        program = f"import planted; planted.fault({number})"
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )
        files = list(tmp_path.glob("report*"))
        results.append(" ".join(sanitize.reports(run.stderr + "".join(file.read_text() for file in files))))
        for file in files:
            file.unlink()
    assert all(fault in report for fault, report in zip(FAULTS, results, strict=False)), results
    assert results[-1] == ""


def test_a_run_ends_with_its_tests_not_with_the_processes_they_leave() -> None:
    sleep = "[sys.executable, '-c', 'import time; time.sleep(15)']"
    program = f"import subprocess, sys; print('1 passed in 1s', flush=True); subprocess.Popen({sleep})"
    result = suite.run((), {}, python=(sys.executable, "-c", program), limit=20)
    assert (result.passed, result.failures) == (1, [])
    assert result.seconds < 10


def test_a_check_in_a_function_that_cannot_raise_is_a_report() -> None:
    text = "IndexError: Out of bounds on buffer access (axis 0)\nException ignored in: 'adjoint.core.graph.f'\n"
    assert list(sanitize.reports(text)) == ["ignored in adjoint.core.graph.f"]


def test_a_run_that_ends_early_is_a_fault() -> None:
    assert suite.outcome("tests/a.py ...", -11, 1.0).failures == ["ended with code -11"]
    assert suite.outcome("3 passed in 1s\n", 0, 1.0).passed == 3


def test_what_a_machine_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert machines.missing("clang").endswith("clang not installed")
    assert "qemu-s390x-static" in machines.missing("s390x") and machines.missing("loops") == ""


def test_a_run_in_pieces_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    first = suite.Session(go_on=False, minutes=1)
    assert first.outcome("checks", "tests/core", lambda: suite.Outcome(passed=3)) is not None
    second = suite.Session(go_on=True, minutes=-1)
    stored = second.outcome("checks", "tests/core", pytest.fail)
    assert stored is not None and stored.passed == 3
    recorder = Recorder("make sanitize", long=False)
    assert second.outcome("checks", "tests/nn", pytest.fail) is None and second.left == {"checks": ["tests/nn"]}
    assert second.finish(recorder, {"checks": "Cython"}) == 0 and recorder.figures.not_run == ["Cython: `tests/nn`"]


def test_what_is_not_chosen_is_said_not_to_have_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    session = suite.Session(go_on=True, minutes=1, selects=lambda name, part: (name, part) == ("checks", "tests/core"))
    runs = [("checks", "tests/core"), ("checks", "tests/nn"), ("clang", "tests/core")]
    outcomes = [session.outcome(name, part, lambda: suite.Outcome(passed=3)) for name, part in runs]
    assert [each and each.passed for each in outcomes] == [3, None, None]
    assert session.left == {"checks": ["tests/nn"], "clang": ["tests/core"]}


def test_the_parts_of_the_suite_exist() -> None:
    assert all(suite.files(part) for part in (*suite.parts(), *machines.EMULATED, *sanitize.SHORT, *machines.GENERIC))
    assert suite.parts(["program", "core"])[0] == "tests/program" and len(suite.parts(["program", "core"])) == 3
