"""The README's example runs and prints what it says."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_example_prints_what_it_says(capsys):
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert example is not None
    exec(compile(example[1], str(README), "exec"), {})
    expected = re.search(r"# (\[.*)$", example[1], re.MULTILINE)
    assert capsys.readouterr().out.split() == expected[1].split()


def test_example_is_short():
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[1]
    assert len(example.strip().splitlines()) <= 20
