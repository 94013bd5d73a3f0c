"""The possible faults of the package's modules, from their syntax trees: a sign, a factor, a conjugate, an axis.

Each fault changes one place in the text of a module. All possible faults have names. So a draw selects names, and the
list of equivalent mutations is readable.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from trust.branches import PACKAGE, Position, compiled_modules, modules

#: Modules of tables and prose. Their faults are not faults of derivatives.
LEFT_OUT = ("names.py", "examples.py", "help.py", "derivative_help.py")
#: The packages whose modules work in the compiled form. Their compiled modules get no faults.
SERVING_COMPILED = ("program",)


@dataclass(frozen=True)
class Mutation:
    """One change: bytes `first` to `last` of a module become `text`. `old` and `new` show its line before and after."""

    path: str
    scope: str
    kind: str
    first: int
    last: int
    text: str
    position: Position
    old: str
    new: str
    number: int = 1

    @property
    def name(self) -> str:
        """The name of the mutation. Changes elsewhere in the module do not change it."""
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path} {self.scope} [{self.kind}]: {self.old} → {self.new}{again}"

    @property
    def id(self) -> str:
        """A short name for the command line."""
        return hashlib.sha1(self.name.encode()).hexdigest()[:10]

    def apply(self, source: bytes) -> bytes:
        """The module with the fault."""
        return source[: self.first] + self.text.encode() + source[self.last :]


# the kinds ----------------------------------------------------------------------------------------------------------

Change = tuple[ast.AST, str]
Kind = Callable[[Any, "Surroundings"], Iterator[Change]]
KINDS: dict[str, Kind] = {}


@dataclass
class Surroundings:
    """The surroundings of a node: the parameters of its function, and the source of nodes."""

    parameters: tuple[str, ...]
    source: Callable[[ast.AST], str]


def kind(name: str) -> Callable[[Kind], Kind]:
    """Declare a kind of fault: a function that yields other texts for a node, or for nodes within it."""

    def declare(function: Kind) -> Kind:
        KINDS[name] = function
        return function

    return declare


def is_text(node: ast.AST) -> bool:
    """Whether a node is a string, or a list or tuple of the source. There, + and * have another meaning."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp))


