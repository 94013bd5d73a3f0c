"""Run a program with adjoint under the name torch: `python -m adjoint.as_torch script.py args`, or `-m module args`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from adjoint.as_torch import install

USAGE = "usage: python -m adjoint.as_torch (script.py | -m module) [arguments]"


def main(arguments: list[str]) -> None:
    """Run the script or module in the arguments as `__main__`, with the remaining arguments."""
    is_module = arguments[:1] == ["-m"]
    program, rest = arguments[is_module : is_module + 1], arguments[is_module + 1 :]
    if not program or (program[0].startswith("-") and not is_module):
        sys.exit(USAGE)
    install()
    sys.argv = [program[0], *rest]
    if is_module:
        # like `python -m`; for a script, runpy adds its folder
        sys.path[0] = str(Path.cwd())
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program[0]).resolve().parent)
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
