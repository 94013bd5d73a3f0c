"""Many cases in child processes. A signal, an early end and a hang of a process are faults, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trust.fuzz.faults import Fault
from trust.fuzz.kinds import KINDS
from trust.threads import environment

#: The seconds of processor time that a case may take.
SECONDS = 20
#: The seconds that a case may wait without using the processor, since other processes may use it.
SECONDS_ASLEEP = 60


@dataclass
class Run:
    """The cases of one kind that have run: all below `next`. seconds: their time. faults: their faults by number."""

    kind: str
    seed: int
    next: int = 0
    seconds: float = 0.0
    faults: dict[int, Fault] = field(default_factory=dict)


class Worker:
    """A child process that runs a range of cases. If a case ends it, it starts again with the next case."""

    def __init__(self, run: Run, first: int, last: int, folder: Path, torch: str) -> None:
        self.run, self.first, self.next, self.last, self.torch = run, first, first, last, torch
        self.progress = folder / f"at_work_{first}"
        self.output = folder / f"faults_{first}"
        self.errors = folder / f"errors_{first}"
        self.start()

    def start(self) -> None:
        self.progress.write_text(f"{self.next:12d}")
        range_of_cases = [str(self.run.seed), str(self.next), str(self.last)]
        command = [
            sys.executable,
            "-m",
            "trust.fuzz.child",
            self.run.kind,
            *range_of_cases,
            str(self.progress),
            self.torch,
        ]
        with self.output.open("w") as output, self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=errors, stdin=subprocess.DEVNULL, env=environment()
            )
        self.at, self.since, self.processor_seconds = self.next, time.monotonic(), 0.0

    def number(self) -> int:
        return int(self.progress.read_text() or self.next)

    def processor_time(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_finished(self) -> bool:
        """Look at the child; true when the range is finished."""
        if self.next >= self.last:
            return True
        code = self.process.poll()
        number = self.number()
        if code is None:
            self.watch(number)
            return False
        if code == 0 and number == self.last:
            self.gather()
            return True
        kind = f"signal {-code}" if code < 0 else f"exit {code}"
        self.go_on_behind(number, Fault(kind, "", self.errors.read_text()[-300:]))
        return False

    def watch(self, number: int) -> None:
        now, seconds = time.monotonic(), self.processor_time()
        if number != self.at:
            self.at, self.since, self.processor_seconds = number, now, seconds
        elif seconds - self.processor_seconds > SECONDS or now - self.since > SECONDS_ASLEEP + SECONDS:
            self.process.kill()
            self.process.wait()
            self.go_on_behind(number, Fault("hang", "", f"more than {SECONDS} s"))

    def gather(self) -> None:
        for line in self.output.read_text().splitlines():
            number, *fault = json.loads(line)
            self.run.faults[number] = Fault(*fault)

    def go_on_behind(self, number: int, fault: Fault) -> None:
        self.gather()
        self.run.faults[number] = fault
        self.next = number + 1
        if self.next < self.last:
            self.start()


def go_on(
    run: Run, last: int, *, workers: int, until: float, torch: str = "", save: Callable[[Run], None] = lambda run: None
) -> None:
    """Run the remaining cases below `last`. No case begins after `until`, a time of time.monotonic()."""
    start, before = time.monotonic(), run.seconds
    at_once = KINDS[run.kind].at_once
    first = run.next
    running: list[Worker] = []
    with tempfile.TemporaryDirectory() as folder:
        while running or (first < last and time.monotonic() < until):
            while first < last and len(running) < workers and time.monotonic() < until:
                running.append(Worker(run, first, min(first + at_once, last), Path(folder), torch))
                first += at_once
            time.sleep(0.05)
            running = [worker for worker in running if not worker.is_finished()]
            run.next = min([worker.first for worker in running] or [min(first, last)])
            run.seconds = before + time.monotonic() - start
            save(run)


def still(run: Run, torch: str = "") -> None:
    """Repeat the cases with faults, each in its own process, and remove those that are right now."""
    for number in sorted(run.faults):
        again = Run(run.kind, run.seed, number)
        go_on(again, number + 1, workers=1, until=float("inf"), torch=torch)
        run.faults.update(again.faults)
        if number not in again.faults:
            del run.faults[number]
