"""Programs that import torch, in another process, since the name belongs to another library."""

import subprocess
import sys
import textwrap


def run(program, *arguments):
    """The output of a program that runs after `install()`."""
    text = "import adjoint.as_torch; adjoint.as_torch.install()\n" + textwrap.dedent(program)
    process = subprocess.run([sys.executable, "-W", "error", "-c", text, *arguments], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout
