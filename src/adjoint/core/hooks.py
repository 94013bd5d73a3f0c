"""Handles of hooks: they remove registered hooks."""

from __future__ import annotations

import weakref
from typing import Any

from adjoint.runtime.forks import new_lock

#: The key of the hook that retains a gradient: it runs after all others, so that it sees their result.
RETAIN = -1


class HookTable(dict[int, Any]):
    """Hooks in the order of their registration; handles know the table weakly."""

    __slots__ = ("__weakref__",)


_numbering = new_lock()
#: Held while an attribute that is None gets its object, so that all threads share one object. The object is made before
#: the lock is taken: a garbage collection may run code that takes the lock.
first_use = new_lock()


def table_of(owner: Any, name: str) -> HookTable:
    """The table of hooks in an attribute of an object, made if that is None. All threads get the same table."""
    if getattr(owner, name) is None:
        table = HookTable()
        with first_use:
            if getattr(owner, name) is None:
                setattr(owner, name, table)
    return getattr(owner, name)  # type: ignore[no-any-return]


class RemovableHandle:
    """Takes a hook away with remove(), or at the end of a with block.

    >>> table = HookTable()
    >>> handle = RemovableHandle(table, print)
    >>> len(table)
    1
    >>> handle.remove()
    >>> len(table)
    0
    """

    _next_id = 0

    def __init__(self, table: HookTable, hook: Any, last: int | None = None) -> None:
        # the hook under the key `last` keeps its place behind all others
        behind = None if last is None else table.pop(last, None)
        # hooks that two threads register at once have numbers of their own
        with _numbering:
            self.id = RemovableHandle._next_id
            RemovableHandle._next_id += 1
        self._table = weakref.ref(table)
        table[self.id] = hook
        if behind is not None and last is not None:
            table[last] = behind

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        table = self._table()
        if table is not None:
            table.pop(self.id, None)

    def __getstate__(self) -> tuple[HookTable | None, int]:
        return self._table(), self.id

    def __setstate__(self, state: tuple[HookTable | None, int]) -> None:
        table, self.id = state
        # the table is gone, and the hook with it
        self._table = weakref.ref(HookTable() if table is None else table)
        with _numbering:
            RemovableHandle._next_id = max(RemovableHandle._next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
