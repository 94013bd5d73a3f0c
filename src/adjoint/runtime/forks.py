"""State that a forked child renews: locks that other threads of its parent held, and the work of these threads.

After os.fork() only the thread that called it goes on. A lock that another one held would never be released, so every
lock of this package is made here, and one function renews them all in the child, in the order in which they were
registered. Nothing is done where there is no os.fork().
"""

from __future__ import annotations

import os
import weakref
from _thread import RLock, _local, allocate_lock
from collections.abc import Callable
from typing import Any

#: What threading has under this name; threading takes long to import.
local = _local

_renewals: list[Callable[[], Any]] = []
# weak references, so that the locks of an object die with it
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def renewed_in_child(renew: Callable[[], Any]) -> Callable[[], Any]:
    """Call a function in each child process after the locks are renewed, to clear the state of the parent's threads."""
    _renewals.append(renew)
    return renew


def new_lock() -> Any:
    """A lock that is free in a child process, whoever held it in the parent."""
    return _register(allocate_lock)


def new_rlock() -> Any:
    """The same for a lock that its owner may take again."""
    return _register(RLock)


def _register(make: Callable[[], Any]) -> Any:
    try:
        lock = make()
    except RuntimeError as error:
        # Python's words where there is no memory for a lock
        raise MemoryError(*error.args) from None
    _locks.add(lock)
    return lock


def locks() -> list[Any]:
    """All locks that are renewed."""
    return list(_locks)


def _renew() -> None:
    for lock in locks():
        lock._at_fork_reinit()
    for renew in _renewals:
        renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
