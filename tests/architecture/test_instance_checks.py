"""Cython loses an exception of `isinstance(value, (A, B))` if it does not know the type A or B.

The check then returns True. A signal in the metaclass of numbers.Number did that, and None counted as a number.
"""

from __future__ import annotations

import ast
import builtins
import re
import runpy
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
COMPILED = runpy.run_path(str(SOURCE / "adjoint/_compiled.py"))["COMPILED"]
EXTENSION_TYPES = {
    name for file in SOURCE.rglob("*.pxd") for name in re.findall(r"^cdef class (\w+)", file.read_text(), re.MULTILINE)
}


def unknown_types(tree: ast.AST) -> list[str]:
    """Line and name of each Python type in a tuple of `isinstance` that Cython does not know."""
    return [
        f"{kind.lineno}: {ast.unparse(kind)}"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "isinstance" and isinstance(call.args[1], ast.Tuple)
        for kind in call.args[1].elts
        if not (isinstance(kind, ast.Name) and (kind.id in EXTENSION_TYPES or hasattr(builtins, kind.id)))
    ]


def test_compiled_modules_ask_for_such_types_alone() -> None:
    files = [SOURCE / f"{name.replace('.', '/')}.py" for name in COMPILED]
    result = {file.name: wrong for file in files if (wrong := unknown_types(ast.parse(file.read_text())))}
    assert result == {}


def test_such_types_are_found() -> None:
    assert unknown_types(ast.parse("isinstance(x, (int, numbers.Number))")) == ["1: numbers.Number"]
    assert unknown_types(ast.parse("isinstance(x, (int, TensorBase)) or isinstance(x, numbers.Number)")) == []
