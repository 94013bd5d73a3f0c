"""Functions in pieces: a statement that cannot be replayed runs eagerly, and the code around it is compiled.

Such a statement makes a plain NumPy array of a value, prints a value, or reads a number that differs at each call. The
function is split into three: the statements before it, the statement, and the statements after it. Shared variables
become their arguments and results. The first and the last are compiled functions, with all checks.

A function is split only if its behaviour stays equal: its source must compile to its own code again, and no inner
function may share its variables. A replay sums the cotangents of an input before other cotangents arrive. So the first
piece is replayed only if later pieces use none of its Tensors that require a gradient. Then the order of sums, and
every bit, stays.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy

from adjoint.compilation.recordings.reach import Reach
from adjoint.core.graph import TensorBase
from adjoint.runtime.caches import memoize
from adjoint.runtime.pytree import is_container

#: Statements and expressions that tie the variables of a function to its frame, or leave it.
_TIES = (
    ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await, ast.ClassDef, ast.Delete, ast.FunctionDef, ast.Global,
    ast.Import, ast.ImportFrom, ast.Nonlocal, ast.Yield, ast.YieldFrom,
)  # fmt: skip
#: Expressions with a frame of their own, which may outlive their statement.
_INNER = (ast.Lambda, ast.GeneratorExp)
#: Functions that look at the variables of a frame.
_FRAME_FUNCTIONS = frozenset(("locals", "vars", "dir", "eval", "exec", "super", "__class__"))
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


class Piece:
    """Some statements of a function as a function.

    plain: runs them. takes: the variables that are its arguments. gives: the variables that are its results, None for
    the piece that returns the function's result. replayed: `plain` as a compiled function, or None.
    """

    def __init__(self, plain: Any, takes: list[str], gives: list[str] | None, replayed: Any) -> None:
        self.plain, self.takes, self.gives, self.replayed = plain, takes, gives, replayed
        #: The arguments that later pieces use, too.
        self.shared: list[int] = []

    def call(self, variables: dict[str, Any]) -> Any:
        """Run the statements on the variables of the function."""
        values = [variables[name] for name in self.takes]
        function = self.plain if self.replayed is None or not self._can_be_replayed(values) else self.replayed
        result = function(*values)
        if self.gives is not None:
            variables.update(zip(self.gives, result, strict=True))
        return result

    def _can_be_replayed(self, values: list[Any]) -> bool:
        if any(is_container(type(value)) for value in values):
            return False  # a replay takes containers apart
        return all(has_no_gradient(values[k]) for k in self.shared)


class Pieces:
    """A function in up to three pieces, called like the function.

    line: the first line of the statement that runs as it is. bind: gives the function's parameters, by its signature.
    """

    def __init__(self, line: int, bind: Callable[..., Any], parts: list[Piece]) -> None:
        self.line, self.bind, self.parts = line, bind, parts
        for k, part in enumerate(parts):
            later = parts[k + 1 :]
            names = {name for other in later for name in other.takes}
            part.shared = [n for n, name in enumerate(part.takes) if name in names]
            if part.replayed is not None and later:
                grad_tensors = grad_tensors_seen_by(part.plain)
                if grad_tensors and any(grad_tensors & grad_tensors_seen_by(other.plain) for other in later):
                    part.replayed = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        variables = self.bind(*args, **kwargs)
        return [part.call(variables) for part in self.parts][-1] if self.parts[-1].gives is None else None

    def __str__(self) -> str:
        parts = [f"  {part.replayed or 'statements that run as they are'}" for part in self.parts]
        return "\n".join([f"it is replayed in pieces around line {self.line}:", *parts])


#: Types of values without a gradient.
_NUMBERS = frozenset((int, float, bool, complex, str, bytes, type(None), numpy.ndarray, numpy.dtype))


def has_no_gradient(value: Any) -> bool:
    """True for a value through which no gradient goes: a Tensor that requires none, an array, a number."""
    if isinstance(value, TensorBase):
        return value._node is None and value._view is None and not value._requires
    return type(value) in _NUMBERS


def grad_tensors_seen_by(function: Any) -> set[int]:
    """The ids of the Tensors that a function sees besides its arguments and that require a gradient."""
    return {id(tensor) for tensor in Reach(function).tensors if not has_no_gradient(tensor)}


def pieces_of(function: Any, line: int, compiled: Callable[[Any, bool], Any]) -> Pieces | None:
    """The pieces around the statement on a line; None for a function that cannot be split.

    compiled: makes a compiled function of a piece; its second argument says whether the results are variables.
    """
    definition = definition_of(function)
    if definition is None:
        return None
    body = definition.body
    number = next((k for k, statement in enumerate(body) if _first_line(statement) <= line <= _end(statement)), None)
    if number is None or is_tied(definition, function.__code__) or _returns(body[:number]):
        return None
    before, middle, behind = body[:number], body[number : number + 1], body[number + 1 :]
    if _returns(middle):
        # the code after it may not be reached
        middle, behind = middle + behind, []
    if not before and not behind:
        return None
    return _Taken(function, definition, compiled).pieces(before, middle, behind)


class _Taken:
    """A function split into pieces."""

    def __init__(self, function: Any, definition: ast.FunctionDef, compiled: Callable[[Any, bool], Any]) -> None:
        self.function, self.definition, self.compiled = function, definition, compiled
        code = function.__code__
        self.variables = frozenset((*code.co_varnames, *code.co_cellvars))
        self.parameters = list(code.co_varnames[: _n_parameters(code)])

    def pieces(self, before: list[ast.stmt], middle: list[ast.stmt], behind: list[ast.stmt]) -> Pieces | None:
        bound_names = set(self.parameters)
        parts: list[Piece] = []
        rest = [before, middle, behind]
        for k, statements in enumerate(rest):
            if not statements:
                continue
            later = [statement for others in rest[k + 1 :] for statement in others]
            takes = sorted(self._variables_read(statements, set()))
            stored = self._assigned_variables(statements)
            gives = sorted(stored & self._variables_read(later, set()))
            if not set(takes) <= bound_names or not set(gives) <= bound_names | self._surely_stored(statements):
                return None  # a variable may have no value
            function = self._function(takes, statements, gives if later else None)
            # a variable that a statement may leave as it is goes in and comes out
            if not set(gives) <= set(takes) | self._surely_stored(statements):
                takes = sorted({*takes, *(set(gives) & bound_names)})
                function = self._function(takes, statements, gives)
            replayed = None if statements is middle else self.compiled(function, bool(later))
            parts.append(Piece(function, takes, gives if later else None, replayed))
            bound_names |= set(gives)
        return Pieces(_first_line(middle[0]), self._bind(), parts)

    def _bind(self) -> Callable[..., Any]:
        """A function of the same signature, which gives the parameters by name."""
        items = ast.Dict(
            [ast.Constant(name) for name in self.parameters], [ast.Name(name, ast.Load()) for name in self.parameters]
        )
        bound = self._compile(self.definition.args, [ast.Return(items)])
        binder = FunctionType(
            bound, self.function.__globals__, bound.co_name, self.function.__defaults__, self._cells(bound)
        )
        binder.__kwdefaults__ = self.function.__kwdefaults__
        return binder

    def _function(self, takes: list[str], statements: list[ast.stmt], gives: list[str] | None) -> Any:
        """A function of some variables that runs statements and gives variables; None where the statements return."""
        body = list(statements)
        if gives is not None:
            body.append(ast.Return(ast.Tuple([ast.Name(name, ast.Load()) for name in gives], ast.Load())))
        arguments = ast.arguments([], [ast.arg(name) for name in takes], None, [], [], None, [])
        code = self._compile(arguments, body)
        function = FunctionType(code, self.function.__globals__, code.co_name, None, self._cells(code))
        function.__qualname__, function.__module__ = self.function.__qualname__, self.function.__module__
        return function

    def _compile(self, arguments: ast.arguments, body: list[ast.stmt]) -> CodeType:
        return compiled_code(self.function.__code__, self.definition, arguments, body)

    def _cells(self, code: CodeType) -> tuple[Any, ...]:
        cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True))
        return tuple([cells[name] for name in code.co_freevars])

    # variables --------------------------------------------------------------------------------------------------------

    def _assigned_variables(self, statements: Iterable[ast.AST]) -> set[str]:
        """The variables that statements may set."""
        return {
            *_names(statements, ast.Store), *[h.name for s in statements for h in ast.walk(s) if _is_named_handler(h)]
        } & self.variables  # fmt: skip

    def _surely_stored(self, statements: Iterable[ast.stmt]) -> set[str]:
        """The variables that statements set however they go."""
        names: set[str] = set()
        for statement in statements:
            targets: Sequence[ast.expr] = ()
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.AnnAssign) and statement.value):
                targets = [statement.target]
            names |= {name for target in targets for name in _bound_by(target)}
        return names & self.variables

    def _variables_read(self, statements: Iterable[ast.stmt], bound_names: set[str]) -> set[str]:
        """The variables that statements read before they set them."""
        bound_names = set(bound_names)
        names: set[str] = set()
        for statement in statements:
            if isinstance(statement, ast.For):
                names |= self._read([statement.iter]) - bound_names
                names |= self._variables_read(statement.body, bound_names | set(_bound_by(statement.target)))
                names |= self._variables_read(statement.orelse, bound_names)
            else:
                names |= self._read([statement]) - bound_names
            bound_names |= self._surely_stored([statement])
        return names

    def _read(self, nodes: Iterable[ast.AST]) -> set[str]:
        """The variables that are read somewhere."""
        added = {
            node.target.id
            for each in nodes
            for node in ast.walk(each)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        }
        return (_names(nodes, ast.Load) | added) & self.variables


def definition_of(function: Any) -> ast.FunctionDef | None:
    """The definition of a function, if its source is available and compiles to the function."""
    if type(function) is not FunctionType:
        return None
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    definition = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(definition, ast.FunctionDef):
        return None
    ast.increment_lineno(definition, first - 1)
    arguments = definition.args
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    code = function.__code__
    return definition if is_same_code(compiled_code(code, definition, arguments, definition.body), code) else None


def compiled_code(
    model: CodeType, definition: ast.FunctionDef, arguments: ast.arguments, body: list[ast.stmt]
) -> CodeType:
    """Compile a body as a replacement for the code of a function, with the same free variables."""
    inner = ast.FunctionDef(definition.name, arguments, body, [], None, None)
    outer = ast.FunctionDef(
        "_", ast.arguments([], [ast.arg(name) for name in model.co_freevars], None, [], [], None, []), [inner], [], None
    )
    for node in (inner, outer):
        if "type_params" in node._fields:
            node.type_params = []
    ast.copy_location(inner, definition)
    ast.copy_location(outer, definition)
    module = ast.fix_missing_locations(ast.Module([*imports_of(model.co_filename), outer], []))
    code = compile(module, model.co_filename, "exec", model.co_flags & _FUTURE, dont_inherit=True)
    outer_code = next(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return next(constant for constant in outer_code.co_consts if isinstance(constant, CodeType))


@memoize(64)
def imports_of(file: str) -> list[ast.stmt]:
    """An import for each name that a file imports: Python calls attributes of these in another way."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    inner = [n for s in ast.walk(tree) if isinstance(s, (ast.FunctionDef, ast.Lambda)) for n in ast.walk(s)]
    names = [
        (alias.asname or alias.name).partition(".")[0]
        for statement in set(ast.walk(tree)) - set(inner)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    ]
    return [ast.Import([ast.alias(name)]) for name in sorted(set(names)) if name.isidentifier()]


