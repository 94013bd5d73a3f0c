"""`python -m adjoint.selftest` finds the faults of an installation, and prints its result."""

from __future__ import annotations

import doctest
import re

import pytest

import adjoint
from adjoint import selftest


def example(text: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(text, {"adjoint": adjoint}, "example", None, None)


def test_derivatives_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert selftest.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"^{len(selftest.DERIVATIVES)} functions compared with differences, 0 docstrings", printed, re.M)
    assert "0 failed" in printed


def test_a_wrong_derivative_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    broken = {"identity": (lambda x: x.detach() * 2 + x, ((3,),))}
    monkeypatch.setattr(selftest, "DERIVATIVES", broken)
    assert selftest.main(["--quick"]) == 1
    assert "derivatives: identity" in (printed := capsys.readouterr().out) and "1 failed" in printed


def test_reports_of_examples() -> None:
    assert selftest.report(example(">>> adjoint.ones(1).sum().item()\n1.0\n")) == ""
    assert "Expected" in selftest.report(example(">>> adjoint.ones(1).sum().item()\n2.0\n"))
    assert selftest.report(example(">>> import no_such_package\n")) == "absent: No module named 'no_such_package'"


def test_another_package_of_the_same_name_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(selftest, "rivals", lambda: ["adjoint 0.0.1"])
    monkeypatch.setattr(selftest, "DERIVATIVES", {})
    assert selftest.main(["--quick"]) == 1
    assert "pip uninstall both, then install adjoint-autograd" in capsys.readouterr().out
