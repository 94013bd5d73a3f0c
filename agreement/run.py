"""Runs entries in several processes. An entry that ends its process or hangs is a finding, too."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import numpy as np

from .compare import Finding, Verdicts, trials
from .entries import Entry, all_entries
from .observe import Library
from .samples import samples_of

PATIENCE = 300.0  # seconds for one entry
SPAWN = multiprocessing.get_context("spawn")


def examine(entry: Entry, torch: Library, adjoint: Library) -> Verdicts:
    """Run every sample of one entry in both libraries."""
    verdicts = Verdicts(entry.name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for trial in trials(torch, adjoint, verdicts, samples_of(entry)):
            trial.run()
    return verdicts


def serve(pipe: Connection) -> None:
    """A worker: receives names of entries, sends verdicts."""
    torch, adjoint = Library("torch"), Library("adjoint")
    while name := pipe.recv():
        pipe.send(examine(all_entries()[name], torch, adjoint))


@dataclass
class Worker:
    """A process and its current entry."""

    pipe: Connection
    process: BaseProcess
    entry: str = ""
    deadline: float = 0.0

    @classmethod
    def start(cls) -> Worker:
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return cls(ours, process)

    def give(self, entry: str) -> None:
        self.entry, self.deadline = entry, time.monotonic() + PATIENCE
        self.pipe.send(entry)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def run(
    entries: Iterable[Entry], processes: int, advance: Callable[[str], None] = lambda name: None
) -> Iterator[Verdicts]:
    """The verdicts on all entries as they come; `advance` gets the name of each."""
    waiting = deque(entry.name for entry in entries)
    workers = [Worker.start() for _ in range(min(processes, len(waiting)))]
    for worker in workers:
        worker.give(waiting.popleft())
    while workers:
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        for worker in [each for each in workers if each.pipe in ready or time.monotonic() > each.deadline]:
            verdicts = receive(worker)
            advance(worker.entry)
            yield verdicts
            workers.remove(worker)
            if waiting:
                following = worker if worker.process.is_alive() else Worker.start()
                following.give(waiting.popleft())
                workers.append(following)
            else:
                worker.stop()


def receive(worker: Worker) -> Verdicts:
    """The verdicts of a worker, or a finding if the worker ended or hangs."""
    try:
        if worker.pipe.poll():
            verdicts: Verdicts = worker.pipe.recv()
            return verdicts
        why = f"the process was still running after {PATIENCE:.0f} s"
    except EOFError:
        worker.process.join()
        why = f"the process ended with status {worker.process.exitcode}"
    worker.stop()
    return Verdicts(worker.entry, findings=[Finding(worker.entry, "value", "", "all samples", why, why)])
