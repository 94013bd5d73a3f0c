"""Programs and calls compared with those of another process: PyTorch's, or adjoint's as plain Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import adjoint
from trust.fuzz import options, programs
from trust.fuzz.faults import Fault
from trust.fuzz.observations import Observations, is_steady
from trust.fuzz.options import Call
from trust.fuzz.peer import Peer, observe
from trust.fuzz.programs import Program

Case = Program | Call
#: The dtypes of the inputs of a program.
DTYPES = 5 * [("float64",)] + 3 * [("float64", "float32")] + 2 * [("complex128", "complex128", "float64")]


class Cases:
    """Programs and calls with options, half of each."""

    #: Whether programs write to memory from which they read.
    overlaps = True
    #: Whether the other process may end without a fault of adjoint.
    others_may_end = False

    def __init__(self, seed: int, peer: Peer) -> None:
        self.seed, self.peer = seed, peer

    def case(self, number: int) -> Case:
        draw = random.Random(f"{self.seed}:{number}")
        seed = draw.randrange(2**40)
        if draw.random() < 0.5:
            return options.call(seed)
        dtypes = draw.choice(DTYPES)
        layouts = ("plain",) if draw.random() < 0.5 else tuple(programs.LAYOUTS)
        n_lines = draw.randint(3, 12)
        return programs.program(
            adjoint,
            seed,
            programs.ANY,
            n_lines=n_lines,
            failing=0.05,
            dtypes=dtypes,
            layouts=layouts,
            overlaps=self.overlaps,
        )

    def text(self, number: int) -> str:
        case = self.case(number)
        if isinstance(case, Program) and self.compare(case):
            case = programs.shorten(case, lambda shorter: bool(self.compare(shorter)))
        return str(case)

    def fault(self, number: int) -> Fault | None:
        case = self.case(number)
        difference = self.compare(case)
        if not difference:
            return None
        name, what = difference
        where = case.text.partition("(")[0] if isinstance(case, Call) else "program"
        return Fault(name.split(" ")[0], where, f"{name}: {what}")

    def close(self) -> None:
        self.peer.close()

    def compare(self, case: Case) -> tuple[str, str] | None:
        """The name of the first observation that differs, and how; None if there is none."""
        ours = observe(adjoint, case)
        other = self.peer.observe(case)
        if other is None:
            return None if self.others_may_end else ("end", "of the other process")
        theirs = dict(other)

        def again(shake: int) -> Observations:
            return self.peer.observe(replace(case, shake=shake)) or []

        for name, what in self.differences(case, ours, other):
            if is_steady(name, theirs.get(name), again, case.rounding):
                return name, what
        return None

    def differences(self, case: Case, ours: Observations, other: Observations) -> Iterator[tuple[str, str]]:
        """The names of the observations that differ, and how."""
        raise NotImplementedError
