"""`make generate` knows every generated file, and a test of each file fails if the file is stale."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts"
MODULE = runpy.run_path(str(SCRIPTS / "generate.py"))
GENERATED, NEED_MORE = MODULE["GENERATED"], MODULE["NEED_MORE"]


def writers() -> set[str]:
    """The scripts that write files of the repository, found by their names or their calls."""
    names = {path.name for pattern in ("generate_*.py", "list_*.py", "fit_*.py") for path in SCRIPTS.glob(pattern)}
    return names | {path.name for pattern in ("measure_*.py", "try_*.py") for path in SCRIPTS.glob(pattern)}


def test_every_script_that_writes_is_known() -> None:
    assert writers() == GENERATED.keys() | NEED_MORE.keys()


@pytest.mark.parametrize("script", GENERATED)
def test_its_files_are_there_and_compared(script: str) -> None:
    files, test = GENERATED[script]
    for pattern in files:
        assert list(ROOT.glob(pattern)), pattern
    text = (ROOT / test).read_text()
    assert script in text or script.removesuffix(".py") in text, f"{test} does not run scripts/{script}"


def test_files_that_name_their_script_name_one_that_is_known() -> None:
    """A generated file names its script in its first lines, so that nobody edits the file."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git repository")
    names = set()
    for file in listed.stdout.split():
        path = ROOT / file
        if path.suffix in (".md", ".pyi", ".h") and path.is_file():
            head = path.read_text()[:1000]
            names |= set(re.findall(r"(?:[Gg]enerated|[Ww]ritten) by `?(?:python )?scripts/(\w+\.py)", head))
            names |= set(re.findall(r"`scripts/(\w+\.py)` writes this page", head))
    assert len(names) > 4
    assert names <= GENERATED.keys() | NEED_MORE.keys()


def test_make_generate_runs_it() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\ngenerate:")[2].partition("\n\n")[0]
    assert "scripts/generate.py" in recipe
