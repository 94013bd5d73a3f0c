"""Views of traces: the page in headless Chromium, its logic in Node, the server, the table of the command line."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zlib
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

import adjoint
from adjoint.autograd.profiler import profile, record_function
from adjoint.profiler.__main__ import main
from adjoint.tools.profiler import view

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NODE = shutil.which("node")
SCRIPT = files("adjoint.tools.profiler") / "page.js"


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory):
    """The trace of a small training step, with memory, shapes and a label of special characters."""
    x = adjoint.randn(64, 64)
    w = adjoint.randn(64, 64, requires_grad=True)
    with profile(profile_memory=True, record_shapes=True, with_stack=True, with_flops=True) as prof:
        with record_function("</script><b>step</b>"):
            loss = (x @ w).tanh().pow(2).sum()
        loss.backward()
    path = tmp_path_factory.mktemp("traces") / "trace.json"
    prof.export_chrome_trace(path)
    return path


# the trace ------------------------------------------------------------------------------------------------------------

PHASES = {"X": {"dur", "tid"}, "M": {"args"}, "C": {"args"}, "s": {"id", "tid"}, "f": {"id", "tid", "bp"}}


def assert_valid(trace):
    """The rules of the trace-event format that viewers need."""
    assert trace["displayTimeUnit"] in {"ms", "ns"}
    open_calls, flows, last_counter = {}, {}, -1.0
    names = set()
    for entry in trace["traceEvents"]:
        assert {"ph", "name", "pid", "ts"} | PHASES[entry["ph"]] <= entry.keys()
        assert isinstance(entry["ts"], (int, float)) and entry["ts"] >= 0
        if entry["ph"] == "X":
            assert entry["dur"] >= 0
            open_calls.setdefault((entry["pid"], entry["tid"]), []).append((entry["ts"], entry["ts"] + entry["dur"]))
        elif entry["ph"] == "M" and entry["name"] == "thread_name":
            names.add((entry["pid"], entry["tid"]))
        elif entry["ph"] == "C":
            assert all(size >= 0 for size in entry["args"].values()) and entry["ts"] > last_counter
            last_counter = entry["ts"]
        elif entry["ph"] in "sf":
            flows.setdefault(entry["id"], []).append(entry)
    assert names == set(open_calls)
    for spans in open_calls.values():
        # calls of a thread are nested or disjoint
        around = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while around and around[-1] <= start and end > around[-1]:
                around.pop()
            assert not around or end <= around[-1] + 1e-6
            around.append(end)
    for start, finish in flows.values():
        assert (start["ph"], finish["ph"], finish["bp"]) == ("s", "f", "e") and start["ts"] <= finish["ts"]
        for at in (start, finish):
            assert any(begin <= at["ts"] <= end for begin, end in open_calls[at["pid"], at["tid"]])


def test_traces_follow_the_format(trace_file):
    trace = view.read_trace(trace_file)
    assert_valid(trace)
    kinds = [entry["ph"] for entry in trace["traceEvents"]]
    assert all(kinds.count(kind) > 0 for kind in PHASES)
    assert "tanh()" in trace["memoryPeaks"]["saved for backward"]


@pytest.mark.parametrize(
    "broken",
    [
        {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0},
        {"ph": "X", "name": "a", "pid": 1, "tid": 77, "ts": 0, "dur": 1},
        {"ph": "C", "name": "memory", "pid": 1, "ts": 1e12, "args": {"bytes": -1}},
    ],
)
def test_the_test_of_the_format_sees_what_breaks_it(trace_file, broken):
    trace = view.read_trace(trace_file)
    trace["traceEvents"].append(broken)
    with pytest.raises(AssertionError):
        assert_valid(trace)


# the page -------------------------------------------------------------------------------------------------------------


class Outline(HTMLParser):
    """The elements of a page and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] += data


def test_page_holds_all_that_it_needs(trace_file):
    trace = view.read_trace(trace_file)
    page = view.page(trace, "<trace>")
    outline = Outline(page)
    data, script = outline.scripts
    assert json.loads(data) == trace
    assert script.strip() == SCRIPT.read_text(encoding="utf-8").strip()
    ids = {attrs.get("id") for _, attrs in outline.elements}
    assert set(re.findall(r'byId\("([\w-]+)"\)', script)) <= ids
    # the page loads nothing from other places, and its policy forbids it
    assert not any({"src", "href"} & attrs.keys() for _, attrs in outline.elements)
    assert any("default-src 'none'" in attrs.get("content", "") for _, attrs in outline.elements)
    assert "<title>&lt;trace&gt;</title>" in page and not re.search("@[A-Z]+@", page)


