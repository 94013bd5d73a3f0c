"""The compared functions and in-place variants, by family and tier (`entries.json`).

Models and scientific code use the functions of tier 1. Tier 2 has the other important functions, tier 3 the rare ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

TIERS = (1, 2, 3)


@dataclass(frozen=True)
class Entry:
    """A function or an in-place variant of one. `nn.functional.x_` is the function called with `inplace=True`."""

    name: str
    family: str
    tier: int

    @property
    def inplace(self) -> bool:
        return self.family == "inplace"

    @property
    def base(self) -> str:
        """The name of the function whose variant this is."""
        return self.name.removesuffix("_") if self.inplace else self.name

    def find(self, library: ModuleType) -> Any:
        """The function, or else the Tensor's method or property, of that name. Raises AttributeError."""
        name = self.base if self.name.startswith("nn.functional.") else self.name
        function = attribute(library, name) or attribute(library.Tensor, name)
        if function is None:
            raise AttributeError(f"{library.__name__} has neither a function nor a method {name!r}")
        return function


def attribute(value: Any, path: str) -> Any:
    """The attribute at a dotted path, None where there is none."""
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


@cache
def all_entries() -> dict[str, Entry]:
    """Every entry by its name, in the order of the file."""
    return {entry.name: entry for entry in read(Path(__file__).with_name("entries.json"))}


def read(path: Path) -> Iterator[Entry]:
    """The entries of a file {family: {tier: [name, ...]}}."""
    for family, tiers in json.loads(path.read_text(encoding="utf-8")).items():
        for tier, names in tiers.items():
            for name in names:
                yield Entry(name, family, int(tier))
