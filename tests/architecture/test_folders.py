"""Folders stay readable: a large folder has inner folders, and the page of the house names them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "adjoint"
#: Tables by family. Readers search them by name.
FAMILIES = {"functions", "rules"}
LARGE = 3_000
FOLDERS = sorted({file.parent for file in SOURCE.rglob("*.py")} - {SOURCE})


def lines(folder: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in folder.glob("*.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(SOURCE).as_posix())
def test_a_large_folder_has_inner_folders(folder: Path) -> None:
    inner = [path for path in folder.iterdir() if (path / "__init__.py").is_file()]
    assert inner or folder.name in FAMILIES or lines(folder) <= LARGE


def test_the_page_names_the_folders_of_the_floors() -> None:
    page = (SOURCE / "README.md").read_text()
    floors = {"runtime", "arrays", "program", "core", "rules", "tensor", "functions", "transforms"}
    names = set(re.findall(r"`(\w+)/`", page.split("## Rules")[0]))
    inner = {path.name for floor in floors for path in (SOURCE / floor).iterdir() if (path / "__init__.py").is_file()}
    assert names >= floors | inner
