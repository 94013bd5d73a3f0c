"""The workloads of benchmarks.gpu run, on the stand-in for CuPy where there is no GPU."""

import pytest

import adjoint
from adjoint.arrays.size import cuda_is_available
from benchmarks import gpu
from support import stand_in_cupy


@pytest.mark.parametrize("workload", [gpu.chain, gpu.classifier, gpu.curvature], ids=lambda f: f.__name__)
@pytest.mark.skipif(cuda_is_available(), reason="python -m benchmarks.gpu runs them on the device")
def test_workload_runs(workload):
    with stand_in_cupy.installed():
        step = workload(adjoint, "cuda", 12)
        step()
        assert gpu.seconds(step, lambda: None) > 0


@pytest.mark.skipif(cuda_is_available(), reason="there is a device")
def test_nothing_is_written_without_a_device(monkeypatch, capsys):
    before = gpu.PAGE.read_text()
    monkeypatch.setattr("sys.argv", ["gpu"])
    assert gpu.main() == 1
    assert "nothing was run" in capsys.readouterr().out and gpu.PAGE.read_text() == before
