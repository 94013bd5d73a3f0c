"""The times of programs in adjoint and in PyTorch, after a comparison of their results."""

from __future__ import annotations

import gc
import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..contenders import SUBJECT
from ..gradients import GradientMismatch, check_agreement
from ..measure import Effort
from ..timing import Clock, block_of, run_rounds
from .program import Program, Step

PEER = "torch"
#: The name of the times by `adjoint.compile`.
COMPILED = "compiled"


class Timing(NamedTuple):
    """The shortest times of a step in seconds, for both libraries and compiled. error: the reason for missing times.

    A library that is not installed has no time.
    """

    field: str
    name: str
    ours: float | None = None
    theirs: float | None = None
    compiled: float | None = None
    error: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times faster adjoint is."""
        return self.theirs / self.ours if self.ours and self.theirs else None

    @property
    def gain(self) -> float | None:
        """How many times faster a compiled step is."""
        return self.ours / self.compiled if self.ours and self.compiled else None


def measure(programs: Sequence[Program], effort: Effort, clock: Clock, threads: int) -> Iterator[Timing]:
    """The times of programs, one after the other. Both libraries run with this number of threads."""
    names = [SUBJECT] + [PEER] * (importlib.util.find_spec(PEER) is not None)
    libraries = {name: import_module(name) for name in names}
    for library in libraries.values():
        library.set_num_threads(threads)
    warnings.simplefilter("ignore")
    for program in programs:
        yield measured_one(program, libraries, effort, clock)


def measured_one(program: Program, libraries: dict[str, Any], effort: Effort, clock: Clock) -> Timing:
    """The times of one program."""
    try:
        steps = {name: program.step(library) for name, library in libraries.items()}
        steps[COMPILED] = libraries[SUBJECT].compile(program.step(libraries[SUBJECT]))
        check_agreement({name: results_of(step) for name, step in steps.items()})
    except GradientMismatch as error:
        return Timing(program.field, program.name, error=f"results disagree: {error}")
    except Exception as error:  # report a program that a library refuses, and measure the others
        return Timing(program.field, program.name, error=f"{type(error).__name__}: {error}")
    gc.collect()
    gc.freeze()  # the libraries' own objects stay alive, so collections before blocks can skip them
    blocks = {name: block_of(step, effort.block_seconds, clock) for name, step in steps.items()}
    seconds = run_rounds(blocks, effort.rounds, effort.budget)
    least = {name: min(times) for name, times in seconds.items()}
    return Timing(program.field, program.name, least[SUBJECT], least.get(PEER), least[COMPILED])


def results_of(step: Step) -> list[np.ndarray[Any, Any]]:
    """Copies of the results of a first step, since later steps may write into them."""
    return [tensor.detach().numpy().copy() for tensor in step()]
