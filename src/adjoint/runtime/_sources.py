"""Importing the Python source of a module that also has a compiled form."""

import importlib.machinery
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).resolve().parents[1]


class SourceFinder:
    """Finds the named modules, and only them, as .py files of this package."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The specification of a named module's source, None for all others."""
        if name not in self.names:
            return None
        file = _PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        return importlib.util.spec_from_file_location(name, file)
