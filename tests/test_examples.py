"""Each example runs, keeps its claims (they assert them), tells something, and is done in time."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
#: Seconds; half of that on a machine with nothing else to do.
LONGEST = 20.0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    start = time.perf_counter()
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert 1 <= len(result.stdout.splitlines()) <= 10
    assert time.perf_counter() - start < LONGEST


def test_the_readme_lists_them_all():
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    assert EXAMPLES and all(f"examples/{path.name}" in readme for path in EXAMPLES)
