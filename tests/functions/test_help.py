"""The help of a composite function names the origin of its derivative and the saved values."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest

import adjoint
from adjoint.functions.binding import functions, load_all
from adjoint.functions.derivative_help import PARAGRAPHS
from adjoint.rules import TABLE

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "generate_derivative_help.py"))
#: Nodes of writes into views. They belong to no operation.
NODES = {"CopySlices", *(f"{view}ScatterBackward0" for view in ("AsStrided", "Diagonal", "Select", "Slice"))}


@pytest.mark.quick(0)
def test_the_table_is_what_calls_record() -> None:
    assert SCRIPT["FILE"].read_text() == SCRIPT["page"](), "run scripts/generate_derivative_help.py"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nn.functional.cross_entropy", "chain rule through the recorded operations: log_softmax (saves result), nll"),
        ("nn.functional.softsign", "abs (saves self), add, true_divide (saves other, self)"),
        ("div", "by other: g * (-(input / other / other)) (saves input, other)"),
        ("linalg.svd", "that of the operation linalg_svd (saves S, U, Vh); see adjoint/rules/linalg.py"),
        ("isclose", "Derivative: none."),
        ("geqrf", "Derivative: not implemented"),
    ],
)
def test_help_says_how_a_derivative_follows(name: str, words: str) -> None:
    text = re.sub(r"\s+", " ", functions[name.rpartition(".")[0]][name.rpartition(".")[2]].__doc__ or "")
    assert words in text


def test_every_function_of_several_operations_has_its_derivative() -> None:
    load_all()
    for name in SCRIPT["names"]():
        space, _, short = name.rpartition(".")
        if space == "Tensor" and short.startswith("__"):
            continue
        function = inspect.getattr_static(adjoint.Tensor, short) if space == "Tensor" else functions[space][short]
        assert PARAGRAPHS[name].splitlines()[0] in (function.__doc__ or ""), name


def test_named_operations_are_declared() -> None:
    chains = [text.partition("operations: ")[2] for text in PARAGRAPHS.values() if "operations: " in text]
    assert len(chains) > 150
    for chain in chains:
        steps = re.sub(r"\s+", " ", re.sub(r"\([^)]*\)", "", chain)).rstrip(" .").split(",")
        assert {step.strip() for step in steps} <= TABLE.keys() | NODES, chain
