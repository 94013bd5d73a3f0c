"""Run libraries that are written for torch on adjoint and on PyTorch, and write docs/torch-libraries.md:

python scripts/try_torch_libraries.py --adjoint PYTHON --torch PYTHON --libraries FOLDER --sources FOLDER [--only WORD]

PYTHON: interpreters with NumPy, SciPy, pytest and adjoint's other dependencies, the second one with PyTorch. FOLDER:
the target of `pip install --no-deps --target` for the libraries, and the folder of their unpacked source packages.
scripts/torch_libraries.json stores the outcomes. --only runs the libraries whose name contains a word, --page runs
none.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "torch-libraries.md"
KEPT = ROOT / "scripts" / "torch_libraries.json"
LONGEST = 900


class Notes(NamedTuple):
    """What is known about a library besides its program.

    tests: its tests, if the package has some, as paths in the folder of the source package, or in that of the installed
    libraries if they begin with "/". reason: why its program stops.
    """

    tests: str = ""
    reason: str = ""


#: The programs, in files with the names of the distributions. Each prints the numbers to compare.
PROGRAMS = ROOT / "scripts" / "torch_programs"
NOTES = {
    "keras": Notes(
        "/keras/src/ops/nn_test.py keras/src/ops/linalg_test.py keras/src/ops/math_test.py keras/src/losses"
    ),
    "pytorch-minimize": Notes("tests"),
    "tensorly": Notes("/tensorly"),
    "torchquad": Notes("tests"),
    "linear_operator": Notes("test/functions test/utils"),
    "gpytorch": Notes("test/constraints test/distributions test/means test/priors"),
    "zuko": Notes("tests"),
    "torch-optimizer": Notes("tests/test_basic.py tests/test_optimizer.py tests/test_param_validation.py"),
    "e3nn": Notes("", "it makes its functions as programs of torch.fx, which is left out"),
}

#: The functions that programs use besides torch: `show` prints numbers, `fixed` sets parameters without random numbers.
PRELUDE = """
import warnings
warnings.simplefilter("ignore")
import torch
def show(*values):
    for value in values:
        value = value.detach() if hasattr(value, "detach") else torch.as_tensor(value)
        print(*[f"{float(x):.5e}" for x in value.double().reshape(-1)])
def fixed(module):
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_((torch.sin(torch.arange(p.numel()) * 1.7 + k) * 0.3).view(p.shape))
    return module
"""
HEAD = """\
# Libraries written for torch

These libraries import torch. They run unchanged with adjoint under that name (`python -m adjoint.as_torch`, or
`adjoint.as_torch.install()`). `scripts/try_torch_libraries.py` writes this page. For each library it runs a program of
typical calls on adjoint and on PyTorch {torch}, and compares the printed numbers. If the library's source package has
tests, it runs them, too.

