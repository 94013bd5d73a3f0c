"""The tables of docs/accuracy.md, and the file of the figures in them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .figures import ROOT, commit, duration, with_figures

PAGE = ROOT / "docs" / "accuracy.md"
FILE = Path(__file__).parent / "data" / "accuracy.json"
LISTED = Path(__file__).parent / "data" / "accuracy_limits.json"


class Errors(NamedTuple):
    """Errors in units in the last place.

    most: the error that 99 % of the points do not exceed. worst: the largest error. beyond: the largest error divided
    by the condition of the function, if the condition is above 1. Errors below the smallest normal number do not count
    for it. point: the arguments of that error. lost: the number of results that are infinite or NaN although the exact
    result is a number; `point` is then the first of them.
    """

    most: float
    worst: float
    beyond: float
    point: tuple[float, ...]
    lost: int


class Row(NamedTuple):
    """The errors of one function in one type, of its value and then of its slopes; None for what does not exist."""

    label: str
    dtype: str
    points: int
    adjoint: list[Errors | None]
    numpy: list[Errors | None]
    torch: list[Errors | None]


class Sum(NamedTuple):
    """The errors of one reduction of some numbers; None without PyTorch."""

    name: str
    dtype: str
    data: str
    adjoint: float
    numpy: float
    torch: float | None


class Difference(NamedTuple):
    """The distance of a result on one kind of processor from the result on the best one, in units in the last place."""

    kind: str
    name: str
    most: float
    worst: float


class Tables(NamedTuple):
    """The contents of the page. differences: of all results on all kinds of processor."""

    rows: list[Row]
    sums: list[Sum]
    differences: list[Difference]
    seconds: float = 0.0

    def merge(self, piece: Tables) -> Tables:
        """These tables, with the rows of a piece in place of theirs. PyTorch's errors stay if the piece has none."""
        rows = {(row.label, row.dtype): row for row in self.rows}
        for row in piece.rows:
            before = rows.get((row.label, row.dtype))
            rows[row.label, row.dtype] = row if row.torch or before is None else row._replace(torch=before.torch)
        sums = {entry[:3]: entry for entry in self.sums}
        for entry in piece.sums:
            earlier = sums.get(entry[:3])
            sums[entry[:3]] = (
                entry if entry.torch is not None or earlier is None else entry._replace(torch=earlier.torch)
            )
        differences = piece.differences or self.differences
        return Tables([*rows.values()], [*sums.values()], differences, self.seconds + piece.seconds)

    def counts(self) -> dict[str, str | int | float]:
        """The numbers that docs/trust.md shows."""
        columns = [errors for row in self.rows for errors in row.adjoint if errors is not None]
        return {
            "functions": len({row.label for row in self.rows}),
            "points, of each in each type": max((row.points for row in self.rows), default=0),
            "exact values and slopes": sum(row.points * sum(e is not None for e in row.adjoint) for row in self.rows),
            "tables of values and slopes within 2 units at 99 % of their points": share(columns, 2),
            "within 8 units": share(columns, 8),
            "reductions of data": len(self.sums),
            "results compared between kinds of processor": len(self.differences),
            "of these the same bits": sum(not entry.worst for entry in self.differences),
        }


def share(columns: Sequence[Errors], bound: float) -> str:
    return f"{sum(errors.most <= bound for errors in columns)} of {len(columns)}"


# the file ---------------------------------------------------------------------------------------------------------


def read_tables() -> Tables:
    """The tables of the last long form; empty ones before the first."""
    if not FILE.exists():
        return Tables([], [], [])
    content = json.loads(FILE.read_text(encoding="utf-8"))
    rows = [Row(*row[:3], *[[errors_of(entry) for entry in column] for column in row[3:]]) for row in content["rows"]]
    sums = [Sum(*entry) for entry in content["sums"]]
    differences = [Difference(*entry) for entry in content["differences"]]
    return Tables(rows, sums, differences, content["seconds"])


def known_errors() -> dict[str, str]:
    """The reasons for errors that stay, by function and part: the value, or one of the slopes."""
    reasons: dict[str, str] = json.loads(LISTED.read_text(encoding="utf-8"))
    return reasons


def errors_of(entry: Any) -> Errors | None:
    if entry is None:
        return None
    most, worst, beyond = [math.nan if part is None else part for part in entry[:3]]
    return Errors(most, worst, beyond, tuple(entry[3]), entry[4])


def entry_of(errors: Errors | None) -> Any:
    """Errors for the file, of three digits."""
    if errors is None:
        return None
    figures = [None if math.isnan(part) else float(f"{part:.3g}") for part in errors[:3]]
    return [*figures, list(errors.point), errors.lost]


