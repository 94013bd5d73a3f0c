"""Functions, classes and methods take arguments by PyTorch's names."""

from __future__ import annotations

import enum
import importlib
import inspect
import json
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

LISTED = json.loads((Path(__file__).parent / "data" / "torch_parameters.json").read_text())["parameters"]
#: Parameters that adjoint leaves out, or that `inspect.signature` does not show, by the reason.
LEFT_OUT = {
    "a compiler's own options": {
        "compile(isolate_recompiles)",
        "compile(name)",
        "compile(recompile_limit)",
        "compile(shapes_spec)",
    },
    "operations take it and do not show it": {"chain_matmul(out)", "norm(out)", "tensordot(out)"},
    "for PyTorch's own use": {
        "autograd.function.FunctionMeta(attrs)",
        "enable_grad(orig_func)",
        "nn.LSTM.check_forward_args(batch_sizes)",
        "nn.LSTM.check_forward_args(hidden)",
        "nn.RNNBase.check_forward_args(batch_sizes)",
        "nn.RNNBase.check_forward_args(hidden)",
    },
}


def value_of(space: str, name: str) -> Any:
    """What has this name in adjoint; None if it is left out (`tests/test_left_out.py` has the names of modules)."""
    try:
        module = importlib.import_module(f"adjoint.{space}".rstrip("."))
        return reduce(getattr, name.split("."), module)
    except (AttributeError, ModuleNotFoundError):
        return None


def absent(value: Any, names: list[str]) -> set[str]:
    """The names that a callable does not take; none for enumerations, whose signature depends on the Python."""
    if isinstance(value, enum.EnumMeta):
        return set()
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return set()
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return set()
    by_name = {name for name, each in parameters.items() if each.kind is not each.POSITIONAL_ONLY}
    return set(names) - by_name


@pytest.mark.parametrize("space", LISTED)
def test_arguments_have_torchs_names(space: str) -> None:
    differences = {
        f"{space}.{name}({parameter})".lstrip(".")
        for name, names in LISTED[space].items()
        if (value := value_of(space, name)) is not None
        for parameter in absent(value, names.split())
    }
    assert differences - set().union(*LEFT_OUT.values()) == set()
