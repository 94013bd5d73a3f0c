"""The time of `import adjoint`, of `import numpy` and of the peers, each in a new interpreter."""

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
    """The seconds of the import in a new interpreter, without the start of the interpreter.

    Raises subprocess.CalledProcessError if the module does not import.
    """
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    # without bytecode an interpreter would compile the sources each time, which users do not see
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(run.stdout)


@dataclass(frozen=True)
class Imports:
    """A workload whose blocks start an interpreter once, independent of the length of other blocks."""

    name: str = "import"
    title: str = "import in a fresh interpreter, its start not counted"
    unit: str = "import"
    operations: int = 1

    def prepare(self, contenders: Iterable[Contender], block_seconds: float) -> Prepared:
        return Prepared({each.name: partial(import_seconds, each.import_name) for each in contenders})


WORKLOADS = (Imports(),)
