"""Each larger example runs, passes its own assertions, prints a text, and ends in time.

`make docs` runs the examples of the gallery.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = sorted((Path(__file__).parents[1] / "examples").glob("*/plot_*.py"))
EXAMPLES = sorted((Path(__file__).parents[1] / "examples" / "programs").glob("*.py"))
#: Seconds of processor time, which do not depend on other programs.
LONGEST = 10.0
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def seconds() -> float:
    """The processor time of programs that this process started."""
    return os.times().children_user + os.times().children_system


# tests/distributed/test_mpi.py runs the examples that need an MPI library
@pytest.mark.quick(0)
@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.stem != "mpi_training"], ids=lambda path: path.stem)
def test_example(path):
    before, environment = seconds(), os.environ | ONE_THREAD
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert 1 <= len(result.stdout.splitlines()) <= 10
    assert seconds() - before < LONGEST


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_program_of_the_gallery_compares_and_draws(path):
    """It asserts that its result is the known one, and it has a title, cells and a picture."""
    text = path.read_text()
    assert "\nassert " in text or "\n    assert " in text
    assert re.match(r'r?"""\n.+\n=+\n', text)
    assert text.count("\n# %%\n") >= 1 and text.endswith("plt.show()\n")


def test_the_gallery_is_large():
    assert len(GALLERY) >= 24
