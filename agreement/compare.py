"""Both libraries' observations of a sample, aspect by aspect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .inputs import DIFFERENTIABLE, Array
from .judge import judge
from .numbers import close, where_they_differ
from .observe import Library, Observation, Observe, forward, gradient, jvp, observe, second
from .samples import Sample

DERIVATIVES = {"gradient": gradient, "jvp": jvp, "second": second}
ASPECTS = ("value", "dtype", "gradient", "jvp", "second", "raises", "view", "none")
TITLES = {
    "value": "forward value and shape", "dtype": "dtype",
    "gradient": "gradient", "jvp": "jvp", "second": "second order",
    "raises": "raises or not", "view": "shares memory or not", "none": "a gradient is None or zeros",
}  # fmt: skip
DEEP = ("float64", "complex128")  # the dtypes for which jvp and second order are compared

# Relative to the largest number of a result; what a library rounds in between is the coarsest dtype of a sample.
# In double precision it is that of torch.testing.assert_close: constants that PyTorch rounds to float32 are within it.
TOLERANCE = {
    "float64": 1e-7, "complex128": 1e-7, "float32": 1e-4, "complex64": 1e-4, "float16": 4e-3, "bfloat16": 3e-2,
}  # fmt: skip
SLACK = {"value": 1, "gradient": 4, "jvp": 4, "second": 40}
COARSEST = ("bfloat16", "float16", "float32", "complex64")

Difference = tuple[str, str] | None  # what torch has and what adjoint has


@dataclass(frozen=True)
class Finding:
    """One aspect of one sample that differs."""

    entry: str
    aspect: str
    dtype: str
    sample: str
    torch: str
    adjoint: str
    unmeasured: bool = False  # torch raises, and adjoint has a result
    judged: str = ""  # the calculation that decides for adjoint, by judge.py


@dataclass
class Verdicts:
    """The findings for one entry."""

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
        theirs, ours = self.both(forward)
        if isinstance(theirs.error, (NameError, SyntaxError)):
            self.verdicts.malformed.append(f"{self.sample}: {theirs.error}")
            return
        self.note("raises", difference_of_errors(theirs, ours))
        if theirs.error is not None:
            return
        result = difference(theirs, ours, self.tolerance("value"))
        self.note("value", result, judged=self.judgement(forward, theirs, ours, result))
        if ours.error is None:
            self.note("dtype", unequal(theirs.dtypes, ours.dtypes))
            self.note("view", unequal(theirs.shared, ours.shared))
            if self.dtype in DIFFERENTIABLE:
                self.derivatives()

    def both(self, how: Observe) -> tuple[Observation, Observation]:
        """The observations in torch and in adjoint."""
        return observe(how, self.torch, self.sample, self.dtype), observe(how, self.adjoint, self.sample, self.dtype)

    def derivatives(self) -> None:
        """Compare the derivatives, if torch has any."""
        for aspect, how in DERIVATIVES.items():
            if aspect != "gradient" and self.dtype not in DEEP:
                return
            theirs, ours = self.both(how)
            if theirs.error is None:
                self.derivative(aspect, how, theirs, ours)
                if how is gradient and records_more(ours, theirs):
                    return
            elif ours.error is None:
                self.note(aspect, (text_of(theirs.error), "has an answer"), unmeasured=True)

    def derivative(self, aspect: str, how: Observe, theirs: Observation, ours: Observation) -> None:
        """Compare a derivative that torch has."""
        if how is gradient and records_more(ours, theirs):
            self.note(aspect, ("no gradient is required", "has an answer"), unmeasured=True)
        elif theirs.arrays or ours.arrays or ours.error is not None or theirs.facts != ours.facts:
            result = difference(theirs, ours, self.tolerance(aspect)) or unequal_dtypes(theirs, ours)
            self.note(aspect, result, judged=self.judgement(how, theirs, ours, result))
            if how is gradient and ours.error is None:
                self.note("none", unequal(*([array is None for array in each.arrays] for each in (theirs, ours))))

    def note(self, aspect: str, result: Difference, unmeasured: bool = False, judged: str = "") -> None:
        if result is None:
            self.verdicts.right[aspect] += 1
        else:
            finding = Finding(self.verdicts.entry, aspect, self.dtype, str(self.sample), *result, unmeasured, judged)
            self.verdicts.findings.append(finding)

    def judgement(self, how: Observe, theirs: Observation, ours: Observation, result: Difference) -> str:
        """The calculation that decides for adjoint, if there is a difference."""
        return judge(how, self.torch, self.sample, self.dtype, theirs, ours) if result else ""

    def tolerance(self, aspect: str) -> Tolerance:
        dtypes = {self.dtype, *re.findall(r"b?float\d+|complex\d+", self.sample.text)}
        coarsest = next((dtype for dtype in COARSEST if dtype in dtypes), "float64")
        return Tolerance(SLACK[aspect], TOLERANCE[coarsest], poles=aspect in DERIVATIVES)


@dataclass(frozen=True)
class Tolerance:
    """The allowed distance of numbers. A derivative at a pole is not finite, and any part of it may be NaN."""

    slack: float
    floor: float
    poles: bool

    def of(self, dtype: str) -> float:
        return self.slack * max(self.floor, TOLERANCE.get(dtype, 0.0))


def records_more(ours: Observation, theirs: Observation) -> bool:
    """Whether results require a gradient in adjoint alone, since torch has none."""
    return (
        ours.facts != theirs.facts
        and len(ours.facts) == len(theirs.facts)
        and all(mine or not other for mine, other in zip(ours.facts, theirs.facts, strict=True))
    )


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
        return shorten(theirs.facts), shorten(ours.facts)
    if len(theirs.arrays) != len(ours.arrays):
        return f"{len(theirs.arrays)} arrays", f"{len(ours.arrays)} arrays"
    for left, right, dtype in zip(theirs.arrays, ours.arrays, theirs.dtypes, strict=True):
        result = difference_of_arrays(left, right, tolerance.of(dtype), tolerance.poles)
        if result:
            return result
    return None


def difference_of_arrays(left: Array | None, right: Array | None, tolerance: float, poles: bool) -> Difference:
    if left is None and right is None:
        return None
    left = np.zeros_like(right) if left is None else left
    right = np.zeros_like(left) if right is None else right
    if left.shape != right.shape:
        return f"shape {left.shape}", f"shape {right.shape}"
    return None if close(left, right, tolerance, poles) else where_they_differ(left, right)


def same_facts(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(map(same_fact, left, right))


def same_fact(left: object, right: object) -> bool:
    if isinstance(left, (float, complex)) and isinstance(right, (float, complex)):
        return bool(np.isclose(left, right, rtol=1e-5, equal_nan=True))
    return type(left) is type(right) and left == right


def unequal(left: Sequence[object], right: Sequence[object]) -> Difference:
    return None if left == right else (shorten(left), shorten(right))


def unequal_dtypes(theirs: Observation, ours: Observation) -> Difference:
    """The dtypes of gradients, where both have one."""
    pairs = [pair for pair in zip(theirs.dtypes, ours.dtypes, strict=False) if all(pair)]
    return unequal([left for left, _ in pairs], [right for _, right in pairs])


def text_of(error: Exception | None) -> str:
    """The error's class and the first line of its message."""
    return "" if error is None else shorten(f"{type(error).__name__}: {str(error).strip()}".splitlines()[0])


def shorten(value: object, limit: int = 160) -> str:
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def trials(torch: Library, adjoint: Library, verdicts: Verdicts, samples: list[Sample]) -> Iterator[Trial]:
    for sample in samples:
        for dtype in sample.dtypes:
            yield Trial(torch, adjoint, verdicts, sample, dtype)
