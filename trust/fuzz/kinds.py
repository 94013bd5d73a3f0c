"""The kinds of cases: their names, the numbers of cases in a run, their requirements."""

from __future__ import annotations

import importlib
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from trust.fuzz.faults import Cases


@dataclass(frozen=True)
class Kind:
    """One kind of cases.

    module: the module of trust.fuzz with the class `Cases`. label: the name in the figures. short, long: the numbers of
    cases of the two forms. at_once: the number of cases that a process runs before another one replaces it. torch: the
    cases need PyTorch, whose interpreter `--torch` names. each: the count of one case in the figures.
    """

    module: str
    label: str
    short: int
    long: int
    at_once: int
    torch: bool = False
    each: int = 1

    def cases(self, seed: int, torch: str | None = None) -> Cases:
        make = importlib.import_module(f"trust.fuzz.{self.module}").Cases
        cases: Cases = make(seed, torch) if self.torch else make(seed)
        return cases


#: The bytes of memory that a process with cases may use. A MemoryError is a right answer.
MEMORY = 3 << 30


@contextmanager
def limited_memory() -> Iterator[None]:
    """A block in which this process has only this amount of memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


KINDS = {
    "views": Kind("views", "programs of views and writes in place", 150, 1_000_000, 1000),
    "forms": Kind("forms", "programs and calls, compiled against plain Python", 80, 100_000, 1000),
    "torch": Kind("beside_torch", "programs and calls against PyTorch", 200, 100_000, 1000, torch=True),
    "transforms": Kind("nests", "nests of transforms", 40, 100_000, 300),
    "compile": Kind("compilation", "compiled programs against eager ones", 40, 100_000, 300),
    "files": Kind("files", "spoilt files", 4, 30_000, 100, each=300),
    "planted": Kind("planted", "planted faults", 0, 0, 10),
    "calls": Kind("calls", "calls of the whole public surface", 400, 1_000_000, 400),
}
