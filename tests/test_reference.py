"""The reference of the documentation has every public name, and a table of contents has every page."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LISTED = json.loads((ROOT / "tests" / "data" / "public_names.json").read_text())
REFERENCE = runpy.run_path(str(DOCS / "_extensions" / "reference.py"))
PAGES = sorted(
    {*DOCS.glob("*.md"), *DOCS.glob("guides/*.md"), *DOCS.glob("how-it-works/*.md"), *DOCS.glob("reference/*.md")}
)
#: Pages for maintainers who release a version.
NOT_SHOWN = {"index", "releasing"}


@pytest.fixture(scope="module")
def entries() -> dict[str, object]:
    return {entry.full: entry for entry in REFERENCE["entries"]()}


@pytest.mark.parametrize("space", LISTED)
def test_every_public_name_has_an_entry(space: str, entries: dict[str, object]) -> None:
    assert [name for name in LISTED[space] if f"{space}.{name}" not in entries] == []


def test_an_entry_has_what_the_docstring_says(entries: dict[str, object]) -> None:
    text = "\n".join(REFERENCE["lines_of"](entries["adjoint.tanh"]))
    assert text.startswith(".. py:function:: adjoint.tanh(input: Tensor")
    for part in (
        "by ``input``: ``g - g * y * y`` (saves y)",
        ">>> adjoint.tanh(",
        "torch.tanh.html",
        "rules/elementwise.py#L",
    ):
        assert part in text


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = set()
    for page in PAGES:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.S):
            lines = [line for line in tree.splitlines() if line and not line.startswith(":")]
            names = [re.sub(r".*<(.*)>$", r"\1", line) for line in lines]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    assert [str(page) for page in PAGES if page not in listed and page.stem not in NOT_SHOWN] == []
