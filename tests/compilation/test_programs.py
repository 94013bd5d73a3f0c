"""Programs with all that is awkward to record: compiled, they show what they show as they are."""

from __future__ import annotations

import pytest

from support.compiled_comparison import compare, observe_writes
from support.compiled_programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    case = PROGRAMS[name]
    compiled, warnings = compare(case)
    if case.recorded:
        assert not compiled.refused and warnings == [], list(compiled.refused.values())
        assert compiled.n_recordings <= case.recordings
    else:
        assert len(warnings) == 1, "it is recorded"
        assert compiled.refused


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_that_are_written_to(name: str) -> None:
    compare(PROGRAMS[name], observe_writes)


def test_number_of_programs() -> None:
    assert len(PROGRAMS) >= 100
