"""Free-threaded Python: the compiled modules leave the global lock off."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

import pytest

WITHOUT_LOCK = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
PROGRAM = """
import importlib, sys
import adjoint
from adjoint._compiled import COMPILED
for name in COMPILED:
    importlib.import_module(name)
x = adjoint.ones(2, requires_grad=True)
x.exp().sum().backward()
print(sys._is_gil_enabled())
"""


@pytest.mark.skipif(not WITHOUT_LOCK, reason="this interpreter always has its global lock")
def test_import_leaves_the_global_lock_off() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    # Python warns of a module that switches the lock on
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.stdout == "False\n", ended.stderr
