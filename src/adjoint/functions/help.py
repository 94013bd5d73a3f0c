"""The help of an operation, composed from its declaration at first use.

`help(adjoint.tanh)`, `adjoint.tanh.__doc__` and an editor show the facts of the declaration: the computation, the
signature, the rules for shapes and dtypes, the derivative by each input with its saved values, the errors that follow
from its kind, an example, the name in PyTorch, and the location of the declaration.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

import adjoint.rules as rules_package
from adjoint.functions import examples
from adjoint.functions.composite import COMPOSITES
from adjoint.rules.declare import Formula, Partial, Rule
from adjoint.runtime.caches import memoize
from adjoint.tensor.signatures import method_signature_of, signature_of

_RULES = Path(rules_package.__file__).parent
_PACKAGE = _RULES.parent.parent
_DECLARE = str(_RULES / "declare.py")
_LONGEST = 12

#: Methods that PyTorch does not have: there these are functions in place only.
_WITHOUT_TORCH = frozenset((
    "celu_", "elu_", "hardsigmoid_", "hardswish_", "hardtanh_", "leaky_relu_", "mish_", "rrelu_with_noise_", "silu_",
    "threshold_",
))  # fmt: skip
_DTYPES = {
    "any": "each input keeps its dtype",
    "same": "inputs are promoted to one dtype",
    "float": "inputs are promoted to one dtype; integers and truth values become the default floating-point dtype",
}


def of_operation(rule: Rule) -> str:
    """The help of an operation.

    >>> from adjoint.rules import TABLE
    >>> print(of_operation(TABLE["tanh"]).split("    >>>")[0].strip())
    numpy.tanh, elementwise.
    <BLANKLINE>
    tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor
    <BLANKLINE>
    Shapes: the result has the shape of the input.
    Dtypes: inputs are promoted to one dtype; integers and truth values become the default floating-point dtype.
    Derivative, from the cotangent g of the result y (complex factors are conjugated):
        by input: g - g * y * y (saves y)
    In place: Tensor.tanh_().
    Raises TypeError for what is no tensor.
    """
    public = public_name(rule)
    torch_name = f"torch.{public}" if public else ""
    return _compose(rule, f"{public or rule.name}{_signature_text(signature_of(rule))}", torch_name)


def of_method(rule: Rule, name: str) -> str:
    """The help of an operation's method."""
    return _compose(rule, f"Tensor.{name}{_signature_text(method_signature_of(rule))}", f"torch.Tensor.{name}")


def of_method_in_place(rule: Rule, name: str) -> str:
    """The help of an operation in place."""
    lines = [
        f"In-place version of {rule.name}().",
        "",
        f"Tensor.{name}{_signature_text(method_signature_of(rule))}",
        "",
        "The result is written into the tensor, which is returned. The version of the memory counts up, and the tensor",
        "gets the history of the result; so does the base of a view.",
        "Raises RuntimeError for a leaf that requires a gradient or a view of one while gradients are recorded, where",
        "the result has another shape or a dtype that the tensor cannot hold, and where elements of the tensor lie in",
        "the same memory. Backward raises RuntimeError where it needs the values that were overwritten.",
        "",
        f"See {rule.name}() for the rest.",
        "",
        *_references(rule, "" if name in _WITHOUT_TORCH else f"torch.Tensor.{name}"),
    ]
    return "\n".join(lines)


def _compose(rule: Rule, signature: str, torch_name: str) -> str:
    summary, _, more = summary_of(rule).partition("\n\n")
    facts = [
        f"Shapes: {_shapes(rule)}.",
        f"Dtypes: {_DTYPES[rule.dtypes]}.",
        *derivatives(rule),
        *([f"In place: Tensor.{_in_place_name(rule)}()."] if rule.inplace else []),
        f"Raises {'; '.join(_errors(rule))}.",
    ]
    parts = [
        summary,
        signature,
        more.strip(),
        "\n".join(facts),
        _example(rule, more),
        "\n".join(_references(rule, torch_name)),
    ]
    return "\n\n".join(part for part in parts if part)


def _example(rule: Rule, more: str) -> str:
    """The example of the table, where the declaration has none."""
    text = "" if ">>> " in more else examples.example_of(rule.name)
    return "\n".join(f"    {line}" for line in (">>> import adjoint", *text.splitlines())) if text else ""


def _references(rule: Rule, torch_name: str) -> list[str]:
    path, line = declaration_of(rule)
    return [*([f"PyTorch: {torch_name}"] if torch_name else []), f"Declared at {path}:{line}"]


