"""cuDNN, which is not used: `is_available` is False, and the switches change nothing."""

import sys as _sys
from contextlib import ContextDecorator as _ContextDecorator
from typing import Any as _Any

from adjoint.core.modes.state import ATTRIBUTE as _ATTRIBUTE
from adjoint.core.modes.state import ModeBlock as _ModeBlock

__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "enabled",
    "flags",
    "is_acceptable",
    "is_available",
    "set_flags",
    "version",
]

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: no operation calls cuDNN.

    The switches of this module are stored and have no effect.
    """
    return False


def version() -> None:
    """None: no operation calls cuDNN.

    Torch returns the version of the library here.
    """
    return


def is_acceptable(tensor: object) -> bool:
    """False: no operation calls cuDNN.

    tensor: any object.
    """
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[bool, bool, int | None, bool, bool]:
    """Set those switches of this module that are not None, and return their earlier values.

    The switches are stored and have no effect, since no operation calls cuDNN.
    """
    global enabled, benchmark, benchmark_limit, deterministic, allow_tf32
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    enabled = enabled if _enabled is None else _enabled
    benchmark = benchmark if _benchmark is None else _benchmark
    benchmark_limit = benchmark_limit if _benchmark_limit is None else _benchmark_limit
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return before


class flags(_ModeBlock, _ContextDecorator):
    """A block with other switches.

    >>> import adjoint
    >>> with adjoint.backends.cudnn.flags(benchmark=True):
    ...     adjoint.backends.cudnn.benchmark
    True
    """

    def __init__(
        self,
        enabled: bool = False,
        benchmark: bool = False,
        benchmark_limit: int | None = 10,
        deterministic: bool = False,
        allow_tf32: bool = True,
    ) -> None:
        self.switches: dict[str, _Any] = {
            "enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32,
        }  # fmt: skip
        if benchmark_limit is not None:
            self.switches["benchmark_limit"] = benchmark_limit

    def _changes(self) -> tuple[_Any, ...]:
        """The changes of the block: attributes of this module."""
        return tuple((_ATTRIBUTE, name, (_sys.modules[__name__], value)) for name, value in self.switches.items())
