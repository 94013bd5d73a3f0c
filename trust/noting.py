"""A plugin of pytest (`-p trust.noting`) that writes down which test takes which branches of the package.

ADJOINT_BRANCHES names the file: the names of branches and of tests, the duration of each test, and a matrix of bits.
Without ADJOINT_DISABLE_EXT the compiled modules run compiled, and only the others are noted.
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
    """What each test took, and for how long it ran."""

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
        """Write the file, which appears when it is complete."""
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
    """Before anything of the package is imported."""
    notes.noting.install()


def pytest_runtest_logstart(nodeid: str) -> None:
    """A test begins: what the collection and the test before took is written down."""
    if not notes.tests:
        notes.tests.append("")
        notes.seconds.append(0.0)
        notes.rows.append(notes.row())
    notes.no_failure = True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A failing test says nothing about faults."""
    notes.no_failure &= report.passed
    if report.when == "call":
        notes.duration = report.duration  # type: ignore[attr-defined]


def pytest_runtest_logfinish(nodeid: str) -> None:
    """A test ends."""
    row = notes.row()
    if notes.no_failure:
        notes.tests.append(nodeid)
        notes.seconds.append(notes.duration)  # type: ignore[attr-defined]
        notes.rows.append(row)


def pytest_sessionfinish() -> None:
    """All of it is written."""
    notes.write(Path(os.environ[NOTES_FILE]))
