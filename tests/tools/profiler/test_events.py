"""Events: nesting, averages, tables, traces."""

import json

import pytest

import adjoint
from adjoint.autograd.profiler import profile, record_function
from adjoint.autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    MemRecordsAcc,
    StringTable,
    _format_memory,
    _format_time,
    _format_time_share,
)


def make_events():
    spans = [("A", 0, 0, 100), ("B", 0, 10, 40), ("C", 0, 20, 30), ("D", 0, 50, 90), ("E", 1, 10, 20)]
    return EventList([FunctionEvent(k, *span) for k, span in enumerate(spans)])


def test_nesting_by_time_and_thread():
    events = make_events()
    events._populate_cpu_children()
    assert [[child.name for child in event.cpu_children] for event in events] == [["B", "D"], ["C"], [], [], []]
    assert [event.self_cpu_time_total for event in events] == [30, 20, 10, 40, 10]
    assert events[2].cpu_parent is events[1] and events[4].cpu_parent is None
    assert events.self_cpu_time_total == 110


def test_only_call_of_the_same_name_is_merged():
    events = EventList([FunctionEvent(0, "A", 0, 0, 9), FunctionEvent(1, "A", 0, 1, 8), FunctionEvent(2, "B", 0, 2, 3)])
    events._build_tree()
    assert [event.name for event in events] == ["A", "B"]
    assert events[0].cpu_children == [events[1]] and events[1].cpu_parent is events[0]


def test_averages():
    events = make_events()
    events.append(FunctionEvent(5, "E", 1, 30, 60))
    with pytest.raises(AssertionError, match="Expected tree to be built before calling key_averages"):
        events.key_averages()
    events._build_tree()
    averages = {average.key: average for average in events.key_averages()}
    assert list(averages) == ["A", "B", "C", "D", "E"]
    both = averages["E"]
    assert (both.count, both.cpu_time_total, both.cpu_time, both.cpu_time_str) == (2, 40, 20.0, "20.000us")
    total = events.total_average()
    assert (total.key, total.count, total.self_cpu_time_total) == ("Total", 6, 140)
    assert EventList().total_average().cpu_time == 0
    with pytest.raises(AssertionError, match="cannot be added"):
        both.add(events[0])
    with pytest.raises(AssertionError, match="expected a FunctionEvent"):
        FunctionEventAvg().add("A")


def test_table():
    events = make_events()
    events._build_tree()
    lines = events.table().splitlines()
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
    assert lines[0] == lines[2] == lines[-2] == "-----  " + "------------  " * 6
    assert [title.strip() for title in lines[1].split("  ") if title.strip()] == titles
    assert lines[3] == ("    A        27.27%      30.000us        90.91%     100.000us     100.000us             1  ")
    assert lines[-1] == "Self CPU time total: 110.000us"
    assert EventList().table() == ""


def test_table_options():
    events = make_events()
    events._build_tree()

    def names(**options):
        rows = events.table(**options).splitlines()
        return [row.split()[0] for row in rows if row.strip().endswith(" 1")]

    assert names(sort_by="self_cpu_time_total") == ["D", "A", "B", "C", "E"]
    assert names(sort_by="cpu_time_total", row_limit=2) == ["A", "D"]
    assert names(row_limit=-1) == ["A", "B", "C", "D", "E"]
    assert names(top_level_events_only=True) == ["A", "E"]
    assert "0.030ms" in events.table(time_unit="ms")
    lines = events.table(header="HEAD").splitlines()
    assert lines[1] == "HEAD" and set(lines[0]) == {"="} and len(lines[0]) == len(lines[2]) - 2
    with pytest.raises(AttributeError):
        events.table(sort_by="foo")
    with pytest.raises(ValueError, match="time_unit is 'h'"):
        events.table(time_unit="h")


def test_long_names_are_cut():
    event = FunctionEvent(0, "x" * 60, 0, 0, 1)
    assert "x" * 52 + "..." in EventList([event]).table()
    assert "x" * 60 in EventList([event]).table(max_name_column_width=80)