def public_name(rule: Rule) -> str:
    """The name by which users call an operation; empty if only other operations call it.

    >>> from adjoint.rules import TABLE
    >>> public_name(TABLE["tanh"]), public_name(TABLE["linalg_svd"]), public_name(TABLE["special_ndtr"])
    ('tanh', '', 'special.ndtr')
    """
    if rule.function:
        return rule.name
    names = [
        f"{space}.{name}".lstrip(".")
        for (space, name), declared in COMPOSITES.items()
        if getattr(declared.function, "rule", None) is rule and space != "(method)"
    ]
    # its own name comes before its aliases
    return min(names, key=lambda name: name.replace(".", "_") != rule.name, default="")


def summary_of(rule: Rule) -> str:
    """The declaration's text; a kernel of NumPy's own is named."""
    return rule.doc or f"numpy.{getattr(numpy, str(rule._kernel)).__name__}, elementwise."


def _signature_text(signature: inspect.Signature) -> str:
    # annotations are texts, which would be shown in quotes
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature))


def _in_place_name(rule: Rule) -> str:
    return f"{rule.name}_" if rule.inplace is True else str(rule.inplace)


# facts that follow from the kind --------------------------------------------------------------------------------------


def _shapes(rule: Rule) -> str:
    if rule.sequence:
        text = f"{rule.sequence} is a sequence of tensors"
    elif rule.core and rule.core != "()->()":
        text = f"{rule.core}, of the last axes; axes in front of them are a batch"
    elif rule.kind == "elementwise" or rule.core:
        text = "inputs are broadcast" if len(rule.inputs) > 1 else "the result has the shape of the input"
    elif rule.axes:
        text = f"any; axes are given by {' and '.join(rule.axes)}, counted from the end where negative"
    else:
        text = "any that the arguments allow"
    return f"{text}; the result is a view, which shares the memory of the input" if rule.view else text


def _errors(rule: Rule) -> Iterator[str]:
    yield "TypeError for what is no tensor"
    if rule.kind == "elementwise" and len(rule.inputs) > 1:
        yield "RuntimeError for shapes that cannot be broadcast"
    if rule.core and rule.core != "()->()":
        yield "RuntimeError for shapes that do not fit"
    if rule.axes:
        yield "IndexError for an axis out of range"


def derivatives(rule: Rule) -> list[str]:
    """The derivative by each input, and the values that are saved for it.

    >>> from adjoint.rules import TABLE
    >>> for line in derivatives(TABLE["mul"]):
    ...     print(line)
    Derivative, from the cotangent g of the result y (complex factors are conjugated):
        by input: g * other (saves other)
        by other: g * input (saves input)
    >>> derivatives(TABLE["isnan"])
    ['Derivative: none.']
    """
    if not rule.has_derivative:
        return ["Derivative: none."]
    conjugated = " (complex factors are conjugated)" if rule.kind == "elementwise" else ""
    lines = [f"Derivative, from the cotangent g of the result y{conjugated}:"]
    for formula in rule.vjps:
        inputs, saved = " and ".join(formula.inputs), _saved_values(rule, formula)
        text, is_expression = formula_text(formula)
        if is_expression:
            lines.append(f"    by {inputs}: {text} ({saved})")
        else:
            lines += [f"    by {inputs} ({saved}):", *[f"        {line}" for line in text.splitlines()]]
    return lines


def _saved_values(rule: Rule, formula: Formula) -> str:
    """The inputs and results that a formula saves. Shapes and options are left out, since they take no memory."""
    inputs = [name for name in formula.needs if name in rule.inputs or name in rule.constants]
    results = [name for name in formula.needs if re.fullmatch(r"y\d*", name)]
    return f"saves {', '.join(inputs + results)}" if inputs or results else "saves nothing"


# formulas as they were written ---------------------------------------------------------------------------------------


def formula_text(formula: Formula) -> tuple[str, bool]:
    """The cotangent of a formula's input as the declaration has it, and whether that is an expression.

    Otherwise it is the lines of a function.

    >>> from adjoint.rules import TABLE
    >>> formula_text(TABLE["sin"].vjps[0])
    ('g * ops.cos(input)', True)
    """
    if not isinstance(formula, Partial):
        return _formula_source(formula) or ("see the declaration", True)
    if formula.body.__code__.co_filename in (_DECLARE, "<string>"):
        # a number, or the name of a saved value
        return _product(formula.needs[0] if formula.needs else str(formula.body())), True
    text, is_expression = _formula_source(formula) or ("see the declaration", True)
    if formula.takes_driver:
        return text, is_expression
    return (_product(text), True) if is_expression else (f"# g times this\n{text}", False)


