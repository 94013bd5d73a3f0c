"""`make bench-gpu` as a dry run on the stand-in for CuPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjoint.arrays.size import cuda_is_available
from benchmarks import gpu, pieces

pytestmark = pytest.mark.skipif(cuda_is_available(), reason="there is a device: make bench-gpu measures on it")


def test_nothing_is_written_without_a_device(capsys: Any) -> None:
    before = gpu.PAGE.read_text()
    assert gpu.main([]) == 1
    assert "nothing was run" in capsys.readouterr().out and gpu.PAGE.read_text() == before


@pytest.mark.quick(0)
def test_dry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(pieces, "KEPT", tmp_path / "kept")
    monkeypatch.setenv("OUT", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{pieces.ROOT / 'src'}:{pieces.ROOT / 'tests'}")
    before = gpu.PAGE.read_text()
    assert gpu.main(["--stand-in"]) == 0, (tmp_path / "dry-bench-gpu.md").read_text()
    results = json.loads((tmp_path / "dry-bench-gpu.json").read_text())
    assert (
        set(results) == {name for who in gpu.DRY for name in gpu.names_of(who, "")} and gpu.PAGE.read_text() == before
    )
    assert {result["outcome"] for result in results.values()} == {gpu.RIGHT}
    assert "no device was there" in capsys.readouterr().out


def test_page_of_several_libraries() -> None:
    results = {
        "adjoint/gelu/10000000": {"outcome": gpu.RIGHT, "seconds": 1e-3, "sum": 1.0},
        "torch/gelu/10000000": {"outcome": gpu.RIGHT, "seconds": 2e-3, "sum": 1.5},
        "adjoint.compile/gelu/10000000": {"outcome": gpu.RIGHT, "seconds": 1e-3, "sum": 1.0},
        "torch.compile/gelu/10000000": {"outcome": gpu.RIGHT, "seconds": 4e-3, "sum": 1.0},
        "jax.jit/gelu/10000000": {"outcome": gpu.FAILED, "why": "no memory"},
    }
    text = gpu.page(results, "A device")
    assert "| 10,000,000 | 1 | not run yet | 1 | 2 | 4 | failed | 0.50 | 200 |" in text
    assert "adjoint.compile's time is 0.25 times torch.compile's" in text
    assert "adjoint's time is 0.50 times PyTorch's eager one" in text
    assert "* jax.jit, gelu, n = 10,000,000: no memory" in text and "* gelu, n = 10,000,000: {'adjoint': 1.0" in text
