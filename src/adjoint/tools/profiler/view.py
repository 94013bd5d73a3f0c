"""Looking at a trace: as one page that needs no network, and as a table."""

from __future__ import annotations

import contextlib
import gzip
import json
import zlib
from collections.abc import Iterator
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

from adjoint.tools.profiler.events import EventList, FunctionEvent
from adjoint.tools.profiler.export.formats import format_memory

Trace = dict[str, Any]

#: The largest trace in bytes, decompressed: a short file can expand to a very long text of equal bytes.
LARGEST = 2 << 30
#: What reading entries of other contents than a trace's raises.
WRONG_ENTRY = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def read_trace(path: str | Path) -> Trace:
    """A trace in the trace-event format, `.gz` compressed or not.

    Raises OSError for a file that cannot be read, ValueError for one that holds no trace.
    """
    content = Path(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = decompress(path)
    try:
        trace: Any = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON, so no trace: {error}") from error
    if isinstance(trace, list):
        trace = {"traceEvents": trace}
    entries = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "ph" in entry for entry in entries):
        raise ValueError(f"{path} has no list of trace events; export_chrome_trace() writes such files")
    assert isinstance(trace, dict)
    return trace


def decompress(path: str | Path) -> bytes:
    """The text of a compressed trace."""
    try:
        with gzip.open(path) as file:
            content = file.read(LARGEST + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is broken: {error}") from error
    if len(content) > LARGEST:
        raise ValueError(
            f"{path} has more than {LARGEST >> 30} GiB of text, which is too large for a trace: record fewer steps"
        )
    return content


@contextlib.contextmanager
def entries_of_a_trace() -> Iterator[None]:
    """A block that reads entries; faults in them become a ValueError."""
    try:
        yield
    except WRONG_ENTRY as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"the trace has an entry that export_chrome_trace() does not write ({what})") from error


def page(trace: Trace, title: str) -> str:
    """One HTML page that shows a trace; everything that it needs is in it."""
    folder = files("adjoint.tools.profiler")
    # "<" begins what ends the element that holds the trace
    trace_text = json.dumps(trace).replace("<", "\\u003c")
    text = (folder / "page.html").read_text(encoding="utf-8").replace("@TITLE@", escape(title))
    text = text.replace("@SCRIPT@", (folder / "page.js").read_text(encoding="utf-8"))
    return text.replace("@TRACE@", trace_text)


def events_of_trace(trace: Trace) -> EventList:
    """The calls of a trace as events. Raises ValueError for entries that are no calls."""
    with entries_of_a_trace():
        return _events(trace)


def _events(trace: Trace) -> EventList:
    calls = [entry for entry in trace["traceEvents"] if entry["ph"] == "X" and entry.get("cat") != "Trace"]
    threads = {(entry["pid"], entry["tid"]): 0 for entry in calls}
    threads = {key: number for number, key in enumerate(threads, 1)}
    records = []
    for number, entry in enumerate(calls, 1):
        arguments = entry.get("args", {})
        start = float(entry["ts"])
        records.append(
            FunctionEvent(
                number,
                entry["name"],
                threads[entry["pid"], entry["tid"]],
                start,
                start + float(entry.get("dur", 0)),
                input_shapes=arguments.get("Input Dims") or [],
                stack=[],
                sequence_nr=int(arguments.get("Sequence number", -1)),
                flops=int(arguments.get("flops", 0)),
                is_user_annotation=entry.get("cat") == "user_annotation",
            )
        )
    events = EventList(records, with_flops=any(event.flops for event in records))
    events._build_tree()
    return events


def text(trace: Trace, sort_by: str = "self_cpu_time_total", row_limit: int = 40) -> str:
    """A trace as a table of sums by name, and the peak of memory if the trace knows it.

    Raises ValueError for entries that export_chrome_trace() does not write.
    """
    with entries_of_a_trace():
        return _text(trace, sort_by, row_limit)


def _text(trace: Trace, sort_by: str, row_limit: int) -> str:
    lines = [events_of_trace(trace).key_averages().table(sort_by=sort_by, row_limit=row_limit)]
    counters = [entry for entry in trace["traceEvents"] if entry["ph"] == "C" and "mem" in entry["name"].lower()]
    if counters:
        peak = max(counters, key=lambda entry: sum(entry["args"].values()))
        parts = ", ".join(f"{name} {format_memory(size)}" for name, size in peak["args"].items() if size)
        lines.append(f"Peak of memory: {format_memory(sum(peak['args'].values()))} ({parts})\n")
    return "".join(lines)


class Handler(BaseHTTPRequestHandler):
    """Serves a single page."""

    def __init__(self, content: bytes, *args: Any) -> None:
        self.content = content
        super().__init__(*args)

    def do_GET(self) -> None:
        """Send the page."""
        if self.path.split("?")[0] != "/":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""


def server(trace: Trace, title: str, port: int = 0) -> ThreadingHTTPServer:
    """A server of the page for this machine only; port 0 takes any that is free. Call `serve_forever` on it."""
    return ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, page(trace, title).encode()))
