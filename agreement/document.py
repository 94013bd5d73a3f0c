"""The page of the documentation, written by `python -m agreement --document docs/agreement.md`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .compare import ASPECTS, TITLES, Finding
from .score import (
    ALL,
    ALTOGETHER,
    FIVE,
    JUDGED,
    OPEN,
    ORDINARY,
    Score,
    by_family,
    by_reason,
    by_tier,
    entries_right,
    numbers_by_entry,
    samples_right,
)

HEAD = """\
# Agreement with PyTorch

`python -m agreement --document docs/agreement.md` writes this page: it runs the same samples in adjoint and in PyTorch.
`agreement/README.md` describes the samples and the comparison. An *entry* is a function or an in-place variant. It is
*right* in an aspect if all its samples agree. *All five* aspects are value, dtype, gradient, jvp and second order.
Tier 1 has the functions that models and scientific code often use, tier 2 less frequent functions, tier 3 rare ones.
"""
STRICT = """\
## Entries that agree

An entry counts as wrong if one sample differs, for any reason.
"""
RIGHT = """\
## Entries that are right

For each sample, the results agree, or a calculation from PyTorch's results decides for adjoint: finite differences of
its values or gradients, its results in double precision, or the transpose of its gradient. If PyTorch's derivative is
NaN although its result is not, a number from adjoint counts as right.
"""
ORDINARY_POINTS = """\
## Entries that agree at ordinary points

These figures exclude samples whose inputs have ties, zeros, kinks, infinities, NaN or no elements.
"""
EXCUSED = """\
## Entries that agree, or whose differences are explained

The explanations are [below](#differences-that-are-explained).
"""
SAMPLES = """\
## Samples that agree

The last column counts derivatives that only adjoint has: PyTorch raises an error, or its result requires no gradient.
They do not count as differences.
"""
COMPANIONS = """\
## Other aspects

*raises*: both libraries raise, or both return a result. *shares memory*: results share memory with the same inputs.
*`None` or zeros*: gradients are `None` in both libraries or in neither; zeros in one of them are the same derivative.
"""
BEHAVIOUR = """\
## Differences of behaviour

These differences concern the graph, hooks, modes and transformations; samples of functions cannot show them. Each was
observed in runs of both libraries.
"""
SHORT = {
    "value": "value, shape",
    "second": "second order",
    "raises": "raises",
    "view": "shares memory",
    "none": "`None` or zeros",
}
COMPANION_ASPECTS = tuple(aspect for aspect in ASPECTS if aspect not in FIVE)


def page(facts: Mapping[str, str], scores: Sequence[Score]) -> str:
    """The whole page in Markdown."""
    return "\n".join([
        HEAD,
        STRICT, *figures(by_tier(scores), (*FIVE, ALTOGETHER)), "",
        RIGHT, *figures(by_tier(scores), (*FIVE, ALTOGETHER), JUDGED), "",
        ORDINARY_POINTS, *figures(by_tier(scores), (*FIVE, ALTOGETHER), ORDINARY), "",
        EXCUSED, *figures(by_tier(scores), (*FIVE, ALTOGETHER), OPEN), "",
        SAMPLES, *samples(by_tier(scores)), "",
        COMPANIONS, *figures(by_tier(scores), COMPANION_ASPECTS), "",
        "## By family\n", *figures(by_family(scores), (*FIVE, ALTOGETHER)), "",
        "## Differences that are explained\n", *explanations(scores), "",
        "## Differences that are not\n", *differing(scores), "",
        "## Derivatives that adjoint alone has\n", alone(scores), "",
        BEHAVIOUR, *behaviour(), "",
        "## Taken with\n", *(f"- {name}: {fact}" for name, fact in facts.items()), "",
    ])  # fmt: skip


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def figures(groups: Mapping[str, Sequence[Score]], aspects: Sequence[str], which: str = ALL) -> list[str]:
    """A row for each group of entries, a column for each aspect."""
    rows = (
        [name, *(str(entries_right(scores, aspect, which)) for aspect in aspects)] for name, scores in groups.items()
    )
    return table(["", *(SHORT.get(aspect, aspect) for aspect in aspects)], rows)


def samples(groups: Mapping[str, Sequence[Score]]) -> list[str]:
    rows = (
        [
            name,
            *(str(samples_right(scores, aspect)) for aspect in FIVE),
            str(sum(len(score.unmeasured) for score in scores)),
        ]
        for name, scores in groups.items()
    )
    return table(["", *(SHORT.get(aspect, aspect) for aspect in FIVE), "adjoint alone"], rows)


def explanations(scores: Sequence[Score]) -> Iterator[str]:
    """Each reason, with its entries and numbers of samples."""
    for why, findings in by_reason(scores).items():
        names = ", ".join(f"`{name}` {count}" for name, count in sorted(numbers_by_entry(findings).items()))
        yield f"- {why.reason}\n  {len(findings)} samples: {names}."


def alone(scores: Sequence[Score]) -> str:
    """The entries whose derivatives PyTorch refuses, with the numbers of samples."""
    counts = numbers_by_entry(finding for score in scores for finding in score.unmeasured)
    names = ", ".join(f"`{name}` {count}" for name, count in sorted(counts.items()))
    return f"PyTorch raises, or its result requires no gradient: {names}." if names else "None."


def behaviour() -> Iterator[str]:
    """A paragraph for each row of `behaviour.json`: the subject, both behaviours, and the reason for adjoint's."""
    for row in json.loads(Path(__file__).with_name("behaviour.json").read_text(encoding="utf-8")):
        yield f"- {row['about']}\n  PyTorch: {row['torch']}\n  adjoint: {row['adjoint']}\n  {row['reason']}"


def differing(scores: Sequence[Score]) -> list[str]:
    """One row for each entry and aspect with unexplained differences."""
    groups: dict[tuple[Score, str], list[Finding]] = defaultdict(list)
    for score in sorted(scores, key=lambda score: (score.entry.tier, score.entry.family)):
        for finding in score.open:
            groups[score, finding.aspect].append(finding)
    if not groups:
        return ["None."]
    rows = (
        [
            str(score.entry.tier), f"`{score.entry.name}`", TITLES[aspect],
            f"{len(findings)} of {score.n_samples(aspect)}",
            f"{code(findings[0].sample)} {findings[0].dtype}", code(findings[0].torch), code(findings[0].adjoint),
        ]
        for (score, aspect), findings in groups.items()
    )  # fmt: skip
    return table(["tier", "entry", "aspect", "samples", "the first", "PyTorch", "adjoint"], rows)


def code(text: str) -> str:
    """Text as code in a table's cell."""
    return f"`` {text.replace('|', chr(92) + '|')} ``"


def write(path: Path, facts: Mapping[str, str], scores: Sequence[Score]) -> None:
    """Write the page."""
    path.write_text(page(facts, scores), encoding="utf-8")
