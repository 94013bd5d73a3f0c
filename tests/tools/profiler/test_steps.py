"""Schedules, steps, trace handlers, and the older profiler."""

import gzip
import json
import warnings

import pytest

import adjoint
from adjoint.core.modes.profiling import current_profiler
from adjoint.profiler import (
    KinetoStepTracker,
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

A = ProfilerAction


def actions(n, **plan):
    plan = schedule(**plan)
    return [plan(step) for step in range(n)]


def test_schedules():
    cycle = [A.NONE, A.WARMUP, A.RECORD, A.RECORD_AND_SAVE]
    assert actions(9, wait=1, warmup=1, active=2) == [*cycle, *cycle, A.NONE]
    assert actions(12, wait=1, warmup=1, active=2, repeat=2, skip_first=1) == [A.NONE, *cycle, *cycle] + [A.NONE] * 3
    later = actions(10, wait=2, warmup=1, active=1, skip_first=2, skip_first_wait=1)
    assert [action.value for action in later] == [0, 0, 1, 3, 0, 0, 1, 3, 0, 0]
    with pytest.warns(UserWarning, match="won't be using warmup"):
        assert actions(1, wait=0, warmup=0, active=1) == [A.RECORD_AND_SAVE]
    with pytest.raises(AssertionError, match=r"Got wait=-1 \(need >= 0\), warmup=1 \(need >= 0\), active=2"):
        schedule(wait=-1, warmup=1, active=2)
    with pytest.raises(AssertionError, match=r"active=0 \(need > 0\)"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(AssertionError, match=r"Step must be non-negative\. Got -1\."):
        schedule(wait=1, warmup=1, active=1)(-1)


def run(steps, **options):
    """The event names that the handler got for each trace, after some steps with one multiplication each."""
    traces = []
    x = adjoint.ones(2)
    options.setdefault("on_trace_ready", lambda prof: traces.append([event.name for event in prof.events()]))
    with profile(**options) as prof:
        for _ in range(steps):
            x * 2
            prof.step()
    assert current_profiler() is None
    return traces, prof


def test_traces_of_a_schedule():
    step = ["ProfilerStep*", "aten::mul"]
    traces, prof = run(8, schedule=schedule(wait=1, warmup=1, active=2, repeat=1))
    assert traces == [step * 2] and prof.step_num == 8
    assert [event.trace_name for event in prof.events()][::2] == ["ProfilerStep#2", "ProfilerStep#3"]
    averages = {average.key: average.count for average in prof.key_averages()}
    assert averages == {"ProfilerStep*": 2, "aten::mul": 2}
    traces, _ = run(3)
    assert traces == [["aten::mul"] * 3]


def test_later_traces_forget_earlier_ones_unless_they_are_kept():
    plan = schedule(wait=0, warmup=1, active=1)
    with pytest.warns(UserWarning, match="Profiler clears events at the end of each cycle"):
        traces, _ = run(6, schedule=plan)
    assert traces == [["ProfilerStep*", "aten::mul"]] * 3
    _, prof = run(6, schedule=plan, acc_events=True)
    assert [event.name for event in prof.events()] == ["ProfilerStep*", "aten::mul"] * 3


def test_a_trace_that_is_cut_short_is_handed_over():
    traces, _ = run(2, schedule=schedule(wait=0, warmup=1, active=5))
    assert traces == [["ProfilerStep*", "aten::mul", "ProfilerStep*"]]


def test_start_and_stop_by_hand():
    prof = profile(record_shapes=True)
    prof.start()
    adjoint.ones(2) * 2
    prof.stop()
    assert [event.name for event in prof.events()] == ["aten::ones", "aten::mul"]
    assert prof.get_trace_id() and "mul" in str(prof.plot())


def test_handler_for_tensorboard(tmp_path):
    run(1, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "log"), "worker"))
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith("worker.") and file.name.endswith(".pt.trace.json")
    run(1, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "gz"), use_gzip=True))
    (file,) = (tmp_path / "gz").iterdir()
    trace = json.loads(gzip.decompress(file.read_bytes()))
    assert [entry["name"] for entry in trace["traceEvents"] if entry["ph"] == "X"] == ["aten::mul"]
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="Can't create directory"):
        run(1, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "file")))
    assert current_profiler() is None


