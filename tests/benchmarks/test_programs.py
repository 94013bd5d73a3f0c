"""The programs of benchmarks/programs, and their tables."""

import numpy as np
import pytest
from benchmarks.programs import ALL
from benchmarks.programs.document import section, section_of, with_section
from benchmarks.programs.measurement import Timing, results_of
from benchmarks.programs.table import by_ratio, summary, text_table

import adjoint

ROWS = [
    Timing("field", "quick", 1.0, 4.0, 0.5),
    Timing("field", "slow", 2.0, 1.0),
    Timing("field", "odd", error="KeyError"),
]


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_a_program_gives_the_same_finite_results_on_the_same_data(program):
    first, second = (results_of(program.step(adjoint)) for _ in range(2))
    assert first
    for a, b in zip(first, second, strict=True):
        assert np.isfinite(a).all()
        np.testing.assert_array_equal(a, b)


def test_programs_have_names_of_their_own():
    assert len({program.name for program in ALL}) == len(ALL) >= 60


def test_errors_and_slow_programs_come_first():
    assert [row.name for row in by_ratio(ROWS)] == ["odd", "slow", "quick"]


def test_the_summary_counts_what_is_below_the_limits():
    counts = "2 programs, geometric mean 1.41, 1 below 1.0, 1 below 0.7."
    assert summary(ROWS) == f"{counts} Compiled steps are 2.00 times as fast as eager ones."
    assert "odd: KeyError" in text_table(ROWS)


def test_the_section_is_replaced_where_it_stood():
    text = section({"processor": ROWS, "wall": ROWS[:1]})
    page = with_section("# Page\n\n## Programs\n\nold\n\n## Next\n", text)
    assert "old" not in page
    assert page.endswith("\n## Next\n")
    assert section_of(page) == text
    assert "| quick | field | 1 s | 4.00 | 2.00 | 4.00 |" in page
