"""SciPy in its array API mode: the page of differentiated functions is current, and each of them was checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import scipy

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/scipy-coverage.md"
#: Prints a new version of the page. A wrong value or gradient raises an error.
PROGRAM = (
    "import runpy; s = runpy.run_path('scripts/generate_scipy_coverage.py'); print(s['text'](s['outcomes']()), end='')"
)


@pytest.mark.slow
def test_the_page_is_current() -> None:
    """A separate process, since SciPy reads the mode when it is imported."""
    if f"SciPy {'.'.join(scipy.__version__.split('.')[:2])} " not in PAGE.read_text():
        pytest.skip("the page is about another version of SciPy")
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == PAGE.read_text(), "run scripts/generate_scipy_coverage.py"


def test_many_functions_are_differentiated() -> None:
    number = int(PAGE.read_text().partition(" functions are differentiated")[0].split("\n")[-1].split(" of ")[0])
    assert number >= 33
