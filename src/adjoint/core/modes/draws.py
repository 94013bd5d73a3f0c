"""Blocks that draw random numbers apart."""

from __future__ import annotations

from contextlib import AbstractContextManager, ContextDecorator, nullcontext
from typing import Any

from adjoint.core.modes.random import Generator, default_generator
from adjoint.core.modes.state import ATTRIBUTE, ModeBlock


class draws_apart(ModeBlock, ContextDecorator):
    """A block whose draws leave the default generator as it was before.

    state: where the block begins to draw, as `get_rng_state` gives it; by default where the generator is.
    """

    def __init__(self, state: Any = None) -> None:
        self.state = state

    def _changes(self) -> tuple[Any, ...]:
        generator = default_generator()
        other = generator.clone_state() if self.state is None else Generator().set_state(self.state)
        return (ATTRIBUTE, "_seed", (generator, other._seed)), (ATTRIBUTE, "_numpy", (generator, other._numpy))


def drawing_from(state: Any) -> AbstractContextManager[None]:
    """A block that draws from a state on and leaves the generator as it was; for None, as usual."""
    return nullcontext() if state is None else draws_apart(state)
