"""The instructions of the core paths, counted by valgrind's callgrind: `python -m benchmarks.instructions`.

Counts of instructions are equal in every run, unlike times. So they show a growth of a few per cent. They depend on the
versions of Python and NumPy and on the compiler. `instructions.json` has the versions of its counts. Counts with other
versions are printed, but not compared.

    python -m benchmarks.instructions            # compare with the numbers in instructions.json; 1 if one grew by > 5 %
    python -m benchmarks.instructions --update   # write them
    python -m benchmarks.instructions --profile mul --top 40   # where the instructions of one path are
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

NUMBERS = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.05
MARKER = "getppid"  # a C function without other callers; callgrind writes its counters at each call
REPEATS, WARM_UP = 40, 20

WITHOUT_VALGRIND = (
    "bench-check counts instructions with valgrind, and there is none on the PATH: install it (apt install valgrind, "
    "dnf install valgrind; it does not run on macOS with Apple's processors, nor on Windows)."
)


def paths() -> dict[str, Callable[[], object]]:
    """The paths by name. The count is that of one call."""
    import numpy as np

    import adjoint
    from adjoint.compat import autograd as hips

    rng = np.random.default_rng(0)

    def leaf(*shape: int) -> adjoint.Tensor:
        return adjoint.from_numpy(rng.uniform(0.1, 1.0, shape)).requires_grad_()

    x, y, w, vector = leaf(8), leaf(8), leaf(8, 8), leaf(8)
    constant = adjoint.from_numpy(rng.uniform(size=8))
    index = adjoint.tensor([1, 0, 3, 2, 1, 0, 3, 2])

    def chain() -> adjoint.Tensor:
        z = x
        for _ in range(10):
            z = (z * constant).tanh()
        return z

    def chain_and_back() -> None:
        chain().sum().backward()
        x.grad = None

    def deep() -> None:
        z = x
        for _ in range(20):
            z = z + 1.0
        z.sum().backward()
        x.grad = None

    def many() -> None:
        z = (x + y) * y
        z = z + x
        adjoint.autograd.grad(z.sum(), (x, y))

    def recurrent() -> None:
        h = vector
        for _ in range(5):
            h = (w @ h + x).tanh()
        h.sum().backward()
        x.grad = w.grad = vector.grad = None

    def classifier() -> None:
        loss = -(w @ w + x).relu().log_softmax(1)[adjoint.arange(8), index].mean()
        loss.backward()
        w.grad = x.grad = None

    def hessian_vector() -> None:
        t = (w.detach() @ x).tanh()
        (gradient,) = adjoint.autograd.grad((t * t).sum(), x, create_graph=True)
        adjoint.autograd.grad((gradient * constant).sum(), x)

    def views() -> None:
        (w[1:5, 2].sum() + w.reshape(64)[3] + w.t().mean(0)[1]).backward()
        w.grad = None

    def without_recording() -> None:
        with adjoint.no_grad():
            chain()

    numbers = np.linspace(-1.0, 1.0, 10)
    gradient = adjoint.func.grad(lambda v: np.sum(np.tanh(v) * v))
    hips_gradient = hips.grad(lambda v: hips.numpy.sum(hips.numpy.tanh(v) * v))

    return {
        "forward": chain,
        "forward, not recorded": without_recording,
        "forward and backward": chain_and_back,
        "deep": deep,
        "grad of two leaves": many,
        "recurrent": recurrent,
        "classifier": classifier,
        "Hessian-vector": hessian_vector,
        "func.grad of arrays": lambda: gradient(numbers),
        "HIPS grad of arrays": lambda: hips_gradient(numbers),
        "views": views,
        "Jacobian": lambda: adjoint.autograd.functional.jacobian(lambda a: a.exp() * y, constant),
        "mul": lambda: x * y,
        "exp": lambda: x.exp(),
        "add number": lambda: x + 1.0,
        "sum": lambda: x.sum(),
        "sum of an axis": lambda: w.sum(1),
        "mean": lambda: w.mean(dim=0, keepdim=True),
        "matmul": lambda: w @ x,
        "item": lambda: x[3],
        "slice": lambda: w[1:3],
        "reshape": lambda: w.reshape(4, 16),
        "transpose": lambda: w.transpose(0, 1),
        "max": lambda: w.max(1),
        "where": lambda: adjoint.where(x > 0.5, x, y),
        "cat": lambda: adjoint.cat([x, y]),
        "log_softmax": lambda: w.log_softmax(1),
        "linear": lambda: adjoint.nn.functional.linear(x, w, y),
        "square": lambda: x**2,
    }


def run_paths(names: Sequence[str]) -> None:
    """Run the paths between markers, under callgrind."""
    import gc

    all_paths = paths()
    gc.disable()
    for name in names:
        path = all_paths[name]
        for _ in range(WARM_UP):
            path()
        os.getppid()
        for _ in range(REPEATS):
            path()
        os.getppid()


def count(names: Sequence[str], folder: Path) -> dict[str, int]:
    """Instructions for one call of each path. Raises subprocess.CalledProcessError if a path fails."""
    command = ["valgrind", "--tool=callgrind", "--compress-strings=no", f"--dump-before={MARKER}"]
    command.append(f"--callgrind-out-file={folder}/out")
    child = [sys.executable, "-m", "benchmarks.instructions", "--run", *names]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([*command, *child], check=True, capture_output=True, env=environment)
    # Dumps have numbers. Each even dump has the count of a path, and each odd one has none.
    totals = [total_of(folder / f"out.{number}") for number in range(2, 2 * len(names) + 1, 2)]
    return {name: round(total / REPEATS) for name, total in zip(names, totals, strict=True)}


def total_of(dump: Path) -> int:
    """The number of instructions in a callgrind file."""
    match = re.search(r"^(?:summary|totals): (\d+)", dump.read_text(), re.MULTILINE)
    if match is None:
        raise ValueError(f"{dump} holds no counters: callgrind's format is not the one that is known here")
    return int(match[1])


def versions() -> dict[str, str]:
    """The versions that determine the counts."""
    import numpy

    return {"Python": platform.python_version(), "NumPy": numpy.__version__, "machine": platform.machine()}


def compare(counted: dict[str, int], committed: dict[str, int]) -> list[str]:
    """A line for each path that has grown by more than the tolerance, or that has no number."""
    complaints = []
    for name, now in counted.items():
        before = committed.get(name)
        if before is None:
            complaints.append(f"{name}: no number in {NUMBERS.name}; run with --update")
        elif now > before * (1 + TOLERANCE):
            complaints.append(f"{name}: {now} instructions, {before} before: {100 * (now / before - 1):+.1f} %")
    return complaints


def table(counted: dict[str, int], committed: dict[str, int]) -> Iterable[str]:
    """The counts, and those of the repository."""
    for name, now in counted.items():
        before = committed.get(name)
        change = "" if before is None else f"{100 * (now / before - 1):+7.1f} %"
        yield f"{name:24}{now:10}{before or '':>10}{change:>12}"


def show_profile(name: str, top: int) -> None:
    """Print the instructions of one path by function."""
    with tempfile.TemporaryDirectory() as folder:
        total = count([name], Path(folder))[name]
        counts = own_counts(Path(folder, "out.2"))
    print(f"{name}: {total} instructions")
    for function, instructions in sorted(counts.items(), key=lambda item: -item[1])[:top]:
        print(f"{instructions / REPEATS:10.0f}  {function}")


def own_counts(dump: Path) -> dict[str, int]:
    """The instructions in each function itself, without its callees."""
    counts: dict[str, int] = {}
    function, inclusive = "", False
    for line in dump.read_text().splitlines():
        if line.startswith("fn="):
            function = line.removeprefix("fn=")
        elif line.startswith("calls="):
            inclusive = True  # the next line has the cost of the callee
        elif line and line[0] in "0123456789+-*":
            if not inclusive:
                counts[function] = counts.get(function, 0) + int(line.split()[1])
            inclusive = False
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="write the counts into the repository")
    parser.add_argument("--profile", metavar="PATH", help="show the functions of one path")
    parser.add_argument("--top", type=int, default=40, help="how many functions")
    parser.add_argument("--only", action="append", help="count some paths only")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        run_paths(options.run)
        return 0
    if shutil.which("valgrind") is None:
        print(WITHOUT_VALGRIND, file=sys.stderr)
        return 2
    if options.profile:
        show_profile(options.profile, options.top)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        counted = count(options.only or list(paths()), Path(folder))
    document = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {"versions": {}, "counts": {}}
    committed = document["counts"]
    print("\n".join(table(counted, committed)))
    if options.update:
        document = {"versions": versions(), "counts": {**committed, **counted}}
        NUMBERS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        return 0
    if document["versions"] != versions():
        print(f"not compared: these are counts of {versions()}, those of the repository of {document['versions']}")
        return 0
    complaints = compare(counted, committed)
    print("\n".join(complaints) or "no path has grown by more than 5 %")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
