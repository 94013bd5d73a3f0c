"""What a case of a fuzzer answers."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Fault(NamedTuple):
    """What is wrong with a case: of which kind, at which place of the source or in which function, and what it says."""

    kind: str
    where: str
    what: str


class Cases(Protocol):
    """The cases of one seed. A number names a case: it is the same in each process."""

    def text(self, number: int) -> str:
        """The case as a program or an expression, to be read."""

    def fault(self, number: int) -> Fault | None:
        """Carry the case out; what is wrong, or None."""

    def close(self) -> None:
        """Give back what the cases hold: another process, a folder."""
