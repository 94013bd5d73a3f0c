"""The faults of a fuzzer's cases."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Fault(NamedTuple):
    """A fault of a case: its kind, its place in the source or its function, and its message."""

    kind: str
    where: str
    what: str


class Cases(Protocol):
    """The cases of one seed. A number names a case: it is the same in each process."""

    def text(self, number: int) -> str:
        """The case as a program or an expression, for people to read."""

    def fault(self, number: int) -> Fault | None:
        """Run the case. Returns its fault, or None."""

    def close(self) -> None:
        """Release the resources of the cases: another process, a folder."""
