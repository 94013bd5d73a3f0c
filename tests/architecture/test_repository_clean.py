"""No file of the repository names a path of somebody's machine or the host of a package registry."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The patterns are spelled so that they do not match this file.
MACHINE_PATH = re.compile(r"(?<![\w./~)}\]-])/(?:home|root|Users|work|opt|tmp|mnt|private)/[\w.]|\b[A-Z]:\\Users\\")
REGISTRY = re.compile(
    r"\b(?:py[p]i\.(?:org|io)|python[h]osted\.org|ana[c]onda\.org|np[m]js\.|crate[s]\.io|deb\.debia[n]\.org)"
)
GENERATED = {".git", "build", "dist", "__pycache__"}


def files() -> list[Path]:
    """The files that git has or would add. Without git: all files except those that a build or a tool has made."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (ROOT / ".git").exists():
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [file for name in listing.split("\0") if name and (file := ROOT / name).is_file()]
    return [file for file in ROOT.rglob("*") if file.is_file() and not is_generated(file.relative_to(ROOT))]


def is_generated(file: Path) -> bool:
    hidden = any(part.startswith(".venv") or part.endswith(("_cache", ".egg-info")) for part in file.parts)
    return hidden or bool(GENERATED & set(file.parts)) or ".hypothesis" in file.parts


def text(file: Path) -> str:
    """The file's text, or an empty text for a binary file."""
    content = file.read_bytes()
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")


def offending(content: str, pattern: re.Pattern[str]) -> list[str]:
    return [line.strip()[:120] for line in content.splitlines() if pattern.search(line)]


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY], ids=["machine paths", "registries"])
def test_no_file_names(pattern: re.Pattern[str]) -> None:
    listed = files()
    assert Path(__file__) in listed
    result = {str(file.relative_to(ROOT)): offending(text(file), pattern) for file in listed}
    assert {name: lines for name, lines in result.items() if lines} == {}


def test_the_patterns_find_what_they_are_for() -> None:
    slash = "/"
    for folder in ("home/somebody", "root/x", "tmp/x", "opt/x"):
        assert offending(f"see {slash}{folder}", MACHINE_PATH)
        assert offending(f'"{slash}{folder}"', MACHINE_PATH)
    assert not offending("the relative path src/work/x, and ~/opt/x", MACHINE_PATH)
    assert offending("https://" + "py" + "pi.org", REGISTRY)
