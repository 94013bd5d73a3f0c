"""Threads, processes, signals and the end of an interpreter: python -m trust.threads [--long]

Scenarios (`trust/scenarios`) run in separate processes, each a number of times. Then tests of the suite run in several
threads at once, by pytest-run-parallel. With `--races PYTHON` the scenarios of threads run under ThreadSanitizer, which
finds two threads that use the same memory without a lock. PYTHON is an interpreter built with it, perhaps also without
Python's lock. With `--free-threaded PYTHON` they run in an interpreter without Python's lock, and the speed of two
threads is measured. These interpreters have what adjoint needs, and Cython.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import adjoint
from adjoint.runtime import threads as helpers
from trust import builds
from trust.figures import ROOT, Recorder

SCENARIOS = Path(__file__).parent / "scenarios"
SOURCES = Path(adjoint.__file__).parents[1]
HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()


@dataclass(frozen=True)
class Group:
    """A module of scenarios: their beginning in the source, the numbers of runs, the label in the figures."""

    module: str
    mark: str
    short: int
    long: int
    label: str

    def names(self) -> list[str]:
        text = (SCENARIOS / f"{self.module}.py").read_text(encoding="utf-8")
        return re.findall(self.mark, text, re.MULTILINE)


GROUPS = (
    Group("sharing", r"^@scenario\ndef (\w+)", 1, 40, "threads that share tensors, graphs, hooks and programs"),
    Group("processes", r"^@scenario\ndef (\w+)", 2, 100, "forks, exits and helpers of large calls"),
    Group("pools", r"^def (\w+)\(\) -> None", 1, 5, "pools: fork, spawn, forkserver, loky"),
    Group("interrupts", r"^@program\ndef (\w+)", 20, 560, "SIGINT at random moments"),
)
PARTS = [*(group.module for group in GROUPS), "suite", "races", "free-threaded"]
#: A place in the interpreter's sources, in a report of ThreadSanitizer.
INTERPRETER = re.compile(r" (\S*/)?(Include|Modules|Objects|Parser|Python)/\S*\.[ch]:\d+ ")
#: The groups that run under ThreadSanitizer, and without Python's lock.
WATCHED = ("sharing", "processes")
#: Races in free-threaded Python that do no harm, with the reasons, by the function at the end of a report.
HARMLESS = {
    "graph_needs_grad": "looks whether a view has a node while its node is replaced by another one",
    "Kernel_run": "reads a hint that decides which way is faster",
    "Kernel_by_program": "sets this hint",
    "Recorder_record_quick": "reads a class of nodes, which is set once",
}
#: Folders of tests that run in several threads, by form.
FOLDERS = {False: "core", True: "core tensor rules functions transforms nn optim compilation"}
THREADS = 4


def unavailable(group: Group, name: str, has_lock: bool = HAS_LOCK) -> str | None:
    """The reason why a scenario cannot run here, in an interpreter with or without its global lock; or None."""
    if group.module != "interrupts":
        if name == "exit_while_threads_run_everything" and not has_lock:
            return "Python 3.13 without its lock hangs at its end now and then, if other threads import"
        if not hasattr(os, "fork"):
            return "scenarios are forks of a process"
        if name == "helpers_cannot_be_started" and not os.path.exists("/proc/self/statm"):
            return "the size of the address space is read from /proc"
        if name in ("loky", "joblib_threads") and importlib.util.find_spec("joblib") is None:
            return "joblib is not installed"
        return None
    if not hasattr(signal, "setitimer"):
        return "the system has no timer that sends signals"
    if sys.version_info >= (3, 14):
        return "Python 3.14 looks for signals before a block begins"
    return None if helpers.compiled else "uncompiled, Python looks for signals while modes are changed"


def environment() -> dict[str, str]:
    paths = os.pathsep.join([str(SOURCES), str(ROOT)])
    return os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}


def run_scenarios(
    group: Group, names: Sequence[str], times: int, python: str = sys.executable, variables: Mapping[str, str] = {}
) -> str | None:
    """Run scenarios a number of times, in forks of one process or one after the other in it.

    Returns the fault, or None.
    """
    # Python 3.12 and newer warn of forks in processes with threads, which these scenarios test
    command = [python, "-W", "ignore:This process:DeprecationWarning", "-m", f"trust.scenarios.{group.module}"]
    ended = subprocess.run(
        [*command, ",".join(names), str(times)],
        env={**environment(), **variables}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    # Python only prints signals in finalizers
    silent = group.module == "interrupts" or not ended.stderr
    lines = [f"{name}: {times} times" for name in names]
    if ended.returncode == 0 and silent and [line for line in ended.stdout.splitlines() if line in lines] == lines:
        return None
    # the first without its line is the one that failed
    lines_printed = ended.stdout.splitlines()
    failed = next(
        (name for name, line in zip(names, lines, strict=True) if line not in lines_printed), ", ".join(names)
    )
    return f"{group.module}.{failed}: status {ended.returncode}: {(ended.stderr or ended.stdout)[-2000:]}"


def run_group(recorder: Recorder, group: Group, times: int, workers: int) -> None:
    names = [name for name in group.names() if unavailable(group, name) is None]
    left_out = {reason for name in group.names() if (reason := unavailable(group, name))}
    with ThreadPoolExecutor(workers) as pool:
        wrong = list(pool.map(lambda name: run_scenarios(group, [name], times), names))
    recorder.figures.rows[group.label] = f"{len(names)} scenarios, {len(names) * times:,} runs"
    recorder.figures.findings += [fault for fault in wrong if fault]
    recorder.figures.not_run += [f"{group.label}: {reason}" for reason in sorted(left_out)]


def run_races(recorder: Recorder, python: str, times: int) -> None:
    """Run the scenarios of threads with modules and an interpreter that ThreadSanitizer watches."""
    label = "threads under ThreadSanitizer"
    if not python:
        recorder.figures.not_run.append(f"{label}: it needs an interpreter that is built with it (`--races PYTHON`)")
        return
    library = builds.make("threads", python)
    runs = 0
    for group in (group for group in GROUPS if group.module in WATCHED):
        for name in (name for name in group.names() if unavailable(group, name) is None):
            with tempfile.TemporaryDirectory() as logs:
                variables = {
                    "PYTHONPATH": f"{library}{os.pathsep}{ROOT}",
                    "TSAN_OPTIONS": f"log_path={logs}/report exitcode=0 die_after_fork=0",
                }
                fault = run_scenarios(group, [name], times, python, variables)
                text = "".join(file.read_text(errors="replace") for file in sorted(Path(logs).iterdir()))
            faults = [*races(text), *([fault] if fault else [])]
            recorder.figures.findings += [f"{name}: {line}" for line in faults]
            runs += times
    recorder.figures.rows[label] = f"{runs:,} runs"


def run_free_threaded(recorder: Recorder, python: str, times: int) -> None:
    """Run the scenarios of threads without Python's lock, and compare the speed of two threads with two processes."""
    label = "threads without Python's lock"
    if not python:
        recorder.figures.not_run.append(f"{label}: it needs a free-threaded interpreter (`--free-threaded PYTHON`)")
        return
    variables = {"PYTHONPATH": f"{builds.make('free-threaded', python)}{os.pathsep}{ROOT}"}
    # Python warns, which is an error here, if an import switches the lock on
    check = [python, "-W", "error", "-c", "import sys, adjoint; sys.exit(sys._is_gil_enabled())"]
    if subprocess.run(check, env={**environment(), **variables}, cwd=ROOT, check=False).returncode:
        recorder.figures.findings.append(f"{label}: the lock is on after the import")
        return
    runs = 0
    for group in (group for group in GROUPS if group.module in WATCHED):
        for name in (name for name in group.names() if unavailable(group, name, has_lock=False) is None):
            fault = run_scenarios(group, [name], times, python, variables)
            recorder.figures.findings += [fault] if fault else []
            runs += times
    recorder.figures.rows[label] = f"{runs:,} runs"
    ended = subprocess.run(
        [python, "-W", "ignore:This process:DeprecationWarning", "-m", "trust.scenarios.scaling"],
        env={**environment(), **variables}, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    speeds = dict(line.split(": ") for line in ended.stdout.splitlines())
    for whose, label in (("own", "parameters of their own"), ("shared", "shared parameters")):
        recorder.figures.rows[f"speed of two threads on small arrays, {label}"] = f"{speeds[whose]} % of two processes"


def races(text: str) -> list[str]:
    """The reports of ThreadSanitizer in a text, each in one line, without those about the interpreter's own code.

    At its end it frees what its running threads still read. Harmless races are left out, too.

    >>> races("SUMMARY: ThreadSanitizer: data race src/adjoint/a.h:3 in f\\n")
    ['data race src/adjoint/a.h:3 in f']
    >>> races("SUMMARY: ThreadSanitizer: data race ../Objects/obmalloc.c:90 in _PyMem_RawFree\\n")
    []
    """
    reports = re.findall(r"^SUMMARY: ThreadSanitizer: (.*)$", text, re.MULTILINE)
    harmless = re.compile("|".join(f"{function}$" for function in HARMLESS))
    return sorted({report for report in reports if not (INTERPRETER.search(report) or harmless.search(report))})


def run_suite(recorder: Recorder, folders: Iterable[str]) -> None:
    """Run some cases of each test in several threads at once. Tests that change the state of the process run alone."""
    if importlib.util.find_spec("pytest_run_parallel") is None:
        recorder.figures.not_run.append("tests in several threads: pytest-run-parallel is not installed")
        return
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow",
               "--quick", f"--parallel-threads={THREADS}", *folders]  # fmt: skip
    ended = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False)
    total, together = outcomes(ended.stdout)
    recorder.figures.rows[f"tests of the suite in {THREADS} threads at once"] = together
    recorder.figures.rows["tests of the suite alone, as they change what the process shares"] = total - together
    failed = re.findall(r"^(?:PARALLEL )?(?:FAILED|ERROR|SUBFAILED\S*) (.*)", ended.stdout, re.MULTILINE)
    recorder.figures.findings += failed
    if ended.returncode and not failed:
        recorder.figures.findings.append(f"the suite ended with {ended.returncode}: {ended.stdout[-1000:]}")


