"""`python -m agreement`: run the samples in adjoint and in PyTorch, and count the entries that agree."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from . import run
from .compare import ASPECTS
from .document import write
from .entries import Entry, all_entries
from .score import ALL, ALTOGETHER, FIVE, JUDGED, OPEN, ORDINARY, Score, by_tier, entries_right

NO_TORCH = "python -m agreement compares adjoint with PyTorch, which is not installed: pip install torch==2.13.0"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m agreement", description=__doc__)
    parser.add_argument(
        "--entries", metavar="PATTERN", nargs="+", default=["*"],
        help="names or families of entries, as in a shell: 'fft.*' inplace",
    )  # fmt: skip
    parser.add_argument("--tier", type=int, choices=(1, 2, 3), nargs="+", default=[1, 2, 3])
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--document", metavar="FILE", type=Path, help="write a page in Markdown with the figures")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print N unexplained differences of each entry"
    )
    return parser.parse_args(arguments)


def select(options: argparse.Namespace) -> list[Entry]:
    """The entries that the command line asks for."""
    return [
        entry for entry in all_entries().values()
        if entry.tier in options.tier
        and any(fnmatchcase(entry.name, pattern) or entry.family == pattern for pattern in options.entries)
    ]  # fmt: skip


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar on the terminal if rich is installed.

    The block gets a function to call with the name of each entry.
    """
    if importlib.util.find_spec("rich") is None or not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)


def report(scores: Sequence[Score], show: int) -> None:
    """The figures and some differences, on standard output."""
    titles = {
        ALL: "agree",
        JUDGED: "agree, or are right by calculation",
        ORDINARY: "agree at ordinary points",
        OPEN: "agree, or differ for a known reason",
    }
    for which, title in titles.items():
        print(f"\nEntries that {title}")
        for name, group in by_tier(scores).items():
            figures = ", ".join(f"{aspect} {entries_right(group, aspect, which)}" for aspect in (ALTOGETHER, *FIVE))
            print(f"  {name}: {figures}" if group else f"  {name}: none")
    for score in scores:
        for text in score.malformed:
            print(f"\n{score.entry.name}: no sample: {text}")
        for finding in sorted(score.open, key=lambda finding: ASPECTS.index(finding.aspect))[:show]:
            print(f"\n{finding.entry}, {finding.aspect}: {finding.sample}   {finding.dtype}")
            print(f"  torch    {finding.torch}\n  adjoint  {finding.adjoint}")


def facts() -> dict[str, str]:
    """The versions and the system of the figures."""
    versions = {name: importlib.metadata.version(name) for name in ("torch", "numpy", "scipy")}
    return {"Python": platform.python_version(), "system": platform.platform(), **versions}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns 1 without torch, else 0."""
    options = parse(arguments)
    if importlib.util.find_spec("torch") is None:
        print(NO_TORCH, file=sys.stderr)
        return 1
    entries = select(options)
    with progress(len(entries)) as advance:
        scores_by_entry = {verdicts.entry: Score(verdicts) for verdicts in run.run(entries, options.processes, advance)}
    scores = [scores_by_entry[entry.name] for entry in entries]
    report(scores, options.show)
    if options.document:
        write(options.document, facts(), scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