def test_metadata_stacks_and_names_of_traces(tmp_path):
    prof = profile(with_stack=True, custom_trace_id_callback=lambda: "first")
    prof.preset_metadata_json("preset", "[1]")
    x = adjoint.ones(300, 300)
    with prof:
        x @ x
        prof.add_metadata("note", "words")
        prof.add_metadata_json("more", '{"a": 1}')
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["note"], trace["more"], trace["preset"]) == ("words", {"a": 1}, [1])
    assert trace["trace_id"] == prof.get_trace_id() == "first"
    prof.export_stacks(tmp_path / "stacks")
    assert "test_steps.py" in (tmp_path / "stacks").read_text()
    prof.set_custom_trace_id_callback(lambda: "second")
    with pytest.warns(UserWarning, match="clears events"):
        prof.start_trace()
    prof.stop_trace()
    assert prof.get_trace_id() == "second"


def test_what_needs_a_trace():
    prof = profile()
    assert prof.get_trace_id() is None
    for purpose, ask in {
        "accessing events": prof.events,
        "getting key averages": prof.key_averages,
        "exporting chrome trace": lambda: prof.export_chrome_trace("x"),
        "exporting stacks": lambda: prof.export_stacks("x"),
        "stopping trace": prof.stop_trace,
    }.items():
        with pytest.raises(AssertionError, match=f"Profiler must be initialized before {purpose}"):
            ask()
    prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])


def test_activities():
    assert ProfilerActivity.CPU in supported_activities()
    for none in ([], [3]):
        with pytest.raises(AssertionError, match="No valid profiler activities found"):
            profile(activities=none)
    x = adjoint.ones(2)
    with profile(activities=[{ProfilerActivity.CPU: ["cpu_op"]}]) as prof:
        x * 2
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        x + 2
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CUDA])
        x - 1
    assert [event.name for event in prof.events()] == ["aten::mul", "aten::sub"]
    with pytest.warns(FutureWarning, match="`use_cuda` is deprecated"):
        assert profile(activities=[ProfilerActivity.CPU], use_cuda=False).activities == {ProfilerActivity.CPU}
    assert kineto_available() is False


def test_steps_count_for_the_whole_program():
    before = KinetoStepTracker.current_step()
    run(3)
    assert KinetoStepTracker.current_step() == before + 3


def test_older_profiler(tmp_path):
    older = adjoint.autograd.profiler_legacy
    prof = older.profile(record_shapes=True, with_stack=True)
    assert (str(prof), repr(prof)) == (
        "<unfinished profile.profiler_legacy.profile>",
        "<unfinished profiler_legacy.profile>",
    )
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        prof.table()
    x = adjoint.ones(300, 300)
    with prof as context, record_function("block"):
        x @ x
    assert context is prof and prof.entered
    assert [event.name for event in prof.function_events] == ["block", "aten::matmul"]
    assert str(prof) == prof.table() and "FunctionEvent" in repr(prof)
    assert prof.self_cpu_time_total == pytest.approx(prof.total_average().self_cpu_time_total)
    assert [average.count for average in prof.key_averages(group_by_input_shape=True)] == [1, 1]
    prof.export_chrome_trace(tmp_path / "trace.json")
    prof.export_stacks(tmp_path / "stacks")
    assert "test_older_profiler" in (tmp_path / "stacks").read_text()
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with older.profile(enabled=False) as context:
        assert context is None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if ProfilerActivity.CUDA not in supported_activities():
            assert not older.profile(use_cuda=True).use_cuda and len(caught) == 1
