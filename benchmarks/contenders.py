"""The libraries of the comparison: their imports, their settings, and the dialect of their programs.

adjoint and torch have the same dialect: one function of the module serves both.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType

SUBJECT = "adjoint"
BY_HAND = "NumPy"
TORCH_THREADS = 2


@dataclass(frozen=True)
class Library:
    """The description of a contender, which is not yet imported."""

    name: str
    module: str
    dialect: str
    set_up: Callable[[ModuleType], None]


@dataclass(frozen=True)
class Contender:
    """A library that is installed and set up."""

    name: str
    import_name: str
    dialect: str
    module: ModuleType
    version: str


def as_it_comes(module: ModuleType) -> None:
    """Keep the library's default settings."""


def two_threads(torch: ModuleType) -> None:
    torch.set_num_threads(TORCH_THREADS)


def without_memory_guard(mygrad: ModuleType) -> None:
    # for speed, mygrad's documentation recommends this setting for correct programs
    mygrad.turn_memory_guarding_off()


def in_double_precision(jax: ModuleType) -> None:
    jax.config.update("jax_enable_x64", True)


LIBRARIES = (
    Library(SUBJECT, "adjoint", "torch", as_it_comes),
    Library("torch", "torch", "torch", two_threads),
    Library("autograd", "autograd", "autograd", as_it_comes),
    Library("mygrad", "mygrad", "mygrad", without_memory_guard),
    Library("jax", "jax", "jax", in_double_precision),
    Library(BY_HAND, "numpy", "numpy", as_it_comes),
)
NAMES = tuple(library.name for library in LIBRARIES)


def load(library: Library) -> Contender:
    """Import and set up a library. Raises any error of a broken library."""
    module = importlib.import_module(library.module)
    library.set_up(module)
    version = version_of(library.module, module)
    return Contender(library.name, library.module, library.dialect, module, version)


def version_of(distribution: str, module: ModuleType) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:  # a folder with this name is on the path, but no installed package
        return str(getattr(module, "__version__", "of this source tree"))


def load_all(names: Iterable[str]) -> tuple[list[Contender], dict[str, str]]:
    """The available contenders among `names`, in the order of the table, and the reasons why the others are missing."""
    selection = set(names)
    present, absent = [], {}
    for library in LIBRARIES:
        if library.name not in selection:
            continue
        if importlib.util.find_spec(library.module) is None:
            absent[library.name] = "not installed"
            continue
        try:
            present.append(load(library))
        except Exception as error:  # another library of this name, or one that does not work with this NumPy
            absent[library.name] = f"does not import: {type(error).__name__}: {error}"
    return present, absent