| library | program | tests: passed on adjoint | passed on PyTorch |
|---|---|---|---|
"""


def names() -> list[str]:
    """The distributions of the libraries."""
    return sorted((file.stem for file in PROGRAMS.glob("*.py")), key=str.lower)


def notes_of(name: str) -> Notes:
    """What is known about a library."""
    return NOTES.get(name, Notes())


class Outcome(NamedTuple):
    """The outcome of a library: of its program, and the numbers of tests that passed with adjoint and with torch."""

    version: str
    program: str
    of_adjoint: int
    of_torch: int


def environment(options: Any) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(options.libraries)]),
        "DDE_BACKEND": "pytorch",
        "HF_HUB_OFFLINE": "1",
        "KERAS_BACKEND": "torch",
        "OMP_NUM_THREADS": "1",
        "TENSORLY_BACKEND": "pytorch",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run(command: list[str], options: Any, folder: Path | None = None) -> tuple[int, str]:
    """The result and the output of a command."""
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env=environment(options), timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return 1, f"not done after {LONGEST} s"
    return process.returncode, process.stdout + process.stderr


def numbers(text: str) -> list[float]:
    """The numbers in the lines that have only numbers; libraries print other lines, too."""
    lines = [line for line in text.splitlines() if re.fullmatch(r"(\s*[-+]?([\d.]+(e[-+]?\d+)?|nan|inf))*\s*", line)]
    return [float(word) for line in lines for word in line.split()]


def try_program(name: str, options: Any) -> str:
    """The outcome of a program: "same numbers", "other numbers", or the last line of its error."""
    text = PRELUDE + (PROGRAMS / f"{name}.py").read_text()
    installed = "import adjoint.as_torch\nadjoint.as_torch.install()\n" + text
    (failed, output), (torch_failed, reference) = (
        run([str(python), "-c", program], options)
        for python, program in ((options.adjoint, installed), (options.torch, text))
    )
    if torch_failed:
        raise RuntimeError(f"{name}: the program fails on PyTorch:\n{reference}")
    if failed:
        return "stops: " + output.strip().splitlines()[-1]
    mine, theirs = numbers(output), numbers(reference)
    scale = max(abs(number) for number in theirs if math.isfinite(number))
    near = all(
        a == b or abs(a - b) <= 2e-4 * abs(b) + 1e-4 * scale or (math.isnan(a) and math.isnan(b))
        for a, b in zip(mine, theirs, strict=False)
    )
    return "same numbers" if near and len(mine) == len(theirs) else "other numbers"


def tests_passed(name: str, options: Any, python: Path, module: list[str]) -> int:
    """The number of tests that pass."""
    tests = notes_of(name).tests
    is_installed = tests.startswith("/")
    folder = options.libraries if is_installed else next(options.sources.glob(f"{name.replace('-', '[-_]')}-*"))
    plugins = [word for name in ("jaxtyping", "typeguard", "torchtyping", "xdist") for word in ("-p", f"no:{name}")]
    files = tests.removeprefix("/").split()
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, "-W", "ignore", *files]
    _, output = run([str(python), *module, *pytest], options, folder)
    counts = re.findall(r"(\d+) passed", output)
    return int(counts[-1]) if counts else 0


def outcome(name: str, options: Any) -> Outcome:
    """The outcome of a library."""
    sys.path.insert(0, str(options.libraries))
    version = importlib.metadata.version(name)
    program = try_program(name, options)
    of_adjoint = of_torch = 0
    if notes_of(name).tests:
        of_adjoint = tests_passed(name, options, options.adjoint, ["-m", "adjoint.as_torch"])
        of_torch = tests_passed(name, options, options.torch, [])
    return Outcome(version, program, of_adjoint, of_torch)


def page(outcomes: dict[str, Outcome], torch: str) -> str:
    """The whole page."""
    rows, reasons = [], []
    for name in names():
        if name not in outcomes:
            continue
        one, notes = outcomes[name], notes_of(name)
        tests = f"{one.of_adjoint} | {one.of_torch}" if notes.tests else "– | –"
        rows.append(f"| {name} {one.version} | {one.program.partition(':')[0]} | {tests} |")
        if one.program.startswith("stops"):
            reasons.append(f"- {name}: {one.program.partition(': ')[2]}")
        if notes.reason:
            reasons.append(f"- {name}: {notes.reason}")
    text = HEAD.format(torch=torch) + "\n".join(rows) + "\n"
    return text + ("\n## What stops\n\n" + "\n".join(reasons) + "\n" if reasons else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("adjoint", "torch", "libraries", "sources"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else {"torch": "", "outcomes": {}}
    outcomes = {name: Outcome(*values) for name, values in stored["outcomes"].items()}
    if not options.page:
        _, version = run([str(options.torch), "-c", "import torch; print(torch.__version__)"], options)
        stored["torch"] = version.strip().partition("+")[0]
        for name in names():
            if options.only in name:
                outcomes[name] = outcome(name, options)
                print(name, outcomes[name], flush=True)
                stored["outcomes"] = outcomes
                KEPT.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(page(outcomes, stored["torch"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
