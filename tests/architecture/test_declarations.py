"""The .pxd and the .py of a compiled module agree: imports, methods and fields of classes."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
COMPILED = runpy.run_path(str(SOURCE / "adjoint/_compiled.py"))["COMPILED"]
IN_HEADERS = "".join(header.read_text() for header in sorted(SOURCE.rglob("*.h")))


def source_of(module: str) -> str:
    return (SOURCE / f"{module.replace('.', '/')}.py").read_text()


def declarations_of(module: str) -> str:
    text = (SOURCE / f"{module.replace('.', '/')}.pxd").read_text()
    return re.sub(r"\\\n|(?<=\()\s*\n\s*|,\s*\n\s*(?=[\w)])", lambda m: m[0].replace("\n", " ").replace("\\", ""), text)


def cimports(declarations: str) -> set[str]:
    """The names that a .pxd cimports from other compiled modules."""
    rows = re.findall(r"^from (adjoint[\w.]*) cimport (?:\(([^)]*)\)|(.*))$", declarations, re.MULTILINE)
    return {name.strip() for _, several, one in rows for name in (several or one).split(",") if name.strip()}


def imports(text: str) -> set[str]:
    """The names that a module imports from adjoint at its top level, also inside `if` and `try`."""
    results = set()
    for node in ast.parse(text).body:
        for inner in [node, *(ast.walk(node) if isinstance(node, ast.If) else ())]:
            if isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("adjoint"):
                results |= {alias.asname or alias.name for alias in inner.names}
    return results


def classes(declarations: str) -> dict[str, tuple[set[str], set[str]]]:
    """Fields and methods of each class of a .pxd."""
    results: dict[str, tuple[set[str], set[str]]] = {}
    pattern = r"^cdef class (\w+)[^\n]*:\n((?:[ \t]+[^\n]*\n|\n)*)"
    for head, body in re.findall(pattern, declarations + "\n", re.MULTILINE):
        methods = set(re.findall(r"^\s+c(?:p?)def [^\n(=]*?(\w+)\(", body, re.MULTILINE))
        fields = set()
        for line in re.findall(r"^\s+cdef ([^\n(]+)$", body, re.MULTILINE):
            kinds = line.split(",")
            fields |= {kinds[0].split()[-1].strip("*")} | {name.strip(" *") for name in kinds[1:]}
        results[head] = ({field.split("[")[0] for field in fields} - {"__weakref__", "__dict__"}, methods)
    return results


def typed_locals(declarations: str) -> dict[str, set[str]]:
    """The names that a .pxd gives C types in each function, by `Class.function` or `function`."""
    pattern = r"^( *)@cython\.locals\(([^)]*)\)\n(?: *@[^\n]*\n)* *cp?def [^\n(=]*?(\w+)\("
    names: dict[str, set[str]] = {}
    for match in re.finditer(pattern, declarations, re.MULTILINE):
        indent, types, function = match.groups()
        owner = (
            re.findall(r"^cdef class (\w+)", declarations[: match.start()], re.MULTILINE)[-1] + "." if indent else ""
        )
        names[owner + function] = set(re.findall(r"(\w+)=", types))
    return names


def variables(text: str) -> dict[str, set[str]]:
    """Parameters and local names of each function. A local struct or array is declared and never stored."""
    names: dict[str, set[str]] = {}

    def visit(nodes: Iterable[ast.AST], owner: str) -> None:
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                inner = list(ast.walk(node))
                names.setdefault(owner + node.name, set()).update(
                    [n.id for n in inner if isinstance(n, ast.Name)], [n.arg for n in inner if isinstance(n, ast.arg)]
                )
            else:
                visit(ast.iter_child_nodes(node), f"{node.name}." if isinstance(node, ast.ClassDef) else owner)

    visit(ast.parse(text).body, "")
    return names


def used_when_plain(text: str) -> set[str]:
    """The names that a module uses in code that also runs in the plain form."""

    def names(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and ast.unparse(node.test).startswith(("cython.compiled", "compiled", "there")):
            children: list[ast.AST] = list(node.orelse)
        else:
            children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Name):
            yield node.id
        for child in children:
            yield from names(child)

    return set(names(ast.parse(text)))


def classes_of(text: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("module", COMPILED)
def test_imports_are_the_same(module: str) -> None:
    """The plain form imports each name that the compiled form has from the .pxd, except for types."""
    text, declarations = source_of(module), declarations_of(module)
    # A name with a leading underscore is a variable of the module. The plain form makes it in another way.
    names = {name for name in cimports(declarations) & used_when_plain(text) if not name.startswith("_")}
    assert sorted(names - imports(text)) == []


@pytest.mark.parametrize("module", COMPILED)
def test_classes_have_the_same_methods(module: str) -> None:
    nodes = classes_of(source_of(module))
    for name, (_, methods) in classes(declarations_of(module)).items():
        defs = {inner.name for inner in ast.walk(nodes[name]) if isinstance(inner, ast.FunctionDef)}
        assert sorted(methods - defs) == [], name


@pytest.mark.parametrize("module", COMPILED)
def test_every_field_has_a_value(module: str) -> None:
    """Python or C sets each field of a .pxd, or the field has a default."""
    text = source_of(module) + declarations_of(module) + IN_HEADERS
    for name, (fields, _) in classes(declarations_of(module)).items():
        missing = [field for field in fields if not re.search(rf"\b{field}\b[^\n]*=|\b{field}:|&\w+\.{field}\b", text)]
        assert sorted(missing) == [], name


@pytest.mark.parametrize("module", COMPILED)
def test_typed_locals_exist(module: str) -> None:
    """Cython ignores a typed local that the function does not have: the variable stays an object."""
    there = variables(source_of(module))
    for function, names in typed_locals(declarations_of(module)).items():
        assert sorted(names - there[function]) == [], function


def test_the_test_sees_typed_locals() -> None:
    text = "@cython.locals(n=int, m=adj[2],\n    k=tuple,\n)\ncpdef f(x)\n"
    text += "cdef class T:\n    @cython.locals(i=int)\n    cdef g(self)\n"
    assert typed_locals(text) == {"f": {"n", "m", "k"}, "T.g": {"i"}}
    assert variables("if c:\n    def f(n):\n        for m in n: k.x = 1\nclass T:\n    def g(self): i = 1\n") == {
        "f": {"n", "m", "k"},
        "T.g": {"self", "i"},
    }


def test_the_test_sees_what_is_used() -> None:
    text = "if cython.compiled:\n    share(x)\nelse:\n    work(x)\ndef f(a: Plan):\n    return g(a)\n"
    assert used_when_plain(text) >= {"work", "Plan", "g"} and "share" not in used_when_plain(text)


def test_the_test_sees_what_is_declared() -> None:
    text = "from adjoint.a cimport b, c\ncdef class T(U):\n    cdef public int n, m\n    cpdef object f(self, x)\n"
    assert cimports(text) == {"b", "c"}
    assert classes(text) == {"T": ({"n", "m"}, {"f"})}
