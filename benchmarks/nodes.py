"""The memory of a node of the graph, and its time in larger graphs.

    python -m benchmarks.nodes          # a table for adjoint and, where it is installed, torch

The program records a chain of `x * c` on one element. The memory is the growth of the process while the chain exists,
divided by the number of nodes. It includes the node, its saved values, and the tensor and the array of the result.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SIZES = (10**3, 10**4, 10**5, 10**6)
PAGE = 4096

PROGRAM = """\
import gc, importlib, json, sys, time
import numpy as np
library = importlib.import_module(sys.argv[1])
size = int(sys.argv[2])

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * {page}

x = library.from_numpy(np.array([0.5])).requires_grad_()

def chain(n):
    y = x
    for _ in range(n):
        y = y * 1.0001
    return y

chain(100).sum().backward()
gc.collect()
gc.disable()
repeats = max(1, 10**4 // size)
before, started = resident(), time.perf_counter()
for _ in range(repeats):
    y = chain(size)
    grown = resident() - before
    y.sum().backward()
    del y
seconds = (time.perf_counter() - started) / repeats
print(json.dumps([grown / size, seconds / size]))
"""


def measure(library: str, size: int) -> tuple[float, float]:
    """Bytes and seconds per node, in a separate process. Raises subprocess.CalledProcessError if that fails."""
    command = [sys.executable, "-c", PROGRAM.format(page=PAGE), library, str(size)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    memory, seconds = json.loads(run.stdout)
    return memory, seconds


def rows(libraries: Sequence[str]) -> list[str]:
    """A table in Markdown: seconds per node for graphs of several sizes, and bytes per node."""
    sizes = " | ".join(f"{size:,} nodes" for size in SIZES)
    lines = [f"| | {sizes} | bytes per node |", "|---" * (len(SIZES) + 2) + "|"]
    for library in libraries:
        measurements = [measure(library, size) for size in SIZES]
        times = " | ".join(f"{1e6 * seconds:.2f} µs" for _, seconds in measurements)
        lines.append(f"| {library} | {times} | {measurements[-2][0]:.0f} |")
    return lines


def main() -> int:
    if not Path("/proc/self/statm").exists():
        print("benchmarks.nodes reads /proc/self/statm, which only Linux has", file=sys.stderr)
        return 2
    print("\n".join(rows([name for name in ("adjoint", "torch") if importlib.util.find_spec(name)])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
