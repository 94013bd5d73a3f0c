"""A rule runs on the arrays of any backend and on Tensors.

It gets its namespace as an argument and names no library.
"""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
RULES = sorted((SOURCE / "adjoint/rules").rglob("*.py"))
ALLOWED = ("adjoint.arrays", "adjoint.rules", "adjoint.runtime")
BACKENDS = {"numpy", "np", "scipy", "cupy", "dask", "array_api_compat"}


def foreign(text: str) -> list[str]:
    """The imports of a rule file other than the standard library, adjoint.arrays and adjoint.rules."""
    actual = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import():
                actual += [alias.name for alias in node.names if not is_allowed(alias.name)]
            case ast.ImportFrom(level=level, module=module):
                module = "." * level + (module or "")
                outside = level > 1 or (level == 0 and not is_allowed(module))
                names = [alias.name for alias in node.names if outside or alias.name in BACKENDS]
                actual += [f"{module}.{name}" for name in names]
    return actual


def is_allowed(module: str) -> bool:
    if module.split(".")[0] in sys.stdlib_module_names:
        return True
    return any(module == package or module.startswith(package + ".") for package in ALLOWED)


def test_there_are_rules() -> None:
    assert RULES


@pytest.mark.parametrize("file", RULES, ids=lambda file: file.name)
def test_rules_import_no_backend(file: Path) -> None:
    assert foreign(file.read_text()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import numpy",
        "import numpy as np",
        "from scipy import special",
        "def late():\n    import scipy.linalg",
        "from adjoint.arrays import np",
        "from adjoint.core import graph",
        "from ..core import graph",
    ],
)
def test_the_test_sees_a_backend(statement: str) -> None:
    assert foreign(statement)


def test_the_test_allows_what_rules_need() -> None:
    assert foreign("import math\nfrom adjoint.arrays import shapes\nfrom .declare import linear") == []
