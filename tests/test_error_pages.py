"""Pages on errors: each has one program that fails with the shown message, and one that works."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import adjoint
from adjoint.core import errors
from adjoint.tools import explanation

PAGES = sorted(path for path in explanation.FOLDER.glob("*.md") if path.name != "README.md")


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
        # the constant beginnings of messages
        messages = re.findall(rf"^    {expected[1]}: (.*?)(?:\.\.\.|\d|log\(\)|$)", page.read_text(), re.M)
        assert str(caught.value).startswith(tuple(text.rstrip() for text in messages))
        assert caught.value.__notes__[-1] == f"See {errors.PAGES}/{page.stem}.html or call adjoint.explain(error)"
    assert failing or page.stem == "older-names"
    assert len(programs(page)) > failing


def test_the_list_of_pages_is_complete() -> None:
    listed = re.findall(r"\]\(([\w-]+)\.md\)", (explanation.FOLDER / "README.md").read_text())
    assert sorted(listed) == [page.stem for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_explain_prints_the_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adjoint.explain(errors.explain(RuntimeError("a message"), page.stem))
    assert capsys.readouterr().out.rstrip() == page.read_text(encoding="utf-8").rstrip()


def test_explain_finds_the_error_that_another_one_was_raised_from(capsys: pytest.CaptureFixture[str]) -> None:
    outer = KeyError("loss")
    outer.__cause__ = errors.NON_SCALAR.error()
    adjoint.explain(outer)
    assert capsys.readouterr().out == (explanation.FOLDER / "not-a-scalar.md").read_text()


@pytest.mark.parametrize("error", [ValueError("of somebody else"), "no-such-page", None])
def test_explain_says_which_pages_there_are(error: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr("sys." + name, raising=False)
    with pytest.raises(ValueError, match=r"no page explains .*; the pages are backward-twice, "):
        adjoint.explain(error)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [[], 0, adjoint.ones(1), RuntimeError])
def test_explain_takes_exceptions_and_names(error: object) -> None:
    with pytest.raises(TypeError, match="takes an exception or the name of a page, but got"):
        adjoint.explain(error)  # type: ignore[arg-type]
