"""Each larger example runs, keeps its claims (they assert them), tells something, and is done in time.

`make docs` runs the other ones, of the gallery.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples" / "programs").glob("*.py"))
#: Seconds of computing, which do not depend on what else the machine has to do.
LONGEST = 10.0
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def seconds() -> float:
    """Of computing, by programs that this one started."""
    return os.times().children_user + os.times().children_system


# what needs an MPI library is run by tests/distributed/test_mpi.py
@pytest.mark.quick(0)
@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.stem != "mpi_training"], ids=lambda path: path.stem)
def test_example(path):
    before, environment = seconds(), os.environ | ONE_THREAD
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert 1 <= len(result.stdout.splitlines()) <= 10
    assert seconds() - before < LONGEST