def outcomes(output: str) -> tuple[int, int]:
    """The number of tests that passed, and the number of these in several threads, by the output of pytest.

    >>> outcomes("12 tests were not run in parallel because of use of thread-unsafe functionality\\n40 passed in 3s")
    (40, 28)
    """
    match = re.search(r"(\d+) passed", output)
    alone = re.search(r"(\d+) tests? (?:was|were) not run in parallel", output)
    n = int(match[1]) if match else 0
    return n, n - (int(alone[1]) if alone else 0)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m trust.threads", description=__doc__)
    parser.add_argument("--long", action="store_true", help="the long form, whose figures are written")
    parser.add_argument("--only", choices=PARTS, nargs="*")
    parser.add_argument("--races", metavar="PYTHON", default="", help="an interpreter built with ThreadSanitizer")
    parser.add_argument("--free-threaded", metavar="PYTHON", default="", help="an interpreter without Python's lock")
    parser.add_argument("--workers", type=int, default=2, help="so many processes at a time")
    options = parser.parse_args(arguments)
    recorder = Recorder("make threads", long=options.long, piece=bool(options.only))
    names = options.only or PARTS
    for group in GROUPS:
        if group.module in names:
            run_group(recorder, group, group.long if options.long else group.short, options.workers)
    if "suite" in names:
        run_suite(recorder, [f"tests/{folder}" for folder in FOLDERS[options.long].split()])
    if "races" in names:
        run_races(recorder, options.races, 2 if options.long else 1)
    if "free-threaded" in names:
        run_free_threaded(recorder, options.free_threaded, 2 if options.long else 1)
    return recorder.report()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