def test_page_of_a_trace_that_would_end_its_element():
    trace = {"traceEvents": [{"ph": "X", "name": "<!--<script></script><img src=x>"}]}
    data, _ = Outline(view.page(trace, "trace")).scripts
    assert json.loads(data) == trace and "<" not in data


BROKEN = {
    "no time": '[{"ph": "X", "name": "a", "pid": 1, "tid": 1}]',
    "a time that is text": '[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": "soon"}]',
    "a time without end": '[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "args": {"flops": 1e999}}]',
    "arguments that are a list": '[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "args": []}]',
    "a process that is a list": '[{"ph": "X", "name": "a", "pid": [], "tid": 1, "ts": 1}]',
    "a counter without a name": '[{"ph": "C", "args": {"a": 1}}]',
    "a counter of text": '[{"ph": "C", "name": "memory", "args": {"a": "b"}}]',
}


@pytest.mark.parametrize("name", BROKEN)
def test_entries_of_other_contents_are_one_error(name, tmp_path, capsys):
    path = tmp_path / "trace.json"
    path.write_text(BROKEN[name])
    with pytest.raises(ValueError, match="an entry that export_chrome_trace\\(\\) does not write"):
        view.text(view.read_trace(path))
    assert main(["view", str(path), "--text"]) == 2
    assert "does not write" in capsys.readouterr().err


def test_files_that_hold_no_text_are_one_error(tmp_path, monkeypatch):
    path = tmp_path / "trace.json.gz"
    whole = gzip.compress(b'{"traceEvents": []}')
    monkeypatch.setattr(view, "LARGEST", 1000)
    bomb = gzip.compress(b"[" + b" " * 10**6 + b"]")
    for contents in (b"[" * 100_000, "[]".encode("utf-16"), whole[:-4], whole[:12] + b"0" + whole[13:], bomb):
        path.write_bytes(contents)
        with pytest.raises(ValueError, match=r"trace.json.gz (is|has)"):
            view.read_trace(path)


LOGIC = """
const page = require(process.argv[1]);
const trace = JSON.parse(require("fs").readFileSync(process.argv[2]));
const { threads, origin } = page.threadsOf(trace);
const memory = page.memoryOf(trace, origin);
const flame = page.flameOf(threads);
const summary = page.summaryOf(threads);
console.log(JSON.stringify({
  calls: threads.map((thread) => thread.calls.map((call) => [call.name, call.depth, page.kindOf(call)])),
  arrows: page.arrowsOf(trace, origin).length,
  series: Object.fromEntries(memory.series.map((one) => [one.name, Math.max(...one.sizes)])),
  outermost: [...flame.inside.keys()], total: flame.total,
  summary: Object.fromEntries(summary.map((row) => [row.name, [row.count, row.total, row.self]])),
  words: [page.timeInWords(1500), page.timeInWords(2.5e6), page.sizeInWords(2048), page.sizeInWords(3)],
}));
"""


@pytest.mark.skipif(NODE is None, reason="needs Node.js for the script of the page")
def test_logic_of_the_page(trace_file):
    command = [NODE, "-e", LOGIC, str(SCRIPT), str(trace_file)]
    process = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    trace = view.read_trace(trace_file)
    events = view.events_of_trace(trace)
    (calls,) = process["calls"]
    assert sorted(name for name, _, _ in calls) == sorted(event.name for event in events)
    kinds = {name: kind for name, _, kind in reversed(calls)}
    expected = {"aten::tanh": "forward", "TanhBackward0": "backward", "</script><b>step</b>": "label"}
    assert expected.items() <= kinds.items()
    assert {name: depth for name, depth, _ in calls}["aten::tanh"] == 1
    for average in events.key_averages():
        count, total, self_time = process["summary"][average.key]
        assert count == average.count
        assert total == pytest.approx(average.cpu_time_total, abs=1e-3)
        assert self_time == pytest.approx(average.self_cpu_time_total, abs=1e-3)
    assert process["outermost"][0] == "</script><b>step</b>"
    assert process["total"] == pytest.approx(sum(e.cpu_time_total for e in events if e.cpu_parent is None), abs=1e-2)
    assert process["arrows"] == sum(entry["ph"] == "s" for entry in trace["traceEvents"]) > 0
    assert process["series"]["parameters"] == 64 * 64 * 4
    assert process["words"] == ["1.500ms", "2.500s", "2.00 KB", "3 B"]


