"""The batches that vmap is running in the calling thread, and the transformations that functions run under."""

from itertools import count
from typing import NamedTuple

from adjoint.core.modes import current

_numbers = count(1)


class Batch(NamedTuple):
    """A batch that is being run: its level, its size, and what random numbers are for its members.

    randomness: "error", "same" or "different"; None for a batch of cotangents in a backward pass.
    """

    level: int
    size: int
    randomness: str | None = None


class running:
    """A with block in which a batch of a new level, higher than all before, is run."""

    def __init__(self, size: int, randomness: str | None = None) -> None:
        self.batch = Batch(next(_numbers), size, randomness)

    def __enter__(self) -> Batch:
        state = current()
        state.batches = (*state.batches, self.batch)
        return self.batch

    def __exit__(self, *error: object) -> None:
        state = current()
        state.batches = tuple(batch for batch in state.batches if batch is not self.batch)


class inside:
    """A with block that is part of batches, given as (level, size), which may be over: passes in it are their members'.

    So a gradient that the block takes belongs to each member, and is summed where its result leaves the batch.
    """

    def __init__(self, batches: tuple[tuple[int, int], ...]) -> None:
        self.batches = batches

    def __enter__(self) -> None:
        state = current()
        live = live_levels()
        self.before = state.batches
        state.batches = (*state.batches, *[Batch(*batch) for batch in self.batches if batch[0] not in live])

    def __exit__(self, *error: object) -> None:
        current().batches = self.before


class transforming:
    """A with block in which a function is run under a transformation: "grad", "jvp", or "vmap" of a level."""

    def __init__(self, kind: str, level: int = 0) -> None:
        self.transform = (kind, level)

    def __enter__(self) -> None:
        state = current()
        state.transforms = (*state.transforms, self.transform)

    def __exit__(self, *error: object) -> None:
        state = current()
        state.transforms = state.transforms[:-1]


def live_levels() -> set[int]:
    """The levels of the batches that are being run."""
    return {batch.level for batch in current().batches}


def mapped() -> list[Batch]:
    """The batches of functions that vmap is running, without those of cotangents."""
    return [batch for batch in current().batches if batch.randomness is not None]
