"""State that a forked child renews: locks that other threads of its parent held, and the work of these threads.

After os.fork() only the calling thread exists in the child. A lock held by another thread would never be released. So
every lock of this package is made here, and one function renews all of them in the child, in the order of registration.
On systems without os.fork() it does not run.
"""

from __future__ import annotations

import os
import weakref
from _thread import RLock, _local, allocate_lock
from collections.abc import Callable
from typing import Any

#: As threading.local; the import of threading takes long.
local = _local

_renewals: list[Callable[[], Any]] = []
# weak references, so that the locks of an object die with it
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def renewed_in_child(renew: Callable[[], Any]) -> Callable[[], Any]:
    """Call a function in each child process after the locks are renewed, to clear the state of the parent's threads."""
    _renewals.append(renew)
    return renew


def new_lock() -> Any:
    """A lock that is free in a child process, also if a thread of the parent held it."""
    return _register(allocate_lock)


def new_rlock() -> Any:
    """A reentrant lock that is free in a child process."""
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
