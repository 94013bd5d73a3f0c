"""The parts of a release that need no build: files, versions, entries of the changelog, links of the description.

`make release-check` (scripts/check_release.py) checks the other parts.
"""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

import adjoint

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "check_release.py"))
KINDS = ("added", "changed", "deprecated", "removed", "fixed")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def release() -> object:
    return SCRIPT["Release"](ROOT, [])


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="a source distribution has no files of the repository")
def test_files_of_a_repository_are_there() -> None:
    assert SCRIPT["check_files"](release())


def test_the_version_is_the_same_everywhere() -> None:
    assert SCRIPT["check_versions"](release()) == adjoint.__version__


def test_a_repeated_version_that_differs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    check = SCRIPT["check_versions"]
    monkeypatch.setitem(check.__globals__, "version", lambda: "9.9.9")
    with pytest.raises(SCRIPT["Missing"], match=r"CITATION\.cff has the version"):
        check(release())


def test_entries_of_the_changelog_have_a_kind() -> None:
    entries = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [path.name for path in entries if path.name.split(".")[1:] not in [[kind, "md"] for kind in KINDS]] == []
    assert [path.name for path in entries if path.read_text().startswith(("-", "#"))] == []


def test_links_of_the_description_are_absolute() -> None:
    text = runpy.run_path(str(ROOT / "setup.py"))["long_description"]()
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert len(links) > 20 and [link for link in links if not link.startswith("https://")] == []
    assert any(link.endswith("/raw/main/docs/images/logo.svg") for link in links)
    assert any(link.endswith("/blob/main/docs/versions.md") for link in links)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_says_that_it_never_ran(path: Path) -> None:
    assert path.read_text().startswith("# Never run so far")


def test_archives_of_the_same_files_have_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    sdist = runpy.run_path(str(ROOT / "setup.py"))["ReproducibleSdist"]
    archives = []
    for number, mode in enumerate((0o644, 0o664)):
        (tmp_path / str(number) / "adjoint").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / str(number))
        for name in ("b", "a"):
            Path("adjoint", name).write_text(name)
            Path("adjoint", name).chmod(mode)
            os.utime(Path("adjoint", name), (number, number))
        archives.append(Path(sdist.make_archive(None, "adjoint", "gztar", base_dir="adjoint")).read_bytes())
    assert archives[0] == archives[1]
