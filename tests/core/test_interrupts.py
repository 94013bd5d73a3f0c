"""Modes and graphs after signals at any moment, in processes of their own; ADJOINT_REPEATS=5000 for a long round."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint
from adjoint.runtime import threads

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer that sends signals"),
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="here Python looks for signals before a block begins"),
    pytest.mark.skipif(not threads.compiled, reason="uncompiled, Python looks for signals while modes are changed"),
]

PROGRAM = Path(__file__).with_name("interrupt_scenarios.py")
PROGRAMS = re.findall(r"@program\ndef (\w+)", PROGRAM.read_text())
REPEATS = int(os.environ.get("ADJOINT_REPEATS", "40"))


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(adjoint.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(PROGRAM), name, str(REPEATS)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    # signals that strike in finalizers are only printed
    assert (ended.returncode, ended.stdout) == (0, f"{name}: {REPEATS} times\n"), ended.stderr


def test_there_are_programs() -> None:
    assert len(PROGRAMS) > 8
