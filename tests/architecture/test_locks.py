"""A child process renews every lock."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "adjoint"
#: Names that make a lock. functools.cached_property has a lock in Python 3.11.
MAKERS = re.compile(r"\b(R?Lock|Condition|(Bounded)?Semaphore|Barrier|allocate_lock|cached_property|Queue)\b\(?")
#: The one module that makes locks. Comments and messages in it may have the words, too.
FORKS = SOURCES / "runtime" / "forks.py"


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES)))
def test_locks_are_made_in_one_place(path: Path) -> None:
    calls = re.findall(
        r"(?:threading\.|from (?:threading|functools|queue|multiprocessing) import .*)" + MAKERS.pattern,
        path.read_text(),
    )
    assert path == FORKS or not calls
