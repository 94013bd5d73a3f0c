"""The memory that members of a batch may use at a time, where a transformation chooses their number."""

from __future__ import annotations

DEFAULT = 2**25

_budget = DEFAULT


def get() -> int:
    """The budget in bytes."""
    return _budget


def set(n_bytes: int) -> int:
    """Set the budget; returns the earlier one."""
    global _budget
    before, _budget = _budget, n_bytes
    return before
