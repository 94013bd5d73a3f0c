"""The compiled form against plain Python: the same observations, errors with the same text, numbers up to rounding."""

from __future__ import annotations

import sys

from trust.fuzz import compared
from trust.fuzz.compared import Case
from trust.fuzz.observations import Observations, apart, same
from trust.fuzz.peer import Peer


class Cases(compared.Cases):
    """Programs and calls with options."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Peer(sys.executable, "adjoint", {"ADJOINT_DISABLE_EXT": "1", "ADJOINT_REQUIRE_EXT": ""}))

    def difference(self, case: Case, own: Observations, other: Observations) -> tuple[str, str] | None:
        for (name, one), (other_name, two) in zip(own, other, strict=False):
            if name != other_name:
                return name, f"another observation: {other_name}"
            if not same(one, two):
                return name, apart(one, two)
        return None if len(own) == len(other) else ("number", f"of observations: {len(own)} against {len(other)}")
