"""`python -m benchmarks.programs`: whole programs in adjoint and in PyTorch, ordered by the ratio of their times.

Each program is checked first: the results and gradients of its first step must equal PyTorch's. Then the two libraries
take turns, in two processes. One process measures processor time with one thread, and the other elapsed time with two.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ..contenders import SUBJECT
from ..measure import Effort
from . import ALL
from .document import write_section
from .measurement import Timing, measure
from .table import text_table

THOROUGH = Effort(rounds=7, block_seconds=0.01, budget=2.0)
QUICK = Effort(rounds=3, block_seconds=0.002, budget=0.5)
#: The name, the clock and the number of threads of each measurement.
CLOCKS = {"processor": (time.process_time, 1), "wall": (time.perf_counter, 2)}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="a program or a field to run, can be given again"
    )
    parser.add_argument("--quick", action="store_true", help="few and short rounds: does everything run?")
    parser.add_argument("--rounds", type=int, help=f"rounds for each program (default {THOROUGH.rounds})")
    parser.add_argument("--clock", choices=CLOCKS, help="one of the two tables (default: both)")
    parser.add_argument("--document", metavar="FILE", type=Path, help="write the tables into this page in Markdown")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = set(options.only or ()) - {name for program in ALL for name in (program.name, program.field)}
    if unknown:
        parser.error(f"unknown programs: {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in ALL)}")
    return options


def child(options: argparse.Namespace) -> Iterator[Timing]:
    """The times by one clock, in this process."""
    clock, threads = CLOCKS[options.clock]
    usual = QUICK if options.quick else THOROUGH
    effort = Effort(options.rounds or usual.rounds, usual.block_seconds, usual.budget)
    programs = [p for p in ALL if options.only is None or {p.name, p.field} & set(options.only)]
    return measure(programs, effort, clock, threads)


def in_process(clock: str, arguments: list[str]) -> list[Timing]:
    """The times by one clock in a separate process, since libraries read the number of threads at import."""
    environment = os.environ | dict.fromkeys(THREADS, str(CLOCKS[clock][1]))
    command = [sys.executable, "-m", "benchmarks.programs", *arguments, "--clock", clock, "--child"]
    process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [Timing(**json.loads(line)) for line in process.stdout.splitlines()]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns 1 if a program fails or disagrees with PyTorch, else 0."""
    options = parse(arguments)
    if options.child:
        for timing in child(options):
            print(json.dumps(timing._asdict()), flush=True)
        return 0
    passed_on = [f"--only={name}" for name in options.only or ()] + ["--quick"] * options.quick
    passed_on += [f"--rounds={options.rounds}"] if options.rounds else []
    clocks = [options.clock] if options.clock else list(CLOCKS)
    timings = {clock: in_process(clock, passed_on) for clock in clocks}
    for clock, rows in timings.items():
        threads = CLOCKS[clock][1]
        print(f"time of the {clock}, {threads} thread{'s'[: threads > 1]}; {SUBJECT}'s times in front")
        print(text_table(rows))
    if options.document:
        write_section(options.document, timings)
    return int(any(row.error for rows in timings.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