#: The fields of code objects without constants.
_CONTENTS = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_posonlyargcount",
    "co_kwonlyargcount",
)  # fmt: skip


def is_same_code(one: CodeType, other: CodeType) -> bool:
    """True for code that does the same."""
    if any(getattr(one, name) != getattr(other, name) for name in _CONTENTS):
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        is_same_code(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else repr(a) == repr(b)
        for a, b in zip(one.co_consts, other.co_consts, strict=True)
    )


def is_tied(definition: ast.FunctionDef, code: CodeType) -> bool:
    """True for a function that could notice the split, by its frame or by variables of inner functions."""
    for statement in definition.body:
        for node in ast.walk(statement):
            if isinstance(node, _TIES) or (isinstance(node, ast.Name) and node.id in _FRAME_FUNCTIONS):
                return True
            if isinstance(node, _INNER) and _names([node], ast.Load) & set(code.co_cellvars):
                return True
    return False


def _returns(statements: Iterable[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for statement in statements for node in ast.walk(statement))


def _names(nodes: Iterable[ast.AST], context: type) -> set[str]:
    return {n.id for each in nodes for n in ast.walk(each) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _is_named_handler(node: ast.AST) -> bool:
    return isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name is not None


def _bound_by(target: ast.expr) -> list[str]:
    """The variables that a target sets; parts of objects are none."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for member in target.elts for name in _bound_by(member)]
    return _bound_by(target.value) if isinstance(target, ast.Starred) else []


def _first_line(statement: ast.stmt) -> int:
    return statement.lineno


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _n_parameters(code: CodeType) -> int:
    """How many variables are parameters."""
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + stars
