"""Importing adjoint stays quick: it imports NumPy, and nothing else that is large."""

import json
import subprocess
import sys

import pytest

HEAVY = ["scipy", "rich", "matplotlib", "sklearn", "ml_dtypes", "array_api_compat", "cupy", "dask", "pytest", "IPython"]


def imported(statement):
    """The modules that are there after a statement in a fresh interpreter."""
    program = f"import sys\n{statement}\nimport json\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def test_import_brings_in_nothing_heavy():
    modules = imported("import adjoint")
    assert "adjoint.tensor.tensor" in modules and "numpy" in modules
    assert [name for name in HEAVY if name in modules] == []


@pytest.mark.quick(0)
def test_arithmetic_and_gradients_bring_in_nothing_heavy():
    program = "import adjoint as a; x = a.rand(3, requires_grad=True); (x * x).sum().backward(); str(x.grad @ x.grad)"
    assert [name for name in HEAVY if name in imported(program)] == []


def test_what_is_imported_besides_numpy_is_few():
    numpy_alone, all_modules = set(imported("import numpy")), set(imported("import adjoint"))
    others = {name for name in all_modules - numpy_alone if not name.startswith(("adjoint", "numpy"))}
    assert len(others) < 60, sorted(others)


def test_hips_interface_brings_in_no_parts_of_numpy_that_nothing_uses():
    modules = imported("import adjoint.compat.autograd")
    assert "adjoint.compat.autograd.numpy.random" in modules
    heavy = [*HEAVY, "numpy.f2py", "numpy.ma", "numpy.polynomial", "numpy.random", "numpy.testing", "unittest"]
    assert [name for name in heavy if name in modules] == []


def test_hips_random_is_all_of_numpys():
    star = "from adjoint.compat.autograd.numpy.random import *"
    assert "numpy.random" in imported(f"{star}; import numpy; assert default_rng is numpy.random.default_rng")
