"""Another process that runs the same cases, with PyTorch or with adjoint as plain Python.

    python -m trust.fuzz.peer torch

It reads pickled cases from its standard input, and answers with its observations.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import warnings
from typing import IO, Any

from trust.figures import ROOT
from trust.fuzz import lines, options
from trust.fuzz.observations import Observations
from trust.fuzz.options import Call
from trust.fuzz.programs import Program

SIZE = struct.Struct("<q")
#: The memory that the process may reserve, with the interpreter and PyTorch's libraries.
MEMORY = 8 << 30
#: The number of the call by which a process ends together with the one that started it (Linux).
PR_SET_PDEATHSIG = 1


class Peer:
    """The other process: an interpreter, and the library that it imports under the environment `changes`."""

    def __init__(self, interpreter: str, library: str, changes: dict[str, str]) -> None:
        self.command = [interpreter, "-m", "trust.fuzz.peer", library]
        self.environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | changes
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, env=self.environment, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def observe(self, case: Program | Call) -> Observations | None:
        """The observations of the other library. None if its process ends."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            send(self.process.stdin, case)
            observed: Observations = receive(self.process.stdout)
        except (EOFError, OSError):
            self.close()
            self.start()
            return None
        return observed

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def send(file: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value, 4)
    file.write(SIZE.pack(len(data)) + data)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    head = file.read(SIZE.size)
    if len(head) < SIZE.size:
        raise EOFError("the other process has ended")
    return pickle.loads(file.read(SIZE.unpack(head)[0]))


def observe(library: Any, case: Program | Call) -> Observations:
    """The observations of a case of either kind in a library."""
    return lines.observe(library, case) if isinstance(case, Program) else options.observe(library, case)


def main(name: str) -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # cases may print
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # the parent process may have a smaller limit, which this one inherits; it may also be killed
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    warnings.simplefilter("ignore")
    library = importlib.import_module(name)
    while True:
        try:
            case = receive(sys.stdin.buffer)
        except EOFError:
            return
        send(answers, observe(library, case))


if __name__ == "__main__":
    main(sys.argv[1])
