"""Both libraries' observations of a sample, aspect by aspect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from .inputs import DIFFERENTIABLE, Array
from .observe import Library, Observation, Observe, forward, gradient, jvp, observe, second
from .samples import Sample

DERIVATIVES = {"gradient": gradient, "jvp": jvp, "second": second}
ASPECTS = ("value", "dtype", "gradient", "jvp", "second", "raises", "view", "none")
TITLES = {
    "value": "forward value and shape", "dtype": "dtype", "gradient": "gradient", "jvp": "jvp",
    "second": "second order",
    "raises": "raises or not", "view": "shares memory or not", "none": "a gradient is None or zeros",
}  # fmt: skip
DEEP = ("float64", "complex128")  # where jvp and second order are compared

# Relative to the largest number of a result; what a library rounds in between is the coarsest dtype of a sample.
TOLERANCE = {
    "float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 4e-3, "bfloat16": 3e-2,
}  # fmt: skip
SLACK = {"value": 1, "gradient": 4, "jvp": 4, "second": 40}
SMALLEST_SCALE = 0.1  # inputs are of the order of 1
COARSEST = ("bfloat16", "float16", "float32", "complex64")

WIDEST = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}

Difference = tuple[str, str] | None  # what torch has and what adjoint has


@dataclass(frozen=True)
class Finding:
    """One aspect of one sample that is not right."""

    entry: str
    aspect: str
    dtype: str
    sample: str
    torch: str
    adjoint: str
    unmeasured: bool = False  # torch raises where adjoint has an answer
    nearer: bool = False  # adjoint's numbers are at least as near to what torch gets from float64


@dataclass
class Verdicts:
    """What was found for one entry."""

    entry: str
    right: Counter[str] = field(default_factory=Counter)  # samples by aspect
    findings: list[Finding] = field(default_factory=list)
    malformed: list[str] = field(default_factory=list)


@dataclass
class Trial:
    """One sample in one dtype, in both libraries."""

    torch: Library
    adjoint: Library
    verdicts: Verdicts
    sample: Sample
    dtype: str

    def run(self) -> None:
        """Compare every aspect that can be measured."""
        theirs, ours = (
            observe(forward, self.torch, self.sample, self.dtype),
            observe(forward, self.adjoint, self.sample, self.dtype),
        )
        if isinstance(theirs.error, (NameError, SyntaxError)):
            self.verdicts.malformed.append(f"{self.sample}: {theirs.error}")
            return
        self.note("raises", difference_of_errors(theirs, ours))
        if theirs.error is not None:
            return
        self.note("value", difference(theirs, ours, self.tolerance("value")), nearer=self.judge(forward, theirs, ours))
        if ours.error is None:
            self.note("dtype", unequal(theirs.dtypes, ours.dtypes))
            self.note("view", unequal(theirs.shared, ours.shared))
            if self.dtype in DIFFERENTIABLE:
                self.derivatives()

    def derivatives(self) -> None:
        for aspect, how in DERIVATIVES.items():
            if aspect != "gradient" and self.dtype not in DEEP:
                continue
            theirs, ours = (
                observe(how, self.torch, self.sample, self.dtype),
                observe(how, self.adjoint, self.sample, self.dtype),
            )
            if theirs.error is not None:
                if ours.error is None:
                    self.note(aspect, (text_of(theirs.error), "has an answer"), unmeasured=True)
                continue
            if not theirs.arrays and not ours.arrays and ours.error is None and theirs.facts == ours.facts:
                continue  # nothing to differentiate
            found = difference(theirs, ours, self.tolerance(aspect)) or unequal_dtypes(theirs, ours)
            self.note(aspect, found, nearer=self.judge(how, theirs, ours))
            if aspect == "gradient" and ours.error is None and len(theirs.arrays) == len(ours.arrays):
                self.note(
                    "none", unequal([each is None for each in theirs.arrays], [each is None for each in ours.arrays])
                )

    def note(
        self, aspect: str, found: Difference, unmeasured: bool = False, nearer: Callable[[], bool] = lambda: False
    ) -> None:
        if found is None:
            self.verdicts.right[aspect] += 1
        else:
            finding = Finding(self.verdicts.entry, aspect, self.dtype, str(self.sample), *found, unmeasured, nearer())
            self.verdicts.findings.append(finding)

    def judge(self, how: Observe, theirs: Observation, ours: Observation) -> Callable[[], bool]:
        """Whether adjoint's numbers are at least as near to torch's of the widest dtype, all else being equal."""

        def nearer() -> bool:
            if self.dtype not in WIDEST or ours.error is not None:
                return False
            exact = observe(how, self.torch, self.sample, WIDEST[self.dtype], self.dtype)
            return (
                exact.error is None
                and errors_from(exact, ours) <= errors_from(exact, theirs)
                and errors_from(exact, ours) < inf
            )

        return nearer

    def tolerance(self, aspect: str) -> Tolerance:
        used = {self.dtype, *re.findall(r"b?float\d+|complex\d+", self.sample.text)}
        coarsest = next((dtype for dtype in COARSEST if dtype in used), "float64")
        return Tolerance(SLACK[aspect], TOLERANCE[coarsest], poles=aspect in DERIVATIVES)


@dataclass(frozen=True)
class Tolerance:
    """How far apart numbers may be. A derivative at a pole is not finite: which part of it is NaN is left open."""

    slack: float
    floor: float
    poles: bool

    def of(self, dtype: str) -> float:
        return self.slack * max(self.floor, TOLERANCE.get(dtype, 0.0))


def difference_of_errors(theirs: Observation, ours: Observation) -> Difference:
    """Whether only one of the two raises."""
    if (theirs.error is None) == (ours.error is None):
        return None
    return text_of(theirs.error) or "has an answer", text_of(ours.error) or "has an answer"


def difference(theirs: Observation, ours: Observation, tolerance: Tolerance) -> Difference:
    """The first difference of values, shapes, nesting and flags. A gradient of None equals zeros."""
    if ours.error is not None:
        return "has an answer", text_of(ours.error)
    if not same_facts(theirs.facts, ours.facts):
        return shortened(theirs.facts), shortened(ours.facts)
    if len(theirs.arrays) != len(ours.arrays):
        return f"{len(theirs.arrays)} arrays", f"{len(ours.arrays)} arrays"
    for left, right, dtype in zip(theirs.arrays, ours.arrays, theirs.dtypes, strict=True):
        found = difference_of_arrays(left, right, tolerance.of(dtype), tolerance.poles)
        if found:
            return found
    return None


def difference_of_arrays(left: Array | None, right: Array | None, tolerance: float, poles: bool) -> Difference:
    if left is None and right is None:
        return None
    left = np.zeros_like(right) if left is None else left
    right = np.zeros_like(left) if right is None else right
    if left.shape != right.shape:
        return f"shape {left.shape}", f"shape {right.shape}"
    return None if close(left, right, tolerance, poles) else where_they_differ(left, right)


def close(left: Array, right: Array, tolerance: float, poles: bool) -> bool:
    """Equal, or equally NaN or infinite, or as near as the tolerance says on the scale of the largest number.

    A complex number is infinite if one part of it is, else NaN if one part is; at poles all that counts is
    that it is not finite.
    """
    if left.dtype.kind in "biu" or right.dtype.kind in "biu":
        return bool(np.array_equal(left, right))
    finite = np.isfinite(left)
    if not np.array_equal(finite, np.isfinite(right)):
        return False
    if not (poles and left.dtype.kind == "c") and not np.array_equal(kinds(left), kinds(right)):
        return False
    left, right = left[finite], right[finite]
    scale = max(np.abs(left).max(initial=0.0), SMALLEST_SCALE)
    return bool(np.all(np.abs(left - right) <= tolerance * (0.5 * scale + np.abs(left))))


def kinds(values: Array) -> Array:
    """NaN for what is NaN, the infinity for what is infinite (one infinity for complex numbers), else 0."""
    if values.dtype.kind != "c":
        return np.where(np.isnan(values), 2.0, np.where(np.isinf(values), np.sign(values), 0.0))
    return np.where(np.isinf(values.real) | np.isinf(values.imag), 1.0, np.where(np.isnan(values), 2.0, 0.0))


def errors_from(exact: Observation, seen: Observation) -> float:
    """The largest error of all arrays, relative to the largest number of each; infinite if shapes differ."""
    pairs = list(zip(exact.arrays, seen.arrays, strict=False))
    if len(exact.arrays) != len(seen.arrays) or any(
        getattr(one, "shape", ()) != getattr(other, "shape", ()) for one, other in pairs
    ):
        return inf
    return max((error_from(one, other) for one, other in pairs if one is not None and other is not None), default=0.0)


def error_from(exact: Array, seen: Array) -> float:
    finite = np.abs(exact[np.isfinite(exact)])
    return float(distance(exact, seen).max(initial=0.0) / max(finite.max(initial=0.0), SMALLEST_SCALE))


def where_they_differ(left: Array, right: Array) -> tuple[str, str]:
    """The numbers of the worst place."""
    apart = distance(left, right).ravel()
    place = int(np.argmax(apart))
    at = f" at {tuple(int(i) for i in np.unravel_index(place, left.shape))}" if left.shape else ""
    return f"{left.ravel()[place]:.8g}{at}", f"{right.ravel()[place]:.8g}{at}"


def distance(left: Array, right: Array) -> Array:
    """How far apart numbers are: 0 for NaN and NaN or for equal infinities, infinity where one alone is such."""
    wide = np.result_type(left, right, float)
    left, right = left.astype(wide), right.astype(wide)
    finite = np.isfinite(left) & np.isfinite(right)
    apart = np.where(kinds(left) == kinds(right), 0.0, np.inf)
    np.copyto(apart, np.abs(np.where(finite, left, 0) - np.where(finite, right, 0)), where=finite)
    return apart


def same_facts(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(map(same_fact, left, right))


def same_fact(left: object, right: object) -> bool:
    if isinstance(left, (float, complex)) and isinstance(right, (float, complex)):
        return bool(np.isclose(left, right, rtol=1e-5, equal_nan=True))
    return type(left) is type(right) and left == right


def unequal(left: Sequence[object], right: Sequence[object]) -> Difference:
    return None if left == right else (shortened(left), shortened(right))


def unequal_dtypes(theirs: Observation, ours: Observation) -> Difference:
    """The dtypes of gradients, where both have one."""
    pairs = [pair for pair in zip(theirs.dtypes, ours.dtypes, strict=False) if all(pair)]
    return unequal([left for left, _ in pairs], [right for _, right in pairs])


def text_of(error: Exception | None) -> str:
    """The error's class and the first line of what it says."""
    return (
        ""
        if error is None
        else shortened(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}")
    )


def shortened(value: object, limit: int = 160) -> str:
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def trials(torch: Library, adjoint: Library, verdicts: Verdicts, samples: list[Sample]) -> Iterator[Trial]:
    for sample in samples:
        for dtype in sample.dtypes:
            yield Trial(torch, adjoint, verdicts, sample, dtype)