def callee(node: ast.AST) -> str:
    """The last name of the function of a call, an empty text for other nodes."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def of_names(node: ast.AST) -> set[str]:
    """All names and attributes within a node."""
    return {getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(node)} - {""}


@kind("sign")
def _sign(node: Any, around: Surroundings) -> Iterator[Change]:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield node, f"({around.source(operand)})"
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right) if not is_text(node):
            sign = "-" if isinstance(node.op, ast.Add) else "+"
            yield node, f"({around.source(left)} {sign} ({around.source(right)}))"


@kind("factor")
def _factor(node: Any, around: Surroundings) -> Iterator[Change]:
    match node:
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.Pow(), left=left, right=right) if not is_text(node):
            yield node, f"({around.source(left)})"
            if isinstance(node.op, ast.Mult):
                yield node, f"({around.source(right)})"
            for side in (left, right):
                if isinstance(side, ast.Constant) and side.value not in (0, 0.0):
                    yield side, f"({side.value!r} + 1)"


#: Parameters that are not confused with others.
NO_VALUES = ("self", "cls", "ctx", "xp", "ops")


@kind("value")
def _value(node: Any, around: Surroundings) -> Iterator[Change]:
    parameters = [name for name in around.parameters if name not in NO_VALUES]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in parameters:
        yield from ((node, other) for other in parameters if other != node.id)


@kind("conjugate")
def _conjugate(node: Any, around: Surroundings) -> Iterator[Change]:
    if callee(node) in ("conj", "conjugate", "conj_physical", "resolve_conj"):
        argument = node.args[-1] if node.args else node.func.value
        yield node, f"({around.source(argument)})"


@kind("axis")
def _axis(node: Any, around: Surroundings) -> Iterator[Change]:
    if not isinstance(node, ast.Call):
        return
    for word in node.keywords:
        value = word.value
        is_name = any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in ast.walk(value))
        if word.arg in ("axis", "dim", "axes", "dims") and not is_name:
            match value:
                case ast.Tuple(elts=[_, _, *_]):
                    texts = [around.source(each) for each in reversed(value.elts)]
                    yield value, f"({', '.join(texts)})"
                case _:
                    other = "0" if around.source(value) in ("-1", "1") else "-1"
                    yield value, other
        if word.arg in ("keepdims", "keepdim"):
            yield value, f"(not {around.source(value)})"


@kind("version")
def _version(node: Any, around: Surroundings) -> Iterator[Change]:
    match node:
        case ast.Compare() if any("version" in name for name in of_names(node)):
            yield node, "False"
        case ast.Expr(value=ast.Call()) if "version" in callee(node.value):
            yield node, "pass"
        case ast.AugAssign() if any("version" in name for name in of_names(node.target)):
            yield node, "pass"


@kind("lock")
def _lock(node: Any, around: Surroundings) -> Iterator[Change]:
    if isinstance(node, ast.With) and len(node.items) == 1 and node.items[0].optional_vars is None:
        context = node.items[0].context_expr
        if any("lock" in name or name == "_accumulation" for name in of_names(context)):
            yield context, "__import__('contextlib').nullcontext()"


OTHER_SIDE = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


@kind("comparison")
def _comparison(node: Any, around: Surroundings) -> Iterator[Change]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if "crossovers" not in of_names(node):
            yield node, f"({around.source(left)} {OTHER_SIDE[type(op)]} {around.source(right)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool({around.source(operand)})"
        case ast.BoolOp(values=values) if "crossovers" not in of_names(node):
            word = " or " if isinstance(node.op, ast.And) else " and "
            yield node, f"({word.join(f'({around.source(each)})' for each in values)})"


@kind("sum_to_size")
def _sum_to_size(node: Any, around: Surroundings) -> Iterator[Change]:
    summing = ("sum_to", "sum_to_size", "sum_to_shape", "project", "unbroadcast")
    if callee(node) in summing and node.args:
        yield node, f"({around.source(node.args[0])})"


@kind("operands")
def _operands(node: Any, around: Surroundings) -> Iterator[Change]:
    match node:
        case ast.BinOp(
            op=ast.Sub() | ast.Div() | ast.Pow() | ast.MatMult() | ast.FloorDiv() | ast.Mod(), left=left, right=right
        ) if not is_text(node) and around.source(left) != around.source(right):
            yield node, f"(({around.source(right)}) {SIGNS[type(node.op)]} ({around.source(left)}))"
        case ast.Call(args=[first, second, *_]) if callee(node) not in SYMMETRIC:
            if not any(isinstance(each, (ast.Starred, ast.Constant, ast.Lambda)) for each in (first, second)):
                rest = [around.source(each) for each in (second, first, *node.args[2:])]
                rest += [f"{word.arg}={around.source(word.value)}" if word.arg else f"**{around.source(word.value)}"
                         for word in node.keywords]  # fmt: skip
                yield node, f"{around.source(node.func)}({', '.join(rest)})"


SIGNS = {ast.Sub: "-", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@", ast.FloorDiv: "//", ast.Mod: "%"}
#: Functions whose operands may be exchanged, or whose operands nobody exchanges by mistake.
SYMMETRIC = (
    "isinstance", "issubclass", "getattr", "hasattr", "setattr", "mul", "multiply", "add", "maximum", "minimum", "max",
    "min", "logical_and", "logical_or", "logical_xor", "equal", "cast", "gcd", "result_type", "promote_types",
    "broadcast_shapes", "hypot", "zip", "may_share_memory", "shares_memory", "sum_product", "logaddexp", "logaddexp2",
)  # fmt: skip


@kind("branch")
def _branch(node: Any, around: Surroundings) -> Iterator[Change]:
    if isinstance(node, (ast.If, ast.IfExp)) and not of_names(node.test) & {"crossovers", "compiled", "TYPE_CHECKING"}:
        yield node.test, "False"
        if node.orelse:
            yield node.test, "True"


@kind("statement")
def _statement(node: Any, around: Surroundings) -> Iterator[Change]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, "pass"


#: A node, the name of its function, and the parameters of that.
Place = tuple[ast.AST, str, tuple[str, ...]]

# the mutations of a module ------------------------------------------------------------------------------------------


class Walk:
    """All mutations of a module, in the order of the syntax."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.source = (PACKAGE / path).read_bytes()
        lines = self.source.splitlines(keepends=True)
        self.starts = [0, *itertools.accumulate(map(len, lines))]

    def offsets(self, node: Any) -> tuple[int, int]:
        """The bytes of a node."""
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        first, last = self.offsets(node)
        return self.source[first:last].decode()

    def mutations(self) -> list[Mutation]:
        """All of them, each name once."""
        tree = ast.parse(self.source)
        numbers: Counter[str] = Counter()
        results: list[Mutation] = []
        for node, scope, parameters in self.walk(tree, "", ()):
            around = Surroundings(parameters, self.text)
            for name, function in KINDS.items():
                for changed, text in function(node, around):
                    if text == self.text(changed):  # two operands that are the same
                        continue
                    mutation = self.mutation(name, scope, changed, text)
                    numbers[mutation.name] += 1
                    object.__setattr__(mutation, "number", numbers[mutation.name])
                    results.append(mutation)
        return results

    def mutation(self, kind: str, scope: str, node: Any, text: str) -> Mutation:
        """The change of a node's text."""
        first, last = self.offsets(node)
        begin = self.source.rfind(b"\n", 0, first) + 1
        rest = self.source[last:].partition(b"\n")[0]
        before, after = self.source[begin:last], self.source[begin:first] + text.encode()
        old, new = (" ".join((each + rest).decode().split()) for each in (before, after))
        return Mutation(self.path, scope, kind, first, last, text, (node.lineno, node.col_offset), old, new)

    def walk(self, node: ast.AST, scope: str, parameters: tuple[str, ...]) -> Iterator[Place]:
        """The nodes for mutations, with the name and the parameters of their function."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Raise, ast.Import, ast.ImportFrom, ast.arg, ast.JoinedStr, ast.Assert)):
                continue
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.returns is not None:
                child.returns = None
            if isinstance(child, ast.AnnAssign):
                child.annotation = ast.Constant(None)
            if is_other_form(child):
                continue
            name, names = scope, parameters
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{scope}.{child.name}" if scope else child.name
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                names = tuple(arg.arg for arg in (*child.args.posonlyargs, *child.args.args, *child.args.kwonlyargs))
            yield child, name, names
            yield from self.walk(child, name, names)


def is_other_form(node: ast.AST) -> bool:
    """Whether a node serves the compiled form, or type checkers."""
    return isinstance(node, (ast.If, ast.IfExp)) and bool(of_names(node.test) & {"compiled", "TYPE_CHECKING"})


@cache
def mutations_of(path: str) -> tuple[Mutation, ...]:
    """All mutations of a module."""
    return tuple(Walk(path).mutations())


def all_mutations(folders: tuple[str, ...]) -> list[Mutation]:
    """All mutations of the modules of some packages."""
    compiled = {f"{name.replace('.', '/')}.py".removeprefix("adjoint/") for name in compiled_modules()}
    paths = [path for path in modules(folders) if not path.endswith(LEFT_OUT)]
    paths = [path for path in paths if not (path in compiled and path.startswith(SERVING_COMPILED))]
    return [mutation for path in paths for mutation in mutations_of(path)]


def draw(folders: tuple[str, ...], number: int, seed: int, left_out: frozenset[str] = frozenset()) -> list[Mutation]:
    """A draw with equal shares of the packages, and of the kinds within each package, as long as there are enough.

    A hash of the seed and the name gives the order. So a change of one module does not change the draw from the others.
    """
    queues: list[list[Mutation]] = []
    for folder in folders:
        kinds: dict[str, list[Mutation]] = {}
        for mutation in all_mutations((folder,)):
            if mutation.name not in left_out:
                kinds.setdefault(mutation.kind, []).append(mutation)
        for members in kinds.values():
            members.sort(key=lambda each: hashlib.sha1(f"{seed} {each.name}".encode()).digest())
        rounds = itertools.zip_longest(*kinds.values())
        queues.append([each for members in rounds for each in members if each is not None])
    interleaved = (each for members in itertools.zip_longest(*queues) for each in members if each is not None)
    return list(itertools.islice(interleaved, number))
