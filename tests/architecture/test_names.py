"""Names are nouns for things and verbs for actions: no name is a bare participle or another word that says nothing.

`found` says that something was found, and not what: `match`, `indices`, `result` do. The test looks at variables,
parameters, attributes, functions and classes. The table lacks `left`, since the word means a side in most places.

A function has the verb itself as its name (`pad`), or a noun (`padding`): a participle (`padded`) is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The folders that the test reads, each with the folders in it.
FOLDERS = ("src/adjoint", "agreement", "benchmarks", "docs/_extensions", "examples", "scripts", "tests", "trust")
#: Words that name nothing.
REFUSED = {
    "asked", "asks", "begun", "brought", "built", "called", "chosen", "come", "done", "drawn", "entered", "felt",
    "found", "given", "gone", "got", "heard", "held", "inside", "kept", "known", "made", "meant", "moved", "named",
    "own", "passed", "said", "seen", "sent", "settled", "shaped", "shown", "spoken", "started", "taken", "told",
    "used", "wanted", "without", "written",
}  # fmt: skip
#: Words that are also verbs: good names for functions, but not for values.
VERBS = {"fit", "let", "place", "put", "read"}
#: Participles without the ending -ed.
IRREGULAR = {
    "bent", "bound", "broken", "caught", "cut", "found", "given", "grown", "laid", "led", "overridden",
    "overwritten", "rebuilt", "rewritten", "shaken", "taken", "unseen", "untaken", "written",
}  # fmt: skip
#: Words that may stand behind a participle.
PARTICLES = ("back", "down", "forward", "in", "off", "on", "out", "up")
#: Words in -ed that are verbs or nouns.
NO_PARTICIPLES = {"bleed", "embed", "exceed", "feed", "heed", "need", "proceed", "seed", "speed", "succeed"}
#: Names that stay, by file, with their reasons.
EXCEPTIONS = {
    ("src/adjoint/core/saved_hooks.py", "composed"): "a public name",
    ("src/adjoint/functions/counting.py", "searchsorted"): "torch's function",
    ("src/adjoint/functions/sparse_operations.py", "rebuilt"): "a name in saved files",
    ("src/adjoint/interop/array_api/reductions.py", "searchsorted"): "a function of the array API",
    ("src/adjoint/interop/sparse/linalg.py", "factorized"): "SciPy's function",
    ("src/adjoint/jit.py", "unused"): "torch's decorator",
    ("src/adjoint/nn/utils/parametrize.py", "cached"): "torch's function",
    ("src/adjoint/rules/declare.py", "shown"): "an option of declarations, which the core reads",
    ("src/adjoint/scipy/_patching.py", "patched"): "a public name",
    ("src/adjoint/solvers/structure/derivatives.py", "unseen"): "a documented attribute",
    ("src/adjoint/tensor/memory/storage.py", "untyped"): "torch's method",
    ("src/adjoint/tools/profiler/legacy.py", "entered"): "torch's attribute",
    ("src/adjoint/tools/profiler/profile.py", "entered"): "torch's attribute",
    ("src/adjoint/tools/profiler/profile.py", "finished"): "a public attribute",
    ("src/adjoint/tools/profiler/ranges.py", "entered"): "torch's attribute",
    ("tests/support/stand_in_cupy.py", "done"): "CuPy's attribute",
    ("trust/suite.py", "passed"): "pytest's word, and a key of stored outcomes",
}
FILES = sorted(
    file.relative_to(ROOT)
    for file in [ROOT / "setup.py", *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))]
)


def names(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """The names that a file defines, with their lines. True for functions, and for classes named like functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name, node.lineno, False
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno, False
            case ast.arg(arg=name):
                yield name, node.lineno, False
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno, False
            case ast.FunctionDef(name=name):
                yield name, node.lineno, True
            case ast.ClassDef(name=name):
                yield name, node.lineno, name.islower()


def is_participle(name: str) -> bool:
    word = re.sub(f"_({'|'.join(PARTICLES)})$", "", name)
    return word in IRREGULAR or (re.fullmatch("[a-z]+ed", word) is not None and word not in NO_PARTICIPLES)


def participles(text: str) -> list[tuple[str, int]]:
    """The functions of a file whose names are participles, and their lines. Python gives `__reversed__` its name."""
    functions = [(name, line) for name, line, is_function in names(ast.parse(text)) if is_function]
    return [(name.strip("_"), line) for name, line in functions if name[:2] != "__" and is_participle(name.strip("_"))]


def refused_names(text: str) -> list[tuple[str, int]]:
    """The refused names of a file, and their lines."""
    return [
        (word, line)
        for name, line, is_function in names(ast.parse(text))
        if (word := name.strip("_")) in REFUSED or (word in VERBS and not is_function)
    ]


@pytest.mark.parametrize("folder", sorted({file.parent.as_posix() for file in FILES}))
def test_names_say_what_they_name(folder: str) -> None:
    hits = [
        f"{file}:{line}: {word}"
        for file in FILES
        if file.parent.as_posix() == folder
        for word, line in refused_names((ROOT / file).read_text())
        if (file.as_posix(), word) not in EXCEPTIONS
    ]
    assert hits == []


@pytest.mark.parametrize("folder", sorted({file.parent.as_posix() for file in FILES}))
def test_functions_have_verbs_or_nouns(folder: str) -> None:
    hits = [
        f"{file}:{line}: {word}"
        for file in FILES
        if file.parent.as_posix() == folder
        for word, line in participles((ROOT / file).read_text())
        if (file.as_posix(), word) not in EXCEPTIONS
    ]
    assert hits == []


@pytest.mark.parametrize(("file", "name"), EXCEPTIONS, ids=str)
def test_exceptions_are_needed(file: str, name: str) -> None:
    text = (ROOT / file).read_text()
    assert name in [word for word, _ in refused_names(text) + participles(text)]


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "def f(kept): pass",
        "def f(*named): pass",
        "lambda own: own",
        "[chosen for chosen in x]",
        "def _written(): pass",
        "self._begun = 1",
        "class A:\n    passed: bool",
        "read = 1",
        "for place in x: pass",
        "try: pass\nexcept E as seen: pass",
        "match x:\n    case [found, *_]: pass",
    ],
)
def test_the_test_sees_a_refused_name(text: str) -> None:
    assert refused_names(text)


@pytest.mark.parametrize("text", ["def read(): pass", "left = 1", "found_at = 1", "x = kept", "f(own=1)"])
def test_the_test_passes_other_names(text: str) -> None:
    assert not refused_names(text)


@pytest.mark.parametrize(
    "text",
    ["def padded(): pass", "class A:\n    def _overwritten(self): pass", "def laid_out(): pass", "class padded: pass"],
)
def test_the_test_sees_a_participle(text: str) -> None:
    assert participles(text)


@pytest.mark.parametrize(
    "text",
    [
        "def pad(): pass",
        "def seed(): pass",
        "padded = 1",
        "def has_padded(): pass",
        "class Padded: pass",
        "def __reversed__(self): pass",
    ],
)
def test_the_test_passes_verbs_and_nouns(text: str) -> None:
    assert not participles(text)
