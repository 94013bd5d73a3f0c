"""Traces of nvprof: SQLite files with the ranges that `emit_nvtx` made and the kernels that ran inside of them."""

from __future__ import annotations

import re
from contextlib import closing
from os import PathLike, fspath
from typing import Any
from urllib.parse import quote

from adjoint.tools.profiler.events import EventList, FunctionEvent
from adjoint.tools.profiler.unique import EnforceUnique

#: The ends of markers are rows of their own, with the same id as their beginnings.
MARKERS = """
    SELECT begin.id AS id, begin.name AS name, begin.timestamp AS start, finish.timestamp AS finish
    FROM CUPTI_ACTIVITY_KIND_MARKER AS begin
    INNER JOIN CUPTI_ACTIVITY_KIND_MARKER AS finish ON begin.id = finish.id
    WHERE begin.name != 0 AND finish.name = 0
    ORDER BY start, finish DESC
"""
#: The tables that are read, and how their definitions begin; a virtual table is read by a program.
TABLES = (
    "StringTable",
    "CUPTI_ACTIVITY_KIND_MARKER",
    "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
)
PLAIN = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
#: Kernels with the calls that launched them.
KERNELS = """
    SELECT launch.start AS launched, kernel.name AS name, kernel.deviceId AS device,
           kernel.start AS start, kernel.end AS finish
    FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel
    INNER JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS launch ON launch.correlationId = kernel.correlationId
    ORDER BY kernel.start
"""


def check_tables(connection: Any) -> None:
    """Raise unless all sources are plain tables: a view is a program that runs when it is read."""
    import sqlite3

    kinds = {row["name"]: row for row in connection.execute("SELECT name, type, sql FROM sqlite_master")}
    for name in TABLES:
        row = kinds.get(name)
        if row is None or row["type"] != "table" or not PLAIN.match(str(row["sql"])):
            raise sqlite3.DatabaseError(f"a trace of nvprof has a table {name}")


def load_nvprof(path: str | PathLike[str]) -> EventList:
    """The ranges in a trace of nvprof as events, with the kernels that were launched inside of them.

    path: an SQLite file that `nvprof -o` wrote. Times are in microseconds; a kernel belongs to the innermost range in
    which it was launched.

    Raises sqlite3.Error for a file that cannot be opened or is no such trace, RuntimeError for a range that ends twice.

    >>> import adjoint
    >>> events = adjoint.autograd.profiler.load_nvprof("trace.prof")  # doctest: +SKIP
    """
    events = EventList(parse_nvprof_trace(path), use_device="cuda")
    events._build_tree()
    return events


def parse_nvprof_trace(path: str | PathLike[str]) -> list[FunctionEvent]:
    """The events of a trace that nvprof has written, as a list in order of their start.

    path: an SQLite file. Raises sqlite3.OperationalError for a file that cannot be read; see `load_nvprof`.
    """
    import sqlite3

    # a name may have what a URI gives a meaning
    with closing(sqlite3.connect(f"file:{quote(fspath(path))}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        try:
            check_tables(connection)
            return events_of(connection)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise sqlite3.DatabaseError(f"the trace is broken ({type(error).__name__}: {error})") from error


def events_of(connection: Any) -> list[FunctionEvent]:
    """The events of an open trace."""
    strings = dict(connection.execute("SELECT _id_, value FROM StringTable").fetchall())
    unique = EnforceUnique()
    events = []
    for row in connection.execute(MARKERS):
        unique.see(row["id"])
        start, end = row["start"] / 1000, row["finish"] / 1000
        events.append(
            FunctionEvent(row["id"], strings[row["name"]], 0, start, end, node_id=0, stack=[], use_device="cuda")
        )
    for row in connection.execute(KERNELS):
        launched = row["launched"] / 1000
        around = [event for event in events if event.time_range.start <= launched <= event.time_range.end]
        if around:
            innermost = max(around, key=lambda event: event.time_range.start)
            name = strings.get(row["name"], str(row["name"]))
            innermost.append_kernel(name, row["device"], (row["finish"] - row["start"]) / 1000)
    return events
