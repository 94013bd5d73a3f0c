"""Plants faults in the package, one at a time, and checks whether the tests find them.

    python -m trust.mutants [--long] [--seed N] [--number N] [--only ID] [--minutes N] [--again]

Each fault is planted in a copy of the package that runs as plain Python. The short form plants a few faults in declared
rules, with a fixed seed, and runs the tests of the declared operations. The long form draws other faults each time,
from all packages in `COUNTED`. The tests that take the branch of a fault judge it, those of its family first. `make
coverage` stores these tests. --minutes limits the time. A call with the same seed continues an earlier run. With
--again it also repeats the faults that survived.

If no test finds a fault, either a new test is written, or `trust/data/equivalent_mutants.json` lists the fault with the
reason why no test can find it.
"""

from __future__ import annotations

import argparse
import json
import random
import runpy
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from trust import mutations
from trust.branches import COUNTED, PACKAGE, ROOT
from trust.figures import Recorder
from trust.judging import (
    COMPILED_FORM,
    FAMILIES,
    OF_COMPILED,
    PLAIN_FORM,
    PLAIN_TWINS,
    Copy,
    Tests,
    Verdict,
    declared_at,
    needs_loops,
    rounds_of,
    scratch,
)
from trust.mutations import Mutation

EQUIVALENT = Path(__file__).parent / "data" / "equivalent_mutants.json"
RESULTS = ROOT / "build" / "trust" / "mutants"
SHORT, LONG, SHORT_SEED = 5, 400, 1
#: The name of the tests of a rule, without the rule. OF_FORMULAS has the kinds of faults that these tests can find.
TABLE_TESTS = "tests/rules/test_table.py::test_rule"
#: The folders of tests that a process collects once. They find most faults.
COLLECTED = tuple(sorted({folder for folders in FAMILIES.values() for folder in folders}))
#: For at most this number of faults, separate processes are quicker than a process that collects all tests.
FEW = 20
OF_FORMULAS = ("sign", "factor", "value", "conjugate", "axis")


def equivalent() -> dict[str, str]:
    """The mutations that no test can find, and the reasons."""
    return dict(json.loads(EQUIVALENT.read_text(encoding="utf-8")))


class Results:
    """The verdicts of a seed, each in a line of a file. So a run can continue another one, or run beside it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)

    def every(self) -> list[Verdict]:
        """All verdicts, in their order."""
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        return [Verdict(**json.loads(line)) for line in lines]

    def read(self) -> dict[str, Verdict]:
        """The verdicts by name. The last one of a name counts."""
        return {verdict.name: verdict for verdict in self.every()}

    def survived_once(self) -> set[str]:
        """The names of the mutations that survived when they were first judged."""
        first = {verdict.name: verdict for verdict in reversed(self.every())}
        return {name for name, verdict in first.items() if not verdict.found_by}

    def add(self, verdict: Verdict) -> None:
        """Write a verdict down."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict), ensure_ascii=False) + "\n")


def in_declarations(number: int, seed: int) -> list[Mutation]:
    """Mutations of declared rules, one for each rule."""
    mutations_by_name: dict[str, Mutation] = {}
    # only the processes that judge import the package itself
    rules = " ".join(runpy.run_path(str(PACKAGE / "rules" / "names.py"))["RULES"].values()).split()
    for mutation in mutations.draw(("rules",), 100 * number, seed, frozenset(equivalent())):
        name = declared_at(mutation)
        if name in rules and mutation.kind in OF_FORMULAS and len(mutations_by_name) < number:
            mutations_by_name.setdefault(name, mutation)
    return list(mutations_by_name.values())


def judge_declarations(sample: Sequence[Mutation]) -> list[Verdict]:
    """Judge mutations by the tests of the table. The names of their cases contain the names of rules."""
    verdicts = []
    with scratch() as folder:
        copy = Copy(Path(folder))
        copy.collect({TABLE_TESTS.split("::")[0]})
        for mutation in sample:
            verdicts.append(copy.judge(mutation, [([f"{TABLE_TESTS}[{declared_at(mutation)}-*"], 120.0)]))
            print(line_of(verdicts[-1]), flush=True)
    return verdicts


