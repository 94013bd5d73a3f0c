"""The compiled form against plain Python: the same observations, errors with the same text, numbers up to rounding."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from trust.fuzz import compared
from trust.fuzz.compared import Case
from trust.fuzz.observations import Observations, apart, same
from trust.fuzz.peer import Peer


class Cases(compared.Cases):
    """Programs and calls with options."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Peer(sys.executable, "adjoint", {"ADJOINT_DISABLE_EXT": "1", "ADJOINT_REQUIRE_EXT": ""}))

    def differences(self, case: Case, ours: Observations, other: Observations) -> Iterator[tuple[str, str]]:
        for (name, one), (other_name, two) in zip(ours, other, strict=False):
            if name != other_name:
                yield name, f"another observation: {other_name}"
                return
            if not same(one, two, case.rounding):
                yield name, apart(one, two)
        if len(ours) != len(other):
            yield "number", f"of observations: {len(ours)} against {len(other)}"
