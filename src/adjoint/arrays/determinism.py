"""torch's switches for deterministic algorithms, for programs that set them: all of adjoint's algorithms are.

The same call gives the same bits again on the same machine with the same number of threads.
"""

from __future__ import annotations

from adjoint.arrays.size import type_name

_MODES = ("default", "warn", "error")


class _State:
    mode = 0  # an index of _MODES


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Request deterministic algorithms; adjoint has no others. Raises TypeError unless mode is a bool.

    >>> import adjoint
    >>> adjoint.use_deterministic_algorithms(True, warn_only=True)
    >>> adjoint.get_deterministic_debug_mode()
    1
    >>> adjoint.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms(): argument 'mode' must be bool, not {type_name(mode)}")
    _State.mode = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """True if operations use deterministic algorithms only, or warn where there is none.

    `use_deterministic_algorithms` and `set_deterministic_debug_mode` switch it.

    >>> import adjoint
    >>> adjoint.are_deterministic_algorithms_enabled()
    False
    """
    return _State.mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """True if operations without a deterministic algorithm warn instead of raising an error.

    >>> import adjoint
    >>> adjoint.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _State.mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms() by name or number: "default" (0), "warn" (1) or "error" (2).

    Raises RuntimeError for another name or number, and TypeError for other types.
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        _State.mode = _MODES.index(debug_mode)
    elif isinstance(debug_mode, int):
        if debug_mode not in range(3):
            raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
        _State.mode = int(debug_mode)
    else:
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")


def get_deterministic_debug_mode() -> int:
    """The mode of `set_deterministic_debug_mode`: 0 for "default", 1 for "warn", 2 for "error".

    >>> import adjoint
    >>> adjoint.get_deterministic_debug_mode()
    0
    """
    return _State.mode
