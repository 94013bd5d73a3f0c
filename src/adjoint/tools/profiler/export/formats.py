"""Times, shares and sizes in words."""

from __future__ import annotations

import math

MICROSECONDS = {"s": 1e6, "ms": 1e3, "us": 1.0}
BYTES = {"GB": 2**30, "MB": 2**20, "KB": 2**10}


def format_time(time_us: float, time_unit: str | None = None) -> str:
    """A time in microseconds, in the largest unit with a value of at least one, or in the given unit ("s", "ms", "us").

    >>> from adjoint.tools.profiler.export.formats import format_time
    >>> format_time(12345.6), format_time(0.5), format_time(1500, "us")
    ('12.346ms', '0.500us', '1500.000us')
    """
    if time_unit is None:
        time_unit = next((unit for unit, size in MICROSECONDS.items() if time_us >= size), "us")
    if time_unit not in MICROSECONDS:
        raise ValueError(f"time_unit is {time_unit!r}; it must be one of 's', 'ms' and 'us'")
    return f"{time_us / MICROSECONDS[time_unit]:.3f}{time_unit}"


def format_time_share(time_us: float, total_time_us: float) -> str:
    """A time as a fraction of the whole; NaN if the whole is 0.

    >>> from adjoint.tools.profiler.export.formats import format_time_share
    >>> format_time_share(1, 2)
    '50.00%'
    """
    if total_time_us == 0:
        return "NaN" if time_us == 0 else "inf"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def format_memory(nbytes: int) -> str:
    """A number of bytes, negative for memory that was freed.

    >>> from adjoint.tools.profiler.export.formats import format_memory
    >>> format_memory(1536), format_memory(-5)
    ('1.50 KB', '-5 B')
    """
    unit = next((unit for unit, size in BYTES.items() if abs(nbytes) >= size), None)
    return f"{nbytes} B" if unit is None else f"{nbytes / BYTES[unit]:.2f} {unit}"


def flops_unit(least: float) -> tuple[str, float]:
    """The header of a column of floating point operations whose least entry is this, and the divisor of the column."""
    prefixes = ("", "K", "M", "G", "T", "P")
    power = min(int(math.log10(least) / 3), len(prefixes) - 1) if least >= 1 else 0
    return f"Total {prefixes[power]}FLOPs", 1000.0**power
