"""Lists the raise statements of the package that no test executes.

    python scripts/check_raises.py [--write] [--only PREFIX] [pytest arguments]
    python scripts/check_raises.py --only solvers/ tests/solvers

The script runs the suite on the plain sources, and notes every `raise` that is executed.
tests/data/unexercised_raises.json lists the statements that no test reaches, each with the reason. The script fails for
a statement that is neither executed nor listed, and prints the listed statements that are executed now. --write updates
the list. --only PREFIX looks only at modules whose paths begin with PREFIX, for a part of the suite.

An import hook rewrites `raise X` to `raise note(key, X)`, so the suite is not slower. Some modules only serve compiled
modules. Their tests run again with the compiled modules.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "adjoint"
LISTED = ROOT / "tests" / "data" / "unexercised_raises.json"
NOT_YET = "no test yet"
SEEN = "ADJOINT_RAISES_SEEN"
COMPILED = "ADJOINT_RAISES_COMPILED"
#: The tests of modules that serve compiled ones.
OF_COMPILED = ["tests/arrays", "tests/core/test_programs.py"]


def statements(tree: ast.Module, path: str) -> Iterator[tuple[str, ast.Raise]]:
    """The raise statements of a module with an exception, and their keys.

    Changes elsewhere in the module do not change a key.
    """
    numbers: Counter[str] = Counter()

    def walk(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.Raise]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from walk(child, f"{scope}.{child.name}" if scope else child.name)
                continue
            if isinstance(child, ast.Raise) and child.exc is not None:
                # versions of Python differ in the quotation marks around texts
                text = ast.unparse(child.exc).replace('"', "'")
                key = f"{path} {scope}: {text[:90]}"
                numbers[key] += 1
                yield (key if numbers[key] == 1 else f"{key} #{numbers[key]}"), child
            yield from walk(child, scope)

    yield from walk(tree, "")


def all_statements() -> dict[str, str]:
    """The keys of all raise statements of the package, with their current locations."""
    locations = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("demo/"):
            for key, node in statements(ast.parse(path.read_text()), name):
                locations[key] = f"{name}:{node.lineno}"
    return locations


class NotingLoader(SourceFileLoader):
    """Compiles a module so that its raise statements note themselves in a file."""

    def get_code(self, fullname: str) -> Any:
        """The code. It is never from the cache of compiled files."""
        return self.source_to_code(self.get_data(self.path), self.path)

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        """The rewritten module, compiled."""
        tree = ast.parse(data)
        for key, node in statements(tree, Path(path).relative_to(PACKAGE).as_posix()):
            call = ast.parse(f"__import__('check_raises').note({key!r}, 0)", mode="eval").body
            assert isinstance(call, ast.Call) and node.exc is not None
            call.args[1] = node.exc
            node.exc = call
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True, optimize=_optimize)


class NotingFinder:
    """Finds the package's modules as sources."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module of the package, None for all others."""
        if (name != "adjoint" and not name.startswith("adjoint.")) or name in left_compiled:
            return None
        path_of_module = PACKAGE.joinpath(*name.split(".")[1:])
        file = path_of_module / "__init__.py" if path_of_module.is_dir() else path_of_module.with_suffix(".py")
        if not file.exists():
            return None
        search = [str(path_of_module)] if path_of_module.is_dir() else None
        return spec_from_file_location(
            name, file, loader=NotingLoader(name, str(file)), submodule_search_locations=search
        )


_noted: set[str] = set()
left_compiled: frozenset[str] = frozenset()


def note(key: str, exception: Any) -> Any:
    """The exception. The first call writes its key to the file."""
    if key not in _noted:
        _noted.add(key)
        with open(os.environ[SEEN], "a") as file:
            file.write(key + "\n")
    return exception


def run_suite(arguments: list[str], compiled: bool) -> set[str]:
    """The keys of the statements that tests execute."""
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as file:
        paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        # the import hook decides which modules are compiled, and not these variables
        switches = {"ADJOINT_DISABLE_EXT": "", "ADJOINT_REQUIRE_EXT": "", COMPILED: "yes" if compiled else ""}
        environment = {**os.environ, **switches, SEEN: file.name, "PYTHONPATH": paths}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "check_raises", *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, check=False)
        return set(file.read().splitlines())


def main() -> int:
    """Run, compare, report; 1 if there are statements that are neither exercised nor listed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    options, arguments = parser.parse_known_args()
    exercised = run_suite(arguments, False)
    if not options.only or options.only.startswith(("runtime/", "arrays/", "core/")):
        exercised |= run_suite(OF_COMPILED, True)
    listed = json.loads(LISTED.read_text())
    every = {key: location for key, location in all_statements().items() if key.startswith(options.only)}
    missed = {key: location for key, location in every.items() if key not in exercised}
    new = {key: location for key, location in missed.items() if key not in listed}
    print(f"{len(every) - len(missed)} raise statements are exercised, {len(missed)} are not")
    if options.write:
        entries = {key: listed.get(key, NOT_YET) for key in sorted(missed)}
        LISTED.write_text(json.dumps(entries, indent=1) + "\n")
        return 0
    for key in sorted(listed.keys() & exercised):
        print(f"exercised by now, take it off the list: {key}")
    for key, location in new.items():
        print(f"neither exercised nor listed: {location}\n    {key}")
    return 1 if new else 0


if os.environ.get(SEEN):
    if os.environ[COMPILED]:
        text = (PACKAGE / "_compiled.py").read_text()
        left_compiled = frozenset(ast.literal_eval(ast.parse(text).body[-1].value))  # type: ignore[attr-defined]
    sys.meta_path.insert(0, NotingFinder())  # type: ignore[arg-type]

if __name__ == "__main__":
    sys.exit(main())
