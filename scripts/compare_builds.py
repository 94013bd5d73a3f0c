"""Builds the package with several settings of the compiler, and compares all bits of the results.

    python scripts/compare_builds.py [--settings c11 native ...] [--keep FOLDER]

Each build has its own folder. Each build calls every public function as in tests/support/function_calls.py, with its
gradients. It also calls every elementwise operation on long arrays with special values, for each kind of processor that
this one can run. A setting without its compiler is named and skipped. The exit status is 1 if a result differs from
that of the first build. Each setting takes about two minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: The environment variables of a build. CFLAGS come before the package's own flags.
SETTINGS = {
    "default": {},
    "c11": {"CFLAGS": "-std=c11"},
    "no contraction": {"CFLAGS": "-ffp-contract=off"},
    "contraction": {"CFLAGS": "-ffp-contract=fast"},
    "native": {"CFLAGS": "-O3 -march=native"},
    "clang": {"CC": "clang", "LDSHARED": "clang -shared"},
}
DTYPES = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64")
#: The number of elements: some blocks of 128, some vectors, and a rest.
LENGTH = 1031
#: Functions whose values depend on the clock, or that do not return arrays.
LEFT_OUT = frozenset(("seed", "initial_seed", "get_rng_state"))


# in a build ----------------------------------------------------------------------------------------------------------


def bits(values: Any) -> str:
    """A digest of the bits of arrays. All NaN count as equal, since C does not define their sign and payload."""
    import numpy

    digest = hashlib.sha256()
    for value in values:
        array = numpy.ascontiguousarray(value.detach()._array)
        digest.update(f"{array.dtype}{array.shape}".encode())
        if array.dtype.kind in "fcV":
            array = array.copy()
            parts = array.view(array.real.dtype) if array.dtype.kind == "c" and array.size else array
            parts[parts != parts] = numpy.nan
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def of_calls() -> Iterator[tuple[str, str]]:
    """Every function of tests/support/function_calls.py in every type that it takes, with its gradients."""
    import adjoint
    from support import function_calls
    from support.function_probe import Problem

    for name in sorted(set(function_calls.CALLS) - LEFT_OUT):
        for dtype in DTYPES:
            with contextlib.suppress(Exception):  # types that it does not take
                problem = Problem(name, dtype)
                leaves = [leaf.requires_grad_() for leaf in problem.starts()]
                results = problem.run(leaves)
                yield f"{name} {dtype}", bits(results)
                outputs = [y for y in results if y.requires_grad]
                grads = adjoint.autograd.grad(
                    outputs, leaves, [adjoint.ones_like(y) for y in outputs], allow_unused=True
                )  # fmt: skip
                yield f"{name} {dtype} gradient", bits([g for g in grads if g is not None])


def of_elementwise(kind: int | None) -> Iterator[tuple[str, str]]:
    """Every elementwise operation on long arrays, and its gradients."""
    import numpy

    import adjoint
    from adjoint.rules.declare import TABLE
    from adjoint.tensor.table import ops

    draw = numpy.random.default_rng(0)
    special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e-310, -1e-300, 1e300, 1.0, -1.0, 0.5, 8.0]
    numbers = numpy.concatenate([draw.uniform(-1, 1, 500), draw.normal(size=300) * 8, draw.uniform(-700, 700, 300)])
    first = draw.permutation(numpy.concatenate([numbers, special]))[:LENGTH]
    for name, rule in sorted(TABLE.items()):
        for dtype in DTYPES[:2] if rule.kind == "elementwise" else ():
            values = [first, *(draw.permutation(first) for _ in rule.inputs[1:])]
            with contextlib.suppress(Exception):
                leaves = [adjoint.tensor(each).to(getattr(adjoint, dtype)).requires_grad_() for each in values]
                result = getattr(ops, name)(*leaves)
                yield f"{name} long {dtype} kind {kind}", bits([result])
                grads = adjoint.autograd.grad(result, leaves, adjoint.ones_like(result), allow_unused=True)
                yield f"{name} long {dtype} kind {kind} gradient", bits([g for g in grads if g is not None])


def results() -> dict[str, str]:
    """The results of the imported build: a digest of the bits for each call."""
    sys.path.insert(0, str(ROOT / "tests"))
    import numpy

    from adjoint.arrays.kernels import vector_ufuncs, vectors

    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    if not vector_ufuncs.compiled:
        raise SystemExit("this build has no compiled form")
    digests = dict(of_calls())
    for kind in vector_ufuncs.kinds():
        vector_ufuncs.use_kind(kind)
        vectors.use_kind(kind)
        digests |= dict(of_elementwise(kind))
    return digests


# all builds ----------------------------------------------------------------------------------------------------------


def build(folder: Path, setting: dict[str, str]) -> None:
    """A build of the working copy's sources in a folder."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder)
    if (ROOT / "build" / "cython").is_dir():
        shutil.copytree(ROOT / "build" / "cython", folder / "build" / "cython")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    environment = {**os.environ, **setting, "ADJOINT_REQUIRE_EXT": "1", "PYTHONPATH": str(folder / "src")}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def compute(folder: Path) -> dict[str, str]:
    """The results of the build in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "ADJOINT_REQUIRE_EXT": "1"}
    command = [sys.executable, __file__, "--results"]
    process = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return json.loads(process.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def compare(names: list[str], parent: Path) -> int:
    """Build and compare; the number of results that differ."""
    expected: dict[str, str] = {}
    n_different = 0
    for name in names:
        setting = SETTINGS[name]
        if shutil.which(setting.get("CC", sys.executable)) is None:
            print(f"{name}: there is no {setting['CC']} here", flush=True)
            continue
        folder = parent / name.replace(" ", "_")
        build(folder, setting)
        digests = compute(folder)
        expected = expected or digests
        different = sorted(key for key in expected.keys() | digests.keys() if expected.get(key) != digests.get(key))
        n_different += len(different)
        print(f"{name}: {len(digests)} results, {len(different)} differ", *different[:50], sep="\n    ", flush=True)
    return n_different


def main() -> int:
    """Run the command line. Returns 1 if a result differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--keep", type=Path, help="a new folder in which the builds stay")
    parser.add_argument("--results", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.results:
        print(json.dumps(results()))
        return 0
    with contextlib.ExitStack() as stack:
        parent = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return 1 if compare(options.settings, parent) else 0


if __name__ == "__main__":
    sys.exit(main())
