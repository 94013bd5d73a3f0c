"""Long runs, and allocations that fail: python -m trust.soak [--long]

Each loop of `trust/scenarios/loops.py` runs in its own process. Its resident memory and its processor time per step
must not grow from the beginning to the end. Then each allocation fails in turn (`trust.no_memory`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trust import no_memory
from trust.figures import ROOT, Recorder
from trust.no_memory import LOSES_LISTS
from trust.threads import environment

LOOPS = Path(__file__).parent / "scenarios" / "loops.py"
NO_MEMORY = Path(__file__).parent / "no_memory.py"
#: The allowed growth of memory in a loop, in bytes, and of the time of a step, as a factor.
MORE_MEMORY = 16 << 20
LONGER = 1.5
#: Errors of NumPy and Python without memory that are no MemoryError, and that do not name the cause.
NOT_OURS = re.compile(r"SystemError: .*(without (setting an exception|exception set|error)|with an exception set)")


def names_in(file: Path, mark: str) -> list[tuple[str, ...]]:
    return re.findall(mark, file.read_text(encoding="utf-8"), re.MULTILINE)


def loops() -> dict[str, tuple[int, int]]:
    """The names of loops, with their numbers of steps in the short and the long form."""
    marks = names_in(LOOPS, r"^@(?:loop|feat)\(short=([\d_]+), long=([\d_]+)\)\ndef (\w+)")
    return {name: (int(short), int(long)) for short, long, name in marks}


def scenarios() -> list[str]:
    return [str(name) for name in names_in(NO_MEMORY, r"^@scenario\ndef (\w+)")]


def run_loop(name: str, steps: int) -> dict[str, float] | str:
    """The measurements of a loop in its own process, or its fault."""
    ended = subprocess.run(
        [sys.executable, "-m", "trust.scenarios.loops", name, str(steps)],
        env=environment(), cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        return f"{name}: {steps} steps: status {ended.returncode}: {ended.stderr[-1500:]}"
    measured: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return measured


def run_loops(recorder: Recorder, names: Iterable[str], *, long: bool) -> None:
    for name in names:
        steps = loops()[name][long]
        measured = run_loop(name, steps)
        if isinstance(measured, str):
            recorder.figures.findings.append(measured)
            continue
        if "left_out" in measured:
            recorder.figures.not_run.append(f"{name}: {measured['left_out']}")
            continue
        recorder.figures.rows[f"{name.replace('_', ' ')}, {steps:,}"] = description(measured)
        recorder.figures.findings += [f"{name}: {fault}" for fault in judge(measured)]


def description(measured: dict[str, float]) -> str:
    if "peak" in measured:
        return f"{measured['seconds']:.0f} s, {measured['peak'] / 2**20:.0f} MiB"
    grown = f"{measured['grown'] / 2**20:+.1f} MiB"
    return f"{grown}, {measured['first'] * 1e6:.0f} µs a step at first, {measured['last'] * 1e6:.0f} µs at last"


def judge(measured: dict[str, float]) -> Iterable[str]:
    if "peak" in measured:
        return
    if measured["grown"] > MORE_MEMORY:
        yield f"memory has grown by {measured['grown'] / 2**20:.1f} MiB"
    if measured["last"] > LONGER * measured["first"]:
        yield f"a step takes {measured['last'] * 1e6:.0f} µs at last, and {measured['first'] * 1e6:.0f} µs at first"


def can_preload() -> bool:
    return sys.platform == "linux" and shutil.which(os.environ.get("CC", "cc")) is not None


NO_FUNCTIONS = "Python's own allocations: without memory for a new function, this Python releases what it does not own"


def failing_kinds(library: str) -> list[str]:
    """The kinds of allocations that can fail without a fault of Python's own."""
    ended = subprocess.run(
        [sys.executable, "-m", "trust.no_memory", no_memory.NEW_FUNCTION],
        env=environment() | {"LD_PRELOAD": library}, cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    return [kind for kind in no_memory.KINDS if kind != "python" or not ended.returncode]


def sweep(library: str, name: str, kind: str, step: int) -> tuple[Counter[str], list[str]]:
    """Let each allocation of one scenario fail. Returns the numbers of outcomes, and the faults."""
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "trust.no_memory", name, kind, str(step)],
        env=environment() | {"LD_PRELOAD": library}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    counts: Counter[str] = Counter()
    faults = []
    for line in ended.stdout.splitlines():
        if line == LOSES_LISTS:
            counts[LOSES_LISTS] = 1
            continue
        n, _, outcome = line.partition(" ")
        if NOT_OURS.search(outcome):
            # its consequences are not ours, either: a lock's method may take the lock and raise an error
            counts["not ours"] += 1
            continue
        if outcome.startswith("end"):
            break
        error, _, wrong = outcome.partition(" ")
        counts["MemoryError" if error.endswith("MemoryError") else "other"] += 1
        if wrong.removeprefix("error ").strip():
            faults.append(f"{name}: {kind} allocation {n}: {wrong.strip()}")
    if ended.returncode:
        faults.append(f"{name}: {kind}: status {ended.returncode}: {ended.stderr[-1500:]}")
    return counts, faults


def run_sweeps(recorder: Recorder, names: Iterable[str], *, step: int, workers: int) -> None:
    if not can_preload():
        recorder.figures.not_run.append("allocators that fail: they are preloaded, and need Linux and a C compiler")
        return
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        library = str(no_memory.build(Path(folder)))
        kinds = failing_kinds(library)
        places = [(name, kind) for name in names for kind in kinds]
        results = list(pool.map(lambda program: sweep(library, program[0], program[1], step), places))
    counts: Counter[str] = sum((counts for counts, _ in results), Counter())
    if counts.pop(LOSES_LISTS, 0):
        recorder.figures.not_run.append(f"whether memory is given back after a failure: {LOSES_LISTS}")
    if "python" not in kinds:
        recorder.figures.not_run.append(NO_FUNCTIONS)
    rows = recorder.figures.rows
    rows["programs in which memory fails"] = len(places)
    rows["allocations that failed"] = counts.total()
    rows["of these a MemoryError"] = counts["MemoryError"]
    rows["of these without effect"] = counts["other"]
    rows["of these an error of NumPy's or Python's own that does not name memory"] = counts["not ours"]
    recorder.figures.findings += [fault for _, faults in results for fault in faults]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m trust.soak", description=__doc__)
    parser.add_argument("--long", action="store_true", help="the long form, whose figures are written")
    parser.add_argument("--only", nargs="*", help="loops and programs of these names")
    parser.add_argument("--step", type=int, help="let each so many-th allocation fail")
    parser.add_argument("--workers", type=int, default=2, help="so many processes at a time")
    options = parser.parse_args(arguments)
    recorder = Recorder("make soak", long=options.long, piece=bool(options.only))
    selection = set(options.only or [*loops(), *scenarios()])
    run_loops(recorder, [name for name in loops() if name in selection], long=options.long)
    names = [name for name in scenarios() if name in selection]
    if names:
        step = options.step or (1 if options.long else 29)
        run_sweeps(recorder, names, step=step, workers=options.workers)
    return recorder.report()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
