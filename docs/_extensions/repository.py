"""The parts of the site from the rest of the repository: the pages about errors, and links to files."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
SOURCE = "https://github.com/adjoint-autograd/adjoint/blob/main"
#: The pages that `adjoint.explain` prints are part of the package; the site shows them as errors/*.html.
ERROR_PAGES = ROOT / "src" / "adjoint" / "tools" / "error_pages"
#: Pages of the site whose texts are beside their code.
ELSEWHERE = {
    "how-it-works/repository/core.md": "src/adjoint/core/README.md",
    "how-it-works/repository/programs.md": "src/adjoint/program/README.md",
    "how-it-works/repository/compilation.md": "src/adjoint/compilation/README.md",
    "how-it-works/repository/house.md": "src/adjoint/README.md",
    "how-it-works/repository/contributing.md": "CONTRIBUTING.md",
    "how-it-works/repository/benchmarks.md": "benchmarks/README.md",
    "how-it-works/repository/changes-for-speed.md": "benchmarks/NOTES.md",
    "how-it-works/repository/gpu.md": "benchmarks/gpu.md",
    "how-it-works/repository/agreement.md": "agreement/README.md",
    "how-it-works/repository/changelog.md": "CHANGELOG.md",
}
#: The sources of texts, by their places in the site.
ORIGINS = {DOCS / page: ROOT / file for page, file in ELSEWHERE.items()}


def copy_pages(app: Sphinx) -> None:
    """Copy the pages about errors and the pages beside code to docs/, for Sphinx."""
    target = DOCS / "errors"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ERROR_PAGES, target)
    listing = target / "README.md"
    names = re.findall(r"\]\(([\w-]+)\.md\)", listing.read_text())
    tree = "\n".join(["```{toctree}", ":hidden:", "", *dict.fromkeys(names), "```"])
    (target / "index.md").write_text(f"{listing.read_text()}\n{tree}\n")
    listing.unlink()
    for page, origin in ORIGINS.items():
        page.parent.mkdir(exist_ok=True)
        shutil.copyfile(origin, page)


def site_links(app: Sphinx, document: str, content: list[str]) -> None:
    """Links to other files lead to their pages, or to the repository if they are no pages of the site."""
    page = DOCS / f"{document}.md"
    folder = ORIGINS.get(page, page).parent
    pages = {origin: copy for copy, origin in ORIGINS.items()}

    def replace(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        target = pages.get(target, target)
        if target.is_relative_to(DOCS) and target.suffix in (".md", ".rst") and target != DOCS / "releasing.md":
            return f"]({os.path.relpath(target, page.parent)}{match[2] or ''})"
        if not target.exists() or not target.is_relative_to(ROOT):
            LOGGER.warning("%s: no file %s", document, match[1])
        if target.suffix in (".png", ".svg"):
            return match[0]
        return f"]({SOURCE}/{target.relative_to(ROOT)}{match[2] or ''})"

    content[0] = re.sub(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)", replace, content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", site_links)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
