"""The branches of the core, the rules and the transformations that no test takes.

    python -m trust.coverage [--long] [--write] [--only PATH]... [--read]

The command runs the tests as plain Python, one process for each folder. It notes which test takes which branches, in
one file of `build/trust/branches` for each folder. `make mutants` selects its tests by these files. Some folders run
again with the compiled modules, since the other modules call compiled loops. The command notes the branches of these
other modules.

`trust/data/untaken_branches.json` lists the branches that no test takes, each with a reason. The command fails if such
a branch is not in the list. --write updates the list. --only runs some folders or files of tests again. --read runs
none. The short form runs one small folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from trust.branches import NOTES_FILE, ROOT, Branch, branches_of, modules
from trust.figures import Recorder
from trust.judging import COMPILED_FORM, PLAIN_FORM, TAKEN, Tests

LISTED = Path(__file__).parent / "data" / "untaken_branches.json"
NOT_YET = "no test yet"
#: The packages whose branches must all be taken or listed.
PACKAGES = ("core", "rules", "transforms")
#: The folders of tests, and the one of the short form.
FOLDERS = (
    "core", "rules", "functions", "function", "transforms", "program", "tensor", "compilation", "tools", "solvers",
    "arrays", "runtime", "sparse_matrices", "interop", "compat", "nn", "optim", "distributions", "as_torch", "testing",
    "utils", "agreement", "test_messages.py", "test_cuda.py", "test_docstrings.py", "test_doc_pages.py",
)  # fmt: skip
SHORT = ("function",)
#: The folders that also run with the compiled modules.
WITH_LOOPS = ("rules", "functions", "transforms", "nn")


def listed_branches() -> dict[str, str]:
    """The branches that no test takes, and the reasons."""
    return dict(json.loads(LISTED.read_text(encoding="utf-8")))


def test_path(name: str) -> str:
    """A folder or file of tests, below the folder of all."""
    if not (ROOT / "tests" / name).exists():
        raise argparse.ArgumentTypeError(f"there is no tests/{name}")
    return name


def notes_of(folder: str, compiled: bool = False) -> Path:
    """The file of the branches that the tests of a folder take."""
    return TAKEN / f"{COMPILED_FORM if compiled else PLAIN_FORM}{folder.replace('/', '-')}.npz"


def run(folder: str, compiled: bool = False) -> None:
    """Run the tests of a folder or of a file, and store the branches that they take."""
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "src", ROOT / "tests")))
    environment = {
        **os.environ, "PYTHONPATH": paths, NOTES_FILE: str(notes_of(folder, compiled)),
        "ADJOINT_DISABLE_EXT": "" if compiled else "1", "ADJOINT_REQUIRE_EXT": "1" if compiled else "",
    }  # fmt: skip
    words = ["-q", "-p", "trust.noting", "-p", "no:cacheprovider", "-m", "not slow", f"tests/{folder}"]
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, check=False)


def with_loops() -> dict[str, int]:
    """The number of tests that also ran with the compiled modules, if there are any."""
    ran = any(notes_of(folder, compiled=True).exists() for folder in WITH_LOOPS)
    return {"of these with the compiled modules, too": len(set(Tests(COMPILED_FORM).names))} if ran else {}


def untaken_branches(names_taken: Iterable[str]) -> list[Branch]:
    """The branches that no test takes."""
    there = set(names_taken)
    return [branch for path in modules(PACKAGES) for branch in branches_of(path) if branch.name not in there]


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m trust.coverage")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", action="append", metavar="PATH", type=test_path)
    parser.add_argument("--read", action="store_true")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run, compare, report; 1 if there are branches that are neither taken nor listed."""
    options = arguments(words)
    recorder = Recorder("make coverage", long=options.long)
    for folder in () if options.read else options.only or (FOLDERS if options.long else SHORT):
        run(folder)
        if options.long and folder.partition("/")[0] in WITH_LOOPS:
            run(folder, compiled=True)
    tests = Tests()
    missed, reasons = untaken_branches(tests.all_branches), listed_branches()
    if options.write:
        entries = {branch.name: reasons.get(branch.name, NOT_YET) for branch in missed}
        LISTED.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    number = sum(len(branches_of(path)) for path in modules(PACKAGES))
    new = [branch for branch in missed if reasons.get(branch.name, NOT_YET) == NOT_YET]
    recorder.figures.rows.update(
        {
            "tests": len(set(Tests(PLAIN_FORM).names)),
            **with_loops(),
            "branches of core, rules and transformations": number,
            "taken by a test": number - len(missed),
            "taken, in percent": f"{100 * (1 - len(missed) / number):.1f}",
            "listed with a reason": len(missed) - len(new),
            "neither taken nor listed": len(new),
        }
    )
    left = [folder for folder in FOLDERS if not notes_of(folder).exists()]
    left += [f"{folder}, compiled" for folder in WITH_LOOPS if not notes_of(folder, compiled=True).exists()]
    if left:  # their tests may take branches that the others do not take
        recorder.figures.not_run = [f"the tests of `{'`, `'.join(left)}`"]
    else:
        recorder.figures.findings = [f"No test takes `{branch.name}`" for branch in new]
    print(json.dumps(recorder.figures.rows, indent=1))
    for branch in new if options.long else ():
        print(f"neither taken nor listed: {branch.name}  (line {branch.line})")
    recorder.finish()
    return 1 if new and options.long else 0


if __name__ == "__main__":
    sys.exit(main())
