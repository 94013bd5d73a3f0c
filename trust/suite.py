"""Runs parts of the test suite in separate processes, and returns the counts, the failures and the output."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trust.figures import Recorder
from trust.folders import FOLDER, ROOT

#: The parts of the suite: folders of tests, or patterns of files. The parts that use compiled modules most come first.
# fmt: off
PARTS = [
    "arrays/kernels", "arrays/[lt]*", "program", "core/test_[a-i]*.py", "core/test_[j-z]*.py", "compilation", "runtime",
    "sparse_matrices", "transforms", "tensor", "rules", "functions", "function", "nn", "optim", "solvers", "tools",
    "interop", "distributions", "compat", "utils", "testing",
]
# fmt: on


@dataclass
class Outcome:
    """The outcome of one part: counts, failed tests, reports of faults, and the output of the run."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    text: str = ""


def outcome(text: str, code: int, seconds: float) -> Outcome:
    """The outcome of a run of pytest, by its output. A run without a normal end has a failure that says so.

    >>> outcome("FAILED tests/a.py::b - E\\n1 failed, 20 passed in 3.1s\\n", 1, 3.5).failures
    ['tests/a.py::b']
    """
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|error)", text[-300:])}
    failures = re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
    if code not in (0, 1, 5) or (code == 1 and not failures):
        failures.append(f"ended with code {code}")
    failed = counts.get("failed", 0) + counts.get("error", 0)
    return Outcome(counts.get("passed", 0), failed, counts.get("skipped", 0), round(seconds, 1), failures, text=text)


def run(
    tests: Sequence[str],
    environment: Mapping[str, str],
    python: Sequence[str] = (sys.executable,),
    arguments: Iterable[str] = (),
    limit: float = 3600.0,
) -> Outcome:
    """Run tests. The text contains the standard error output of compiled code."""
    words = [
        *python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--capture=sys",
        "--hypothesis-profile=ci",  # slow examples are no fault here
        "-m",
        "not slow",
    ]
    start = time.perf_counter()
    # a file and no pipe, since a process that continues after the tests, such as a symbolizer, keeps a pipe open
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(
            [*words, "-rfE", *arguments, *(path for pattern in tests for path in files(pattern))],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                code = process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                code = -9
        output.seek(0)
        text = output.read().decode(errors="replace")
    return outcome(text, code, time.perf_counter() - start)


def files(pattern: str) -> list[str]:
    """The folders and files of tests that a pattern means."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern) if path.name != "__pycache__")


def file_of(name: str, part: str) -> Path:
    """The file for the outcome of a part, until the figures are written."""
    return FOLDER / "outcomes" / name / f"{re.sub(r'[^a-z_.]', '-', part)}.json"


def load(name: str, part: str) -> Outcome | None:
    """The stored outcome of an earlier run."""
    file = file_of(name, part)
    return Outcome(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def store(name: str, part: str, result: Outcome) -> None:
    """Store an outcome, and the text of its run beside it."""
    file = file_of(name, part)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".txt").write_text(result.text, encoding="utf-8")
    file.write_text(json.dumps(asdict(result) | {"text": ""}, indent=1), encoding="utf-8")


def parts(folders: Sequence[str] = ()) -> list[str]:
    """The parts of the suite, all or those of some folders."""
    return [f"tests/{part}" for part in PARTS if not folders or part.partition("/")[0] in folders]


class Session:
    """Runs parts one after the other within its time. With `go_on` it also counts the parts of earlier runs.

    No part begins after `minutes`, and no part that `selects` refuses. `left` has the parts that did not run, by build.
    """

    def __init__(self, *, go_on: bool, minutes: float, selects: Callable[[str, str], bool] = lambda *_: True) -> None:
        self.go_on, self.selects, self.left = go_on, selects, defaultdict[str, list[str]](list)
        self.earlier: list[Outcome] = []
        self._end = time.monotonic() + 60 * minutes

    def outcome(self, name: str, part: str, run: Callable[[], Outcome]) -> Outcome | None:
        """The outcome of a part in a build, printed and stored. None if there is no time for it."""
        result = load(name, part) if self.go_on else None
        if result is None:
            if time.monotonic() > self._end or not self.selects(name, part):
                self.left[name].append(part)
                return None
            result = run()
            store(name, part, result)
        else:
            self.earlier.append(result)
        print(f"{name}: {part}: {result.passed} passed, {result.seconds:.0f} s", flush=True)
        for line in (*result.failures, *result.reports):
            print(f"  {line}", flush=True)
        return result

    def finish(self, recorder: Recorder, labels: Mapping[str, str]) -> int:
        """Record the earlier pieces and the parts that did not run.

        Returns the status of the command: 1 if there is a fault.
        """
        if self.earlier:
            recorder.figures.rows["parts of the suite that ran in earlier pieces"] = len(self.earlier)
            recorder.earlier = sum(result.seconds for result in self.earlier)
        recorder.figures.not_run += [f"{labels[name]}: `{'`, `'.join(parts)}`" for name, parts in self.left.items()]
        return int(bool(recorder.finish().findings))


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a long run in pieces."""
    parser.add_argument("--go-on", action="store_true", help="take what an earlier run has done as done")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no part of the suite after so many minutes")