def chromium(folder, address, *options):
    """Run headless Chromium on a page. Returns its output."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    flags += [f"--user-data-dir={folder / 'chromium'}", "--window-size=1000,900", "--virtual-time-budget=2000"]
    command = [CHROMIUM, *flags, *options, address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def pixels(png):
    """The colours of an 8-bit PNG as an array of (row, column, channel)."""
    data, at, packed = png.read_bytes(), 8, b""
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, channels = int.from_bytes(body[:4]), int.from_bytes(body[4:8]), 4 if body[9] == 6 else 3
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    image = np.zeros((height + 1, width + 1, channels), np.int64)
    for row in range(height):
        method, line = lines[row, 0], lines[row, 1:].reshape(width, channels).astype(np.int64)
        if method == 2:
            image[row + 1, 1:] = (line + image[row, 1:]) % 256
        elif method == 0:
            image[row + 1, 1:] = line
        elif method == 1:
            image[row + 1, 1:] = np.cumsum(line, axis=0) % 256
        else:
            for k in range(width):
                left, up, corner = image[row + 1, k], image[row, k + 1], image[row, k]
                if method == 3:
                    near = (left + up) // 2
                else:
                    guess = left + up - corner
                    far = np.abs(np.stack([guess - left, guess - up, guess - corner]))
                    near = np.choose(far.argmin(0), [left, up, corner])
                image[row + 1, k + 1] = (line[k] + near) % 256
    return image[1:, 1:, :3]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium for the page")
def test_page_in_chromium(trace_file, tmp_path):
    trace = view.read_trace(trace_file)
    with view.server(trace, trace_file.name) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}/"
            text = chromium(tmp_path, address, "--dump-dom")
            chromium(tmp_path, address, f"--screenshot={tmp_path / 'page.png'}")
        finally:
            server.shutdown()
    assert 'data-ready="yes"' in text
    body = text[: text.index('<script type="application/json"')]
    assert "&lt;/script&gt;&lt;b&gt;step&lt;/b&gt;" in body and "TanhBackward0" in body
    assert "saved for backward (peak 16.00 KB)" in body and "Peak, saved for backward: " in body
    image = pixels(tmp_path / "page.png")
    assert image.shape == (900, 1000, 3)
    for colour in ((0x5B, 0x8F, 0xF9), (0xF6, 0xA0, 0x4D), (0x9A, 0xA5, 0xB1), (0x5A, 0xD8, 0xA6)):
        # forward, backward, labels, and memory that is saved for backward
        assert (image == colour).all(-1).sum() > 200, colour


def test_server_gives_the_page_and_nothing_else(trace_file):
    trace = view.read_trace(trace_file)
    with view.server(trace, "name") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert answer.read().decode() == view.page(trace, "name")
            with pytest.raises(urllib.error.HTTPError, match="404") as caught:
                urllib.request.urlopen(address + "etc/passwd", timeout=30)
            caught.value.close()
        finally:
            server.shutdown()


# the command line -----------------------------------------------------------------------------------------------------


def test_table_without_a_browser(trace_file, tmp_path, capsys):
    assert main(["view", str(trace_file), "--text", "--sort-by", "cpu_time_total", "--limit", "3"]) == 0
    text = capsys.readouterr().out
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
    assert [title.strip() for title in text.splitlines()[1].split("  ") if title.strip()][:7] == titles
    assert len(text.splitlines()) == 3 + 3 + 1 + 2
    assert "Self CPU time total: " in text and "Peak of memory: " in text and "parameters 16.00 KB" in text
    packed = tmp_path / "list.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(view.read_trace(trace_file)["traceEvents"]).encode()))
    assert main(["view", str(packed), "--text"]) == 0
    assert "MmBackward0" in capsys.readouterr().out


def test_page_in_a_file_and_bad_files(trace_file, tmp_path, capsys):
    target = tmp_path / "page.html"
    assert main(["view", str(trace_file), "--html", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == view.page(view.read_trace(trace_file), "trace.json")
    (tmp_path / "text").write_text("no trace")
    (tmp_path / "other").write_text('{"a": 1}')
    for name, words in {"missing": "No such file", "text": "is no JSON", "other": "no list of trace events"}.items():
        assert main(["view", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.quick(0)
def test_command_serves_until_it_is_stopped(trace_file):
    command = [sys.executable, "-m", "adjoint.profiler", "view", str(trace_file), "--no-open"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            address = process.stdout.readline().split()[0]
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert "<canvas" in answer.read().decode()
        finally:
            process.terminate()