def judge(sample: Sequence[Mutation], results: Results, minutes: float, again: bool = False) -> list[Verdict]:
    """The verdicts of the mutations that can be judged within this number of minutes, by the tests of their branches.

    again: judge only the mutations that survived, since there may be new tests.
    """
    verdicts = results.read()
    survivors = {name for name, verdict in verdicts.items() if not verdict.found_by}
    left = [each for each in sample if (each.name in survivors if again else each.name not in verdicts)]
    random.shuffle(left)  # so that parallel runs seldom judge the same mutation
    end = time.monotonic() + 60 * minutes
    if left and minutes > 0:
        tests, with_loops = Tests(PLAIN_FORM), Tests(COMPILED_FORM)
        with scratch() as folder:
            plain, compiled = Copy(Path(folder) / "plain"), Copy(Path(folder) / "compiled", compiled=True)
            if len(left) > FEW:
                twins = files_of(PLAIN_TWINS.values())
                plain.collect(twins | {name.split("::")[0] for name in tests.names if name.startswith(COLLECTED)})
                compiled.collect(files_of([*OF_COMPILED.values(), [name for name in with_loops.names if name]]))
            for mutation in left:
                copy = compiled if runs_compiled(mutation.path) else plain
                if time.monotonic() > end:
                    break
                if again or mutation.name not in results.read():
                    verdict = copy.judge(mutation, rounds_of(mutation, tests))
                    if copy is plain and not verdict.found_by and needs_loops(mutation, tests):
                        verdict = compiled.judge(mutation, rounds_of(mutation, with_loops))
                    results.add(verdict)
                    print(line_of(verdict), flush=True)
    verdicts = results.read()
    return [verdicts[mutation.name] for mutation in sample if mutation.name in verdicts]


def runs_compiled(path: str) -> bool:
    """Whether a module does its work in the compiled form."""
    return path.split("/")[0] in OF_COMPILED and path not in PLAIN_TWINS


def files_of(tests: Iterable[Sequence[str]]) -> set[str]:
    """The files of tests."""
    return {name.split("::")[0] for names in tests for name in names}


def line_of(verdict: Verdict) -> str:
    """A verdict in one line."""
    outcome = verdict.found_by or ("no test takes its branch" if not verdict.tests else "SURVIVES")
    return f"{verdict.id} {verdict.seconds:5.1f} s  {outcome}\n    {verdict.name}"


def report(verdicts: Sequence[Verdict], survived_once: set[str], seed: int, recorder: Recorder) -> None:
    """The figures of a run."""
    survivors = [verdict for verdict in verdicts if not verdict.found_by]
    rows = recorder.figures.rows
    rows["mutations that could be planted"] = len(mutations.all_mutations(COUNTED))
    rows["seed"] = str(seed)
    rows["planted"] = len(verdicts)
    packages = Counter(verdict.name.split("/")[0] for verdict in verdicts)
    for package, number in packages.items():
        rows[f"of these in {package}"] = number
    rows["found by a test"] = len(verdicts) - len(survivors)
    if survived_once:
        rows["of these only when judged again, with further tests"] = len(
            survived_once - {verdict.name for verdict in survivors}
        )
    rows["found, in percent"] = f"{100 * (1 - len(survivors) / len(verdicts)):.1f}"
    rows["listed as equivalent"] = len(equivalent())
    recorder.figures.findings = [f"Survives: `{verdict.name}`" for verdict in survivors]


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m trust.mutants")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--number", type=int)
    parser.add_argument("--only", metavar="ID", help="one mutation, by its id")
    parser.add_argument("--again", action="store_true", help="judge those that survived once more")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Draw, judge, report. Returns 1 if a fault survives."""
    options = arguments(words)
    seed = options.seed if options.seed is not None else random.randrange(10**6) if options.long else SHORT_SEED
    recorder = Recorder("make mutants", long=options.long)
    survived_once: set[str] = set()
    if options.only:
        sample = [mutation for mutation in mutations.all_mutations(COUNTED) if mutation.id in options.only.split(",")]
        with scratch() as folder:
            verdicts = judge(sample, Results(Path(folder) / "only.jsonl"), options.minutes)
    elif not options.long:
        sample = in_declarations(options.number or SHORT, seed)
        verdicts = judge_declarations(sample)
    else:
        sample = mutations.draw(COUNTED, options.number or LONG, seed, frozenset(equivalent()))
        print(f"seed {seed}: {len(sample)} mutations", flush=True)
        results = Results(RESULTS / f"{seed}.jsonl")
        verdicts = judge(sample, results, options.minutes, options.again)
        survived_once = results.survived_once() & {verdict.name for verdict in verdicts}
        if len(verdicts) < len(sample):
            print(f"{len(verdicts)} of {len(sample)} are judged: call it again with --seed {seed} to go on")
            recorder.figures.not_run = [f"{len(sample) - len(verdicts)} of {len(sample)} that were drawn"]
    report(verdicts, survived_once, seed, recorder)
    survivors = [verdict for verdict in verdicts if not verdict.found_by]
    print(f"{len(verdicts) - len(survivors)} of {len(verdicts)} are found", *map(line_of, survivors), sep="\n")
    if not options.only:
        recorder.finish()
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
