"""Times on a device: marks that are set on its own timeline before and after an operation."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any


class Clock:
    """Sets marks on the current stream of CuPy's current device, and says how far two of them lie apart.

    cuda: the module `cupy.cuda`, or one with its Event, get_elapsed_time and Device.
    """

    def __init__(self, cuda: Any, array_type: type) -> None:
        self.cuda, self.array_type = cuda, array_type

    def watches(self, arrays: Sequence[Any]) -> bool:
        """True if one of these lies in the device's memory."""
        return any(isinstance(array, self.array_type) for array in arrays)

    def mark(self) -> Any:
        """A mark that the device passes when it has finished all earlier work."""
        event = self.cuda.Event()
        event.record()
        return event

    def device(self) -> int:
        """The number of the current device."""
        return int(self.cuda.Device().id)

    def elapsed_us(self, first: Any, last: Any) -> float:
        """Microseconds from one mark to another, which is waited for."""
        last.synchronize()
        return 1000.0 * float(self.cuda.get_elapsed_time(first, last))


def clock_of(device: str) -> Clock | None:
    """The clock of a device; None where it cannot be had: for another one than "cuda", without CuPy or a GPU."""
    if device != "cuda":
        return None
    try:
        cupy = importlib.import_module("cupy")
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return None
    except Exception:
        # no CuPy, no driver, or one that is too old: CuPy has an exception of its own for each
        return None
    return Clock(cupy.cuda, cupy.ndarray)
