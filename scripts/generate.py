"""Rewrite every generated file: type stubs, pages of docs/, the header of fitted coefficients, the list of names.

    python scripts/generate.py [--list]

The script reads stored measurements: `generate_function_table.py --measure` and `list_array_gaps.py` take minutes. The
scripts in NEED_MORE need a library that adjoint's tests do not need. --list prints the files and their scripts.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Each script, the files that it writes, and the test that fails if one of them is stale. The order matters: the page
#: of functions needs the names and the stubs.
GENERATED: dict[str, tuple[tuple[str, ...], str]] = {
    "fit_functions.py": (
        ("src/adjoint/arrays/kernels/vector_ufuncs_tables.h",),
        "tests/arrays/kernels/test_vector_ufuncs.py",
    ),
    # all other scripts need these names
    "generate_names.py": (
        ("src/adjoint/rules/names.py", "src/adjoint/functions/names.py"),
        "tests/functions/test_late_names.py",
    ),
    "generate_derivative_help.py": (("src/adjoint/functions/derivative_help.py",), "tests/functions/test_help.py"),
    "generate_stubs.py": (("src/adjoint/**/*.pyi",), "tests/typing/test_stubs.py"),
    "list_public_names.py": (("tests/data/public_names.json",), "tests/test_public_names.py"),
    "generate_function_table.py": (("docs/functions.md",), "tests/test_function_table.py"),
    "generate_left_out.py": (("docs/left-out.md",), "tests/test_left_out.py"),
    "generate_numpy_coverage.py": (("docs/numpy-coverage.md",), "tests/interop/test_probe.py"),
    "generate_scipy_coverage.py": (("docs/scipy-coverage.md",), "tests/interop/test_scipy_array_api.py"),
}
#: Scripts that need a library beyond those of the tests, and what needs them.
NEED_MORE = {
    "list_array_gaps.py": "the versions of array libraries that the lists are about: `make gaps` compares them",
    "list_cupy_names.py": "CuPy",
    "list_torch_names.py": "PyTorch",
    "list_torch_parameters.py": "PyTorch",
    "measure_distributed.py": "an MPI library",
    "try_torch_libraries.py": "PyTorch and the libraries that it tries: it writes docs/torch-libraries.md",
    "try_packages.py": "the packages that it tries, in an environment of their own: it writes docs/tried-with.md",
}


def main() -> int:
    if "--list" in sys.argv[1:]:
        for script, (files, test) in GENERATED.items():
            print(f"{', '.join(files)}: scripts/{script}, compared by {test}")
        return 0
    for script in GENERATED:
        print(f"scripts/{script}", flush=True)
        subprocess.run([sys.executable, str(ROOT / "scripts" / script)], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