def test_formats():
    assert [_format_time(t) for t in (0, 0.5, 999.9, 1000, 12345.6, 1e6, 1e9)] == [
        "0.000us",
        "0.500us",
        "999.900us",
        "1.000ms",
        "12.346ms",
        "1.000s",
        "1000.000s",
    ]
    assert [_format_memory(n) for n in (0, -5, 1023, 1024, 2**20, 2**30, -(2**21))] == [
        "0 B",
        "-5 B",
        "1023 B",
        "1.00 KB",
        "1.00 MB",
        "1.00 GB",
        "-2.00 MB",
    ]
    assert (_format_time_share(1, 2), _format_time_share(0, 0)) == ("50.00%", "NaN")


def test_small_helpers():
    assert Interval(3, 10).elapsed_us() == 7
    assert StringTable()["t"] == "t"

    class Record:
        def __init__(self, time):
            self.time = time

        def start_ns(self):
            return self.time

    result = MemRecordsAcc([(Record(time), False) for time in (10, 30, 20)])
    assert [record.time for record, _ in result.in_interval(10, 25)] == [10, 20]
    assert [record.time for record, _ in result.in_interval(10, 30)] == [10, 20, 30]


def test_chrome_trace(tmp_path):
    x = adjoint.ones(3, requires_grad=True)
    with profile(record_shapes=True, with_stack=True, profile_memory=True) as prof:
        with record_function("model"):
            y = (x * 2).sum()
        y.backward()
    prof.export_chrome_trace(tmp_path / "trace.json", metadata={"run": 3})
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["run"] == 3 and trace["schemaVersion"] == 1
    entries = trace["traceEvents"]
    assert all({"ph", "name", "pid", "tid", "ts"} <= entry.keys() for entry in entries)
    calls = {entry["name"]: entry for entry in reversed(entries) if entry["ph"] == "X"}
    assert calls["model"]["cat"] == "user_annotation"
    assert calls["aten::mul"]["args"]["Input Dims"] == [[3], []]
    outer, inner = calls["model"], calls["aten::mul"]
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    starts = {entry["id"]: entry for entry in entries if entry["ph"] == "s"}
    ends = {entry["id"]: entry for entry in entries if entry["ph"] == "f"}
    assert starts.keys() == ends.keys() and len(starts) == 2
    result = {(starts[k]["ts"], ends[k]["ts"]) for k in starts}
    assert (calls["aten::mul"]["ts"], calls["MulBackward0"]["ts"]) in result
    assert {entry["name"] for entry in entries if entry["ph"] == "M"} == {"process_name", "thread_name"}
    counters = [entry["args"] for entry in entries if entry["ph"] == "C"]
    assert counters[0]["parameters"] == 12 and max(counter["temporary"] for counter in counters) >= 12
    prof.function_events.export_chrome_trace(tmp_path / "list.json")
    assert json.loads((tmp_path / "list.json").read_text()) == entries


def test_stacks_for_flame_graphs(tmp_path):
    x = adjoint.ones(300, 300)
    with profile(with_stack=True) as prof:
        x @ x
    prof.export_stacks(tmp_path / "stacks")
    (line,) = [line for line in (tmp_path / "stacks").read_text().splitlines() if "test_events" in line]
    frames, time = line.rsplit(" ", 1)
    assert int(time) > 0 and frames.split(";")[-1].endswith("test_stacks_for_flame_graphs")
    assert " " not in frames
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks", "foo")
    with profile() as prof:
        adjoint.ones(2)
    with pytest.raises(AssertionError, match=r"export_stacks\(\) requires with_stack=True"):
        prof.export_stacks(tmp_path / "stacks")


def test_table_with_lines_of_the_program_and_flops():
    event = FunctionEvent(0, "A", 0, 0, 100, stack=["f.py(3): g", "f.py(10): h"], flops=3000)
    lines = EventList([event], with_flops=True).table().splitlines()
    titles = [title.strip() for title in lines[1].split("  ") if title.strip()]
    assert titles[-2:] == ["Source Location", "Total KFLOPs"]
    assert lines[3].rstrip().endswith("3.000") and "  f.py(3): g  " in lines[3]
    assert [line.strip() for line in lines[4:6]] == ["f.py(10): h", ""]
    assert "...3): g" in EventList([event]).table(max_src_column_width=8)
