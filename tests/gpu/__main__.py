"""adjoint's rules and programs on a CUDA device, in pieces: `make test-gpu`, or python -m gpu in the folder tests.

It writes docs/gpu.md: the pieces that ran, and the differences with reasons. A second call runs the missing pieces.
Without a device it says so and writes nothing. With --stand-in it is a dry run.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import nullcontext
from typing import Any

from adjoint.arrays.size import cuda_is_available
from benchmarks import pieces
from gpu import experiments, programs
from support import stand_in_cupy
from support.other_arrays import Library

PAGE = pieces.ROOT / "docs" / "gpu.md"
NAME = "test-gpu"
NO_DEVICE = "no CUDA device, or no CuPy, is here: nothing was run, and {} is as it was"
#: One worker runs all pieces of a rule, since they share the kernels that CuPy compiles.
N_WORKERS = 8


def groups(only: str) -> list[list[str]]:
    """The names of all pieces, grouped by rule."""
    by_rule: dict[str, list[str]] = {}
    for name in [*programs.names(), *experiments.names()]:
        if only in name:
            by_rule.setdefault(name.split("/")[1], []).append(name)
    return list(by_rule.values())


def run(name: str) -> dict[str, Any]:
    """Run one piece; its outcome and its time."""
    import cupy

    start = time.perf_counter()
    library = Library(cupy.asarray, lambda array: array.get(), cupy.ndarray)
    result = experiments.run(name, library) if name.startswith("rule/") else programs.run(name)
    # a late error of the device belongs to this piece, and breaks all later pieces
    try:
        cupy.cuda.Device().synchronize()
    except Exception as error:
        raise SystemExit(f"{name} broke the device: {error}") from error
    return result | {"seconds": round(time.perf_counter() - start, 3)}


def work(file: Any, is_dry: bool) -> None:
    """Run the pieces whose names come from the standard input."""
    with stand_in_cupy.install() if is_dry else nullcontext():
        pieces.do_pieces(file, pieces.names_from_input(), run)


def page(results: pieces.Results, machine: str, n_missing: int) -> str:
    """The page: the pieces that ran, and the differences."""
    rules = {name: result for name, result in results.items() if name.startswith("rule/")}
    others = {name: result for name, result in results.items() if not name.startswith("rule/")}
    lines = ["# adjoint on a GPU: what ran", ""]
    lines += ["Written by `make test-gpu`. Times beside other libraries: `benchmarks/gpu.md`.", "", f"{machine}.", ""]
    if n_missing:
        lines += [f"**{n_missing} pieces have not run yet**; another `make test-gpu` goes on with them.", ""]
    lines += ["## Rules", "", "Each rule on CuPy's arrays gives what it gives on NumPy's, to six digits.", ""]
    kinds = [experiments.VALUE, *experiments.EXPERIMENTS]
    outcomes = sorted({result["outcome"] for result in rules.values()}, key=lambda o: (o != experiments.RIGHT, o))
    counts = Counter((name.rsplit("/", 1)[1], result["outcome"]) for name, result in rules.items())
    rows = [[kind, *[counts[kind, outcome] for outcome in outcomes]] for kind in kinds]
    lines += pieces.table(rows, ["experiment", *outcomes], len(outcomes))
    lines += ["", "## What differs, and why", ""]
    reasons: dict[tuple[str, str], dict[str, set[str]]] = {}
    for name, result in sorted(rules.items()):
        if result["outcome"] not in (experiments.RIGHT, experiments.REFUSED):
            _, rule, _, what = name.split("/")
            reasons.setdefault((result["outcome"], result.get("why", "")), {}).setdefault(rule, set()).add(what)
    rows = [[outcome, why, rules_of(actual)] for (outcome, why), actual in sorted(reasons.items())]
    lines += pieces.table(rows, ["", "why", "rules"])
    lines += ["", "## Programs", ""]
    rows = [
        [name.split("/")[1], programs.text_of(name), result["outcome"], result.get("why", "")]
        for name, result in sorted(others.items())
    ]
    lines += pieces.table(rows, ["program", "what it does", "outcome", "why, or what it measured"])
    return "\n".join(lines) + "\n"


def rules_of(experiments_of: dict[str, set[str]]) -> str:
    """The names of rules, with their experiments if some of them are missing."""
    whole = {experiments.VALUE, *experiments.EXPERIMENTS}
    parts = [name if tried in (whole, {experiments.VALUE}) else f"{name} ({', '.join(sorted(tried))})"
             for name, tried in experiments_of.items()]  # fmt: skip
    return ", ".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Run the missing pieces and write the page. Returns the exit status."""
    options = pieces.parser_of("make test-gpu", __doc__).parse_args(arguments)
    if options.pieces:
        work(options.pieces, options.stand_in)
        return 0
    if not options.stand_in and not cuda_is_available():
        print(NO_DEVICE.format(PAGE.relative_to(pieces.ROOT)))
        return 1
    name = f"dry-{NAME}" if options.stand_in else NAME
    if options.fresh:
        pieces.forget(name)
    dry = ("--stand-in",) if options.stand_in else ()
    job = pieces.Work("gpu", name, groups(options.only), 1 if options.stand_in else N_WORKERS, dry)
    results = pieces.run_missing(job, options.seconds)
    missing = [piece for group in job.groups for piece in group if piece not in results]
    machine = "A dry run on the stand-in for CuPy: **no device was there**" if options.stand_in else pieces.machine()
    text = page(results, machine, len(missing))
    (pieces.output_folder() / f"{name}.md").write_text(text)
    if not options.stand_in:
        PAGE.write_text(text)
    print(machine)
    for outcome, n in sorted(Counter(result["outcome"] for result in results.values()).items()):
        print(f"{n:6} {outcome}")
    print(f"{len(missing):6} still to run" + (": call again" if missing else ""))
    bad = (experiments.DIFFERS, pieces.CRASHED, pieces.TIMED_OUT)
    return int(bool(missing) or any(result["outcome"] in bad for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
