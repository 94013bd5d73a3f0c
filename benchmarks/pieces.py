"""Work in pieces. Each piece has a name and a result, so a later call continues with the missing pieces.

Worker processes do the pieces, and write each result to a file at once. If a worker stops or breaks the device, the
results remain, and the file names the piece that broke it. Results are in the folder $OUT, or in build/gpu. Results of
earlier calls are read from build/gpu.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
#: The folder of results between calls.
KEPT = ROOT / "build" / "gpu"
#: Outcomes from this module: the piece has begun, has ended its process, or has taken all the time.
BEGUN, CRASHED, TIMED_OUT = "begun", "crashed", "timed out"
#: Do not repeat a piece that ran for this number of seconds when the time ended.
LONGEST = 120.0

Results = dict[str, dict[str, Any]]


class Work(NamedTuple):
    """The pieces of a command.

    module: it is called as `python -m MODULE --pieces FILE`, with the names in its standard input. name: the name of
    its files. groups: the names of all pieces; one worker gets the pieces of a group. n_workers: the number of workers
    at a time.
    """

    module: str
    name: str
    groups: list[list[str]]
    n_workers: int
    options: tuple[str, ...] = ()


def output_folder() -> Path:
    """The folder for results and pages: $OUT, or build/gpu."""
    folder = Path(os.environ.get("OUT") or KEPT)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def read(name: str) -> Results:
    """The results of earlier calls, the newer ones in place of the older."""
    results: Results = {}
    for folder in dict.fromkeys((KEPT, output_folder())):
        file = folder / f"{name}.json"
        if file.exists():
            results |= json.loads(file.read_text())
    return results


def write(name: str, results: Results) -> None:
    """Store results. A reader gets all of them, or the earlier ones."""
    file = output_folder() / f"{name}.json"
    new = file.with_suffix(".new")
    new.write_text(json.dumps(results, indent=0, sort_keys=True) + "\n")
    new.replace(file)


def do_pieces(file: Path, names: Iterable[str], run: Callable[[str], dict[str, Any]]) -> None:
    """Do pieces in a worker. Each writes a line at its beginning, and a line with its result."""
    with file.open("a") as lines:
        for name in names:
            for result in ({"outcome": BEGUN, "at": time.time()}, None):
                line = {"name": name, **(run(name) if result is None else result)}
                lines.write(json.dumps(line) + "\n")
                lines.flush()


def results_in(file: Path) -> Results:
    """The results of a worker, without incomplete lines."""
    results: Results = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            result = json.loads(line)
        except ValueError:
            continue
        results[result.pop("name")] = result
    return results


class _Worker:
    """A process that does pieces."""

    def __init__(self, work: Work, number: int, names: list[str], folder: Path) -> None:
        self.names = names
        self.file, self.log = folder / f"{work.name}-{number}.lines", folder / f"{work.name}-{number}.log"
        self.file.unlink(missing_ok=True)
        command = [sys.executable, "-m", work.module, "--pieces", str(self.file), *work.options]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=ROOT)
        assert self.process.stdin is not None
        self.process.stdin.write("\n".join(names).encode())
        self.process.stdin.close()

    def results(self, is_late: bool) -> Results:
        """The results of an ended process. is_late: the process was stopped at the end of the time."""
        results = results_in(self.file)
        for name, result in list(results.items()):
            if result["outcome"] != BEGUN:
                continue
            if not is_late:
                results[name] = {"outcome": CRASHED, "why": f"the process ended: {last_line(self.log)}"}
            elif time.time() - result["at"] > LONGEST:
                results[name] = {"outcome": TIMED_OUT, "why": f"it ran for more than {LONGEST:.0f} s"}
            else:
                del results[name]
        return results


def last_line(log: Path) -> str:
    """The last line of a worker's output."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


def run_missing(work: Work, seconds: float) -> Results:
    """Do the pieces without a result, for at most this number of seconds. Returns all results."""
    deadline = time.monotonic() + seconds
    results = read(work.name)
    folder = KEPT / "workers"
    folder.mkdir(parents=True, exist_ok=True)
    while time.monotonic() < deadline:
        groups = [[name for name in group if name not in results] for group in work.groups]
        groups = [group for group in groups if group]
        if not groups:
            break
        n = min(work.n_workers, len(groups))
        shares = [[name for group in groups[k::n] for name in group] for k in range(n)]
        workers = [_Worker(work, k, share, folder) for k, share in enumerate(shares)]
        before = len(results)
        for worker in workers:
            is_late = _wait(worker.process, deadline)
            results |= worker.results(is_late)
        write(work.name, results)
        if len(results) == before:
            for worker in workers:
                print(f"a worker did nothing: {last_line(worker.log)}", file=sys.stderr)
            break
    return results


def _wait(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait for a process until the end of the time. Returns True if the process had to be stopped."""
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def parser_of(program: str, text: str | None) -> argparse.ArgumentParser:
    """The options that all commands of this kind have."""
    parser = argparse.ArgumentParser(prog=program, description=text)
    parser.add_argument("--seconds", type=float, default=480.0, help="so long at most (default 480)")
    parser.add_argument("--only", default="", help="the pieces whose names have this in them")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier calls")
    parser.add_argument("--stand-in", action="store_true", help="a dry run on the stand-in for CuPy, without a device")
    parser.add_argument("--pieces", type=Path, help=argparse.SUPPRESS)
    return parser


def names_from_input() -> list[str]:
    """The names from the parent process."""
    return sys.stdin.read().split()


def forget(name: str) -> None:
    """Delete the results of earlier calls."""
    for folder in (KEPT, output_folder()):
        (folder / f"{name}.json").unlink(missing_ok=True)


def table(rows: Sequence[Sequence[Any]], head: Sequence[str], numbers: int = 0) -> list[str]:
    """A table in Markdown whose last columns are numbers."""
    bars = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in ([*head], bars, *cells)]


def machine() -> str:
    """The device, its driver, and the versions of the libraries."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    memory = properties["totalGlobalMem"] / 2**30
    versions = [f"{name} {version}" for name in ("numpy", "cupy", "torch", "jax") if (version := _version(name))]
    driver = cupy.cuda.runtime.driverGetVersion()
    return ", ".join([f"{properties['name'].decode()} ({memory:.0f} GiB)", f"CUDA driver {driver}", *versions])


def _version(package: str) -> str | None:
    """The version of a package, by any name of its distribution."""
    import importlib.metadata

    for name in importlib.metadata.packages_distributions().get(package, ()):
        return importlib.metadata.version(name)
    return None
