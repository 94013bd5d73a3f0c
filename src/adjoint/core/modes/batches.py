"""The batches that vmap is running in the calling thread, and the transformations that functions run under."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

from adjoint.core.graph import TensorBase, upcoming_sequence_nr
from adjoint.core.modes.state import ATTRIBUTE, PUSH, SET, Level, ModeBlock, current
from adjoint.runtime.forks import local

_numbers = count(1)
_levels = count(1)


class Batch(NamedTuple):
    """A batch during vmap: its level, its size, and the randomness of its members.

    randomness: "error", "same" or "different"; None for a batch of cotangents in a backward pass.
    """

    level: int
    size: int
    randomness: str | None = None


class _Numbering(local):
    """The counter that numbers new levels of the calling thread."""

    numbers: Iterator[int] = _numbers


_numbering = _Numbering()


class numbering(ModeBlock):
    """A with block whose batches get the levels of a list, in order; levels of further batches are appended to it.

    A function that runs again so has its batches at the levels of its first run.
    """

    def __init__(self, levels: list[int]) -> None:
        self.levels = levels

    def _changes(self) -> Any:
        return ((ATTRIBUTE, "numbers", (_numbering, given_or_next(self.levels, _numbering.numbers))),)


def given_or_next(levels: list[int], others: Iterator[int]) -> Iterator[int]:
    """The levels in a list, then others, which are added to it."""
    yield from tuple(levels)
    for level in others:
        levels.append(level)
        yield level


class running(ModeBlock):
    """A with block that runs a batch of a new level, higher than all before."""

    def __init__(self, size: int, randomness: str | None = None) -> None:
        self.batch = Batch(next(_numbering.numbers), size, randomness)

    def _changes(self) -> Any:
        return ((PUSH, "batches", self.batch),)

    def _entry_value(self) -> Batch:
        return self.batch


class in_batches(ModeBlock):
    """A with block that is part of batches, given as (level, size), which may be over: passes in it are their members'.

    So a gradient that the block takes belongs to each member, and is summed where its result leaves the batch.
    """

    def __init__(self, batches: tuple[tuple[int, int], ...]) -> None:
        self.batches = batches

    def _changes(self) -> Any:
        live = live_levels()
        more = [Batch(*batch) for batch in self.batches if batch[0] not in live]
        return ((SET, "batches", (*current().batches, *more)),)


class transforming(ModeBlock):
    """A with block that runs a function under a transformation: "grad", "jvp", or "vmap" of a level.

    Under "grad" and "jvp", tensors made in the block get a new `Level`, which ends with the block. `hand_out` moves the
    results to the level outside.
    """

    def __init__(self, kind: str, level: int = 0) -> None:
        self.transform = (kind, level)
        self.level = None if kind == "vmap" else Level(next(_levels), upcoming_sequence_nr())

    def _changes(self) -> Any:
        return self.opening()

    def opening(self) -> Any:
        """The changes of modes."""
        transforms = (PUSH, "transforms", self.transform)
        self.outer = current().level
        if self.level is None:
            return (transforms,)
        self.level.outer = self.outer
        return transforms, (SET, "level", self.level)

    def _entry_value(self) -> "transforming":
        return self

    def _after_exit(self, error: BaseException | None) -> None:
        self.close()

    def close(self) -> None:
        """End the level."""
        if self.level is not None:
            self.level.alive = False

    def take_in(self, tensors: Iterable[Any]) -> None:
        """Let tensors be of the level of the block, as arguments of the function are."""
        for tensor in tensors:
            tensor._level = self.level

    def hand_out(self, values: Iterable[Any]) -> None:
        """Move the tensors made in this block, or in an inner block, to the level outside."""
        for value in values:
            if isinstance(value, TensorBase) and (level := value._level) is not None:
                if level is self.level or not level.alive:
                    value._level = self.outer


def live_levels() -> set[int]:
    """The levels of the batches that are being run."""
    return {batch.level for batch in current().batches}


def vmap_batches() -> list[Batch]:
    """The batches of functions that vmap is running, without batches of cotangents."""
    batches = current().batches
    return [batch for batch in batches if batch.randomness is not None] if batches else []