def _product(factor: str) -> str:
    """
    >>> _product("-1"), _product("other"), _product("1 - y * y")
    ('-g', 'g * other', 'g * (1 - y * y)')
    """
    if factor in ("1", "-1", "0"):
        return {"1": "g", "-1": "-g", "0": "0"}[factor]
    simple = isinstance(ast.parse(factor, mode="eval").body, (ast.Name, ast.Constant, ast.Call, ast.Attribute))
    return f"g * {factor}" if simple else f"g * ({factor})"


def _formula_source(formula: Formula) -> tuple[str, bool] | None:
    """The text of a formula, as in `formula_text`; None where there is no source of it."""
    code = formula.body.__code__
    if not Path(code.co_filename).is_file():
        return None
    candidates = [
        each for each in _functions_of(code.co_filename).get(code.co_firstlineno, ()) if _takes(each[1], code)
    ]
    if not candidates:
        return None
    _, node = min(candidates, key=lambda pair: pair[0] not in formula.inputs)
    if isinstance(node, ast.Lambda):
        return ast.unparse(node.body), True
    statements = node.body[1:] if ast.get_docstring(node) else node.body
    if len(statements) == 1 and isinstance(statements[0], ast.Return) and statements[0].value is not None:
        return ast.unparse(statements[0].value), True
    lines = "\n".join(ast.unparse(statement) for statement in statements).splitlines()
    return "\n".join(lines if len(lines) <= _LONGEST else [*lines[:_LONGEST], "..."]), False


_Function = ast.Lambda | ast.FunctionDef


def _takes(node: _Function, code: Any) -> bool:
    """Whether the parameters are those of compiled code."""
    arguments = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return arguments == list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


@memoize(8)
def _functions_of(filename: str) -> dict[int, list[tuple[str, _Function]]]:
    """The functions of a file by the lines where they begin, each with the name of the argument that it is, if any."""
    nodes = list(ast.walk(ast.parse(Path(filename).read_text(encoding="utf-8"))))
    keywords = {node.value: node.arg or "" for node in nodes if isinstance(node, ast.keyword)}
    by_line: dict[int, list[tuple[str, _Function]]] = {}
    for node in nodes:
        if isinstance(node, ast.Lambda):
            by_line.setdefault(node.lineno, []).append((keywords.get(node, ""), node))
        elif isinstance(node, ast.FunctionDef):
            # compiled code begins at the first decorator
            by_line.setdefault(min([node.lineno, *[each.lineno for each in node.decorator_list]]), []).append(
                ("", node)
            )
    return by_line


# where it is declared ------------------------------------------------------------------------------------------------


def declaration_of(rule: Rule) -> tuple[str, int]:
    """File, seen from where the package lies, and line of an operation's declaration.

    >>> from adjoint.rules import TABLE
    >>> [declaration_of(TABLE[name])[0] for name in ("matmul", "exp")]
    ['adjoint/rules/contract.py', 'adjoint/rules/elementwise.py']
    """
    if callable(rule._kernel):
        code = inspect.unwrap(rule._kernel).__code__
        return within_package(code.co_filename), code.co_firstlineno
    words = (rule.name, rule.name, str(rule._kernel), rule.name)
    for table, word in zip(_declarations(), words, strict=True):
        if word in table:
            path, start = table[word]
            return within_package(str(path)), path.read_text(encoding="utf-8").count("\n", 0, start) + 1
    raise LookupError(f"no declaration of {rule.name} in {_RULES}")


@memoize(1)
def _declarations() -> list[dict[str, tuple[Path, int]]]:
    """A table for each pattern, the surest first: the file and the position of the first match, by the word in it."""
    patterns = [r'\bname="(\w+)"', r"^(\w+) = ", r'\belementwise\("(\w+)"', r'"(\w+)"']
    texts = {
        path: path.read_text(encoding="utf-8") for path in sorted(_RULES.glob("*.py")) if path.name != "declare.py"
    }
    tables: list[dict[str, tuple[Path, int]]] = []
    for pattern in patterns:
        # of several matches the first stays
        matches = [(path, match) for path, text in texts.items() for match in re.finditer(pattern, text, re.M)]
        tables.append({match[1]: (path, match.start()) for path, match in reversed(matches)})
    return tables


def within_package(filename: str) -> str:
    """The path of a file of the package, from the package's name on."""
    return Path(filename).relative_to(_PACKAGE).as_posix()
