"""The commands for a device, as a dry run on the stand-in for CuPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjoint.arrays.size import cuda_is_available
from benchmarks import pieces
from gpu import __main__ as command
from gpu import experiments, programs

pytestmark = pytest.mark.skipif(cuda_is_available(), reason="there is a device: make test-gpu runs on it")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for results."""
    monkeypatch.setattr(pieces, "KEPT", tmp_path / "kept")
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    monkeypatch.setenv("PYTHONPATH", f"{pieces.ROOT / 'src'}:{pieces.ROOT / 'tests'}")
    return tmp_path / "out"


def results_of(folder: Path) -> Any:
    return json.loads((folder / "dry-test-gpu.json").read_text())


def test_nothing_is_written_without_a_device(capsys: Any) -> None:
    before = command.PAGE.read_text() if command.PAGE.exists() else None
    assert command.main([]) == 1
    assert "nothing was run" in capsys.readouterr().out
    assert (command.PAGE.read_text() if command.PAGE.exists() else None) == before


@pytest.mark.quick(0)
def test_dry_run_in_two_calls(folder: Path, capsys: Any) -> None:
    assert command.main(["--stand-in", "--only", "rule/tanh/"]) == 0
    first = results_of(folder)
    assert {result["outcome"] for result in first.values()} == {experiments.RIGHT} and len(first) == 8
    assert command.main(["--stand-in", "--only", "rule/tan"]) == 0
    # the second call does not run the piece again
    assert results_of(folder)["rule/tanh/float64/value"] == first["rule/tanh/float64/value"]
    assert command.main(["--stand-in", "--only", "program/"]) == 0
    text = (folder / "dry-test-gpu.md").read_text()
    assert "**no device was there**" in text and "| second | 4 |" in text and "it needs a device" in text
    assert "no device was there" in capsys.readouterr().out


@pytest.mark.slow
def test_dry_run_of_all_rules(folder: Path) -> None:
    assert command.main(["--stand-in", "--only", "rule/"]) == 0, (folder / "dry-test-gpu.md").read_text()
    outcomes = {result["outcome"] for result in results_of(folder).values()}
    assert outcomes == {experiments.RIGHT, experiments.REFUSED, experiments.LACKS}


def test_every_program_says_what_it_does() -> None:
    assert all(programs.text_of(name).endswith(".") for name in programs.names())


def test_what_ends_a_worker_is_noted(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    names = iter(("a", "b"))

    def run(name: str) -> dict[str, Any]:
        if name == "b":
            raise SystemExit("b broke the device")
        return {"outcome": "right"}

    with pytest.raises(SystemExit):
        pieces.do_pieces(lines, names, run)
    result = pieces.results_in(lines)
    assert result["a"] == {"outcome": "right"} and result["b"]["outcome"] == pieces.BEGUN
    with lines.open("a") as file:
        file.write('{"name": "c", "outc')
    assert set(pieces.results_in(lines)) == {"a", "b"}


def test_a_rule_that_gives_other_numbers_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert experiments.run("rule/tanh/float64/value", experiments.ON_NUMPY) == {"outcome": experiments.RIGHT}
    wrong = experiments.ON_NUMPY._replace(numpy=lambda array: array + 1)
    result = experiments.run("rule/tanh/float64/forward", wrong)
    assert result["outcome"] == experiments.DIFFERS and "Mismatched elements" in result["why"]
