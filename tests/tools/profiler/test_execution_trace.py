"""Execution traces: operations with their arguments and results, each inside its caller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import adjoint
from adjoint.profiler import ExecutionTraceObserver, profile


def trace_of(path: Path, program: Any) -> list[dict[str, Any]]:
    observer = ExecutionTraceObserver().register_callback(str(path))
    assert observer.is_registered
    observer.start()
    assert observer.is_running()
    try:
        program()
    finally:
        observer.stop()
        observer.unregister_callback()
    assert not observer.is_registered
    assert observer.get_output_file_path() == str(path)
    trace = json.loads(path.read_text())
    assert trace.keys() == {"schema", "pid", "time", "start_ts", "nodes", "finish_ts"}
    return trace["nodes"]  # type: ignore[no-any-return]


def test_nodes(tmp_path: Path) -> None:
    x = adjoint.ones(2, 3, requires_grad=True)

    def program() -> None:
        with adjoint.autograd.profiler.record_function("block"):
            (x * 2.5).sum().backward()

    nodes = trace_of(tmp_path / "trace.json", program)
    by_name = {node["name"]: node for node in reversed(nodes)}
    mul, total = by_name["aten::mul"], by_name["aten::sum"]
    assert mul["inputs"]["shapes"] == [[2, 3], []]
    assert mul["inputs"]["values"][1] == 2.5
    assert mul["inputs"]["types"] == ["Tensor(float32)", "Float"]
    assert mul["inputs"]["strides"] == [[3, 1], []]
    assert mul["outputs"]["values"] == total["inputs"]["values"][:1]
    assert mul["ctrl_deps"] == by_name["block"]["id"]
    assert {"MulBackward0", "SumBackward0"} <= by_name.keys()
    numbers = [node["id"] for node in nodes]
    assert len(set(numbers)) == len(numbers)
    assert {node["ctrl_deps"] for node in nodes} <= {1, *numbers}
    sequence = {attr["name"]: attr["value"] for attr in mul["attrs"]}["seq_id"]
    back = {attr["name"]: attr["value"] for attr in by_name["MulBackward0"]["attrs"]}["seq_id"]
    assert sequence == back


def test_a_profiler_outside_sees_the_same(tmp_path: Path) -> None:
    x = adjoint.ones(2, requires_grad=True)
    observer = ExecutionTraceObserver().register_callback(str(tmp_path / "trace.json"))
    with profile(execution_trace_observer=observer) as prof:
        (x * 2).sum().backward()
    assert not observer.is_running()
    observer.cleanup()
    noted = {node["name"] for node in json.loads((tmp_path / "trace.json").read_text())["nodes"]}
    names = {event.name for event in prof.events()}
    assert {"aten::mul", "aten::sum", "MulBackward0"} <= noted & names


def test_nothing_without_a_file() -> None:
    observer = ExecutionTraceObserver()
    observer.start()
    assert not observer.is_running()
    observer.stop()
    observer.unregister_callback()
    assert observer.get_output_file_path() is None
