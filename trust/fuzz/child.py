"""A process that runs a range of cases: python -m trust.fuzz.child KIND SEED FIRST LAST PLACE TORCH

It writes each fault to the standard output as a line of JSON, and the number of the current case to the file PLACE.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

from trust.fuzz.kinds import KINDS, limited_memory


def main(arguments: list[str]) -> None:
    kind, progress, torch = arguments[0], Path(arguments[4]), arguments[5]
    seed, first, last = map(int, arguments[1:4])
    answers = os.fdopen(os.dup(1), "w")
    # cases may print
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    import numpy

    numpy.seterr(all="ignore")
    cases = KINDS[kind].cases(seed, torch or None)
    at_work = os.open(progress, os.O_WRONLY)
    os.chdir(progress.parent)
    parent = os.getppid()
    with limited_memory():
        for number in range(first, last):
            if os.getppid() != parent:
                return
            os.pwrite(at_work, f"{number:12d}".encode(), 0)
            fault = cases.fault(number)
            if fault:
                answers.write(json.dumps([number, *fault]) + "\n")
                answers.flush()
    os.pwrite(at_work, f"{last:12d}".encode(), 0)


if __name__ == "__main__":
    main(sys.argv[1:])
