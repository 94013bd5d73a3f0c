"""The section of docs/benchmarks.md about programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .measurement import Timing
from .table import markdown_table, summary

TITLE = "## Programs"
CLOCKS = {"processor": "Time of the processor, one thread", "wall": "Time on the wall, two threads"}
TEXT = """\
{title}

Written by `python -m benchmarks.programs --document docs/benchmarks.md`. Whole programs of several fields, each written
once under torch's names (`benchmarks/programs/`); their results and gradients are PyTorch's. Times are the least of
alternating rounds; a ratio is how many times faster adjoint is, and how many times faster the step is under
`adjoint.compile`. The load average at the end was {load}: times on the
wall mean something near zero only.

{summaries}

{table}
"""


def section(timings: Mapping[str, Sequence[Timing]]) -> str:
    """The section in Markdown, with the times by both clocks."""
    summaries = "\n".join(f"- {CLOCKS[clock]}: {summary(rows)}" for clock, rows in timings.items())
    first, *others = timings.values()
    table = markdown_table(first, *others)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return TEXT.format(title=TITLE, summaries=summaries, table=table, load=load)


def with_section(page: str, text: str) -> str:
    """A page with the section of the text's title replaced, or with a new one at its end.

    >>> with_section("# Page\\n\\n## Programs\\n\\nold\\n\\n## Next\\n", "## Programs\\n\\nnew\\n")
    '# Page\\n\\n## Programs\\n\\nnew\\n\\n## Next\\n'
    """
    before, heading, rest = page.partition(text.partition("\n")[0] + "\n")
    if not heading:
        return f"{page.rstrip()}\n\n{text}"
    _, following, after = rest.partition("\n## ")
    return before + text + following + after


def section_of(page: str, title: str = TITLE) -> str:
    """The section of a page with this title, or an empty text. The default title is that of the programs.

    >>> section_of("# Page\\n\\n## Programs\\n\\ntext\\n\\n## Next\\n")
    '## Programs\\n\\ntext\\n'
    """
    _, heading, rest = page.partition(title + "\n")
    return heading + rest.partition("\n## ")[0] if heading else ""


def write_section(path: Path, timings: Mapping[str, Sequence[Timing]]) -> None:
    """Write the section into a page."""
    page = path.read_text(encoding="utf-8") if path.exists() else "# Benchmarks\n"
    path.write_text(with_section(page, section(timings)), encoding="utf-8")
