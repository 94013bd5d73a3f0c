"""Completion by the tab key offers names that exist and work. It hides names that were only imported."""

from __future__ import annotations

import importlib
import json
import rlcompleter
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint

MODULES = list(json.loads((Path(__file__).parent / "data" / "public_names.json").read_text()))
BESIDE = {"adjoint.autograd": {"ProfilerActivity", "kineto_available"}}
MATRIX = adjoint.tensor([[1.0, 2j], [3.0, 4.0]], requires_grad=True)
ARRAY = adjoint.numpy.Array([[1.0, 2.0], [3.0, 4.0]])


def module_of(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None  # names of a class


def completions(value: Any, beginning: str = "") -> list[str]:
    """The names that an interpreter offers after a value, a dot and the first letters of an attribute."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's deprecated attributes
        matches = rlcompleter.Completer({"value": value}).attr_matches(f"value.{beginning}")
    return [match.removeprefix("value.").rstrip("()") for match in matches]


@pytest.mark.parametrize("value", [MATRIX, ARRAY], ids=["tensor", "array"])
def test_every_attribute_that_is_listed_is_there(value: Any) -> None:
    names = [name for name in dir(value) if not name.startswith("_")]
    assert len(names) > 60
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            getattr(value, name)


def test_a_tensor_offers_torchs_names() -> None:
    assert {"sqrt", "sqrt_", "square", "squeeze"} <= set(completions(MATRIX, "sq"))
    # hidden by design: the error of this attribute names the replacement
    assert "to_mkldnn" in vars(adjoint.Tensor) and "to_mkldnn" not in dir(MATRIX)


def test_an_array_offers_numpys_names_alone() -> None:
    assert set(completions(ARRAY)) <= {*dir(np.ndarray), "tensor"}
    assert completions(ARRAY, "arg") == ["argmax", "argmin", "argpartition", "argsort"]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_offers_its_own_names(name: str) -> None:
    module = module_of(name)
    if module is None:
        pytest.skip("a class")
    public = {*getattr(module, "__all__", ()), *BESIDE.get(name, ())}
    for attribute in completions(module):
        value = getattr(module, attribute)
        is_own_module = isinstance(value, types.ModuleType) and value.__name__.startswith("adjoint.")
        assert attribute in public or attribute.isupper() or is_own_module, attribute


def test_scipys_packages_are_offered_before_they_are_imported() -> None:
    assert {"linalg", "special", "stats", "patched"} <= set(completions(adjoint.scipy))
    assert adjoint.scipy.signal is importlib.import_module("adjoint.scipy.signal")
