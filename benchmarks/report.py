"""The report: a header with the machine and the libraries, and a table for each workload."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from .contenders import BY_HAND, SUBJECT, TORCH_THREADS, Contender
from .measure import Result

COLUMNS = ("contender", "median", "ratio", "paired", "quartiles", "remark")
NUMBERS = range(1, len(COLUMNS) - 1)  # the columns that are aligned to the right
STYLES = {SUBJECT: "bold green", BY_HAND: "dim"}
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def header(contenders: Sequence[Contender], absent: Mapping[str, str]) -> dict[str, str]:
    """The properties of the machine and the libraries that determine the times."""
    facts = {
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "CPU": f"{cpu_name()}, {available_cpus()} available",
        "system": platform.platform(),
        "load average": load_average(),
        **{each.name: each.version for each in contenders},
        **{name: f"absent, {why}" for name, why in absent.items()},
    }
    present = {each.name for each in contenders}
    if "torch" in present:
        facts["torch"] += f", {TORCH_THREADS} threads"
    if SUBJECT in present:
        facts[SUBJECT] += f", {compiled_modules()}"
    return facts


def compiled_modules() -> str:
    """A text that says whether adjoint's hot modules run compiled or as plain Python, since this changes all times."""
    names = importlib.import_module(f"{SUBJECT}._compiled").COMPILED
    files = [importlib.import_module(name).__file__ or "" for name in names]
    compiled = sum(not file.endswith(".py") for file in files)
    return f"{compiled} of {len(names)} hot modules compiled"


def load_average() -> str:
    """The load of the machine before the benchmark, if the system reports it."""
    return "{:.2f} {:.2f} {:.2f}".format(*os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"


def cpu_name() -> str:
    """The name of the processor. Only Linux has a file with the name."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        match = re.search(r"^model name\s*:\s*(.+)$", information.read_text(), re.MULTILINE)
        if match:
            return match[1]
    return platform.processor() or platform.machine()


def available_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def quantity(seconds: float) -> str:
    """Three digits and a unit: `1.23 µs`."""
    size, unit = next((entry for entry in UNITS if seconds >= entry[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def rows(result: Result) -> list[tuple[str, ...]]:
    """The rows of the table as text. The contenders that did not take part come last, with the reason."""
    lines = []
    for name, times in result.seconds.items():
        comparison = result.comparison(name)
        if comparison is None:
            ratios: tuple[str, ...] = ("", "", "", "")
        else:
            which, values = comparison
            quartiles = f"{values.lower:.2f} to {values.upper:.2f}"
            ratios = (f"{values.of_medians:.2f}", f"{values.paired:.2f}", quartiles, which)
        lines.append((name, quantity(median(times)), *ratios))
    lines += [(name, "-", "", "", "", why) for name, why in result.left_out.items()]
    return lines


def caption(result: Result) -> str:
    return f"{result.name}: {result.title} (time per {result.unit}, {result.rounds} rounds)"


def plain_table(result: Result) -> str:
    """The table with columns aligned by spaces: left for names, right for numbers."""
    table = [COLUMNS, *rows(result)]
    widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


class Plain:
    """Prints text that any program can read."""

    def header(self, facts: Mapping[str, str]) -> None:
        print("\n".join(f"{name}: {fact}" for name, fact in facts.items()), flush=True)

    def result(self, result: Result) -> None:
        print(f"\n{caption(result)}")
        if result.rounds:
            print(plain_table(result))
        print("".join(f"ERROR: {error}\n" for error in result.errors), end="", flush=True)


class Rich:
    """Prints coloured tables for a terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(highlight=False)

    def header(self, facts: Mapping[str, str]) -> None:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for name, fact in facts.items():
            table.add_row(f"[bold]{name}[/bold]", escape_markup(fact))
        self.console.print(table)

    def result(self, result: Result) -> None:
        from rich.table import Table

        table = Table(title=escape_markup(caption(result)), title_justify="left", title_style="bold")
        for column, name in enumerate(COLUMNS):
            table.add_column(name, justify="right" if column in NUMBERS else "left", no_wrap=column in NUMBERS)
        for name, *cells in rows(result):
            table.add_row(name, *map(escape_markup, cells), style=STYLES.get(name, ""))
        if result.rounds:
            self.console.print()
            self.console.print(table)
        for error in result.errors:
            self.console.print(f"[bold red]{escape_markup(f'{result.name}: {error}')}[/bold red]")


def escape_markup(text: str) -> str:
    """A text that rich prints unchanged, with its square brackets."""
    from rich.markup import escape

    return escape(text)


def printer() -> Plain | Rich:
    """Tables with colours on a terminal with rich, otherwise plain text."""
    at_terminal = sys.stdout.isatty() and importlib.util.find_spec("rich") is not None
    return Rich() if at_terminal else Plain()
