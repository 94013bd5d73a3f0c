"""The list of tried functions, and how functions enter it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.scipy._replacements import replacements

Function = Callable[..., Any]


class Entry(NamedTuple):
    """A function of a package.

    package: as the registry names it. name: of the function, with its module. make: imports the package and gives a
    function of arrays, and arguments to differentiate it by. what: which part of it, or how it is called. reason,
    remedy: one sentence each without its full stop, where it does not work.
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


#: What is said of SciPy's functions of which adjoint has its own.
OWN = "`adjoint.scipy`'s in the block"


def is_replaced(function: Any) -> bool:
    """Whether adjoint.scipy has a function of its own for one of SciPy's, which stands for it in a block."""
    return id(function) in replacements() and getattr(function, "__module__", "").startswith("scipy")


ENTRIES: list[Entry] = []


def tried(package: str, name: str, what: str = "", *, reason: str = "", remedy: str = "") -> Callable[[Function], None]:
    """Enter a function of a package."""

    def enter(make: Function) -> None:
        if any((entry.package, entry.name, entry.what) == (package, name, what) for entry in ENTRIES):
            raise ValueError(f"{name} is in the list twice")
        ENTRIES.append(Entry(package, name, make, what, reason, remedy))

    return enter
