"""The figures of findings: entries that are right by aspect, and differences with an explanation."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from .compare import ASPECTS, Finding, Verdicts
from .entries import TIERS, Entry, all_entries
from .judge import SLOPES, WIDEST

#: The differences that count: all, those without a calculation in favour of adjoint, those at ordinary points, or the
#: unexplained ones.
ALL, JUDGED, ORDINARY, OPEN = "all", "judged", "ordinary", "open"
#: Inputs with ties, zeros, kinks, NaN, infinities, or no elements (`samples/inputs.txt` and those of families).
EDGES = re.compile(
    r"\b(ts|tv|tw|tx|ty|tc|zero|unit|z34|o34|kinks|big|steps|extreme|constant|gaps?|q[2nv]?|e|e04|e30)(_\w+)?\b"
    r"|normal\((\d+, )*0\b"
)
FIVE = ("value", "dtype", "gradient", "jvp", "second")  # the aspects of an entry that is right altogether
ALTOGETHER = "all five"


@dataclass(frozen=True)
class Explanation:
    """A row of `differences.json`: patterns of findings, and the reason. A missing pattern matches everything."""

    reason: str
    entries: tuple[str, ...] = ("*",)  # as in a shell
    aspects: tuple[str, ...] = ASPECTS
    sample: str = ""  # the rest are regular expressions
    dtype: str = ""
    torch: str = ""
    adjoint: str = ""
    judged: str = ""  # by what, as in judge.py

    def explains(self, finding: Finding) -> bool:
        patterns = (
            (self.sample, finding.sample),
            (self.dtype, finding.dtype),
            (self.torch, finding.torch),
            (self.adjoint, finding.adjoint),
        )
        return (
            finding.aspect in self.aspects
            and self.judged in ("", finding.judged)
            and any(fnmatchcase(finding.entry, pattern) for pattern in self.entries)
            and all(re.search(pattern, text) for pattern, text in patterns)
        )


@cache
def explanations() -> tuple[Explanation, ...]:
    """All rows of `differences.json`."""
    rows: list[dict[str, Any]] = json.loads(Path(__file__).with_name("differences.json").read_text(encoding="utf-8"))
    return tuple(Explanation(**{key: hashable(value) for key, value in row.items()}) for row in rows)


def hashable(value: Any) -> Any:
    """JSON's lists as tuples."""
    return tuple(value) if isinstance(value, list) else value


def explanation_of(finding: Finding) -> Explanation | None:
    """The first row that explains a finding."""
    return next((row for row in explanations() if row.explains(finding)), None)


class Score:
    """The results of one entry."""

    def __init__(self, verdicts: Verdicts):
        self.entry: Entry = all_entries()[verdicts.entry]
        self.malformed = verdicts.malformed
        self.right = verdicts.right
        self.differing: dict[str, list[Finding]] = defaultdict(list)
        self.unmeasured: list[Finding] = []
        self.explained: dict[Explanation, list[Finding]] = defaultdict(list)
        self.open: list[Finding] = []
        for finding in generalise(verdicts.findings):
            if finding.unmeasured:
                self.unmeasured.append(finding)
                continue
            self.differing[finding.aspect].append(finding)
            why = explanation_of(finding)
            (self.open if why is None else self.explained[why]).append(finding)

    def n_samples(self, aspect: str) -> int:
        """The number of samples; of all aspects for ALTOGETHER."""
        return sum(self.right[each] + len(self.differing[each]) for each in parts(aspect))

    def wrong(self, aspect: str, which: str = ALL) -> int:
        """The number of samples that differ."""
        members = self.open if which == OPEN else [each for findings in self.differing.values() for each in findings]
        return sum(each.aspect in parts(aspect) and COUNTS[which](each) for each in members)


COUNTS: dict[str, Callable[[Finding], bool]] = {
    ALL: lambda finding: True,
    JUDGED: lambda finding: not finding.judged,
    ORDINARY: lambda finding: not EDGES.search(finding.sample),
    OPEN: lambda finding: True,
}


def generalise(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Finite differences need double precision. Their verdict on a sample also holds for its narrow dtypes."""
    confirmed = {(each.aspect, each.sample) for each in findings if each.judged == SLOPES}
    for each in findings:
        narrow = each.dtype in WIDEST and not each.judged and (each.aspect, each.sample) in confirmed
        yield replace(each, judged=SLOPES) if narrow else each


def parts(aspect: str) -> tuple[str, ...]:
    return FIVE if aspect == ALTOGETHER else (aspect,)


@dataclass(frozen=True)
class Ratio:
    """The number of right ones and of measured ones, as text."""

    right: int
    measured: int

    def __str__(self) -> str:
        return f"{100 * self.right / self.measured:.1f} % ({self.right} of {self.measured})" if self.measured else "–"


def entries_right(scores: Iterable[Score], aspect: str, which: str = ALL) -> Ratio:
    """The number of measured entries that are right in every sample."""
    measured = [score for score in scores if score.n_samples(aspect)]
    return Ratio(sum(not score.wrong(aspect, which) for score in measured), len(measured))


def samples_right(scores: Sequence[Score], aspect: str) -> Ratio:
    """The number of samples that are right."""
    measured = sum(score.n_samples(aspect) for score in scores)
    return Ratio(measured - sum(score.wrong(aspect) for score in scores), measured)


def by_tier(scores: Sequence[Score]) -> dict[str, list[Score]]:
    """The scores of each tier, of the first two together, and of all."""
    tiers = {f"tier {tier}": [score for score in scores if score.entry.tier == tier] for tier in TIERS}
    return {**tiers, "tiers 1 and 2": [score for score in scores if score.entry.tier < 3], "all": list(scores)}


def by_family(scores: Sequence[Score]) -> dict[str, list[Score]]:
    families: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        families[score.entry.family].append(score)
    return families


def by_reason(scores: Iterable[Score]) -> dict[Explanation, list[Finding]]:
    """The explained findings under their explanations, in the order of the file."""
    by_row = {row: [finding for score in scores for finding in score.explained.get(row, ())] for row in explanations()}
    return {row: findings for row, findings in by_row.items() if findings}


def numbers_by_entry(findings: Iterable[Finding]) -> Counter[str]:
    """The number of findings by entry."""
    return Counter(finding.entry for finding in findings)
