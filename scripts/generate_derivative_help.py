"""Write src/adjoint/functions/derivative_help.py: the operations that give the derivative of each public function.

python scripts/generate_derivative_help.py

Every function of several operations is called once, with the arguments of tests/support/function_calls.py. The graph
of the call lists the operations and the tensors that they save. A function that records one operation has the formulas
of that operation.
"""

from __future__ import annotations

import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "adjoint" / "functions" / "derivative_help.py"
sys.path.insert(0, str(ROOT / "tests"))

import adjoint  # noqa: E402
from adjoint import Tensor  # noqa: E402
from adjoint.core.operations.operation import Operation  # noqa: E402
from adjoint.functions import help  # noqa: E402
from adjoint.functions.composite import COMPOSITES  # noqa: E402
from adjoint.rules import TABLE, Rule  # noqa: E402
from support.function_calls import CALLS, call  # noqa: E402
from support.function_probe import Problem, look_up, tensor_of  # noqa: E402

HEAD = '''\
"""How the derivative of each public function of several operations follows, and what is saved.

Written by scripts/generate_derivative_help.py from recorded calls.
"""

from __future__ import annotations

# fmt: off
_NAMES: dict[str, str] = {
'''
FOOT = """\
}
# fmt: on

#: A paragraph of the help of each function, by its public name.
PARAGRAPHS: dict[str, str] = {name: text for text, names in _NAMES.items() for name in names.split()}
"""
NONE = "Derivative: none."
SAME = "Derivative: the cotangent itself, since the result is the input."
RANDOM = "Derivative: none; the tensor is filled with new numbers."
REFUSED = "Derivative: not implemented; a backward pass through the result raises an error."
CHAIN = "Derivative: the chain rule through the recorded operations: "
_WIDTH = 112
_LONGEST = 100
#: Names in formulas that are explained only in their file.
_PRIVATE = re.compile(r"(?<![\w.])(_\w+|by|of_source)\(")

#: Functions and methods without a tensor that could get a derivative.
CONSTANT = (
    "signal.windows.", "fft.fftfreq", "fft.rfftfreq", "Tensor.apply_", "Tensor.map_", "Tensor.map2_", "Tensor.resize_",
    "Tensor.set_", "Tensor.is_set_to", "Tensor.is_contiguous", "Tensor.dim_order",
)  # fmt: skip
#: Functions whose tensors, or results, are sparse.
SPARSE_TEXT = "Derivative: the chain rule through operations on the values of sparse tensors; see docs/sparse.md."
SPARSE = (
    "sparse.", "sparse_", "Tensor.to_sparse", "Tensor.to_dense", "Tensor.sparse_", "Tensor.values", "Tensor.coalesce",
)  # fmt: skip
SPARSE_PARTS = (
    "Tensor.indices", "Tensor._indices", "Tensor._values", "Tensor._nnz", "Tensor.sparse_dim", "Tensor.dense_dim",
    "Tensor.is_coalesced", "Tensor.crow_indices", "Tensor.col_indices", "Tensor.ccol_indices", "Tensor.row_indices",
)  # fmt: skip
_FILLED = ("uniform", "random", "normal", "log_normal", "exponential", "cauchy", "geometric", "bernoulli")
_REFUSING = {"underivable", "NotImplemented"}
#: Dtypes of the calls whose steps differ from those in double precision.
_DTYPES = {
    **dict.fromkeys(("conj", "conj_physical", "imag", "istft", "real", "resolve_conj"), "complex128"),
    **dict.fromkeys(("view_as_real", "view_as_real_copy"), "complex128"),
    "double": "float32",
}
#: Calls of functions without a sufficient call in tests/support/function_calls.py.
_CALLS = {
    **CALLS,
    "copy_": lambda x: call(x(3), x(3)),
    "diff": lambda x: call(x(5)),
    "fill_diagonal_": lambda x: call(x(3, 3), 0.0),
    "threshold_": lambda x: call(x(5), 0.5, 2.0),
}
#: The beginnings of docstrings that refer to another function.
_REFERRING = ("Alias of", "In-place version of", "The older name of")


def names() -> list[str]:
    """Public names of functions and methods of several operations with their own help."""
    spaces = {"(method)": "Tensor"}
    return [
        f"{spaces.get(space, space)}.{name}".lstrip(".")
        for (space, name), declared in COMPOSITES.items()
        if not (declared.function.__doc__ or "").startswith(_REFERRING) and not isinstance(declared.function, Operation)
    ]


def paragraph(name: str) -> str | None:
    """The paragraph about the derivative in the help of a function. None if no call of the function is known.

    >>> print(paragraph("linalg.multi_dot"))
    Derivative: that of the operation matmul (saves mat2, self); see help(adjoint.matmul).
    """
    plain = name.removeprefix("Tensor.")
    in_place = plain.endswith("_") and not plain.endswith("__")
    if in_place and plain.rstrip("_") in _FILLED:
        return RANDOM
    if name.startswith(SPARSE) and name not in SPARSE_PARTS:
        return SPARSE_TEXT
    if name.startswith((*CONSTANT, *SPARSE_PARTS)) or name.endswith("_window"):
        return NONE
    example = plain if plain in _CALLS else plain.removesuffix("_") if in_place else ""
    if example not in _CALLS:
        return None
    leaves, results = record(plain, example)
    return description(name, leaves, results)


