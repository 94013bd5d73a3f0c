"""Calls without Python code: messages that usually name a line of the user's code name no line."""

from __future__ import annotations

import _thread
import sys
import threading
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
