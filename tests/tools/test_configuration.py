"""adjoint.show_config: facts about an installation, as text and as dictionaries."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import adjoint
from adjoint._compiled import COMPILED
from adjoint.runtime import uncompiled_modules
from adjoint.tools import configuration


def test_facts_are_those_of_this_process() -> None:
    facts = adjoint.show_config("dicts")
    assert facts["adjoint"]["version"] == adjoint.__version__
    n = len(COMPILED) - len(uncompiled_modules())
    assert facts["adjoint"]["compiled modules"] == f"{n} of {len(COMPILED)}"
    assert facts["threads"]["adjoint"] == adjoint.get_num_threads()
    assert (facts["processor"]["vector loops"] == "none: NumPy's are used") == (n == 0)
    assert facts["memory"]["allocator"].startswith("keeps up to" if n else "NumPy's")


def test_every_fact_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert adjoint.show_config() is None  # type: ignore[func-returns-value]
    printed = capsys.readouterr().out.splitlines()
    facts = adjoint.show_config("dicts")
    assert [line[:-1] for line in printed if not line.startswith(" ")] == list(facts)
    assert f"  version: {adjoint.__version__}" in printed
    assert len(printed) == len(facts) + sum(map(len, facts.values()))


def test_variables_that_are_set_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert adjoint.show_config("dicts")["environment"]["OMP_NUM_THREADS"] == "3"


def test_another_mode_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"mode must be 'stdout' or 'dicts', got 'json'"):
        adjoint.show_config("json")  # type: ignore[call-overload]


def test_another_package_of_the_same_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "adjoint").mkdir()
    (tmp_path / "adjoint" / "__init__.py").touch()
    record = tmp_path / "adjoint-0.0.1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: adjoint\nVersion: 0.0.1\n")
    (record / "RECORD").write_text("adjoint/__init__.py,,\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert configuration.rivals() == []  # the other distribution has its files in another folder
    monkeypatch.setattr(configuration, "FOLDER", tmp_path / "adjoint")
    assert configuration.rivals() == ["adjoint 0.0.1"]
    assert adjoint.show_config("dicts")["adjoint"]["other packages of the same name"] == "adjoint 0.0.1"
