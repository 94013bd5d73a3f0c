"""Threads, forks and the end of the interpreter, in processes of their own; ADJOINT_REPEATS=200 for a long round."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="scenarios are forks of a process")

PROGRAM = Path(__file__).with_name("process_scenarios.py")
SCENARIOS = re.findall(r"@scenario\ndef (\w+)", PROGRAM.read_text())
REPEATS = int(os.environ.get("ADJOINT_REPEATS", "2"))
#: Python 3.12 and newer warn of forks in processes that have threads, which is what these are about.
COMMAND = [sys.executable, "-W", "ignore:This process:DeprecationWarning", str(PROGRAM)]


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    if name == "helpers_cannot_be_started" and not os.path.exists("/proc/self/statm"):
        pytest.skip("the size of the address space is read from /proc")
    environment = os.environ | {"PYTHONPATH": str(Path(adjoint.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run([*COMMAND, name, str(REPEATS)], env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{name}: {REPEATS} times\n", "")


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) > 8
