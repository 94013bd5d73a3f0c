"""Importing compiled modules from the one shared library that holds them all in an installation."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

#: The library's name as a module, for finding it; it is never imported as a module.
LIBRARY = "adjoint._library"
#: The parts of Cython's run time that compiled modules share.
SHARED = "adjoint.runtime._cython"


class LibraryFinder:
    """Finds the named modules, and only them, in a shared library: Python calls the PyInit function of each."""

    def __init__(self, names: Sequence[str], file: str) -> None:
        self.names, self.file = frozenset((*names, SHARED)), file

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The specification of a named module, None for all others."""
        if name not in self.names:
            return None
        loader = importlib.machinery.ExtensionFileLoader(name, self.file)
        spec = importlib.machinery.ModuleSpec(name, loader, origin=self.file)
        spec.has_location = True
        return spec


def library() -> str | None:
    """The file of the library; None if there is none, since each module has a file of its own or none is compiled."""
    spec = importlib.machinery.PathFinder.find_spec(LIBRARY, sys.modules["adjoint"].__path__)
    return spec.origin if spec is not None else None
