"""The core knows no operation by name, except for a closed list. It has no name that PyTorch has removed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from adjoint.core.recorded import CORE_OPERATIONS, operations

CORE = Path(__file__).parents[2] / "src" / "adjoint" / "core"
#: The names that the core gives to the namespaces of operations.
NAMESPACES = ("ops", "registry.tensor_ops", "raw_ops", "self._tensor_ops", "TensorOps", "RawOps")


def names_called(text: str) -> set[str]:
    """The operations that a file of the core takes from a namespace or from the table."""
    results = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            space = node.value.func if isinstance(node.value, ast.Call) else node.value
            if ast.unparse(space) in NAMESPACES:
                results.add(node.attr)
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "operations":
            results |= {part.value for part in ast.walk(node.slice) if isinstance(part, ast.Constant)}
    return results


def test_the_list_is_closed() -> None:
    names = set().union(*[names_called(file.read_text()) for file in CORE.rglob("*.py")])
    assert names == CORE_OPERATIONS


@pytest.mark.parametrize("file", sorted([*CORE.rglob("*.py"), *CORE.glob("*.pxd")]), ids=lambda file: file.name)
def test_the_core_knows_no_old_feature(file: Path) -> None:
    """Modules above the core have volatile tensors, reinforce() and functions without static methods."""
    assert re.findall(r"(?i)volatile|reinforce|stochastic|legacy", file.read_text()) == []


def test_the_test_sees_a_call() -> None:
    text = "ops.tanh(x)\nregistry.tensor_ops.mul(x, y)\nraw_ops(x).exp(x)\noperations['add']\nother.sin(x)"
    assert names_called(text) == {"tanh", "mul", "exp", "add"}


def test_the_list_names_declared_operations() -> None:
    assert {name: operations[name].name for name in CORE_OPERATIONS} == {name: name for name in CORE_OPERATIONS}
