"""The programs of the documentation's pages run and print what they say."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
PROGRAMS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_prints_what_it_says(program, capsys):
    exec(compile(program, "documentation", "exec"), {})
    expected = re.findall(r"print\(.*\)  # (.*)$", program, re.M)
    printed = capsys.readouterr().out.splitlines()
    # a line in a loop is printed several times
    assert list(dict.fromkeys(printed)) == list(dict.fromkeys(expected))
