"""Differentiate functions of packages that were not written for adjoint, and write docs/tried-with.md:

python scripts/try_packages.py [--only WORD] [--trace]

The functions are in scripts/tried. The script skips and prints packages that are not installed. It writes the page if
no package is missing. --only tries the functions whose package or name contains a word, and writes nothing. --trace
prints the traceback of failures. The exit status is 1 if a derivative is wrong, or if the list has no reason for a
failure.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import logging
import platform
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tried import FAMILIES
from tried.entries import ENTRIES, OWN, Entry

import adjoint

PAGE = Path(__file__).parents[1] / "docs" / "tried-with.md"
PLAIN, PATCHED, FAILS = "plain", "in `patched()`", "does not work"
#: The allowed distance of a derivative from differences, which have an error of this size.
TOLERANCE = 2e-5

HEAD = """\
# Tried with

This page lists functions of other packages, and of SciPy's and NumPy's Python code, that were differentiated on arrays
with `adjoint.func.grad_and_value`. `scripts/try_packages.py` calls the unchanged functions and writes this page. It
compares every value with the result for plain arrays, and every derivative with central differences.

| | functions |
|---|---|
{counts}

*plain*: the function runs without a block. *in `patched()`*: it runs in a block of `adjoint.scipy.patched()`, since it
calls `numpy.asarray`, `numpy.zeros`, `float`, `math` or SciPy. All plain functions run in the block, too. No derivative
is wrong: a function that does not work raises an error with its line, or returns NaN. The reasons are below the tables.

Functions that numba compiles take only plain arrays. `adjoint.custom` defines their derivatives; its rules may be
compiled, too. In a block of `patched()`, numba cannot compile functions that call a replaced function of NumPy or math:
call such a function once before the block.

Made with Python {python}, adjoint {adjoint}, NumPy {numpy} and SciPy {scipy}.
"""


class Outcome(NamedTuple):
    """The outcome of a function, and its fault: the error that it raised, or the fault of its derivative."""

    how: str
    fault: str = ""
    is_wrong: bool = False


class WrongError(Exception):
    """A value or a derivative is wrong without an error."""


class NotANumberError(Exception):
    """A derivative is NaN."""


# one function ---------------------------------------------------------------------------------------------------------


def parts(result: Any) -> list[Any]:
    """All arrays and numbers in a result."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [part for member in result for part in parts(member)]
    return [result]


def weighted_sum(result: Any) -> Any:
    """A number that depends on every element of a result, each with a weight of its own."""
    total, n = 0.0, 0
    for part in parts(result):
        size = int(np.size(part))
        weights = np.cos(1.3 * np.arange(n, n + size) + 0.4).reshape(np.shape(part))
        n += size
        total = total + np.sum(np.real(part) * weights)
        if np.iscomplexobj(part):
            total = total + np.sum(np.imag(part) * weights[..., ::-1] if np.ndim(part) else np.imag(part))
    return total


def by_differences(function: Any, point: Any) -> Any:
    """The gradient by central differences, extrapolated once."""
    gradient = np.zeros(point.shape)
    for index in np.ndindex(point.shape):
        slopes = []
        for factor in (2.0, 1.0):
            step = factor * 2e-5 * max(1.0, abs(point[index]))
            ends = []
            for sign in (1, -1):
                neighbour = np.array(point)
                neighbour[index] += sign * step
                ends.append(float(weighted_sum(function(neighbour))))
            slopes.append((ends[0] - ends[1]) / (2 * step))
        gradient[index] = (4 * slopes[1] - slopes[0]) / 3
    return gradient


def compare(function: Any, point: Any, value: Any, gradient: Any) -> None:
    """Differentiate a function. Raises WrongError if its value or its gradient is wrong."""
    own_gradient, own_value = adjoint.func.grad_and_value(lambda x: weighted_sum(function(x)))(np.array(point))
    if not np.allclose(own_value, value, rtol=1e-9, atol=1e-12):
        raise WrongError(f"the value is {own_value} in place of {value}")
    if np.isnan(own_gradient).any():
        raise NotANumberError(f"the gradient is {own_gradient} in place of {gradient}")
    scale = float(np.max(np.abs(gradient)))
    if not np.allclose(own_gradient, gradient, rtol=TOLERANCE, atol=TOLERANCE * scale):
        raise WrongError(f"the gradient is {own_gradient} in place of {gradient}")


