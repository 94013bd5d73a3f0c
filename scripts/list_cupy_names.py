"""Write CuPy's names with their parameters, for the stand-in that tests use without a GPU.

CuPy can be imported without a GPU, which is enough for its names: pip install cupy-cuda13x, then

    python scripts/list_cupy_names.py
"""

import ast
import importlib
import importlib.util
import inspect
import json
from pathlib import Path
from typing import Any

LIST = Path(__file__).parents[1] / "tests" / "data" / "cupy_names.json"
MODULES = ("cupy", "cupy.fft", "cupy.linalg", "cupy.random", "cupyx", "cupyx.scipy.special")
UNLOADED = ("cupyx.scipy.linalg",)  # its import needs CUDA's libraries, so the script reads its source


def names() -> dict[str, dict[str, list[str] | None]]:
    """The public names of CuPy's modules, and all of its array class, each with its parameters if these are known."""
    modules = {name: importlib.import_module(name) for name in MODULES}
    listed = {name: members(module, [n for n in dir(module) if n[0] != "_"]) for name, module in modules.items()}
    listed |= {name: dict.fromkeys(imports_of(name)) for name in UNLOADED}
    kind = modules["cupy"].ndarray
    return listed | {"cupy.ndarray": members(kind, [n for n in dir(kind) if n not in dir(object)])}


def members(owner: Any, names: list[str]) -> dict[str, list[str] | None]:
    """Names and their parameters.

    None for values that are not functions, and for compiled functions without a signature.
    """
    return {name: parameters(getattr(owner, name, None)) for name in sorted(names)}


def parameters(value: Any) -> list[str] | None:
    """The names of a function's parameters. None if it takes any, or has no signature."""
    if not callable(value) or isinstance(value, type):
        return None
    try:
        parameters = inspect.signature(value).parameters.values()
    except (ValueError, TypeError):
        return None
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else [p.name for p in parameters]


def imports_of(package: str) -> list[str]:
    """The names that a package's __init__ imports."""
    tree = ast.parse(Path(importlib.util.find_spec(package).origin).read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return sorted(alias.asname or alias.name for node in nodes for alias in node.names)


if __name__ == "__main__":
    import cupy

    LIST.write_text(json.dumps({"version": cupy.__version__} | names()) + "\n")
    print({name: len(listed) for name, listed in names().items()})
