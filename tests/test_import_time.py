"""`import adjoint` is fast: NumPy is the only large module that it imports."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = ["scipy", "rich", "matplotlib", "sklearn", "ml_dtypes", "array_api_compat", "cupy", "dask", "pytest", "IPython"]


def imports_of(statement):
    """The modules that a statement imports in a fresh interpreter.

    Users do not set ADJOINT_REQUIRE_EXT, which imports all packages with compiled modules.
    """
    program = f"import sys\n{statement}\nimport json\nprint(json.dumps(sorted(sys.modules)))"
    env = {name: value for name, value in os.environ.items() if name != "ADJOINT_REQUIRE_EXT"}
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    return json.loads(result.stdout)


def is_plain_form():
    """True if these tests run the plain form."""
    return os.environ.get("ADJOINT_DISABLE_EXT", "0") not in ("", "0")


def test_import_brings_in_nothing_heavy():
    modules = imports_of("import adjoint")
    assert "adjoint.tensor.tensor" in modules and "numpy" in modules
    assert [name for name in HEAVY if name in modules] == []


@pytest.mark.quick(0)
def test_arithmetic_and_gradients_bring_in_nothing_heavy():
    program = "import adjoint as a; x = a.rand(3, requires_grad=True); (x * x).sum().backward(); str(x.grad @ x.grad)"
    assert [name for name in HEAVY if name in imports_of(program)] == []


#: Slow modules of the standard library. NumPy imports some of them. Signatures need inspect, which NumPy imports since
#: version 2.3.
SLOW = [
    "argparse", "asyncio", "concurrent.futures", "copy", "csv", "dataclasses", "datetime", "email", "hashlib",
    "importlib.metadata", "json", "logging", "mmap", "pickle", "platform", "subprocess", "threading", "traceback",
    "typing", "unittest",
]  # fmt: skip
#: Files of these folders are imported when one of their names is first used, except for the files that all others use.
FAMILIES = {
    "functions": {"binding", "composite", "names"},
    "rules": {"declare", "names", "refusals"},
}
#: The largest number of adjoint's modules that `import adjoint` imports. Two of them are packages of compiled modules,
#: which ADJOINT_REQUIRE_EXT=1 checks.
MOST = 85


def test_what_is_imported_besides_numpy_is_few():
    numpy_alone, all_modules = set(imports_of("import numpy")), set(imports_of("import adjoint"))
    others = {name for name in all_modules - numpy_alone if not name.startswith(("adjoint", "numpy"))}
    # the plain form imports Cython's own Python modules if Cython is installed
    assert len(others) < (25 if is_plain_form() else 15), sorted(others)
    assert sorted(others & set(SLOW)) == []
    assert len(here := [name for name in all_modules if name.startswith("adjoint")]) <= MOST, here


@pytest.mark.quick(0)
def test_a_first_gradient_brings_in_nothing_slow():
    program = "import adjoint as a; x = a.ones(3, requires_grad=True); (x * x).sum().backward()"
    others = set(imports_of(program)) - set(imports_of("import numpy"))
    assert sorted(others & set(SLOW)) == []


def test_rules_and_functions_are_imported_when_they_are_first_used():
    modules = [name.split(".") for name in imports_of("import adjoint")]
    early = {
        (folder, parts[2]) for folder in FAMILIES for parts in modules if parts[:2] == ["adjoint", folder] and parts[2:]
    }
    assert early == {(folder, name) for folder, names in FAMILIES.items() for name in names}
    after = imports_of("import adjoint; adjoint.tanh(adjoint.ones(2))")
    assert "adjoint.rules.elementwise" in after and "adjoint.rules.linalg" not in after


def test_hips_interface_brings_in_no_parts_of_numpy_that_nothing_uses():
    modules = imports_of("import adjoint.compat.autograd")
    assert "adjoint.compat.autograd.numpy.random" in modules
    heavy = [*HEAVY, "numpy.f2py", "numpy.ma", "numpy.polynomial", "numpy.random", "numpy.testing", "unittest"]
    assert [name for name in heavy if name in modules] == []


def test_hips_random_is_all_of_numpys():
    star = "from adjoint.compat.autograd.numpy.random import *"
    assert "numpy.random" in imports_of(f"{star}; import numpy; assert default_rng is numpy.random.default_rng")