def attempt(entry: Entry, block: Any, trace: bool) -> Exception | None:
    """Differentiate the function of an entry in a block, and compare with plain values from outside of it."""
    function, point = entry.make()
    point = np.asarray(point, float)
    value, gradient = weighted_sum(function(np.array(point))), by_differences(function, point)
    if not np.isfinite(gradient).all() or not np.count_nonzero(gradient):
        raise ValueError(f"{entry.name}: a poor example, whose derivatives by differences are {gradient}")
    function, point = entry.make()
    try:
        with block, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            compare(function, np.asarray(point, float), value, gradient)
    except Exception as error:
        if trace:
            traceback.print_exc()
        return error
    return None


def outcome(entry: Entry, trace: bool) -> Outcome:
    """The outcome of a function, outside of a block and in a block."""
    plain = attempt(entry, contextlib.nullcontext(), trace)
    patched = attempt(entry, adjoint.scipy.patched(), trace)
    for error in (plain, patched):
        if isinstance(error, WrongError):
            return Outcome(FAILS, str(error), True)
    if patched is not None:
        return Outcome(FAILS, f"{type(patched).__name__}: {patched}".splitlines()[0], plain is None)
    return Outcome(PATCHED if plain else PLAIN)


# the page -------------------------------------------------------------------------------------------------------------


def version(package: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def counts(outcomes: dict[Entry, Outcome]) -> str:
    rows = []
    for how in (PLAIN, PATCHED, FAILS):
        n = sum(outcome.how == how for outcome in outcomes.values())
        rows.append(f"| {how} | {n} ({100 * n / len(outcomes):.0f} %) |")
    replaced = sum(entry.what == OWN for entry in outcomes)
    packages = len({entry.package for entry in outcomes})
    rows.append(f"| all, of {packages} packages | {len(outcomes)} |")
    return "\n".join([*rows, f"| of these: SciPy's functions of which `adjoint.scipy` has its own | {replaced} |"])


def section(title: str, outcomes: dict[Entry, Outcome]) -> str:
    """The table of one family, and the reasons for failures."""
    lines = [f"## {title}", "", "| package | function | |", "|---|---|---|"]
    lines += [
        f"| {entry.package} {version(entry.package)} | {entry.cell()} | {outcome.how} |"
        for entry, outcome in outcomes.items()
    ]
    failed = [entry for entry, outcome in outcomes.items() if outcome.how == FAILS]
    if failed:
        lines += ["", "What does not work, why, and what to do:", ""]
        lines += [f"- `{entry.name}`: {entry.reason}. {entry.remedy}." for entry in failed]
    return "\n".join(lines)


def page(outcomes: dict[Entry, Outcome]) -> str:
    """The whole page."""
    head = HEAD.format(
        counts=counts(outcomes),
        python=platform.python_version(),
        adjoint=adjoint.__version__,
        numpy=version("numpy"),
        scipy=version("scipy"),
    )
    families = [
        section(family.TITLE, {entry: o for entry, o in outcomes.items() if entry.make.__module__ == family.__name__})
        for family in FAMILIES
    ]
    return "\n\n".join([head.rstrip(), *families]) + "\n"


def faults(outcomes: dict[Entry, Outcome]) -> list[str]:
    """The necessary corrections: wrong derivatives, and reasons that are missing or out of date."""
    messages = []
    for entry, result in outcomes.items():
        if result.is_wrong:
            messages.append(f"{entry.name} is wrong, or runs plainly alone: {result.fault}")
        elif (result.how == FAILS) != bool(entry.reason):
            messages.append(f"{entry.name} {result.how}, which its reason in the list does not say: {result.fault}")
    return messages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    selection = [entry for entry in ENTRIES if options.only in f"{entry.package} {entry.name}"]
    missing = sorted({entry.package for entry in selection if version(entry.package) is None})
    outcomes: dict[Entry, Outcome] = {}
    for entry in selection:
        if entry.package not in missing:
            outcomes[entry] = outcome(entry, options.trace)
            print(f"{outcomes[entry].how:16} {entry.package:22} {entry.name} {outcomes[entry].fault}", flush=True)
    print(*faults(outcomes), sep="\n", file=sys.stderr)
    if missing:
        print(f"skipped, since not installed: {', '.join(missing)}", file=sys.stderr)
    elif not options.only:
        PAGE.write_text(page(outcomes))
    return len(faults(outcomes)) > 0


if __name__ == "__main__":
    sys.exit(main())
