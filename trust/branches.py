"""The branches of the package's modules: their names, their extents, and modules that note the branches that are taken.

A branch is the body of a function or of a lambda, each side of an `if` and of a conditional expression, the body and
the end of a loop, a handler and a case. Lines are too coarse, since a declaration has several lambdas on one line. An
import hook writes a call into each branch. The call adds the number of the branch to a set.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "adjoint"
#: The packages whose branches are counted.
COUNTED = ("core", "rules", "transforms", "program", "functions")
NOTE = "_note_branch"
#: The variable that names the file of what tests take (trust/noting.py).
NOTES_FILE = "ADJOINT_BRANCHES"
#: Conditions of code that only the compiled form runs.
COMPILED_FORM = ("cython.compiled", "not cython.compiled")
Position = tuple[int, int]
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Branch:
    """A branch: its name, and the extents of its text and of its condition. Changes elsewhere do not change the name.

    The condition of a loop is what it iterates over.
    """

    name: str
    first: Position
    last: Position
    condition: tuple[Position, Position] | None = None

    @property
    def line(self) -> int:
        """The line where it begins."""
        return self.first[0]

    def depends_on(self, position: Position) -> bool:
        """Whether the condition contains a position."""
        return self.condition is not None and self.condition[0] <= position < self.condition[1]


def ends(node: ast.AST) -> tuple[Position, Position]:
    """Where a node begins and ends."""
    at: Any = node
    return (at.lineno, at.col_offset), (at.end_lineno, at.end_col_offset)


def extent(nodes: Sequence[ast.AST]) -> tuple[Position, Position]:
    """Where several nodes begin and end."""
    return ends(nodes[0])[0], ends(nodes[-1])[1]


def short(node: ast.AST) -> str:
    """The source of a node in one line, cut to what a list can show.

    >>> short(ast.parse("x  <  1", mode="eval").body)
    'x < 1'
    """
    return " ".join(ast.unparse(node).split())[:70]


class Marker(ast.NodeTransformer):
    """Names the branches of a module, and writes a call into each that notes its number."""

    def __init__(self, path: str, first_number: int = 0) -> None:
        self.path = path
        self.branches: list[Branch] = []
        self._first_number = first_number
        self._names: Counter[str] = Counter()
        self._scopes: list[str] = []
        self._functions = 0

    # a branch ---------------------------------------------------------------------------------------------------

    def _add(
        self, label: str, first: Position, last: Position, at: ast.AST, test: tuple[Position, Position] | None = None
    ) -> ast.Call:
        name = f"{self.path} {'.'.join(self._scopes)}: {label}"
        self._names[name] += 1
        if self._names[name] > 1:
            name += f" #{self._names[name]}"
        number = ast.Constant(self._first_number + len(self.branches))
        self.branches.append(Branch(name, first, last, test))
        call = ast.Call(ast.Name(NOTE, ast.Load()), [number], [])
        return ast.fix_missing_locations(ast.copy_location(call, at))

    def _block(
        self, label: str, body: list[ast.stmt], first: Position, last: Position, at: ast.AST,
        test: tuple[Position, Position] | None = None,
    ) -> list[ast.stmt]:  # fmt: skip
        note = ast.copy_location(ast.Expr(self._add(label, first, last, at, test)), at)
        has_docstring = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        visited = self._statements(body)
        return [visited[0], note, *visited[1:]] if has_docstring else [note, *visited]

    def _value(self, label: str, value: ast.expr, test: tuple[Position, Position] | None = None) -> ast.expr:
        first, last = ends(value)
        note = self._add(label, first, last, value, test)
        noted = ast.BoolOp(ast.Or(), [note, self.visit(value)])  # the note is None
        return ast.copy_location(noted, value)

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        visited: list[ast.stmt] = []
        for number, statement in enumerate(body):
            if isinstance(statement, ast.If):
                visited.append(self._if(statement, body[number + 1 :]))
            else:
                visited.append(self.visit(statement))
        return visited

    # what has branches --------------------------------------------------------------------------------------------

    def _function(self, node: Any) -> Any:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.args = self.visit(node.args)
        if is_declaration(node):
            return node
        self._scopes.append(node.name)
        self._functions += 1
        node.body = self._block("called", node.body, *ends(node), node.body[0])
        self._functions -= 1
        self._scopes.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """The methods of a class."""
        self._scopes.append(node.name)
        self.generic_visit(node)
        self._scopes.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """The value of a lambda."""
        node.args = self.visit(node.args)
        self._functions += 1
        node.body = self._value(short(node), node.body)
        self._functions -= 1
        return node

    def visit_If(self, node: ast.If) -> Any:
        """Both sides of an `if` that stands alone."""
        return self._if(node, [])

    def _if(self, node: ast.If, following: list[ast.stmt]) -> ast.If:
        label = short(node.test)
        if label in ("TYPE_CHECKING", *COMPILED_FORM) or not self._functions:
            return node if label in ("TYPE_CHECKING", *COMPILED_FORM) else self._generic(node)
        test = ends(node.test)
        node.test = self.visit(node.test)
        beyond = following if isinstance(node.body[-1], LEAVING) else []
        other = node.orelse or beyond or [node]
        node.body = self._block(f"if {label}", node.body, *extent(node.body), node.body[0], test)
        node.orelse = self._block(f"not if {label}", node.orelse, *extent(other), other[-1], test)
        return node

    def _generic(self, node: Any) -> Any:
        self.generic_visit(node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Both values of a conditional expression."""
        label = short(node.test)
        if label in COMPILED_FORM:
            return node
        if not self._functions:
            return self._generic(node)
        test = ends(node.test)
        node.test = self.visit(node.test)
        node.body = self._value(f"{short(node.body)} if {label}", node.body, test)
        node.orelse = self._value(f"{short(node.orelse)} if not {label}", node.orelse, test)
        return node

    def _loop(self, node: Any, label: str, endless: bool, test: tuple[Position, Position]) -> Any:
        if not self._functions:
            return self._generic(node)
        node.body = self._block(label, node.body, *extent(node.body), node.body[0], test)
        if not endless:
            other = node.orelse or [node]
            node.orelse = self._block(f"end of {label}", node.orelse, *extent(other), other[-1], test)
        return node

    def visit_For(self, node: ast.For) -> Any:
        """The body of a loop, and its end without a break."""
        label = f"for {short(node.target)} in {short(node.iter)}"
        test = ends(node.iter)
        node.iter = self.visit(node.iter)
        return self._loop(node, label, False, test)

    def visit_While(self, node: ast.While) -> Any:
        """The same of a loop with a condition, which may have no end."""
        label, test = f"while {short(node.test)}", ends(node.test)
        node.test = self.visit(node.test)
        return self._loop(node, label, isinstance(node.test, ast.Constant) and bool(node.test.value), test)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        """The body of a handler."""
        if not self._functions:
            return self._generic(node)
        label = f"except {short(node.type)}" if node.type else "except"
        node.body = self._block(label, node.body, *extent(node.body), node.body[0])
        return node

    def visit_match_case(self, node: ast.match_case) -> Any:
        """The body of a case."""
        node.body = self._block(f"case {short(node.pattern)}", node.body, *extent(node.body), node.body[0])
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Lists of statements also handle the statements behind an `if`."""
        for name, old in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(old, list):
                setattr(node, name, self._statements(old))
            elif isinstance(old, list):
                setattr(node, name, [self.visit(each) if isinstance(each, ast.AST) else each for each in old])
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return node


def is_declaration(node: ast.FunctionDef) -> bool:
    """Whether the body of a function is only a docstring, an ellipsis or NotImplementedError."""
    return all(
        (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Raise) and isinstance(each.exc, ast.Name) and each.exc.id == "NotImplementedError")
        for each in node.body
    )


# modules ------------------------------------------------------------------------------------------------------------


def modules(folders: Iterable[str] = COUNTED) -> list[str]:
    """The paths of modules within the package."""
    return sorted(
        file.relative_to(PACKAGE).as_posix() for folder in folders for file in (PACKAGE / folder).rglob("*.py")
    )


def compiled_modules() -> tuple[str, ...]:
    """The names of the modules that are compiled. The package is not imported: it may have a fault."""
    text = (PACKAGE / "_compiled.py").read_text(encoding="utf-8")
    return tuple(ast.literal_eval(ast.parse(text).body[-1].value))  # type: ignore[attr-defined]


def mark_branches(path: str, first_number: int = 0) -> tuple[ast.Module, list[Branch]]:
    """A module with notes in its branches, and the branches in the order of their numbers."""
    marker = Marker(path, first_number)
    tree = marker.visit(ast.parse((PACKAGE / path).read_text(encoding="utf-8")))
    return tree, marker.branches


@cache
def branches_of(path: str) -> tuple[Branch, ...]:
    """The branches of a module."""
    return tuple(mark_branches(path)[1])


def innermost(branches: Iterable[Branch], position: Position) -> Branch | None:
    """The innermost branch at a position.

    None for code that runs at import. A side without a text has the extent of the whole statement; the condition is not
    part of it.
    """
    around = [
        branch for branch in branches if branch.first <= position < branch.last and not branch.depends_on(position)
    ]
    return max(around, key=lambda branch: (branch.first, [-number for number in branch.last]), default=None)


class Numbers:
    """Numbers of the branches of all counted modules."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.first: dict[str, int] = {}
        for path in modules():
            self.first[path] = len(self.names)
            self.names += [branch.name for branch in branches_of(path)]


