"""C code is in headers that editors, formatters and sanitizers can read. Each header has one job and a guard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "adjoint"
HEADERS = sorted(SOURCES.rglob("*.h"))
DECLARATIONS = sorted(SOURCES.rglob("*.pxd"))
#: Parts of other headers: a table, and parts that are included once for each type of elements or kind of processor.
PARTS = {
    "optimized_begin.h", "optimized_end.h", "small_begin.h",
    "series_loops.h",
    "vector_ufuncs_end.h", "vector_ufuncs_loops.h", "vector_ufuncs_single.h", "vector_ufuncs_tables.h",
    "pairs_loops.h", "paths_loops.h", "sequences_loops.h", "updates_loops.h", "vector_ufuncs_vectors.h",
    "vectors_exp.h", "vectors_fused.h", "vectors_kind.h", "vectors_log.h", "vectors_loops.h",
}  # fmt: skip


def relative(path: Path) -> str:
    return path.relative_to(SOURCES).as_posix()


@pytest.mark.parametrize("path", DECLARATIONS, ids=relative)
def test_declarations_hold_no_c_code(path: Path) -> None:
    assert not re.search(r'cdef extern from [^:]*:\s*"""', path.read_text())


def test_names_of_headers_are_unique() -> None:
    # setup.py finds headers by name, and all headers share one search path
    names = [path.name for path in HEADERS]
    assert len(names) > 10 and len(set(names)) == len(names)
    assert {path.name for path in HEADERS} >= PARTS


@pytest.mark.parametrize("path", HEADERS, ids=relative)
def test_headers_say_their_job_and_are_guarded(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("/* ") and max(map(len, text.splitlines())) <= 120
    if path.name not in PARTS:
        guard = f"ADJOINT_{path.stem.upper()}_H"
        assert re.search(rf"^#ifndef {guard}\n#define {guard}\n", text, re.MULTILINE) and text.endswith("#endif\n")


@pytest.mark.parametrize("path", [*DECLARATIONS, *HEADERS], ids=relative)
def test_what_is_included_is_there(path: Path) -> None:
    outside = {"Python.h", "pythread.h"}
    names = set(re.findall(r'(?:extern from|#include) "([\w./]+\.h)"', path.read_text()))
    assert names - outside <= {header.name for header in HEADERS}
