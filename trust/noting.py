"""A plugin of pytest (`-p trust.noting`) that stores the branches of the package that each test takes.

ADJOINT_BRANCHES names the file. It has the names of branches and of tests, the duration of each test, and a matrix of
bits. Without ADJOINT_DISABLE_EXT the compiled modules run compiled, and only the branches of the others are noted.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trust.branches import NOTES_FILE, Noting, Numbers, compiled_modules


class Notes:
    """The branches that each test takes, and its duration."""

    def __init__(self, noting: Noting) -> None:
        self.noting = noting
        self.tests: list[str] = []
        self.seconds: list[float] = []
        self.rows: list[Any] = []
        self.no_failure = True

    def row(self) -> Any:
        """The branches taken since the last row, as bits."""
        bits = np.zeros(len(self.noting.numbers.names), bool)
        bits[list(self.noting.numbers_taken)] = True
        self.noting.numbers_taken.clear()
        return np.packbits(bits)

    def write(self, file: Path) -> None:
        """Write the file. It gets its name when it is complete."""
        file.parent.mkdir(parents=True, exist_ok=True)
        names = np.array(json.dumps(self.noting.numbers.names))
        rows = np.array(self.rows, np.uint8).reshape(len(self.tests), -1)
        part = file.with_suffix(".part")
        with part.open("wb") as stream:
            np.savez_compressed(stream, names=names, tests=json.dumps(self.tests), seconds=self.seconds, rows=rows)
        part.replace(file)


is_plain = bool(os.environ.get("ADJOINT_DISABLE_EXT"))
notes = Notes(Noting(Numbers(), () if is_plain else compiled_modules()))


def pytest_load_initial_conftests() -> None:
    """Install the import hook before the first import of the package."""
    notes.noting.install()


def pytest_runtest_logstart(nodeid: str) -> None:
    """A test begins. The first one ends the row of the collection."""
    if not notes.tests:
        notes.tests.append("")
        notes.seconds.append(0.0)
        notes.rows.append(notes.row())
    notes.no_failure = True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note failures, since a failing test is no evidence about faults."""
    notes.no_failure &= report.passed
    if report.when == "call":
        notes.duration = report.duration  # type: ignore[attr-defined]


def pytest_runtest_logfinish(nodeid: str) -> None:
    """A test ends, and gets its row if it passed."""
    row = notes.row()
    if notes.no_failure:
        notes.tests.append(nodeid)
        notes.seconds.append(notes.duration)  # type: ignore[attr-defined]
        notes.rows.append(row)


def pytest_sessionfinish() -> None:
    """Write the file."""
    notes.write(Path(os.environ[NOTES_FILE]))
