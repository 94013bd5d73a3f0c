"""The committed type stubs are the output of scripts/generate_stubs.py, and users' code passes strict mypy."""

import importlib.util
import inspect
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint

ROOT = Path(__file__).parents[2]
USER_CODE = Path(__file__).with_name("user_code.py")

specification = importlib.util.spec_from_file_location("generate_stubs", ROOT / "scripts" / "generate_stubs.py")
generate_stubs = importlib.util.module_from_spec(specification)
specification.loader.exec_module(generate_stubs)
PACKAGE = ROOT / "src" / "adjoint"
COMMITTED = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.pyi"))


@pytest.fixture(scope="module")
def stubs():
    return generate_stubs.stubs()


@pytest.mark.parametrize("path", COMMITTED, ids=str)
def test_stubs_are_up_to_date(path, stubs):
    assert (PACKAGE / path).read_text() == stubs[path], "run: python scripts/generate_stubs.py"


def test_every_stub_is_committed(stubs):
    assert set(stubs) == set(COMMITTED)


MISTAKES = """import adjoint
x = adjoint.ones(2)
adjoint.tanh('a')
x.sun()
adjoint.topk(x)
x + 'a'
n: int = x.exp()
"""


@pytest.mark.quick(0)
def test_user_code_is_well_typed_and_mistakes_are_found(tmp_path):
    # one run checks both, since reading all stubs takes most of the time
    mistaken = tmp_path / "mistaken.py"
    mistaken.write_text(MISTAKES)
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--explicit-package-bases"]
    # a separate cache, since parallel tests cannot share mypy's cache
    command = [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path}", str(USER_CODE), str(mistaken)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    places = [line.split(": error:")[0].rpartition(":") for line in result.stdout.splitlines() if ": error:" in line]
    assert {Path(file).name for file, _, _ in places} == {mistaken.name}, result.stdout + result.stderr
    assert {int(line) for _, _, line in places} == {3, 4, 5, 6, 7}, result.stdout + result.stderr


def test_user_code_runs(capsys):
    runpy.run_path(str(USER_CODE), run_name="__main__")
    assert "Size" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (adjoint.tanh, "(input: Tensor, *, out: Tensor | None = None) -> Tensor"),
        (adjoint.Tensor.tanh, "(self) -> Tensor"),
        (adjoint.ones(1).add_, "(other: Tensor | complex, *, alpha: complex = 1) -> Tensor"),
        (adjoint.stack, "(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor"),
        (adjoint.unbind, "(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]"),
    ],
)
def test_signatures(function, text):
    assert str(inspect.signature(function)).replace("'", "") == text


SPACES = [adjoint, adjoint.linalg, adjoint.nn.functional, adjoint.Tensor]


@pytest.mark.quick(1)
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.__name__)
def test_everything_has_a_signature_and_a_documentation(space):
    for name in generate_stubs.public(space):
        value = getattr(space, name)
        if inspect.isroutine(value) or type(value).__name__ == "Operation":
            assert inspect.signature(value) and inspect.getdoc(value), name