class Noting:
    """An import hook that loads the counted modules from their sources, with notes.

    numbers_taken: the numbers of branches that were taken since it was last cleared.
    left: names of modules that are loaded without notes.
    """

    def __init__(self, numbers: Numbers, left: Iterable[str] = ()) -> None:
        self.numbers, self.left = numbers, frozenset(left)
        self.numbers_taken: set[int] = set()

    def install(self) -> None:
        """Take effect on what is imported from now on."""
        setattr(builtins, NOTE, self.numbers_taken.add)
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a counted module, None for all others."""
        if sys.meta_path[0] is not self:  # the package puts its own finder first, which loads sources without notes
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        parts = name.split(".")
        if parts[0] != "adjoint" or len(parts) < 2 or parts[1] not in COUNTED or name in self.left:
            return None
        path_of_module = PACKAGE.joinpath(*parts[1:])
        file = path_of_module / "__init__.py" if path_of_module.is_dir() else path_of_module.with_suffix(".py")
        if not file.exists():
            return None
        number = self.numbers.first[file.relative_to(PACKAGE).as_posix()]
        search = [str(path_of_module)] if path_of_module.is_dir() else None
        loader = MarkedLoader(name, str(file), number)
        return spec_from_file_location(name, file, loader=loader, submodule_search_locations=search)


class MarkedLoader(SourceFileLoader):
    """Compiles a module with notes. It never uses the cache of compiled files."""

    def __init__(self, name: str, file: str, first_number: int) -> None:
        super().__init__(name, file)
        self._first_number = first_number

    def get_code(self, fullname: str) -> Any:
        """The code with notes."""
        path = Path(self.path).relative_to(PACKAGE).as_posix()
        return compile(mark_branches(path, self._first_number)[0], self.path, "exec", dont_inherit=True)


def lines_of(branches: Iterable[Branch]) -> Iterator[str]:
    """Names with lines, as a list of what is missing shows them."""
    for branch in branches:
        yield f"{branch.name}  (line {branch.line})"
