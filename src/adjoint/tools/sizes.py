"""Numbers of bytes as text."""

from __future__ import annotations


def readable(nbytes: int) -> str:
    """A number of bytes as people read it.

    >>> readable(999), readable(1_500_000)
    ('999 B', '1.50 MB')
    """
    value, units = float(nbytes), ["B", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.2f} {units[0]}"
