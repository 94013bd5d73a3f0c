"""Other compilers and processors: `python -m trust.machines [--long]`.

The command tests the modules built by clang. It tests the modules for 64-bit ARM and for s390x, whose byte order is the
opposite one, in qemu's emulation of programs. And it tests the loops for processors without wide vectors on this
processor. The short form tests only these loops.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
from collections.abc import Mapping, Sequence

from trust import builds, emulation, suite
from trust.figures import Recorder
from trust.folders import ROOT

#: The tests that an emulated processor runs. Emulation takes about twenty times as long.
EMULATED = (
    "tests/runtime",
    "tests/core/test_engine.py",
    "tests/tensor/test_files.py",
    "tests/arrays/[lt]*",
    "tests/arrays/kernels",
    "tests/program",
    "tests/core/test_[a-d]*.py",
    "tests/core/test_[m-w]*.py",
)
#: Debian's plain BLAS has no setting for threads.
LEFT_OUT = ("--deselect", "tests/runtime/test_threads.py::test_the_number_holds_for_blas")
CLANG = suite.parts(("arrays", "program", "core"))
GENERIC = ("tests/arrays/kernels", "tests/program/test_machine.py")
#: The variable that selects the loops of a kind of processor, with the value for the loops of all processors.
PLAIN_LOOPS = {"ADJOINT_CPU": "baseline"}
LABELS = {
    "loops": "tests of the loops without wide vectors, on x86-64",
    "clang": "tests built by clang, on x86-64",
    "arm64": "tests on emulated 64-bit ARM",
    "s390x": "tests on emulated s390x, big-endian",
}


def environment(package: str) -> dict[str, str]:
    """The environment variables for tests with the package of a folder."""
    return {
        "PYTHONPATH": f"{package}:{ROOT / 'tests'}:{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ADJOINT_REQUIRE_EXT": "1",
        "ADJOINT_DISABLE_EXT": "",
        "OPENBLAS_NUM_THREADS": "1",
    }


def tests_of(name: str) -> tuple[Sequence[str], Mapping[str, str], Sequence[str]]:
    """The tests that a machine runs, their environment variables, and their interpreter."""
    if name == "loops":
        return GENERIC, environment("src") | PLAIN_LOOPS, (sys.executable,)
    variables = environment(str(builds.library(name)))
    if name == "clang":
        return CLANG, variables, (sys.executable,)
    return EMULATED, variables, (str(emulation.MACHINES[name].python),)


def missing(name: str) -> str:
    """The missing programs that a machine needs, in one sentence. Empty if there are none."""
    machine = emulation.MACHINES.get(name)
    programs = ["clang"] if name == "clang" else []
    programs = [p for p in programs if shutil.which(p) is None] if machine is None else emulation.needs(machine)
    return f"{LABELS[name]}: {', '.join(programs)} not installed" if programs else ""


def prepare(name: str) -> None:
    """Fetch the packages for the emulation of a machine, and build the modules for it."""
    if name in emulation.MACHINES:
        emulation.make_root(emulation.MACHINES[name])
    if name != "loops":
        builds.make(name)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m trust.machines", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="other compilers and processors too")
    parser.add_argument("--machines", nargs="+", choices=LABELS, help="some of them")
    suite.add_options(parser)
    options = parser.parse_args(arguments)
    recorder = Recorder("make machines", long=options.long)
    figures = recorder.figures
    session = suite.Session(go_on=options.go_on, minutes=options.minutes)
    for name in options.machines or (LABELS if options.long else ("loops",)):
        if reason := missing(name):
            figures.not_run.append(reason)
            continue
        if options.minutes:
            prepare(name)
        tests, variables, python = tests_of(name)
        count = 0
        for part in tests:
            run = functools.partial(
                suite.run, [part], variables, python, LEFT_OUT if name in emulation.MACHINES else ()
            )
            result = session.outcome(name, part, run)
            if result is not None:
                count += result.passed
                figures.findings += [f"{LABELS[name]}: {failure}" for failure in result.failures]
        figures.rows[LABELS[name]] = count
    if options.long:
        figures.not_run.append(
            "Windows and macOS: the workflows in `.github/workflows` build and test there, and have never run."
        )
    return session.finish(recorder, LABELS)


if __name__ == "__main__":
    sys.exit(main())
