"""gpu.py tests|bench|sources [options]: the program of `make test-gpu`, `make bench-gpu` and `make gpu-sources`.

tests, bench: compile adjoint in place for this interpreter and its packages, and run the pieces. The script installs
and downloads nothing. sources: let Cython write the C sources below build/cython, for a machine with a C compiler and
without Cython.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Packages in pure Python that are missing on the machine.
SITE = ROOT / "build" / "gpu" / "site"
#: Packages that contain a copy of array-api-compat.
OWNERS = ("scipy", "sklearn")
#: The largest number of seconds of a call with compilation, if there is no option --seconds.
LIMIT = 570
PLAIN = "adjoint runs as plain Python here, slower and otherwise the same"


def provide_compat() -> None:
    """Use the copy of array-api-compat in SciPy or scikit-learn if the package is missing."""
    if importlib.util.find_spec("array_api_compat") is not None or (SITE / "array_api_compat").exists():
        return
    for owner in OWNERS:
        spec = importlib.util.find_spec(owner)
        for folder in spec.submodule_search_locations or () if spec is not None else ():
            for file in sorted(Path(folder).rglob("array_api_compat/__init__.py")):
                shutil.copytree(file.parent, SITE / "array_api_compat")
                print(f"array-api-compat is missing: the copy in {owner} is used")
                return
    sys.exit("adjoint needs the package array-api-compat, and neither it nor a package with a copy of it is installed")


def compile_in_place() -> bool:
    """Compile the hot modules if they are not compiled. Returns False, with a message, if that fails."""
    command = ["setup.py", "--quiet", "build_ext", "--inplace", f"-j{os.cpu_count() or 1}"]
    if importlib.util.find_spec("Cython") is None:
        if not (ROOT / "build" / "cython").exists():
            print(f"there is neither Cython nor build/cython (make gpu-sources writes it): {PLAIN}")
            return False
        command = ["scripts/build_translated.py", "compile"]
    print("Compiling adjoint (only what has changed)", flush=True)
    process = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | {"ADJOINT_REQUIRE_EXT": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if process.returncode:
        print(f"{process.stdout[-2000:]}\nthe modules could not be compiled: {PLAIN}")
    return not process.returncode


def main() -> int:
    """Do one of the three; returns its exit status."""
    start = time.monotonic()
    what, *options = sys.argv[1:]
    if what == "sources":
        return subprocess.run([sys.executable, "scripts/build_translated.py", "write"], cwd=ROOT).returncode
    provide_compat()
    is_compiled = "--no-compile" not in options and compile_in_place()
    options = [option for option in options if option != "--no-compile"]
    form = {"ADJOINT_REQUIRE_EXT": "1"} if is_compiled else {}
    if not is_compiled:
        # extensions of another interpreter or of earlier sources must not be used
        form["ADJOINT_DISABLE_EXT"] = "1"
    paths = [str(ROOT / "src"), str(ROOT / "tests"), str(SITE), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | form | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}
    if "--seconds" not in options:
        options += ["--seconds", str(int(LIMIT - (time.monotonic() - start)))]
    module = {"tests": "gpu", "bench": "benchmarks.gpu"}[what]
    return subprocess.run([sys.executable, "-m", module, *options], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
