"""Handles of hooks: they remove registered hooks."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.runtime.forks import new_lock

#: The key of the hook that retains a gradient: it runs after all others, so that it sees their result.
RETAIN = -1


class HookTable(dict[int, Any]):
    """Hooks in the order of their registration; handles know the table weakly."""

    __slots__ = ("__weakref__",)


#: In place of a hook that the maker of a handle adds to the table later.
_LATER: Any = object()
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

    def __init__(self, table: Any, hook: Any = _LATER, last: int | None = None, *, extra_dict: Any = None) -> None:
        """A handle with a number of its own for a table of hooks, any dictionary that can be referenced weakly.

        hook: added to the table under the number; without one the caller adds it.
        last: the key of the hook that stays behind all others.
        extra_dict: a dictionary, or several, with further values under the number, which go with the hook.
        """
        behind = None if last is None else table.pop(last, None)
        # hooks that two threads register at once have numbers of their own
        with _numbering:
            self.id = RemovableHandle._next_id
            RemovableHandle._next_id += 1
        self._table = weakref.ref(table)
        extras = () if extra_dict is None else extra_dict if isinstance(extra_dict, list) else (extra_dict,)
        self._extras = tuple([weakref.ref(extra) for extra in extras])
        if hook is not _LATER:
            table[self.id] = hook
        if behind is not None and last is not None:
            table[last] = behind

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for reference in (self._table, *self._extras):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple[HookTable | None, int]:
        return self._table(), self.id

    def __setstate__(self, state: tuple[HookTable | None, int]) -> None:
        table, self.id = state
        # the table is gone, and the hook with it
        self._table = weakref.ref(HookTable() if table is None else table)
        self._extras = ()
        with _numbering:
            RemovableHandle._next_id = max(RemovableHandle._next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


# hooks and pickles ----------------------------------------------------------------------------------------------------

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def unserializable_hook(f: _Hook) -> _Hook:
    """Decorate a hook of a tensor that is lost on purpose when the tensor is pickled: there is no warning then.

    >>> import adjoint
    >>> @adjoint.utils.hooks.unserializable_hook
    ... def twice(gradient):
    ...     return gradient * 2
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of each hook of a tensor that a pickle of the tensor does not keep.

    >>> import adjoint
    >>> adjoint.utils.hooks.warn_if_has_hooks(adjoint.ones(2))
    """
    for hook in list((tensor._backward_hooks or {}).values()):
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @adjoint.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=3,
            )
