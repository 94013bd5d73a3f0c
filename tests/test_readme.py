"""The README's example runs and prints the shown output."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
HOUSE = ROOT / "src" / "adjoint" / "README.md"
FLOORS = runpy.run_path(str(ROOT / "tests" / "architecture" / "test_floors.py"))


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_prints_what_it_says(number, capsys):
    exec(compile(EXAMPLES[number], str(README), "exec"), {})
    expected = re.search(r"# (\[.*)$", EXAMPLES[number], re.MULTILINE)
    assert capsys.readouterr().out.split() == expected[1].split()


def test_examples_are_short():
    assert [len(example.strip().splitlines()) <= 20 for example in EXAMPLES] == [True, True]


def test_every_package_has_its_floor():
    rows = re.findall(r"^\| (\d) \| (.*?) \|", HOUSE.read_text(), re.MULTILINE)
    floors = {name: int(floor) for floor, names in rows for name in re.findall(r"`(\w+)`", names)}
    package = ROOT / "src" / "adjoint"
    actual = {file.parent.name for file in package.glob("*/__init__.py")}
    actual |= {file.stem for file in package.glob("[a-z]*.py")}
    assert floors == {name: FLOORS["floor"](f"adjoint.{name}") for name in actual}


@pytest.mark.parametrize("page", [README, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_and_paths_are_there(page):
    text = page.read_text()
    paths = re.findall(r"\]\(([^)#:]+)\)", text)
    paths += re.findall(r"`((?:src|tests|docs|scripts|benchmarks)/[\w./]*)`", text)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists() and path != "docs/benchmarks.md"] == []
