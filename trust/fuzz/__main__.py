"""Random cases, compared with other results: python -m trust.fuzz [--long]

    python -m trust.fuzz --only calls --minutes 1        so many minutes of one kind
    python -m trust.fuzz --replay calls:0:4711           one case in this process, with its traceback
    python -m trust.fuzz --torch /path/to/python         kinds that are compared with PyTorch, too

The long form can run in pieces. A piece first repeats the cases that failed before. Then it continues after the last
case (build/trust/fuzz).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from trust import figures
from trust.figures import Figures, Recorder
from trust.folders import FOLDER
from trust.fuzz import campaign
from trust.fuzz.campaign import Run
from trust.fuzz.faults import Fault
from trust.fuzz.kinds import KINDS, limited_memory

#: The seeds of the short and of the long form. The two forms have different cases.
SHORT_SEED, LONG_SEED = 1, 0
STATE = FOLDER / "fuzz"


def stored_run(kind: str, seed: int) -> Run:
    """The run of earlier pieces, on this machine or on the one that wrote the figures of the long form."""
    file = file_of(kind, seed)
    if not file.exists():
        return of_figures(kind, seed, figures.read_all().get("fuzz"))
    state = json.loads(file.read_text(encoding="utf-8"))
    faults = {int(number): Fault(*fault) for number, fault in state.pop("faults").items()}
    return Run(**state, faults=faults)


def of_figures(kind: str, seed: int, earlier: Figures | None) -> Run:
    """The run of a kind according to figures: the next case, the cases that failed, its share of the time.

    >>> faults = ["`--replay files:0:1`: x", "`--replay views:0:2`: y"]
    >>> of_figures("files", 0, Figures("make fuzz", True, {"spoilt files": 600}, faults))
    Run(kind='files', seed=0, next=2, seconds=0.0, faults={1: Fault(kind='', where='', what='x')})
    """
    if earlier is None or not earlier.long or seed != LONG_SEED:
        return Run(kind, seed)
    matches = [re.match(rf"`--replay {kind}:{seed}:(\d+)`: (.*)", text, re.DOTALL) for text in earlier.findings]
    faults = {int(match[1]): Fault("", "", match[2]) for match in matches if match is not None}
    count = int(earlier.rows.get(KINDS[kind].label, 0)) // KINDS[kind].each
    return Run(kind, seed, count, earlier.seconds / len(earlier.rows) if count else 0.0, faults)


def store(run: Run) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    file = file_of(run.kind, run.seed)
    whole = file.with_suffix(".new")
    whole.write_text(json.dumps(asdict(run)), encoding="utf-8")
    whole.replace(file)


def file_of(kind: str, seed: int) -> Path:
    return STATE / f"{kind}-{seed}.json"


def run_kind(name: str, options: argparse.Namespace, until: float) -> Run:
    """A piece of the cases of a kind."""
    kind = KINDS[name]
    torch = options.torch or ""
    if not options.long:
        run = Run(name, SHORT_SEED if options.seed is None else options.seed, options.first)
        last = run.next + (options.cases or (10**9 if options.minutes else kind.short))
        campaign.go_on(run, last, workers=options.workers, until=until, torch=torch)
        return run
    run = stored_run(name, LONG_SEED if options.seed is None else options.seed)
    campaign.still(run, torch)
    campaign.go_on(run, kind.long, workers=options.workers, until=until, torch=torch, save=store)
    store(run)
    return run


def report(run: Run, torch: str | None) -> list[str]:
    """The faults of a run, grouped by their place, with the shortest case of each group."""
    if not run.faults:
        return []
    if KINDS[run.kind].torch and not torch:
        return [f"{run.kind}: {len(run.faults)} faults, which --torch shows"]
    cases = KINDS[run.kind].cases(run.seed, torch)
    with limited_memory():
        texts = {number: cases.text(number) for number in run.faults}
    cases.close()
    places = Counter((fault.kind, fault.where) for fault in run.faults.values())
    lines = []
    for where, count in places.most_common():
        there = [number for number, fault in run.faults.items() if (fault.kind, fault.where) == where]
        number = min(there, key=lambda number: len(texts[number]))
        name = f"`--replay {run.kind}:{run.seed}:{number}`"
        what = " ".join(run.faults[number].what.split())[:200]
        lines.append(": ".join(filter(None, (name, " ".join(filter(None, where)), what))))
        lines[-1] += f" ({count} cases)" if count > 1 else ""
        print(f"{lines[-1]}\n{texts[number]}\n", flush=True)
    return lines


def replay(name: str, torch: str | None) -> int:
    """Run one case in this process."""
    kind, seed, number = name.split(":")
    cases = KINDS[kind].cases(int(seed), torch)
    with limited_memory():
        print(cases.text(int(number)))
        fault = cases.fault(int(number))
    cases.close()
    print("right" if fault is None else f"{fault.kind} {fault.where}\n{fault.what}")
    return int(fault is not None)


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m trust.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--long", action="store_true", help="the long form, whose figures are written")
    parser.add_argument("--only", choices=list(KINDS), nargs="*", help="these kinds")
    parser.add_argument("--minutes", type=float, help="no case begins later")
    parser.add_argument("--cases", type=int, help="so many of each kind (short form)")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (short form)")
    parser.add_argument("--workers", type=int, default=2, help="so many processes at a time")
    parser.add_argument("--torch", metavar="INTERPRETER", help="a Python that has PyTorch")
    parser.add_argument("--replay", metavar="KIND:SEED:NUMBER", help="one case, here")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    options = arguments(words)
    if options.replay:
        return replay(options.replay, options.torch)
    recorder = Recorder("make fuzz", long=options.long)
    kinds = options.only or [name for name, kind in KINDS.items() if kind.short and (options.torch or not kind.torch)]
    begin = time.monotonic()
    for k, name in enumerate(kinds, 1):
        share = 60 * options.minutes * k / len(kinds) if options.minutes else float("inf")
        run = run_kind(name, options, begin + share)
        if not options.long:
            recorder.figures.rows[KINDS[name].label] = (run.next - options.first) * KINDS[name].each
            recorder.figures.findings += report(run, options.torch)
    if options.long:
        describe_all(recorder, options.torch)
    return recorder.report()


def describe_all(recorder: Recorder, torch: str | None) -> None:
    """The figures of all pieces of the long form."""
    for name, kind in KINDS.items():
        run = stored_run(name, LONG_SEED)
        if run.next:
            store(run)
            recorder.figures.rows[kind.label] = run.next * kind.each
            recorder.figures.findings += report(run, torch)
            recorder.earlier += run.seconds
        if run.next < kind.long:
            recorder.figures.not_run.append(
                f"{kind.label}: {(kind.long - run.next) * kind.each:,} of {kind.long * kind.each:,}"
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
