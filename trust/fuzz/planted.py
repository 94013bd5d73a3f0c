"""Planted faults, one of each kind. The tests check that none of them is missed."""

from __future__ import annotations

import os
import signal
import time

from trust.fuzz.faults import Fault


class Cases:
    """Right cases, but cases 1 to 4 are a fault, a signal, a hang and an early end."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def text(self, number: int) -> str:
        return f"planted({number})"

    def fault(self, number: int) -> Fault | None:
        if number == 1:
            return Fault("wrong", "here", "1 against 2")
        if number == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 3:
            end = time.process_time() + 60
            while time.process_time() < end:
                pass
        if number == 4:
            os._exit(3)
        return None

    def close(self) -> None:
        """Nothing is held."""
