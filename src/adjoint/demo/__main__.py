"""Run the demonstration: ``python -m adjoint.demo [--out DIRECTORY] [--epochs N] [job ...]``.

The exit status is 0 when every result met its target and 1 when one missed it.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from .report import Check

JOBS = ("digits", "nist", "newton")
NEEDED = {"rich": "rich", "scipy": "scipy", "sklearn": "scikit-learn", "matplotlib": "matplotlib"}
PLAIN_WIDTH = 120  # columns where the output is a file or a pipe


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m adjoint.demo",
        description="Three jobs in automatic differentiation, each checked against an independent answer.",
    )
    parser.add_argument("jobs", nargs="*", metavar="job", help=f"which of {', '.join(JOBS)} (default: all)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo-output"),
        help="directory for the pictures (default: ./%(default)s)",
    )
    parser.add_argument("--epochs", type=int, default=None, help="epochs of training on the digits")
    options = parser.parse_args(arguments)
    unknown = [job for job in options.jobs if job not in JOBS]
    if unknown:
        parser.error(f"no job is called {unknown[0]!r}; choose from {', '.join(JOBS)}")
    if options.epochs is not None and options.epochs < 1:
        parser.error(f"--epochs is {options.epochs}, it must be at least 1")
    options.jobs = options.jobs or list(JOBS)
    return options


def missing_packages() -> list[str]:
    """Return the packages that the demonstration needs beside adjoint and that are not installed."""
    return [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]


def run_digits(options: argparse.Namespace, console: Console) -> list[Check]:
    """Train the network, write its picture, and return the checks."""
    from . import digits, pictures

    epochs = options.epochs or digits.EPOCHS
    training = digits.run(digits.load_digits(), console, epochs=epochs)
    announce(console, pictures.draw_digits(training, options.out / "digits.png"))
    return training.checks()


def run_nist(options: argparse.Namespace, console: Console) -> list[Check]:
    """Fit the certified data sets, write their picture, and return the checks."""
    from . import nist, pictures

    fits = nist.run(console)
    announce(console, pictures.draw_fits(fits, options.out / "regression.png"))
    return [check for result in fits for check in result.checks()]


def run_newton(options: argparse.Namespace, console: Console) -> list[Check]:
    """Minimise by Newton's method, write the picture, and return the checks."""
    from . import digits, newton, pictures

    solution = newton.run(digits.load_digits(), console)
    announce(console, pictures.draw_newton(solution, options.out / "newton.png"))
    return solution.checks()


RUNNERS: dict[str, Callable[[argparse.Namespace, Console], list[Check]]] = {
    "digits": run_digits,
    "nist": run_nist,
    "newton": run_newton,
}


def announce(console: Console, path: Path) -> None:
    """Say where a picture was written."""
    console.print(f"  picture: {path}\n")


def conclude(console: Console, checks: Sequence[Check], seconds: float) -> int:
    """Print the table and the verdict; return the exit status."""
    from .report import duration, failures, table

    console.print(table(checks))
    complaints = failures(checks)
    for complaint in complaints:
        console.print(f"[bold red]target missed[/]  {complaint}")
    if not complaints:
        console.print(f"All {len(checks)} results met their targets, in {duration(seconds)}.")
    return 1 if complaints else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the jobs that the command line names and return the exit status."""
    options = parse_arguments(arguments)
    missing = missing_packages()
    if missing:
        print(f"the demonstration also needs: pip install {' '.join(missing)}", file=sys.stderr)
        return 1
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    checks = [check for job in options.jobs for check in RUNNERS[job](options, console)]
    return conclude(console, checks, time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
