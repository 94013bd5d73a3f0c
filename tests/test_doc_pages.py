"""The programs on the documentation's pages run and print the shown output."""

import re
from pathlib import Path

import pytest

from support import engine_page

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted({*DOCS.glob("*.md"), *DOCS.glob("guides/*.md"), *DOCS.glob("how-it-works/*.md")})
#: Pages that `make docs` writes. It checks their links.
BUILT = re.compile(r"errors/|gallery/|repository/")
PROGRAMS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    if page.name != engine_page.PAGE.name
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))
] + [pytest.param(engine_page.program(), id="engine")]
FOLDER = engine_page.PAGE.parent


# exec() gives functions no source text, so they are not recorded in pieces
@pytest.mark.filterwarnings("ignore:adjoint.compile. f runs as it is, without a recording")
@pytest.mark.parametrize("program", PROGRAMS)
def test_prints_what_it_says(program, capsys):
    exec(compile(program, "documentation", "exec"), {})
    expected = re.findall(r"print\(.*\)  # (.*)$", program, re.M)
    printed = capsys.readouterr().out.splitlines()
    # a line in a loop prints several times
    assert list(dict.fromkeys(printed)) == list(dict.fromkeys(expected))


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_links_lead_to_files(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not BUILT.search(link) and not (page.parent / link).exists()] == []


def test_parts_of_the_engine_are_where_its_page_says():
    """In each paragraph that names classes or functions of real files, one of the files has each of them."""
    paragraphs = [part for part in engine_page.PAGE.read_text().split("\n\n") if part.startswith("The real one")]
    assert len(paragraphs) > 10
    for paragraph in paragraphs:
        sources = "".join((FOLDER / link).read_text() for link in re.findall(r"\]\((\S+)\)", paragraph))
        names = re.findall(r"`([A-Za-z_]+)`", paragraph)
        assert [name for name in names if not re.search(rf"\b(?:class|def) {name}\b", sources)] == []
