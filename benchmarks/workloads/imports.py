"""How long `import adjoint` takes beside `import numpy` and the peers, each in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from ..contenders import Contender
from ..workload import Prepared

PROGRAM = """\
import time
started = time.perf_counter()
import {module}
print(time.perf_counter() - started)
"""


def import_seconds(module: str) -> float:
    """Seconds that a fresh interpreter takes for the import, its own start not counted.

    Raises subprocess.CalledProcessError if the module does not import.
    """
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    # an interpreter that may not write bytecode compiles our sources every time, which no user's does
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(run.stdout)


@dataclass(frozen=True)
class Imports:
    """A workload whose block starts an interpreter; once per block, however long blocks are elsewhere."""

    name: str = "import"
    title: str = "import in a fresh interpreter, its start not counted"
    unit: str = "import"
    operations: int = 1

    def prepare(self, contenders: Iterable[Contender], block_seconds: float) -> Prepared:
        return Prepared({each.name: partial(import_seconds, each.import_name) for each in contenders})


WORKLOADS = (Imports(),)
