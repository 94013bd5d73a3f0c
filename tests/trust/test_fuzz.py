"""The short form of `make fuzz`; its faults are reported, carried out again, and forgotten when they are mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from trust.fuzz import __main__ as command
from trust.fuzz import campaign
from trust.fuzz.campaign import Run
from trust.fuzz.faults import Fault
from trust.fuzz.kinds import KINDS

HERE = [name for name, kind in KINDS.items() if kind.short and not kind.torch]


@pytest.mark.quick(0)
@pytest.mark.parametrize("name", HERE)
def test_short_form(name: str) -> None:
    run = Run(name, command.SHORT_SEED)
    campaign.go_on(run, KINDS[name].short, workers=1, until=float("inf"))
    assert command.report(run, None) == []
    assert run.next == KINDS[name].short


def test_planted_faults_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SECONDS", 0.5)
    run = Run("planted", 0)
    campaign.go_on(run, 12, workers=1, until=float("inf"))
    assert run.next == 12
    assert {number: fault.kind for number, fault in run.faults.items()} == {
        1: "wrong", 2: "signal 11", 3: "hang", 4: "exit 3",
    }  # fmt: skip
    lines = command.report(run, None)
    assert len(lines) == 4 and "`--replay planted:0:1`: wrong here: 1 against 2" in lines
    assert command.replay("planted:0:1", None) == 1 and command.replay("planted:0:0", None) == 0


def test_pieces_go_on_and_forget_what_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "STATE", tmp_path)
    assert command.stored("planted", 0) == Run("planted", 0)
    command.store(Run("planted", 0, 5, 1.5, {0: Fault("wrong", "", "mended"), 1: Fault("wrong", "", "still")}))
    run = command.stored("planted", 0)
    assert (run.next, run.seconds, run.faults[0].what) == (5, 1.5, "mended")
    campaign.still(run)
    assert run.faults == {1: Fault("wrong", "here", "1 against 2")}
    campaign.go_on(run, 12, workers=1, until=0.0)
    assert run.next == 5
