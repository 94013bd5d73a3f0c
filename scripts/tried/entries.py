"""The list of tried functions, and how functions enter it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.scipy._replacements import replacements

Function = Callable[..., Any]


class Entry(NamedTuple):
    """A function of a package.

    package: its name in the registry. name: the name of the function, with its module. make: imports the package and
    returns a function of arrays, and arguments for its derivatives. what: the part of the function, or the way to call
    it. reason, remedy: one sentence each, without its full stop, if the function does not work.
    """

    package: str
    name: str
    make: Callable[[], tuple[Any, ...]]
    what: str = ""
    reason: str = ""
    remedy: str = ""

    def cell(self) -> str:
        """The function as the page shows it."""
        return f"`{self.name}`{', ' if self.what else ''}{self.what}"


#: The text for SciPy's functions that adjoint.scipy replaces.
OWN = "`adjoint.scipy`'s in the block"


def is_replaced(function: Any) -> bool:
    """Whether adjoint.scipy has its own function for one of SciPy's, which replaces it in a block."""
    return id(function) in replacements() and getattr(function, "__module__", "").startswith("scipy")


ENTRIES: list[Entry] = []


def add_entry(
    package: str, name: str, what: str = "", *, reason: str = "", remedy: str = ""
) -> Callable[[Function], None]:
    """Enter a function of a package."""

    def enter(make: Function) -> None:
        if any((entry.package, entry.name, entry.what) == (package, name, what) for entry in ENTRIES):
            raise ValueError(f"{name} is in the list twice")
        ENTRIES.append(Entry(package, name, make, what, reason, remedy))

    return enter