def record(name: str, example: str) -> tuple[list[Any], list[Any]]:
    """The leaves and the results of a call; a function in place works on a copy of its first leaf."""
    problem = Problem(example, _DTYPES.get(example, "float64"), _CALLS)
    leaves = [tensor_of(argument).requires_grad_() for argument in problem.leaves]
    arguments = [leaf.clone() for leaf in leaves[:1]] + leaves[1:] if name.endswith("_") else leaves
    call = problem.call_with(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adjoint.manual_seed(0)
        result = look_up(name)(*call.args, **call.kwargs)
    return leaves, list(tensors_of(result))


def tensors_of(value: object) -> Iterator[Any]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from tensors_of(member)


def description(name: str, leaves: list[Any], results: list[Any]) -> str:
    """The paragraph for results that were computed from leaves."""
    nodes = [node for node in nodes_behind(results) if "AccumulateGrad" not in type(node).__name__]
    if name.endswith("_"):
        # the copy that is modified in place
        nodes = [node for node in nodes if operation_of(node) != "clone"]
    if not nodes:
        return SAME if any(result is leaf for result in results for leaf in leaves) else NONE
    if any(operation_of(node) in _REFUSING for node in nodes):
        return REFUSED
    if len(nodes) == 1 and operation_of(nodes[0]) in TABLE:
        return of_one(TABLE[operation_of(nodes[0])], nodes[0])
    saved: dict[str, set[str]] = {}
    for node in nodes:
        saved.setdefault(operation_of(node), set()).update(saved_by(node))
    return CHAIN + ", ".join(f"{operation}{_saves(names)}" for operation, names in saved.items()) + "."


def of_one(rule: Rule, node: Any) -> str:
    """The formulas of the only operation, if they are short. Otherwise the place to read them."""
    lines = help.derivatives(rule)[1:]
    public = help.public_name(rule)
    if any(len(line) > _LONGEST or line.endswith(":") or _PRIVATE.search(line) for line in lines):
        page = f"help(adjoint.{public})" if public else help.declaration_of(rule)[0]
        return f"Derivative: that of the operation {rule.name}{_saves(saved_by(node))}; see {page}."
    return "\n".join([f"Derivative, from the cotangent g of the result y of the operation {rule.name}:", *lines])


def _saves(names: set[str]) -> str:
    return f" (saves {', '.join(sorted(names))})" if names else ""


def nodes_behind(results: list[Any]) -> list[Any]:
    """The nodes of a graph in the order in which they were recorded."""
    waiting, nodes = [result.grad_fn for result in results], {}
    while waiting:
        node = waiting.pop()
        if node is not None and id(node) not in nodes:
            nodes[id(node)] = node
            waiting += [following for following, _ in node.next_functions]
    return sorted(nodes.values(), key=lambda node: node._sequence_nr())


def operation_of(node: Any) -> str:
    """The name of the operation that recorded a node."""
    match = re.fullmatch(r"Recorded by (\w+)\(\)\.", type(node).__doc__ or "")
    return match[1] if match else node.name().rpartition("::")[2]


def saved_by(node: Any) -> set[str]:
    """The names of the tensors that a node saved."""
    names = [name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_")]
    return {name for name in names if any(True for _ in tensors_of(getattr(node, f"_saved_{name}")))}


def paragraphs() -> dict[str, str]:
    """The paragraph of every function whose call is known."""
    composed = {name: paragraph(name) for name in sorted(names())}
    return {name: "\n".join(_wrap(text)) for name, text in composed.items() if text is not None}


def _wrap(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, _WIDTH, subsequent_indent="    ") if len(line) > _WIDTH else [line]


def page() -> str:
    """The text of the file: each paragraph once, with the names of its functions."""
    functions: dict[str, list[str]] = {}
    for name, text in paragraphs().items():
        functions.setdefault(text, []).append(name)
    return HEAD + "".join(_entry(text, members) for text, members in functions.items()) + FOOT


def _entry(text: str, members: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    key = "\n    ".join(_quote(line) for line in lines)
    chunks = textwrap.wrap(" ".join(members), _WIDTH - 10, break_long_words=False, break_on_hyphens=False)
    if len(lines) == len(chunks) == 1 and len(key) + len(chunks[0]) < _WIDTH:
        return f'    {key}: "{chunks[0]}",\n'
    value = "".join(f"\n        {_quote(chunk)}" for chunk in [f"{chunk} " for chunk in chunks[:-1]] + chunks[-1:])
    return f"    {key}: ({value}\n    ),\n" if len(chunks) > 1 else f"    {key}:{value},\n"


def _quote(line: str) -> str:
    return '"' + line.replace("\n", "\\n") + '"' if '"' not in line else repr(line)


if __name__ == "__main__":
    FILE.write_text(page())
