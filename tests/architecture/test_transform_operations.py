"""Transformations know no operation by name, except for a closed list. Batch forms are beside the rules."""

from __future__ import annotations

import ast
from pathlib import Path

import adjoint.transforms.batching.batch_rules  # noqa: F401  (declares the operations of batches)
from adjoint.rules import TABLE
from adjoint.tensor.table import operations
from adjoint.transforms.batching.batched import ARITHMETIC, CALLED_OPERATIONS

TRANSFORMS = Path(__file__).parents[2] / "src" / "adjoint" / "transforms"
#: The names that transforms/ gives to the namespaces of operations.
NAMESPACES = ("ops", "batched_ops", "raw_ops", "inner_ops", "TensorOps", "RawOps")
#: Functions whose first argument is the name of an operation.
BY_NAME = ("_operator",)


def names_called(text: str) -> set[str]:
    """The operations that a file takes from a namespace or from the table."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=space, attr=name):
                if ast.unparse(space.func if isinstance(space, ast.Call) else space) in NAMESPACES:
                    names.add(name)
            case ast.Subscript(value=table, slice=key) if ast.unparse(table) in ("operations", "TABLE"):
                names |= {part.value for part in ast.walk(key) if isinstance(part, ast.Constant)}
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(name)), *_]) if function in BY_NAME:
                names.add(name)
    return names


def test_the_list_is_closed() -> None:
    names = set().union(*[names_called(file.read_text()) for file in TRANSFORMS.rglob("*.py")])
    assert names == CALLED_OPERATIONS
    assert names <= operations.keys()


def test_no_other_table_names_operations() -> None:
    """A collection with several names of operations is a table, and such facts belong to the rules."""
    tables = {}
    for file in TRANSFORMS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Dict, ast.Set, ast.List, ast.Tuple)):
                parts = node.keys if isinstance(node, ast.Dict) else node.elts
                names = {part.value for part in parts if isinstance(part, ast.Constant)} & TABLE.keys()
                if len(names) > 1 and not names <= ARITHMETIC | CALLED_OPERATIONS:
                    tables[file.name, node.lineno] = names
    assert tables == {}


def test_the_test_sees_a_call() -> None:
    text = "ops.tanh(x)\nraw_ops(x).exp(x)\noperations['add']\n_operator('mul')\nother.sin(x)"
    assert names_called(text) == {"tanh", "exp", "add", "mul"}


def test_batch_forms_stand_in_the_file_of_the_rule() -> None:
    forms = {name: rule.batch_kernel for name, rule in TABLE.items() if rule.batch_kernel is not None}
    assert len(forms) > 25
    kernels = {name: getattr(TABLE[name]._kernel, "__module__", None) for name in forms}
    assert {name: forms[name].__module__ for name, module in kernels.items() if module is not None} == {
        name: module for name, module in kernels.items() if module is not None
    }
