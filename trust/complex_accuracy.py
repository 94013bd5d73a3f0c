"""Errors of functions of a complex argument and of their slopes, on both sides of branch cuts too.

An error is the distance from the exact result, in units in the last place of the absolute value of the exact result. At
a cut, `mpmath` computes the exact result just beside it, on the side that the sign of the zero selects.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp

import adjoint
from adjoint.core.recorded import operations

from .accuracy_page import Errors, Row
from .exact_values import MORE_BITS, NO_VALUE, STEP, ExactValues
from .libraries import numpy_function, torch_results, with_slopes
from .points import Range, arguments_of
from .references import sigmoid

DTYPES = {"complex128": "float64", "complex64": "float32"}
#: The number that replaces a zero of the same sign, so that mpmath takes that side of a cut.
BESIDE = 5e-324
#: The share of the points with a part that is a zero, of either sign.
ON_AXES = 0.15
#: The number of points with errors that are computed with more bits, and the number where the condition is computed.
CHECKED = 60

Array = Any
Function = Callable[[Any], Any]


class ComplexReference(NamedTuple):
    """A holomorphic function and its derivative. real, imaginary: the ranges of the parts of the argument."""

    rule: str
    value: Function
    slope: Function
    real: Range
    imaginary: Range
    numpy: str | None = None
    torch: str | None = None
    keywords: dict[str, Any] = {}

    @property
    def label(self) -> str:
        return self.rule

    @property
    def slopes(self) -> tuple[Function]:
        return (self.slope,)


ANY = Range(-1e300, 1e300, (0.0, 1.0, -1.0))
SQUARED = Range(-1e150, 1e150, (0.0, 1.0, -1.0))
GROWING = Range(-300.0, 300.0, (0.0, 1.0, -1.0))
TURNS = Range(-1e4, 1e4, tuple(k * math.pi / 2 for k in range(-3, 4)))


def log1p(z: Any) -> Any:
    # near -1 and 0, with digits that the sum of 1 and a tiny number does not have
    with mp.workprec(3000):
        return mp.log(1 + z)


def expm1(z: Any) -> Any:
    with mp.workprec(3000):
        return mp.exp(z) - 1


def wide(function: Function) -> Function:
    """A function with the bits that 1 and the smallest number have together, where its argument is small."""

    def value(z: Any) -> Any:
        with mp.workprec(2600):
            return function(z)

    return value


REFERENCES = [
    ComplexReference("square", lambda z: z * z, lambda z: 2 * z, SQUARED, SQUARED),
    ComplexReference("reciprocal", lambda z: 1 / z, lambda z: -1 / (z * z), SQUARED, SQUARED),
    ComplexReference("sqrt", mp.sqrt, lambda z: 1 / (2 * mp.sqrt(z)), ANY, ANY),
    ComplexReference("rsqrt", lambda z: 1 / mp.sqrt(z), lambda z: -1 / (2 * z * mp.sqrt(z)), ANY, ANY, "-"),
    ComplexReference("exp", mp.exp, mp.exp, GROWING, TURNS),
    ComplexReference("expm1", expm1, mp.exp, GROWING, TURNS),
    ComplexReference("log", mp.log, lambda z: 1 / z, ANY, ANY),
    ComplexReference("log2", lambda z: mp.log(z) / mp.log(2), lambda z: 1 / (z * mp.log(2)), ANY, ANY),
    ComplexReference("log10", lambda z: mp.log(z) / mp.log(10), lambda z: 1 / (z * mp.log(10)), ANY, ANY),
    ComplexReference("log1p", log1p, wide(lambda z: 1 / (1 + z)), ANY, ANY),
    ComplexReference("sin", mp.sin, mp.cos, TURNS, GROWING),
    ComplexReference("cos", mp.cos, lambda z: -mp.sin(z), TURNS, GROWING),
    ComplexReference("tan", mp.tan, lambda z: 1 / mp.cos(z) ** 2, TURNS, GROWING),
    ComplexReference("sinh", mp.sinh, mp.cosh, GROWING, TURNS),
    ComplexReference("cosh", mp.cosh, mp.sinh, GROWING, TURNS),
    ComplexReference("tanh", mp.tanh, lambda z: 1 / mp.cosh(z) ** 2, GROWING, TURNS),
    ComplexReference("asin", wide(mp.asin), wide(lambda z: 1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z))), SQUARED, SQUARED),
    ComplexReference("acos", wide(mp.acos), wide(lambda z: -1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z))), SQUARED, SQUARED),
    ComplexReference("atan", wide(mp.atan), wide(lambda z: 1 / (1 + z * z)), SQUARED, SQUARED),
    ComplexReference("asinh", wide(mp.asinh), wide(lambda z: 1 / mp.sqrt(1 + z * z)), SQUARED, SQUARED),
    ComplexReference("acosh", wide(mp.acosh), wide(lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1))), SQUARED, SQUARED),
    ComplexReference("atanh", wide(mp.atanh), wide(lambda z: 1 / ((1 - z) * (1 + z))), SQUARED, SQUARED),
    ComplexReference("sigmoid", sigmoid, lambda z: sigmoid(z) * sigmoid(-z), GROWING, TURNS, "-"),
]


def part(function: Function, name: str) -> Callable[[Any, Any], Any]:
    """The real or the imaginary part of a function, of the parts of its argument."""

    def value(x: Any, y: Any) -> Any:
        return getattr(mp.mpc(function(mp.mpc(x, y))), name)

    return value


def points_of(reference: ComplexReference, dtype: str, n: int) -> Array:
    """The points, of which some lie on the axes, on either side."""
    parts = arguments_of(f"{reference.rule} complex", (reference.real, reference.imaginary), DTYPES[dtype], n)
    rng = np.random.default_rng(n)
    signed_zeros = np.array([0.0, -0.0], DTYPES[dtype])
    parts = [np.where(rng.uniform(size=n) < ON_AXES, rng.choice(signed_zeros, n), values) for values in parts]
    points = np.empty(n, dtype)
    points.real, points.imag = parts
    # zeros and branch points have no side
    on_axis = (points.real == 0) | (points.imag == 0)
    points[on_axis & np.isin(np.abs(points), (0, 1))] = 0.5
    return points


def beside_cuts(points: Array) -> list[Array]:
    """The parts of points, with a tiny number of the same sign in place of each zero."""
    parts = [np.asarray(values, np.float64) for values in (points.real, points.imag)]
    return [np.where(values == 0, np.copysign(BESIDE, values), values) for values in parts]


def units(results: Array, parts: Sequence[Any], dtype: str) -> Array:
    """The distance from the exact results in units of their size.

    It is infinite for a lost result, NaN without an exact one.
    """
    kind = DTYPES[dtype]
    real, imaginary = parts
    n = real.near.size
    values = np.asarray(results)[:n].astype(np.complex128)
    with np.errstate(all="ignore"):
        size = np.hypot(real.near, imaginary.near)
        unit = np.spacing(size.astype(kind)).astype(np.float64)
        rests = [exact.rest * np.spacing(np.abs(exact.near)) for exact in parts]
        distances = [values.real - real.near - rests[0], values.imag - imaginary.near - rests[1]]
        error = np.hypot(distances[0] / unit, distances[1] / unit)
    error = np.where(np.isfinite(values.real) & np.isfinite(values.imag), error, np.inf)
    return np.where(size <= float(np.finfo(kind).max) / 4, error, np.nan)


def condition_at(function: Function, x: float, y: float) -> float:
    """How much larger than a relative error of the argument that of the result is."""
    try:
        with mp.workprec(MORE_BITS):
            z = mp.mpc(x, y)
            result = function(z)
            moves = [function(z * (1 + STEP)) - result, function(mp.mpc(z.real * (1 + STEP), z.imag)) - result]
            return float(max(abs(move / result) for move in moves) / STEP)
    except NO_VALUE:
        return math.inf


def errors_of(results: Array, exact: ExactValues, number: int, function: Function, dtype: str) -> Errors | None:
    """The errors of results of the value (number 0) or the slope (1)."""
    parts = (2 * number, 2 * number + 1)
    values = [exact.results[k] for k in parts]
    error = units(results, values, dtype)
    doubtful = np.flatnonzero(error > 2)
    for sample in (doubtful[:: max(1, doubtful.size // CHECKED)], doubtful):
        # if more bits change one point of the sample, they may change other points
        changed = [exact.compute_again(k, sample) for k in parts]
        if not any(changed):
            break
    error = units(results, values, dtype)
    finite, lost = np.isfinite(error), np.flatnonzero(np.isinf(error))
    if not finite.any():
        return None
    with np.errstate(all="ignore"):
        size = np.hypot(values[0].near, values[1].near)  # type: ignore[union-attr]
        normal = error * np.spacing(size.astype(DTYPES[dtype])) > float(np.finfo(DTYPES[dtype]).tiny)
    judged = np.where(finite & normal, error, 0.0)
    large = np.argsort(judged)[::-1][: np.count_nonzero(judged > 16)]
    large = large[:: max(1, large.size // CHECKED)][:CHECKED]
    shares = [judged[k] / max(1.0, condition_at(function, *exact.point(int(k)))) for k in large]
    at = int(large[int(np.argmax(shares))]) if shares else int(np.argmax(judged))
    point = exact.point(int(lost[0]) if lost.size else at)
    most, beyond = float(np.quantile(error[finite], 0.99)), max(shares, default=float(judged.max()))
    return Errors(most, float(error[finite].max()), beyond, point, lost.size)


def measure(reference: ComplexReference, dtype: str, n: int, *, seconds: float, keep: bool, torch: Any = None) -> Row:
    """Measure one function in one type."""
    points = points_of(reference, dtype, n)
    beside = beside_cuts(points)
    functions = [part(f, name) for f in (reference.value, reference.slope) for name in ("real", "imag")]
    exact = ExactValues(f"{reference.rule} {dtype}", functions, beside, seconds=seconds, keep=keep)

    def errors(results: Sequence[Any]) -> list[Errors | None]:
        both = (
            (0, reference.value, results[0]),
            (1, reference.slope, np.conj(results[1]) if len(results) > 1 else None),
        )
        return [errors_of(values, exact, k, f, dtype) for k, f, values in both if values is not None]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours = errors(with_slopes(adjoint, operations[reference.rule], [points], reference))
        peer = numpy_function(reference)
        of_numpy = [] if peer is None else errors([peer(points)])
        of_torch = torch_results(torch, reference, [points])
    return Row(reference.label, dtype, len(exact), ours, of_numpy, errors(of_torch) if of_torch else [])
