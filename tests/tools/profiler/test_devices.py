"""Times on a device, by a stand-in for CuPy's module, and traces with devices."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint
from adjoint.autograd.profiler import profile
from adjoint.autograd.profiler_util import DeviceType, EventList, EventMetadata, FunctionEvent, _build_metadata
from adjoint.tools.profiler.devices import Clock, clock_of


class FakeEvent:
    """A device event. The time between two events is 0.25 ms."""

    now = 0.0

    def record(self):
        FakeEvent.now += 0.25
        self.time = FakeEvent.now

    def synchronize(self):
        self.waited = True


def milliseconds_between(first, last):
    assert last.waited
    return last.time - first.time


CUDA = SimpleNamespace(
    Event=FakeEvent,
    get_elapsed_time=milliseconds_between,
    Device=lambda: SimpleNamespace(id=3),
    runtime=SimpleNamespace(getDeviceCount=lambda: 1),
)


@pytest.fixture
def cupy(monkeypatch):
    """A module with CuPy's names whose arrays are NumPy's."""
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=CUDA, ndarray=np.ndarray))


def test_times_of_operations_on_a_device(cupy):
    x = adjoint.ones(2, 2, requires_grad=True)
    with profile(use_device="cuda") as prof:
        adjoint.linalg.matmul(x * 2, x).sum().backward()
    assert prof.use_device == "cuda"
    calls = {event.name: event for event in reversed(prof.function_events)}
    assert [tuple(kernel) for kernel in calls["aten::mul"].kernels] == [("aten::mul", 3, 250.0)]
    # an event that contains others has no device time
    assert calls["aten::linalg_matmul"].kernels == []
    assert calls["aten::linalg_matmul"].device_time_total == calls["aten::matmul"].device_time_total == 250.0
    assert calls["MulBackward0"].device_time_total == 250.0
    table = prof.key_averages().table(sort_by="self_cuda_time_total")
    assert "Self CUDA %" in table and "CUDA time avg" in table and "Self CUDA time total: " in table


def test_only_arrays_of_the_device_are_watched(monkeypatch):
    class Other:
        pass

    clock = Clock(CUDA, Other)
    assert clock.watches([np.ones(2), Other()]) and not clock.watches([np.ones(2), 3])
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=CUDA, ndarray=Other))
    with profile(use_device="cuda") as prof:
        adjoint.ones(2) * 2
    assert prof.function_events.table().count("CUDA") == 0


def test_no_clock_without_a_device(monkeypatch):
    assert clock_of("xpu") is None
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert clock_of("cuda") is None
    none = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: 0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=none))
    assert clock_of("cuda") is None


def test_tables_with_events_of_a_device():
    events = EventList(
        [
            FunctionEvent(1, "b", 0, 0, 10, use_device="cuda", device_memory_usage=4000),
            FunctionEvent(2, "kernel", 0, 0, 7, device_type=DeviceType.CUDA, use_device="cuda"),
        ],
        use_device="cuda",
        profile_memory=True,
    )
    events[0].append_kernel("kernel", 0, 5.0)
    events._build_tree()
    assert events[0].device_time == 5.0 and events[1].device_time_total == events[1].self_device_time_total == 7
    assert events[1].cpu_time_total == 0
    table = events.table()
    assert table.endswith("Self CPU time total: 10.000us\nSelf CUDA time total: 7.000us\n")
    titles = ["Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg", "CUDA Mem", "Self CUDA Mem"]
    assert all(title in table for title in titles) and "3.91 KB" in table
    events._use_device = None
    with pytest.raises(RuntimeError, match="use_device is None, but there is device performance data"):
        events.table()


@pytest.mark.parametrize(
    ("old", "value"),
    [("cuda_time", 5.0), ("cuda_time_total", 5.0), ("self_cuda_time_total", 5.0), ("self_cuda_memory_usage", 40)],
)
def test_older_names(old, value):
    event = FunctionEvent(0, "a", 0, 0, 10, device_memory_usage=40)
    event.append_kernel("k", 0, 5.0)
    with pytest.warns(FutureWarning, match=f"`{old}` is deprecated"):
        assert getattr(event, old) == value


def test_metadata():
    entries = {"stream": "7", "grid": "[1, 2]", "Seq": "4", "Is asynchronized op": "true", "dtype": '"float"', "z": "3"}
    event = FunctionEvent(0, "a", 0, 0, 10, extra_meta=entries, metadata_json="{}")
    expected = {"stream": 7, "grid": [1, 2], "seq": 4, "is_async": True, "dtype": "float"}
    assert {k: v for k, v in event.event_metadata._asdict().items() if v is not None} == expected
    assert _build_metadata({"memory bandwidth (GB/s)": "2.5", "occupancy": '{"a": 1}'}).bandwidth_gb_s == 2.5
    assert _build_metadata({"other": "1"}) is None and len(EventMetadata._fields) == 35
    with pytest.warns(FutureWarning, match="`metadata_json` is deprecated. Use `event_metadata` instead."):
        assert event.metadata_json == "{}"
    assert FunctionEvent(0, "a", 0, 0, 10).event_metadata is None
