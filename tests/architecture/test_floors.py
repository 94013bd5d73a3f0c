"""Imports inside adjoint go to the same floor or down, in modules, functions and .pxd files.

Imports under `if TYPE_CHECKING:` are for type checkers alone. They may go up.
"""

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FLOORS = {"runtime": 0, "arrays": 1, "program": 2, "core": 3, "rules": 4, "tensor": 5, "functions": 6, "transforms": 7}
FLOORS |= {"tools": 8, "interop": 8, "solvers": 8, "compilation": 8}
FLOORS |= {"_compiled": 0}  # `_compiled` imports nothing, and all floors use it
FACE = 9  # the top __init__, autograd, linalg, nn, testing, demo and other public modules
FILES = sorted(file.relative_to(SOURCE) for file in SOURCE.rglob("*") if file.suffix in {".py", ".pxd"})


def floor(module: str) -> int:
    return FLOORS.get((module.split(".") + [""])[1], FACE)


def run(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes inside a node, without those under `if TYPE_CHECKING:`."""
    yield node
    for name, value in ast.iter_fields(node):
        if isinstance(node, ast.If) and name == "body" and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from run(child)


def imports_of(file: Path, text: str) -> Iterator[str]:
    """The full names that a file imports: `from a import b` yields a.b, since b may be a subpackage."""
    if file.suffix == ".pxd":
        yield from re.findall(r"^\s*(?:from|cimport)\s+(adjoint[\w.]*)", text, re.MULTILINE)
        return
    for node in run(ast.parse(text)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                parent = file.parts[: len(file.parts) - node.level] if node.level else ()
                module = ".".join([*parent, *([node.module] if node.module else [])])
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield name


def climbing(file: Path, text: str) -> list[str]:
    """The imports of a file from a floor above its own."""
    level = floor(".".join(file.with_suffix("").parts))
    names = (name.removeprefix("cython.cimports.") for name in imports_of(file, text))
    internal = (name for name in names if name.split(".")[0] == "adjoint")
    return [name for name in internal if floor(name) > level]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_imports_go_down(file: Path) -> None:
    assert climbing(file, (SOURCE / file).read_text()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import adjoint",
        "from adjoint import tensor",
        "from adjoint.rules import declare",
        "from .. import Tensor",
        "from ..tensor.views import View",
        "def late():\n    from adjoint.autograd import grad",
        "importlib.import_module('adjoint.tools')",
        "from cython.cimports.adjoint.tensor.arithmetic import add",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from adjoint.tensor.tensor import Tensor",
        "if not TYPE_CHECKING:\n    from adjoint.tensor.tensor import Tensor",
    ],
)
def test_the_test_sees_an_import_that_climbs(statement: str) -> None:
    assert climbing(Path("adjoint/core/engine.py"), statement)


def test_an_import_for_type_checkers_may_climb() -> None:
    assert not climbing(
        Path("adjoint/core/engine.py"), "if TYPE_CHECKING:\n    from adjoint.tensor.tensor import Tensor"
    )


def test_no_type_of_tensors_is_any() -> None:
    """Annotations name the real class: `Tensor` is imported under `if TYPE_CHECKING:`."""
    assert [str(file) for file in FILES if re.search(r"^Tensor\b.* = Any$", (SOURCE / file).read_text(), re.M)] == []


def test_the_test_sees_a_cimport_that_climbs() -> None:
    assert climbing(Path("adjoint/core/engine.pxd"), "from adjoint.tensor.arithmetic cimport add")
    assert not climbing(Path("adjoint/tensor/arithmetic.pxd"), "from adjoint.core.engine cimport run")


def file_of(name: str) -> str | None:
    """The module that has an imported name: the longest part of the name that is a file, or a package's __init__."""
    parts = name.removeprefix("cython.cimports.").split(".")
    for end in range(len(parts), 0, -1):
        path = "/".join(parts[:end])
        for candidate in (f"{path}.py", f"{path}/__init__.py"):
            if (SOURCE / candidate).is_file():
                return candidate
    return None


def test_no_files_import_each_other_in_a_circle() -> None:
    """Late imports inside functions count, too. A third file should have the part that two files need of each other."""
    graph = {}
    for file in (each for each in FILES if each.suffix == ".py"):
        result = {file_of(name) for name in imports_of(file, (SOURCE / file).read_text()) if name.startswith("adjoint")}
        graph[str(file)] = result - {None, str(file)}
    assert len(graph) > 200
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle
