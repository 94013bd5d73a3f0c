"""The samples: text, in one file per family. `README.md` of the package describes the form.

x, y = normal(3, 4)                   named inputs, made anew for each sample
sum mean [real complex]               functions, and the kinds of dtypes if not all of them
    x ; x, {0|-1|(0, 1)}              arguments of a call; {a|b} stands for one sample with each
    x.mT, dim=1 => r.abs()            after the arrow what is compared instead of the result r
.expand                               a method of the first argument
    x, 2, 3, 4
T [real]                              whole expressions begin with =
    = x.T
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..entries import Entry, all_entries

KINDS = {
    "real": ("float64", "float32"),
    "complex": ("complex128", "complex64"),
    "half": ("float16", "bfloat16"),
    "integer": ("int64", "int32", "uint8"),
    "bool": ("bool",),
    "double": ("float64",),  # where the dtype does not matter
}
EVERY_KIND = ("real", "complex", "half", "integer", "bool")
CHOICE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Sample:
    """One expression, which both libraries evaluate in each of the dtypes."""

    text: str
    dtypes: tuple[str, ...]
    inplace: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Line:
    """Samples of one group as they stand in a file: the function's name, perhaps a method's, and one text."""

    name: str
    method: bool
    text: str
    dtypes: tuple[str, ...]

    def sample(self) -> Sample:
        """The expression of the call."""
        arguments, comparison = separate(self.text)
        if arguments.startswith("="):
            call = arguments[1:].strip()
        elif self.method:
            first, rest = first_and_rest(arguments)
            call = f"({first}).{self.name}({rest})"
        else:
            call = f"{self.name}({arguments})"
        return Sample(call + comparison, self.dtypes)

    def inplace(self, entry: Entry) -> Sample | None:
        """The same call in place on a copy `target` of the first argument; None where that is no Tensor."""
        arguments, comparison = separate(self.text)
        if arguments.startswith("="):
            return None
        first, rest = first_and_rest(arguments)
        if not names_of(first) or "inplace=" in rest:
            return None
        copied = f"(target := ({first}).clone())"
        if entry.name.startswith("nn."):
            call = f"{entry.base}({', '.join(part for part in (copied, rest, 'inplace=True') if part)})"
        else:
            call = f"{copied}.{entry.name}({rest})"
        return Sample(call + comparison, self.dtypes, inplace=True)


def separate(text: str) -> tuple[str, str]:
    """The arguments, and the expression of the result with its arrow."""
    arguments, arrow, comparison = text.partition(" => ")
    return arguments.strip(), arrow + comparison


def first_and_rest(arguments: str) -> tuple[str, str]:
    """The first argument of a call and the others."""
    call = ast.parse(f"f({arguments})", mode="eval").body
    assert isinstance(call, ast.Call)
    parts = [ast.unparse(part) for part in (*call.args, *call.keywords)]
    return (parts[0], ", ".join(parts[1:])) if parts else ("", "")


@cache
def names_of(expression: str) -> tuple[str, ...]:
    """The free names of an expression, in their order."""
    tree = list(ast.walk(ast.parse(expression.strip() or "()", mode="eval")))
    nodes = [node for node in tree if isinstance(node, ast.Name)]
    bound = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in tree if isinstance(node, ast.arg)}
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    return tuple(dict.fromkeys(node.id for node in nodes if node.id not in bound))


def choices(text: str) -> Iterator[str]:
    """The text for each combination of its choices {a|b}."""
    parts = CHOICE.split(text)
    for combination in itertools.product(*(part.split("|") for part in parts[1::2])):
        yield "".join(itertools.chain.from_iterable(itertools.zip_longest(parts[::2], combination, fillvalue="")))


def parse(lines: Iterable[str]) -> Iterator[Line | tuple[str, str]]:
    """The samples of a file, and its named inputs as pairs (name, expression)."""
    names: list[str] = []
    dtypes: tuple[str, ...] = ()
    filled = True  # the group of functions has samples, so that further names begin another
    for line in lines:
        text = line.rstrip()
        if not text or text.lstrip().startswith("#"):
            continue
        if text[0] == " ":
            filled = True
            for part in text.split(" ; "):
                for choice in choices(part.strip()):
                    yield from (Line(name.lstrip("."), name.startswith("."), choice, dtypes) for name in names)
        elif " = " in text:
            left, right = text.split(" = ", 1)
            yield from ((name.strip(), right.strip()) for name in left.split(","))
        else:
            head, _, kinds = text.rstrip("]").partition("[")
            names = head.split() if filled else [*names, *head.split()]
            filled = False
            dtypes = tuple(dtype for kind in kinds.split() or EVERY_KIND for dtype in KINDS[kind])


@cache
def everything() -> tuple[dict[str, list[Line]], dict[str, str]]:
    """The samples of all files by function, and the named inputs."""
    samples: dict[str, list[Line]] = {}
    inputs: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        for entry in parse(path.read_text(encoding="utf-8").splitlines()):
            if isinstance(entry, Line):
                samples.setdefault(entry.name, []).append(entry)
            elif inputs.setdefault(*entry) != entry[1]:
                raise ValueError(f"{path.name}: the input {entry[0]!r} is already {inputs[entry[0]]}")
    return samples, inputs


def samples_of(entry: Entry) -> list[Sample]:
    """The samples of an entry. An in-place variant also has the samples of its function."""
    lines = everything()[0]
    plain = [line.sample() for line in lines.get(entry.name, ())]
    derived = [line.inplace(entry) for line in lines.get(entry.base, ())] if entry.inplace else []
    return list(dict.fromkeys([*plain, *filter(None, derived)]))


def named_inputs() -> dict[str, str]:
    """The expression of every named input."""
    return everything()[1]


def unknown_names() -> set[str]:
    """Functions that have samples and are no entry, nor the function of an in-place entry."""
    entries = all_entries()
    return set(everything()[0]) - set(entries) - {entry.base for entry in entries.values()}
