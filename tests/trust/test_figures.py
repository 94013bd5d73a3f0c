"""The commands in trust write figures, and the page shows the stored ones."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from trust import figures


def test_examples() -> None:
    assert doctest.testmod(figures).failed == 0


def test_a_page_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for the figures of fuzz"):
        figures.with_figures("# Page\n", "fuzz", "new")


def test_the_page_shows_the_stored_figures() -> None:
    page = figures.PAGE.read_text(encoding="utf-8")
    for name, run in figures.read_all().items():
        assert figures.with_figures(page, name, figures.section(run)) == page


def test_lists_of_faults(tmp_path: Path) -> None:
    run = figures.Figures("make soak", True, {"steps": 10}, ["memory grows"], ["no second machine"], "d", "c", 200.0)
    assert figures.section(run).endswith("Faults:\n\n- memory grows\n\nNot run here:\n\n- no second machine")
