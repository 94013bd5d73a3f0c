"""`python -m benchmarks`: time the workloads side by side in one process."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from pathlib import Path

from .contenders import NAMES, SUBJECT, load_all
from .document import write
from .measure import Effort, measure
from .report import header, printer
from .workloads import ALL

THOROUGH = Effort(rounds=25, block_seconds=0.02, budget=30.0)
QUICK = Effort(rounds=5, block_seconds=0.005, budget=3.0)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=[workload.name for workload in ALL],
        help="a workload to run, can be given again: %(choices)s",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, help=f"rounds per workload (default {THOROUGH.rounds})")
    parser.add_argument(
        "--peers", metavar="NAME,...", type=lambda names: names.split(","), default=NAMES,
        help=f"whom to compare {SUBJECT} with (default: {','.join(NAMES[1:])})",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all times here too")
    parser.add_argument("--document", metavar="FILE", type=Path, help="write a page in Markdown with all ratios")
    parser.add_argument("--quick", action="store_true", help="few and short rounds: does everything run?")
    options = parser.parse_args(arguments)
    unknown = set(options.peers) - set(NAMES)
    if unknown:
        parser.error(f"unknown peers: {', '.join(sorted(unknown))}; there are {', '.join(NAMES[1:])}")
    if options.rounds is not None and options.rounds < 2:
        parser.error(f"--rounds {options.rounds}: quartiles need at least 2")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns 1 if gradients disagree, or if adjoint is absent or fails, else 0."""
    options = parse(arguments)
    usual = QUICK if options.quick else THOROUGH
    effort = Effort(options.rounds or usual.rounds, usual.block_seconds, usual.budget)
    contenders, absent = load_all({SUBJECT, *options.peers})
    gc.freeze()  # the libraries' own objects stay, so collections need not visit them

    out, facts, results = printer(), header(contenders, absent), []
    out.header(facts)
    for workload in ALL:
        if options.only is None or workload.name in options.only:
            results.append(measure(workload, contenders, effort))
            out.result(results[-1])
    if options.json:
        document = {"header": facts, "workloads": {result.name: result.as_json() for result in results}}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.document:
        present = {name: fact for name, fact in facts.items() if name not in absent}
        write(options.document, present, results)
    return int(SUBJECT in absent or any(result.errors for result in results))


if __name__ == "__main__":
    sys.exit(main())
