"""Warnings that appear once in a process, as in torch."""

from __future__ import annotations

import warnings

_earlier_keys: dict[str, object] = {}
_always = False


def warn_once(message: str, *, stacklevel: int = 1, key: str | None = None) -> None:
    """Give a UserWarning, the first time that this message (or key) comes, or every time after set_warn_always(True).

    stacklevel: 1 is the caller of the function that warns.
    """
    key = key or message
    marker = object()
    # of several threads that come at once, one is the first
    if _earlier_keys.setdefault(key, marker) is not marker and not _always:
        return
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 2)


def set_warn_always(b: bool) -> None:
    """Choose whether warnings that appear once in a process appear every time.

    >>> import adjoint
    >>> adjoint.set_warn_always(True)
    >>> adjoint.is_warn_always_enabled()
    True
    >>> adjoint.set_warn_always(False)
    """
    global _always
    _always = b


def is_warn_always_enabled() -> bool:
    """True if warnings that are given once per process are given every time.

    `set_warn_always` switches it.

    >>> import adjoint
    >>> adjoint.is_warn_always_enabled()
    False
    """
    return _always
