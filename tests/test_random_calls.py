"""A short form of scripts/fuzz_calls.py: random calls end without a signal, a hang or an error of an internal kind."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.quick(0)
def test_random_calls_end_well():
    command = [sys.executable, str(ROOT / "scripts" / "fuzz_calls.py"), "--seed", "1", "--calls", "800"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 findings" in result.stdout
