"""The page of the documentation with all ratios, written by `python -m benchmarks --document docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from pathlib import Path
from statistics import median

from . import compile, sparse, taylor
from .contenders import BY_HAND, SUBJECT
from .measure import Result
from .nodes import rows as node_rows
from .programs.document import section_of, with_section
from .report import quantity

HEAD = """\
# Benchmarks

`python -m benchmarks --document docs/benchmarks.md` writes this page; `benchmarks/README.md` describes the measurement.
The column of a library has its time divided by adjoint's time. The column NumPy has adjoint's time divided by the time
of a forward and backward pass written by hand in NumPy. A ratio is the median of the ratios within each round. Times
are adjoint's, forward and backward, unless the workload says otherwise.
"""
#: The section of the page that benchmarks.training writes.
TRAINING = "## Training"
NODES = """\
## One node

A chain of `x * 1.0001` on one element, recorded and run backward; memory is all that the process grows by.
"""


def page(facts: Mapping[str, str], results: Sequence[Result]) -> str:
    """The whole page in Markdown."""
    peers = [name for name in ("torch", "autograd", BY_HAND) if any(name in result.seconds for result in results)]
    lines = [HEAD, "| | " + " | ".join([SUBJECT, *peers]) + " |", "|---" + "|---:" * (len(peers) + 1) + "|"]
    for result in results:
        if SUBJECT in result.seconds:
            cells = [quantity(median(result.seconds[SUBJECT])), *(cell(result, peer) for peer in peers)]
            lines.append(f"| **{result.name}**: {result.title} | " + " | ".join(cells) + " |")
    for peer in peers:
        ratios = [comparison[1].paired for comparison in (result.comparison(peer) for result in results) if comparison]
        lines.append(f"\nGeometric mean, {peer}: **{exp(sum(map(log, ratios)) / len(ratios)):.2f}**.")
    lines += ["", NODES, *node_rows([name for name in (SUBJECT, "torch") if name in facts])]
    lines += ["", "## Taken with", "", *(f"- {name}: {fact}" for name, fact in facts.items()), ""]
    return "\n".join(lines)


def cell(result: Result, peer: str) -> str:
    """A ratio, or an empty text if the peer has no time."""
    comparison = result.comparison(peer)
    return "" if comparison is None else f"{comparison[1].paired:.2f}"


def write(path: Path, facts: Mapping[str, str], results: Sequence[Result]) -> None:
    """Write the page. Keep the sections of other commands."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    text = page(facts, results)
    for section in (
        section_of(before),
        *(section_of(before, title) for title in (sparse.TITLE, compile.TITLE, TRAINING, taylor.TITLE)),
    ):
        text = with_section(text, section) if section else text
    path.write_text(text, encoding="utf-8")
