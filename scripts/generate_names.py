"""Write the tables of names. They lead to a declaration before its file is imported.

    python scripts/generate_names.py

`src/adjoint/rules/names.py` has the rules of each file of rules/. `src/adjoint/functions/names.py` has the public
functions and the methods of Tensor of each file of rules/ and functions/, and the methods that are left out. The script
imports every file. A declaration belongs to the file whose code runs at that time.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

SOURCE = ROOT / "src" / "adjoint"
FOLDERS = ("rules", "functions")
#: The file that uses operations at import.
USES = ("operators",)
RULES, FUNCTIONS = SOURCE / "rules" / "names.py", SOURCE / "functions" / "names.py"
LINE = 120


class Watch(importlib.abc.MetaPathFinder):
    """Notes the declarations of each module, without those of the modules that it imports."""

    def __init__(self) -> None:
        self.homes: dict[tuple[str, object], str] = {}

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name.rpartition(".")[0] not in [f"adjoint.{folder}" for folder in FOLDERS]:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = self.watch(spec.loader.exec_module, name)  # type: ignore[method-assign]
        return spec

    def watch(self, run: Callable[[ModuleType], None], name: str) -> Callable[[ModuleType], None]:
        def run_and_note(module: ModuleType) -> None:
            run(module)
            for entry in self.entries():
                # imported modules have noted their declarations before
                self.homes.setdefault(entry, name)

        return run_and_note

    @staticmethod
    def entries() -> list[tuple[str, object]]:
        tables = {
            "rule": ("adjoint.rules.declare", "TABLE"),
            "composite": ("adjoint.functions.composite", "COMPOSITES"),
        }
        return [
            (kind, key)
            for kind, (module, name) in tables.items()
            for key in getattr(getattr(sys.modules.get(module), name, None), "present_keys", list)()
        ]


def declared_homes() -> dict[tuple[str, object], str]:
    """The file of each rule, by ("rule", name), and of each composite, by ("composite", (namespace, name))."""
    watch = Watch()
    sys.meta_path.insert(0, watch)
    try:
        for folder in FOLDERS:
            for path in sorted((SOURCE / folder).glob("*.py")):
                if path.stem in USES:
                    continue
                importlib.import_module(f"adjoint.{folder}.{path.stem}")
            if folder == "rules":
                # files of functions look up operations at import
                table = sys.modules["adjoint.rules.declare"].TABLE
                table.homes.clear()
                table.homes.update({name: home for (_, name), home in watch.homes.items()})
    finally:
        sys.meta_path.remove(watch)
    return watch.homes


def tables() -> tuple[dict[str, str], dict[str, dict[str, str]], dict[str, str]]:
    """The homes of rules, of functions by namespace, and of methods, each by name."""
    homes = declared_homes()
    from adjoint.functions.composite import COMPOSITES
    from adjoint.rules import TABLE

    rules = {name: home for (kind, name), home in homes.items() if kind == "rule"}
    functions: dict[str, dict[str, str]] = {"": {}}
    methods = {}
    for name, home in rules.items():
        rule = TABLE[name]
        for option, default in ((rule.method, name), (rule.inplace, f"{name}_")):
            if option:
                methods[default if option is True else option] = home
        if rule.function:
            functions[""][name] = home
    # a composite replaces an operation of the same name
    for (kind, key), home in homes.items():
        if kind == "composite":
            namespace, name = key
            functions.setdefault(namespace, {})[name] = home
            if method := COMPOSITES[key].method:
                methods[method] = home
    return rules, functions, methods


def methods_left_out() -> list[str]:
    """The methods of PyTorch's Tensor that adjoint does not have."""
    from adjoint.tensor.older.left_out import LEFT_OUT

    return sorted(name for space, name in LEFT_OUT if space == "Tensor")


def group(homes: dict[str, str]) -> dict[str, list[str]]:
    """The names of each home."""
    names: dict[str, list[str]] = {}
    for name, home in sorted(homes.items(), key=lambda item: (item[1], item[0])):
        names.setdefault(home, []).append(name)
    return names


def table_text(names: dict[str, list[str]], margin: str) -> str:
    """The text of a table: the names of a home on one or more lines."""
    lines = []
    for home, members in names.items():
        text = " ".join(members)
        line = f'{margin}"{home}": "{text}",'
        if len(line) > LINE:
            line = "\n".join((f'{margin}"{home}": """', *fold(members, margin + "    "), f'{margin}""",'))
        lines.append(line)
    return "\n".join(lines)


def fold(names: list[str], margin: str) -> list[str]:
    lines = [margin]
    for name in names:
        if len(lines[-1]) + len(name) + 1 > LINE:
            lines.append(margin)
        lines[-1] += name if lines[-1] == margin else f" {name}"
    return lines


def pages() -> dict[Path, str]:
    """The text of each generated file."""
    rules, functions, methods = tables()
    spaces = "\n".join(
        f'    "{space}": {{\n{table_text(group(homes), " " * 8)}\n    }},' for space, homes in sorted(functions.items())
    )
    return {
        RULES: f'''"""The rules of each file. Generated by scripts/generate_names.py; do not edit."""

RULES = {{
{table_text(group(rules), "    ")}
}}
''',
        FUNCTIONS: f'''"""Public functions and methods of Tensor by the files that declare them.

Generated by scripts/generate_names.py; do not edit.
"""

#: The functions of each namespace; "(method)" has the composites that are methods alone.
FUNCTIONS = {{
{spaces}
}}

#: The methods of Tensor that are operations or composites.
METHODS = {{
{table_text(group(methods), "    ")}
}}

#: The methods of PyTorch's Tensor that are left out.
LEFT_OUT = """
{chr(10).join(fold(methods_left_out(), "    "))}
"""
''',
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
