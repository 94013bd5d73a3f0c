"""build_extensions.py STAMP: compile the hot modules in place, and touch STAMP if it succeeds.

Without a compiler it prints a message and does not touch STAMP. An error in the sources is printed in full.
"""

import os
import runpy
import subprocess
import sys
import time
from pathlib import Path


def main(stamp: Path) -> int:
    setup = runpy.run_path("setup.py")
    stamp.unlink(missing_ok=True)
    if setup["switch"]("ADJOINT_DISABLE_EXT"):
        print("ADJOINT_DISABLE_EXT is set: nothing is compiled")
        return 0
    print("Compiling the core (a minute or two; only when it has changed)", flush=True)
    begin = time.time()
    build = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", f"-j{os.cpu_count() or 1}"],
        env=os.environ | {"ADJOINT_REQUIRE_EXT": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if build.returncode == 0:
        stamp.touch()
        os.utime(stamp, (begin, begin))
        return 0
    if setup["NO_COMPILER"] in build.stdout and not setup["switch"]("ADJOINT_REQUIRE_EXT"):
        print(setup["NO_COMPILER"] + setup["CONSEQUENCE"])
        return 0
    print(build.stdout, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