def write(tables: Tables) -> None:
    """Write the file and the page."""
    rows = [[*row[:3], *[[entry_of(errors) for errors in column] for column in row[3:]]] for row in tables.rows]
    parts = {
        "seconds": round(tables.seconds, 1),
        "rows": rows,
        "sums": [list(entry) for entry in tables.sums],
        "differences": [list(entry) for entry in tables.differences],
    }
    lines = [f'"{name}": {lines_of(part)}' for name, part in parts.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables, head(tables)), encoding="utf-8")


def lines_of(part: Any) -> str:
    """A list with an entry in each line."""
    if not isinstance(part, list):
        return json.dumps(part)
    return "[\n" + ",\n".join(f" {json.dumps(entry, ensure_ascii=False)}" for entry in part) + "\n]"


# the page ---------------------------------------------------------------------------------------------------------


def head(tables: Tables) -> str:
    """Date, commit and counts."""
    counts = tables.counts()
    return (
        f"`make accuracy ARGS=--long`, {time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit()}, "
        f"{duration(tables.seconds)}: {counts['functions']} functions at up to "
        f"{counts['points, of each in each type']:,} points in each type, "
        f"{counts['exact values and slopes']:,} exact values and slopes."
    )


def with_tables(page: str, tables: Tables, first: str) -> str:
    """The page with these tables."""
    page = with_figures(page, "run", first)
    for dtype in ("float64", "float32", "complex128", "complex64"):
        lines = function_table(row for row in tables.rows if row.dtype == dtype)
        page = with_figures(page, dtype, "\n".join(lines))
    page = with_figures(page, "sums", "\n".join(sum_table(tables.sums)))
    reasons = ["| | reason |", "|---|---|", *(f"| {name} | {reason} |" for name, reason in known_errors().items())]
    page = with_figures(page, "listed", "\n".join(reasons))
    return with_figures(page, "kinds", "\n".join(kind_table(tables.differences)))


def function_table(rows: Iterable[Row]) -> Iterator[str]:
    yield "| function | value: adjoint | NumPy, SciPy | PyTorch | slopes: adjoint | PyTorch |"
    yield "|---|---:|---:|---:|---:|---:|"
    for row in rows:
        columns = [row.adjoint[:1], row.numpy, row.torch[:1], row.adjoint[1:], row.torch[1:]]
        yield f"| {row.label} | " + " | ".join("<br>".join(map(cell, column)) for column in columns) + " |"


def cell(errors: Errors | None) -> str:
    """The errors of 99 % of the points and of the worst one, and how many results are lost.

    >>> cell(Errors(0.5, 1.25, 1.25, (1.0,), 0)), cell(Errors(0.5, 4e6, 1.0, (1.0,), 2)), cell(None)
    ('0.5 / 1.2', '0.5 / 4e6° (2 lost)', '')
    """
    if errors is None:
        return ""
    mark = "°" if errors.worst > 4 * errors.beyond else ""
    lost = f" ({errors.lost} lost)" if errors.lost else ""
    return f"{figure(errors.most)} / {figure(errors.worst)}{mark}{lost}"


def figure(value: float) -> str:
    """Two digits.

    >>> figure(0.513), figure(123.0), figure(4.2e15), figure(1e-11), figure(float("nan"))
    ('0.51', '120', '4.2e15', '0', '-')
    """
    if math.isnan(value):
        return "-"
    # of the three digits that the file keeps
    value = float(f"{value:.3g}")
    if value < 0.001:
        return "0"
    if value < 1e4:
        return f"{float(f'{value:.2g}'):g}"
    return f"{value:.2g}".replace("e+0", "e").replace("e+", "e")


def sum_table(sums: Sequence[Sum]) -> Iterator[str]:
    yield "| reduction | numbers | type | adjoint | NumPy, SciPy | PyTorch |"
    yield "|---|---|---|---:|---:|---:|"
    for entry in sums:
        errors = " | ".join("" if error is None else sum_figure(error) for error in entry[3:])
        yield f"| {entry.name} | {entry.data} | {entry.dtype} | {errors} |"


def sum_figure(error: float) -> str:
    return "lost" if math.isinf(error) else figure(error)


def kind_table(differences: Sequence[Difference]) -> Iterator[str]:
    """Counts for each kind of processor, and the results that are farthest apart."""
    yield "| kind | results | the same bits | within 1 unit | within 4 | farther apart: 99 % / worst |"
    yield "|---|---:|---:|---:|---:|---|"
    for kind in dict.fromkeys(entry.kind for entry in differences):
        entries = [entry for entry in differences if entry.kind == kind]
        counts = " | ".join(str(sum(entry.worst <= bound for entry in entries)) for bound in (0, 1, 4))
        far = [f"{e.name}: {figure(e.most)} / {figure(e.worst)}" for e in entries if e.worst > 4]
        yield f"| {kind} | {len(entries)} | {counts} | {'<br>'.join(far)} |"
