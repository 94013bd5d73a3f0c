"""Figures of one run of a command: a file of JSON each, and a section of docs/trust.md."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).parent / "figures"
PAGE = ROOT / "docs" / "trust.md"


@dataclass
class Figures:
    """What one run of a command counted.

    `rows` are the table: label and value, in order. `findings` are faults in one sentence each; a run without faults
    has none. `not_run` says what the command could not do here, and why.
    """

    command: str
    long: bool
    rows: dict[str, str | int | float] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    date: str = ""
    commit: str = ""
    seconds: float = 0.0


class Recorder:
    """Measures the time of a run, and writes its figures at the end.

    piece: the run is a part of a long form. Its figures are added to the figures of earlier parts.

    >>> recorder = Recorder("make fuzz", long=False)
    >>> recorder.figures.rows["calls"] = 1000
    >>> recorder.finish().rows
    {'calls': 1000}
    """

    def __init__(self, command: str, *, long: bool, piece: bool = False) -> None:
        self.figures = Figures(command, long)
        self.piece = piece
        #: seconds of earlier pieces of the run
        self.earlier = 0.0
        self._start = time.perf_counter()

    def finish(self) -> Figures:
        """The figures with date, commit and duration. Those of a long form are written to `trust/figures`."""
        figures = self.figures
        figures.date = time.strftime("%Y-%m-%d", time.gmtime())
        figures.commit = commit()
        figures.seconds = round(time.perf_counter() - self._start + self.earlier, 1)
        if figures.long:
            write(join(read_all().get(name_of(figures)), figures) if self.piece else figures)
        return figures

    def report(self) -> int:
        """Finish, and print the figures; returns the exit status of the command: 1 if faults were found."""
        figures = self.finish()
        print(section(figures))
        return int(bool(figures.findings))


def commit() -> str:
    """The short name of the current commit. It is empty outside of a repository."""
    answer = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()


def name_of(figures: Figures) -> str:
    """The name of the file of a command."""
    return figures.command.removeprefix("make ").replace(" ", "-")


def join(before: Figures | None, piece: Figures) -> Figures:
    """The figures of a piece together with those of earlier pieces.

    A new row replaces the earlier row of the same name.

    >>> join(Figures("make fuzz", True, {"calls": 1}, seconds=1.0), Figures("make fuzz", True, {"files": 2})).rows
    {'calls': 1, 'files': 2}
    """
    if before is None:
        return piece
    return replace(
        piece,
        rows={**before.rows, **piece.rows},
        findings=[*dict.fromkeys([*before.findings, *piece.findings])],
        not_run=[*dict.fromkeys([*before.not_run, *piece.not_run])],
        seconds=before.seconds + piece.seconds,
    )


def write(figures: Figures) -> None:
    """Write the file of a command, and its section of the page."""
    FOLDER.mkdir(exist_ok=True)
    name = name_of(figures)
    (FOLDER / f"{name}.json").write_text(json.dumps(asdict(figures), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), name, section(figures)), encoding="utf-8")


def section(figures: Figures) -> str:
    """The lines of a run on the page.

    >>> print(section(Figures("make fuzz", True, {"calls": 1000}, date="2026-01-01", commit="abc", seconds=2.0)))
    `make fuzz ARGS=--long`, 2026-01-01, commit abc, 2 s.
    <BLANKLINE>
    | | |
    |---|---:|
    | calls | 1,000 |
    | faults | 0 |
    """
    form = " ARGS=--long" if figures.long else ""
    head = f"`{figures.command}{form}`, {figures.date}, commit {figures.commit}, {duration(figures.seconds)}."
    rows = {**figures.rows, "faults": len(figures.findings)}
    lines = [head, "", "| | |", "|---|---:|", *(f"| {label} | {value(entry)} |" for label, entry in rows.items())]
    return "\n".join([*lines, *bullets("Faults", figures.findings), *bullets("Not run here", figures.not_run)])


def bullets(title: str, sentences: Sequence[str]) -> list[str]:
    """A list with a title. An empty list gives nothing."""
    return ["", f"{title}:", "", *(f"- {sentence}" for sentence in sentences)] if sentences else []


def duration(seconds: float) -> str:
    """A duration in words.

    >>> duration(12.3), duration(754.0)
    ('12 s', '13 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def value(entry: str | float) -> str:
    """A count with commas. Other values stay unchanged."""
    return f"{entry:,}" if isinstance(entry, int) else str(entry)


def with_figures(page: str, name: str, text: str) -> str:
    """The page with another text between the marks of a name.

    >>> with_figures("<!-- fuzz -->\\nold\\n<!-- /fuzz -->\\n", "fuzz", "new")
    '<!-- fuzz -->\\nnew\\n<!-- /fuzz -->\\n'
    """
    opening, closing = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    before, mark, rest = page.partition(opening)
    _, end, after = rest.partition(closing)
    if not mark or not end:
        raise ValueError(
            f"the page has no place for the figures of {name}: add {opening.strip()} and {closing.strip()}"
        )
    return before + mark + text + end + after


def read_all(folder: Path = FOLDER) -> Mapping[str, Figures]:
    """The figures of all commands that have run, by name."""
    return {
        file.stem: Figures(**json.loads(file.read_text(encoding="utf-8"))) for file in sorted(folder.glob("*.json"))
    }
