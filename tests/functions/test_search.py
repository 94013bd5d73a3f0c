"""A public function is found by its name: one whole-word search of the sources shows its value and its derivative."""

import ast
import re
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

import adjoint
from adjoint.functions.binding import METHODS_AS_FUNCTIONS, functions
from adjoint.rules import TABLE

SOURCES = Path(adjoint.__file__).parent
# functions and operations are declared here; a namespace such as adjoint.linalg only collects them
FLOORS = ("functions", "rules", "tensor", "core")
SEARCHES = (
    "tanh", "gather", "logsumexp", "where", "matmul", "svd", "cross_entropy", "einsum", "interpolate", "max_pool2d",
    "kv", "cumprod",
)  # fmt: skip
NAMES = sorted({(space, name) for space, table in functions.items() for name in table})


@cache
def files() -> dict[Path, str]:
    return {path: path.read_text() for floor in FLOORS for path in sorted((SOURCES / floor).rglob("*.py"))}


def names_declared_in(tree: ast.Module) -> set[str]:
    """The names that statements of a module declare.

    A declaration is a `def`, an assignment to the name, or a call with the literal name as its first argument or as
    `name=`. The call may be a statement, an assignment or a decorator. A table with the name as a key is a declaration,
    too.
    """
    names = set()
    classes = [statement.body for statement in tree.body if isinstance(statement, ast.ClassDef)]
    for statement in [*tree.body, *chain(*classes)]:
        if isinstance(statement, ast.FunctionDef):
            names.add(statement.name)
            for decorator in statement.decorator_list:
                names |= literal_names(decorator)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
            names |= literal_names(statement.value)
        elif isinstance(statement, ast.Expr):
            names |= literal_names(statement.value)
        elif isinstance(statement, ast.For):
            names |= literal_names(statement.iter)
    return names


def literal_names(node: ast.expr | None) -> set[str]:
    if isinstance(node, ast.Call):
        outer = literal_names(node.func) if isinstance(node.func, ast.Attribute | ast.Call) else set()
        first = node.args[:1] + [keyword.value for keyword in node.keywords if keyword.arg == "name"]
        return outer | {value.value for value in first if isinstance(value, ast.Constant)}
    if isinstance(node, ast.Attribute):  # the table is in a call such as {...}.items()
        return literal_names(node.value)
    if isinstance(node, ast.Dict):
        return {key.value for key in node.keys if isinstance(key, ast.Constant)}
    return set()


@cache
def declarations() -> dict[str, list[Path]]:
    """The files that declare each name."""
    results: dict[str, list[Path]] = {}
    for path, text in files().items():
        for name in names_declared_in(ast.parse(text)):
            results.setdefault(name, []).append(path)
    return results


@cache
def words() -> dict[Path, set[str]]:
    return {path: set(re.findall(r"\w+", text)) for path, text in files().items()}


def hits(name: str) -> set[Path]:
    """The files with the word, like a search for whole words in an editor."""
    assert name.isidentifier()
    return {path for path, there in words().items() if name in there}


def homes_of(name: str) -> set[Path]:
    """The files with the kernel and the formulas of an operation, without declare.py (formulas of numbers)."""
    if name not in TABLE:
        return set()
    bodies = [TABLE[name]._kernel, *(formula.body for formula in TABLE[name].vjps)]
    homes = {Path(body.__code__.co_filename) for body in bodies if hasattr(body, "__code__")}
    return homes & set(files()) - {SOURCES / "rules" / "declare.py"}


@pytest.mark.parametrize(("space", "name"), NAMES, ids=[".".join(filter(None, pair)) for pair in NAMES])
def test_a_search_finds_the_declaration(space: str, name: str) -> None:
    if name in METHODS_AS_FUNCTIONS:
        # the function without the underscore declares the in-place method
        name = name.rstrip("_")
    # a source name may end in an underscore if Python has the name, too
    assert declarations().get(name) or declarations().get(f"{name}_"), (
        f"no declaration has {name!r} literally: write `def {name}(`, or the name as first argument of a declaration"
    )


@pytest.mark.parametrize("name", sorted({name for _, name in NAMES} & set(TABLE)))
def test_a_search_finds_value_and_derivative_of_an_operation(name: str) -> None:
    """The file of the kernel and the files of all formulas have the word."""
    assert homes_of(name) <= hits(name)


@pytest.mark.parametrize("name", ["cross_entropy", "interpolate", "max_pool2d"])
def test_a_search_finds_a_function_made_of_operations(name: str) -> None:
    """The function's `def` or helpers in the same file call the operations by name."""
    (home,) = declarations()[name][:1]
    assert home.parent.name == "functions"
    assert any(f"ops.{operation}(" in files()[home] for operation in TABLE)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_value_and_derivative(name: str) -> None:
    """Twelve names that a newcomer may search for."""
    assert declarations()[name]
    assert homes_of(name) | homes_of(f"linalg_{name}") <= hits(name)


def test_the_test_can_fail() -> None:
    tree = ast.parse('for kind in "ab":\n    declare(f"pool_{kind}")\nnames = declare("pool_c")\ndef pool_d(): ...\n')
    assert names_declared_in(tree) == {"names", "pool_c", "pool_d"}
