"""docs/functions.md has the measurements of every public function."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from adjoint.functions.binding import functions
from support import function_calls, function_probe

ROOT = Path(__file__).parents[1]
TABLE = runpy.run_path(str(ROOT / "scripts" / "generate_function_table.py"))
MEASURED = json.loads(TABLE["DATA"].read_text())

REMEDY = "if that is intended, run: python scripts/generate_function_table.py --measure"

#: Public functions without entries of their own, with the reasons.
WINDOWS = ("bartlett", "blackman", "hamming", "hann", "kaiser")
ELSEWHERE = dict.fromkeys(
    [
        *["fft.fftfreq", "fft.rfftfreq", *[f"{name}_window" for name in WINDOWS]],
        *[f"signal.windows.{name}" for name in functions["signal.windows"]],
    ],
    "makes a tensor from numbers",
) | dict.fromkeys(
    [
        *[f"sparse.{name}" for name in functions["sparse"]],
        *[name for name in functions[""].homes if name.startswith("sparse_")],
    ],
    "of sparse tensors: tests/sparse_matrices",
)


def public() -> set[str]:
    """All public functions that take tensors. In-place functions belong to the row of the plain function."""
    names = {f"{space}.{name}".lstrip(".") for space, members in functions.items() for name in members}
    return {name for name in names if not name.endswith("_") or name.endswith("__")}


def test_every_function_has_a_call() -> None:
    assert sorted(public() - set(function_calls.CALLS) - set(ELSEWHERE)) == [], (
        f"give it a call in tests/support/function_calls.py; {REMEDY}"
    )
    assert set(ELSEWHERE) <= public()


def test_page_is_what_was_measured() -> None:
    assert sorted(MEASURED) == sorted(function_calls.CALLS)
    assert TABLE["PAGE"].read_text() == TABLE["page"](MEASURED), REMEDY


def test_gaps_have_reasons() -> None:
    gaps = {name for name, record in MEASURED.items() if function_probe.is_gap(record)}
    assert sorted(gaps ^ set(function_calls.GAPS)) == []


@pytest.mark.quick(1)
@pytest.mark.parametrize("part", range(8))
@pytest.mark.filterwarnings("ignore")
def test_measured(part: int, request: pytest.FixtureRequest) -> None:
    """Every function works as the page says, neither less nor more."""
    names = sorted(MEASURED)[part::8]
    result = {name: function_probe.probe(name) for name in names}
    assert result == {name: MEASURED[name] for name in names}, REMEDY
