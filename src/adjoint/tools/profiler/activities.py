"""The devices that a profiler can watch, and the count of steps that all profilers of a program share."""

from __future__ import annotations

import warnings
from collections import defaultdict
from enum import Enum


class ProfilerActivity(Enum):
    """The kind of device whose events a profiler records.

    The numbers are torch's. adjoint records CPU and CUDA.
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class KinetoStepTracker:
    """Counts steps for the whole program, although several parties (a profiler, an optimizer ...) count their own.

    The global count is the largest of theirs, so that parties that count the same steps do not count them twice.

    >>> from adjoint.autograd.profiler import KinetoStepTracker
    >>> KinetoStepTracker.init_step_count("loop")
    >>> KinetoStepTracker.increment_step("loop") == KinetoStepTracker.current_step()
    True
    >>> KinetoStepTracker.erase_step_count("loop")
    True
    """

    _current_step = 0
    _step_dict: dict[str, int] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a party count from the global count on.

        requester: its name. A count that it had before is replaced.
        """
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a party; True if it was known.

        requester: its name. The global count stays, also if it was that of this party.
        """
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a party; returns the global count.

        requester: its name; an unknown one starts from the global count. Warns (UserWarning) if the global count grows
        by more than one.
        """
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        largest = max(cls._step_dict.values())
        if largest > cls._current_step:
            more = largest - cls._current_step
            if more > 1:
                warnings.warn(
                    f"Profiler step count has increased more than 1 - current_step = {cls._current_step} "
                    f"step dict =  {cls._step_dict}",
                    stacklevel=2,
                )
            cls._current_step = largest
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The global count: the largest count that a party has reached.

        It is 0 before the first step of the process, and never falls.
        """
        return cls._current_step
