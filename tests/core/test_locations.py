"""Calls without Python code: messages that usually name a line of the user's code name no line."""

from __future__ import annotations

import _thread
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import adjoint


def error_of(function: Callable[..., Any], *arguments: Any, monkeypatch: pytest.MonkeyPatch) -> BaseException:
    """The error of a function of this package in a thread without user code."""
    ended, errors = threading.Event(), []

    def note(unraisable: Any) -> None:
        errors.append(unraisable.exc_value)
        ended.set()

    monkeypatch.setattr(sys, "unraisablehook", note)
    _thread.start_new_thread(function, arguments)
    assert ended.wait(10)
    return errors[0]


def test_a_lost_derivative_at_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    error = error_of(adjoint.func.grad(float), adjoint.tensor(2.0), monkeypatch=monkeypatch)
    assert "would be lost. Compute with" in str(error)


def test_a_warning_at_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = adjoint.nn.functional.mse_loss
    error = error_of(loss, adjoint.ones(2), adjoint.ones(2, 1), monkeypatch=monkeypatch)
    assert isinstance(error, UserWarning) and "Using a target size" in str(error)


WARNINGS: dict[str, Callable[[], Any]] = {
    "outputs that are resized": lambda: adjoint.add(adjoint.ones(6), 1, out=adjoint.empty(3)),
    "outputs of composites": lambda: adjoint.cat([adjoint.ones(6)], out=adjoint.empty(3)),
    "imaginary parts": lambda: adjoint.tensor([1j]).float(),
    "masks of bytes": lambda: adjoint.ones(2)[adjoint.tensor([1, 0], dtype=adjoint.uint8)],
    "graphs of gradients": lambda: adjoint.ones(2, requires_grad=True).sum().backward(create_graph=True),
    "names that are deprecated": lambda: adjoint.range(1, 2),
    "gradients of non-leaves": lambda: (adjoint.ones(2, requires_grad=True) * 2).grad,
    "sizes of targets": lambda: adjoint.nn.functional.mse_loss(adjoint.ones(2), adjoint.ones(2, 1)),
    "means of divergences": lambda: adjoint.nn.functional.kl_div(adjoint.ones(2), adjoint.ones(2)),
    "arguments without effect": lambda: adjoint.nn.functional.gumbel_softmax(adjoint.ones(2), eps=1e-3),
    "axes that are not named": lambda: adjoint.nn.functional.softmax(adjoint.ones(2)),
    "transposes": lambda: adjoint.ones(2, 3, 4).T,
}


@pytest.mark.parametrize("name", WARNINGS)
def test_warnings_name_the_line_of_the_caller(name: str) -> None:
    adjoint.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            WARNINGS[name]()
    finally:
        adjoint.set_warn_always(False)
    assert [warning.filename for warning in record] == [__file__]
