"""The pages on errors: each shows a program that fails as it says, and one that works."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from adjoint.core import errors

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / errors.PAGES).glob("*.md") if path.name != "README.md")


def programs(page: Path) -> list[str]:
    """The complete programs of a page."""
    return [block for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S) if "import adjoint" in block]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_fail_and_work_as_they_say(page: Path) -> None:
    failing = 0
    for program in programs(page):
        expected = re.search(r"# (?:.*\b)?(\w+Error)\b", program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if expected is None:
                exec(compile(program, str(page), "exec"), {})
                continue
            failing += 1
            with pytest.raises(Exception) as caught:
                exec(compile(program, str(page), "exec"), {})
        assert type(caught.value).__name__ == expected[1]
        # the beginnings of messages, before what differs from case to case
        shown = re.findall(rf"^    {expected[1]}: (.*?)(?:\.\.\.|\d|log\(\)|$)", page.read_text(), re.M)
        assert str(caught.value).startswith(tuple(text.rstrip() for text in shown))
        assert caught.value.__notes__[-1] == f"See {errors.PAGES}/{page.name}"
    assert failing or page.stem == "older-names"
    assert len(programs(page)) > failing


def test_the_list_of_pages_is_complete() -> None:
    listed = re.findall(r"\]\(([\w-]+)\.md\)", (ROOT / errors.PAGES / "README.md").read_text())
    assert sorted(listed) == [page.stem for page in PAGES]
