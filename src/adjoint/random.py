"""Random numbers: the default generator, its seed and its state, under torch.random's names."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from adjoint.core.modes.draws import draws_apart
from adjoint.core.modes.random import default_generator as _default
from adjoint.core.modes.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

# default_generator is here too: it is created at first use
__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def fork_rng(devices: Any = None, enabled: bool = True, **others: Any) -> AbstractContextManager[None]:
    """Restore the state of the default generator after the block; devices are accepted for programs written for torch.

    >>> import adjoint
    >>> with adjoint.random.fork_rng():
    ...     x = adjoint.rand(2)
    >>> bool((adjoint.rand(2) == x).all())
    True
    """
    return draws_apart() if enabled else nullcontext()


def __getattr__(name: str) -> Any:
    if name == "default_generator":
        return _default()
    raise AttributeError(f"module 'adjoint.random' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
