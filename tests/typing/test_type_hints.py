"""typing.get_type_hints() reads the annotations of every public function and method."""

from __future__ import annotations

import importlib
import json
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adjoint

NAMES: dict[str, list[str]] = json.loads((Path(__file__).parents[1] / "data" / "public_names.json").read_text())


def functions_of(namespace: str) -> dict[str, Callable[..., Any]]:
    """The public functions and classes of a module or of Tensor."""
    owner = adjoint.Tensor if namespace == "adjoint.Tensor" else importlib.import_module(namespace)
    values = {name: getattr(owner, name) for name in NAMES[namespace] if hasattr(owner, name)}
    return {name: value for name, value in values.items() if callable(value) and not isinstance(value, adjoint.dtype)}


@pytest.mark.parametrize("namespace", NAMES)
def test_hints_of_public_functions(namespace: str) -> None:
    failures = {}
    for name, function in functions_of(namespace).items():
        try:
            typing.get_type_hints(function)
        except (NameError, TypeError) as error:
            failures[name] = repr(error)
    assert failures == {}


def test_hints_are_classes() -> None:
    hints = typing.get_type_hints(adjoint.flatten)
    assert hints == {"input": adjoint.Tensor, "start_dim": int, "end_dim": int, "return": adjoint.Tensor}
    assert typing.get_type_hints(adjoint.abs_)["input"] is adjoint.Tensor


def test_hints_of_operations_are_classes() -> None:
    hints = typing.get_type_hints(adjoint.tanh)
    assert hints == {"input": adjoint.Tensor, "out": adjoint.Tensor | None, "return": adjoint.Tensor}
    assert typing.get_type_hints(adjoint.Tensor.tanh_) == {"return": adjoint.Tensor}
    assert typing.get_type_hints(adjoint.frexp)["return"] is adjoint.return_types.frexp
