"""The compiled modules under sanitizers, and with Cython's checks: `python -m trust.sanitize [--long]`.

AddressSanitizer and UndefinedBehaviorSanitizer of gcc and clang find accesses outside of allocated memory or after its
release, signed overflow, shifts and casts that do not fit, and wrong alignment. LeakSanitizer lists leaks. Only leaks
of adjoint's own code count, not those of the interpreter and of NumPy. Cython checks bounds, None, negative indices,
overflow and division in a separate build.

The short form runs the tests of the array kernels, of the machine of programs and of the engine under gcc's sanitizers.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from trust import builds, suite
from trust.figures import Recorder
from trust.folders import ROOT

LABELS = {"sanitize": "gcc's sanitizers", "sanitize-clang": "clang's sanitizers", "checks": "Cython's checks"}
SHORT = (
    "tests/arrays/kernels",
    "tests/program/test_machine.py",
    "tests/core/test_engine.py",
    "tests/compilation/test_programs.py",
)
#: A frame of a stack: its number, and what it names.
FRAME = re.compile(r"^ +#\d+ 0x[0-9a-f]+ (.*)$", re.MULTILINE)
#: A frame of the sanitizer's own, whose function allocates.
ALLOCATOR = re.compile("__interceptor|libsanitizer|compiler-rt|libclang_rt")
#: Indirect leaks belong to direct ones. Arrays of threads that end at a fork belong to the interpreter.
LEAK = re.compile(r"^Direct leak of .*?(?=^\n|^$|\Z)", re.MULTILINE | re.DOTALL)
#: The message of Cython if a check fails in a function that cannot raise.
IGNORED = re.compile(r"^Exception ignored in: '(adjoint\.[\w.]+)'", re.MULTILINE)


def preload(compiler: str) -> str:
    """The libraries of a compiler's sanitizers. The interpreter must load them first."""
    names = {"gcc": ("libasan.so", "libubsan.so"), "clang": ("libclang_rt.asan-x86_64.so",)}[compiler]
    return ":".join(
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in names
    )


def environment(name: str, logs: Path) -> dict[str, str]:
    """The environment variables for the tests of a build. The sanitizers write reports to files in `logs`."""
    variables = {
        "PYTHONPATH": f"{builds.library(name)}:{ROOT / 'tests'}:{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ADJOINT_REQUIRE_EXT": "1",
        "ADJOINT_DISABLE_EXT": "",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if name == "checks":
        return variables
    return variables | {
        "LD_PRELOAD": preload(builds.BUILDS[name].compiler),
        "PYTHONMALLOC": "malloc",  # so that each object is a separate block
        # leaks do not end a program, since tests start other programs; the command reads them from the files
        "ASAN_OPTIONS": f"log_path={logs / 'report'}:detect_leaks=1:allocator_may_return_null=1",
        "LSAN_OPTIONS": "exitcode=0",
        "UBSAN_OPTIONS": f"log_path={logs / 'report'}:print_stacktrace=1",
    }


def reports(text: str) -> Iterator[str]:
    """The faults that sanitizers and checks report in a text, each in one line.

    >>> list(reports("src/a.h:3:5: runtime error: signed integer overflow: 1 + 1 cannot be represented"))
    ['src/a.h:3:5: signed integer overflow: 1 + 1 cannot be represented']
    """
    for location, fault in re.findall(r"^(\S+): runtime error: (.*)$", text, re.MULTILINE):
        yield f"{location.removeprefix(f'{ROOT}/')}: {fault}"
    for fault in re.findall(r"^SUMMARY: AddressSanitizer: ((?!\d+ byte).*)$", text, re.MULTILINE):
        yield fault.replace(f"{ROOT}/", "")
    for leak in LEAK.findall(text):
        frames = [frame for frame in FRAME.findall(leak) if not ALLOCATOR.search(frame)]
        if frames and "adjoint/" in frames[0]:
            yield f"leak: {frames[0]}"
    yield from (f"ignored in {function}" for function in IGNORED.findall(text))


def examine(name: str, tests: Sequence[str], limit: float = 3600.0) -> suite.Outcome:
    """Run tests in a build, and collect the reports."""
    with tempfile.TemporaryDirectory() as logs:
        result = suite.run(tests, environment(name, Path(logs)), limit=limit)
        result.text += "".join(file.read_text(errors="replace") for file in sorted(Path(logs).iterdir()))
    result.reports = sorted(set(reports(result.text)))
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m trust.sanitize", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="the whole suite, with gcc's, clang's and Cython's checks")
    parser.add_argument("--builds", nargs="+", choices=LABELS, help="some of the builds")
    parser.add_argument("--only", nargs="+", default=(), metavar="FOLDER", help="some folders of tests")
    suite.add_options(parser)
    options = parser.parse_args(arguments)
    recorder = Recorder("make sanitize", long=options.long)
    names = options.builds or (LABELS if options.long else ("sanitize",))
    parts = suite.parts(options.only) if options.long else SHORT
    session = suite.Session(
        go_on=options.go_on, minutes=options.minutes, selects=lambda name, part: name in names and part in parts
    )
    for name in LABELS if options.long else names:
        if options.minutes and name in names:
            builds.make(name)
        count = 0
        for part in suite.parts() if options.long else SHORT:
            result = session.outcome(name, part, lambda name=name, part=part: examine(name, [part]))  # type: ignore[misc]
            if result is not None:
                count += result.passed
                faults = (*result.failures, *result.reports)
                recorder.figures.findings += [f"{LABELS[name]}: {fault}" for fault in faults]
        recorder.figures.rows[f"tests under {LABELS[name]}"] = count
    return session.finish(recorder, LABELS)


if __name__ == "__main__":
    sys.exit(main())
