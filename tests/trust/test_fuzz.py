"""The short form of `make fuzz`. Faults are reported, repeated, and removed after their correction."""

from __future__ import annotations

import doctest
import importlib
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trust.fuzz import __main__ as command
from trust.fuzz import calls, campaign, compared, compilation, files, nests, options, programs, transforms
from trust.fuzz.campaign import Run
from trust.fuzz.faults import Fault
from trust.fuzz.kinds import KINDS

import adjoint
from adjoint.runtime import threads as helpers

#: The whole round runs these tests of tests.
pytestmark = pytest.mark.quick(0)
HERE = [name for name, kind in KINDS.items() if kind.short and not kind.torch]


@pytest.mark.parametrize("name", HERE)
def test_short_form(name: str) -> None:
    run = Run(name, command.SHORT_SEED)
    campaign.go_on(run, KINDS[name].short, workers=1, until=float("inf"))
    assert command.report(run, None) == []
    assert run.next == KINDS[name].short


def test_calls_of_other_lengths() -> None:
    draws = [options.resize("X(3, 4).roll(3, 0) + P(4)", random.Random(k), 2000) for k in range(60)]
    # a length only in the inputs, or in any position
    assert {"X(17, 4).roll(3, 0) + P(4)", "X(9, 4).roll(9, 0) + P(4)", "X(3, 0).roll(3, 0) + P(0)"} <= {*draws}
    assert options.resize("X(3, 4)", random.Random(1), 0) == "X(3, 4)"


def test_examples() -> None:
    assert doctest.testmod(programs).failed == doctest.testmod(command).failed == 0


# each kind finds a planted fault --------------------------------------------------------------------------------------


def first_fault(kind: str, most: int) -> Fault:
    cases = KINDS[kind].cases(command.SHORT_SEED)
    try:
        return next(fault for number in range(most) if (fault := cases.fault(number)))
    finally:
        cases.close()


def test_internal_errors_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_internal_error(*args: Any, **kwargs: Any) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(calls, "run_text", lambda text, names: adjoint.vmap(raise_internal_error)(adjoint.ones(2)))
    assert first_fault("calls", 1).kind == "KeyError"


def test_a_derivative_of_views_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    model = importlib.import_module("support.programs_of_views")
    function, _, needs = model.SMOOTH["tanh"]
    monkeypatch.setitem(model.SMOOTH, "tanh", (function, lambda x: [2 - 2 * np.tanh(x) ** 2], needs))
    assert first_fault("views", 300).kind == "AssertionError"


@pytest.mark.skipif(not helpers.compiled, reason="needs the compiled form, to compare it with the plain one")
def test_other_numbers_of_a_form_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    observe = compared.observe

    def other(library: Any, case: Any) -> Any:
        observations = observe(library, case)
        return [
            (name, value + 1 if getattr(value, "ndim", 0) and value.dtype.kind == "f" else value)
            for name, value in observations
        ]

    monkeypatch.setattr(compared, "observe", other)
    assert "against" in first_fault("forms", 10).what


# processes for cases ignore warnings, too
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("calls", [0, 1])
def test_a_transform_that_is_wrong_is_a_fault(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    monkeypatch.setattr(nests, "CALLS", calls)
    right = transforms.OWN["jvp"]
    monkeypatch.setitem(transforms.OWN, "jvp", lambda L, f: lambda x: right(L, f)(x) * 1.01)
    assert "jvp" in first_fault("transforms", 200).where


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("calls", [0, 1])
def test_compiled_functions_of_other_numbers_are_a_fault(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    monkeypatch.setattr(compilation, "OPTIONS", calls)
    monkeypatch.setattr(adjoint, "compile", lambda f: lambda *args: [y + 1e-3 for y in f(*args)])
    assert first_fault("compile", 5).kind == "results"


def test_a_reader_that_calls_what_a_file_says_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    reader = files.Format(files.pickles, lambda path: pickle.loads(path.read_bytes()), (Exception,))
    monkeypatch.setattr(files, "FORMATS", {"archives": reader, "pickles": reader})
    fault = first_fault("files", 5)
    assert fault.kind == "deed" and fault.what.startswith(("os.system", "exec", "compile", "open", "import")), fault


# runs -----------------------------------------------------------------------------------------------------------------


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
    assert command.stored_run("planted", 0) == Run("planted", 0)
    command.store(Run("planted", 0, 5, 1.5, {0: Fault("wrong", "", "mended"), 1: Fault("wrong", "", "still")}))
    run = command.stored_run("planted", 0)
    assert (run.next, run.seconds, run.faults[0].what) == (5, 1.5, "mended")
    campaign.still(run)
    assert run.faults == {1: Fault("wrong", "here", "1 against 2")}
    campaign.go_on(run, 12, workers=1, until=0.0)
    assert run.next == 5
