"""Errors of functions and their slopes against mpmath, of sums against exact ones: python -m trust.accuracy [--long]

The short form takes 40 points of each function. The long form takes 10^4, or as many as mpmath computes within
`--seconds`, and writes docs/accuracy.md. Exact values are cached in build/accuracy. So a long form can run in pieces,
each for some names of rules. PyTorch's errors are measured if PyTorch is installed. Otherwise the page has those of the
last run.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import adjoint
from adjoint.core.recorded import operations

from . import accuracy_page, complex_accuracy, exact_sums, kinds
from .accuracy_page import Errors, Row
from .exact_values import Exact, ExactValues, condition_at
from .figures import Recorder
from .libraries import DTYPES, numpy_function, torch_results, with_slopes
from .points import arguments_of
from .references import REFERENCES, Reference, missing

POINTS, SHORT = 10_000, 40
#: An error above this number of units is a fault, unless an error of half a unit in the arguments has the same effect.
LIMIT = 64.0
#: The number of points with errors that are computed with more bits, and the number where the condition is computed.
DOUBTFUL, CONDITIONED = 100, 200

Array = Any


# errors -----------------------------------------------------------------------------------------------------------


def units(results: Array, exact: Exact, dtype: str) -> Array:
    """The error of each result in units in the last place.

    It is infinite for a lost result, and NaN without an exact one.
    """
    limit, epsilon = float(np.finfo(dtype).max), float(np.finfo(dtype).eps)
    values = np.asarray(results, np.float64)[: exact.near.size]
    near = np.clip(exact.near, -limit, limit)
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(near).astype(dtype)).astype(np.float64)
        error = np.abs((values - near) / unit - exact.rest * (np.spacing(np.abs(exact.near)) / unit))
    # beyond the largest number, and some units below it, a result may be infinite or the largest number
    edge = limit * (1 - 8 * epsilon)
    at_edge = (np.abs(exact.near) > edge) & (np.abs(values) >= edge) & (np.sign(values) == np.sign(near))
    error = np.where(at_edge, 0.0, np.where(np.isfinite(values), error, np.inf))
    return np.where(np.isnan(exact.near), np.nan, error)


def errors_of(results: Array, exact: ExactValues, number: int, dtype: str) -> Errors | None:
    """The errors of results of one of the functions; None if there is no exact number at any point."""
    values, function = exact.results[number], exact.functions[number]
    assert values is not None and function is not None
    outside = overflows(exact, dtype) if number else np.zeros(len(exact), bool)
    error = np.where(outside, np.nan, units(results, values, dtype))
    doubtful = np.flatnonzero(error > 2)
    # if more bits change one point of the sample, they may change other points
    if exact.compute_again(number, doubtful[:: max(1, doubtful.size // DOUBTFUL)]):
        exact.compute_again(number, doubtful)
        error = np.where(outside, np.nan, units(results, values, dtype))
    finite = np.isfinite(error)
    lost = np.flatnonzero(np.isinf(error))
    if not finite.any():
        return Errors(math.nan, math.nan, math.nan, exact.point(int(lost[0])), lost.size) if lost.size else None
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(values.near).astype(dtype)).astype(np.float64)
        normal = error * unit > float(np.finfo(dtype).tiny)
    beyond, at = beyond_condition(np.where(finite & normal, error, 0.0), function, exact)
    point = exact.point(int(lost[0]) if lost.size else at)
    most = float(np.quantile(error[finite], 0.99))
    return Errors(most, float(error[finite].max()), beyond, point, lost.size)


def overflows(exact: ExactValues, dtype: str) -> Array:
    """The points whose value is beyond the largest number. Slopes are not measured there."""
    value = exact.results[0]
    assert value is not None
    return np.abs(value.near) > float(np.finfo(dtype).max)


def beyond_condition(error: Array, function: Callable[..., Any], exact: ExactValues) -> tuple[float, int]:
    """The largest error divided by the condition of the function, and its point.

    The condition is computed at large errors.
    """
    worst = int(np.argmax(error))
    large = np.flatnonzero(error > LIMIT / 4)
    if not large.size:
        return float(error[worst]), worst
    by_size = large[np.argsort(error[large])[::-1]]
    sample = by_size[:: max(1, by_size.size // CONDITIONED)][:CONDITIONED]
    shares = [error[k] / max(1.0, condition_at(function, exact.point(int(k)))) for k in sample]
    at = int(np.argmax(shares))
    return float(shares[at]), int(sample[at])


# results ----------------------------------------------------------------------------------------------------------


def installed_torch() -> Any:
    """PyTorch, or None."""
    return importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def measure(reference: Reference, dtype: str, n: int, *, seconds: float = math.inf, torch: Any = None) -> Row:
    """Measure one function in one type."""
    arguments = arguments_of(reference.label, reference.ranges, dtype, n)
    functions = [reference.value, *reference.slopes]
    exact = ExactValues(reference.label, functions, arguments, seconds=seconds, keep=n > SHORT)

    def errors(results: Iterable[Any]) -> list[Errors | None]:
        return [
            None if result is None or exact.results[k] is None else errors_of(result, exact, k, dtype)
            for k, result in enumerate(results)
        ]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours = errors(with_slopes(adjoint, operations[reference.rule], arguments, reference))
        peer = numpy_function(reference)
        of_numpy = [] if peer is None else errors([peer(*arguments)])
        of_torch = errors(torch_results(torch, reference, arguments))
    return Row(reference.label, dtype, len(exact), ours, of_numpy, of_torch)


def faults(row: Row) -> dict[str, str]:
    """The faults of a row: the function and its part, and the error with its point."""
    sentences = {}
    for number, errors in enumerate(row.adjoint):
        if errors is None or (not errors.lost and errors.beyond <= LIMIT):
            continue
        what = "value" if number == 0 else "slope" if len(row.adjoint) == 2 else f"slope by argument {number}"
        point = ", ".join(f"{value:.17g}" for value in errors.point)
        error = f"{errors.lost} lost" if errors.lost else f"{errors.beyond:.2g} units"
        name = f"complex {row.label}" if row.dtype in complex_accuracy.DTYPES else row.label
        sentences[f"{name}: {what}"] = f"{row.dtype}: {error}, at {point}"
    return sentences


def unlisted_faults(row: Row) -> list[str]:
    """The faults of a row that are not listed with a reason."""
    return [f"{name}, {sentence}" for name, sentence in faults(row).items() if name not in accuracy_page.known_errors()]


# the command ------------------------------------------------------------------------------------------------------


def measured_rows(names: Sequence[str], *, long: bool, seconds: float) -> Iterable[Row]:
    """Measure the functions of these names, or all of them."""
    torch = installed_torch() if long else None
    for reference in REFERENCES:
        if not names or reference.rule in names:
            for dtype in DTYPES:
                yield measure(reference, dtype, POINTS if long else SHORT, seconds=seconds, torch=torch)
    for holomorphic in complex_accuracy.REFERENCES:
        if not names or holomorphic.rule in names or "complex" in names:
            for dtype in complex_accuracy.DTYPES:
                n = POINTS if long else SHORT
                yield complex_accuracy.measure(holomorphic, dtype, n, seconds=seconds, keep=long, torch=torch)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m trust.accuracy", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="rules that are measured; all, `complex`, `sums` and `kinds` without a name"
    )
    parser.add_argument("--long", action="store_true", help="the long form, whose figures are written")
    parser.add_argument("--seconds", type=float, default=300.0, help="for the exact values of a function in one type")
    options = parser.parse_args(arguments)
    recorder = Recorder("make accuracy", long=options.long)
    start = time.perf_counter()
    rows = list(measured_rows(options.names, long=options.long, seconds=options.seconds))
    sums = (
        exact_sums.all_results(installed_torch() if options.long else None)
        if "sums" in (options.names or ["sums"])
        else []
    )
    apart = kinds.differences(POINTS if options.long else SHORT) if "kinds" in (options.names or ["kinds"]) else []
    tables = accuracy_page.Tables(rows, sums, apart, time.perf_counter() - start)
    if options.long:
        tables = accuracy_page.read_tables().merge(tables)
        accuracy_page.write(tables)
        recorder.earlier = tables.seconds - (time.perf_counter() - start)
    recorder.figures.rows |= tables.counts()
    recorder.figures.rows["errors listed with a reason"] = len(accuracy_page.known_errors())
    recorder.figures.findings += [fault for row in tables.rows for fault in unlisted_faults(row)]
    recorder.figures.findings += [f"neither measured nor listed: {name}" for name in missing()]
    return recorder.report()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
