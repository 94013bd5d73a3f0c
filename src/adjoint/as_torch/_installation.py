"""The module torch: an import finder, and modules whose attributes come from modules of adjoint.

A module `torch.X` looks up a name in the tables of `_names.py`, then in `adjoint.X`. It looks up settings at each use,
so that both modules agree, and other names once. Setting an attribute also sets the attribute of `adjoint.X`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from email.message import Message
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from adjoint.arrays.size import printed
from adjoint.as_torch._absent import Absent, absent, group_of, is_absent
from adjoint.as_torch._names import VERSION, own_names, source_of
from adjoint.as_torch._private import WHOLE
from adjoint.tensor.older.left_out import explanation
from adjoint.tensor.tensor import Tensor

ROOT = "torch"
#: The types of settings: values in modules that programs set, and that functions of adjoint may change.
_SWITCHES = (bool, int, float, str, type(None))


class TorchModule(ModuleType):
    """A module of torch; source: the name of the corresponding module of adjoint, or ""."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name)
        vars(self)["_source"] = import_module(source) if source else None
        vars(self)["_own"] = own_names(name)
        vars(self)["__path__"] = []
        vars(self)["__doc__"] = getattr(self._source, "__doc__", None)

    def __getattr__(self, name: str) -> Any:
        value = self._value(name)
        if not isinstance(value, _SWITCHES):
            vars(self)[name] = value
        return value

    def _value(self, name: str) -> Any:
        names = vars(self)["_own"]
        if name in names:
            module, _, attribute = names[name].rpartition(":")
            return getattr(import_module(module), attribute) if module else import_module(attribute)
        full = f"{self.__name__}.{name}"
        try:
            value = self._behind(name)
        except AttributeError:
            if name.startswith("__") or source_of(full) is None:
                raise
            return import_module(full)
        is_inner = isinstance(value, ModuleType) and source_of(full) is not None
        return import_module(full) if is_inner else value

    def _behind(self, name: str) -> Any:
        """The attribute of the corresponding module of adjoint, if it exists."""
        if is_absent(f"{self.__name__}.{name}"):
            return absent(f"{self.__name__}.{name}")
        if self._source is not None:
            return getattr(self._source, name)
        reason = explanation(self.__name__.partition(".")[2], name)
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}" + (f": {reason}" if reason else ""),
            name=name,
            obj=self,
        )

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = isinstance(value, (TorchModule, Absent))
        if is_own and self._has_function(name):
            # the import system puts each imported module into its parent, here in place of torch's function
            return
        behind = self._source is not None and not name.startswith("__") and not is_own
        if behind:
            setattr(self._source, name, value)
        if not (behind and isinstance(value, _SWITCHES)):
            vars(self)[name] = value

    def _has_function(self, name: str) -> bool:
        """Whether the corresponding module has a function with this name, such as gradcheck in torch.autograd."""
        return callable(getattr(self._source, name, None))

    def __delattr__(self, name: str) -> None:
        vars(self).pop(name, None)
        if self._source is not None and name in vars(self._source):
            delattr(self._source, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._source), *vars(self)["_own"]} if self._source else vars(self)["_own"])

    def __reduce__(self) -> Any:
        return import_module, (self.__name__,)


class _Loader:
    """Creates the modules of torch."""

    def __init__(self, source: str) -> None:
        self.source = source

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return TorchModule(spec.name, self.source)

    def exec_module(self, module: ModuleType) -> None:
        """Look up all names of modules whose `__dict__` libraries iterate over; other modules look up names at use."""
        if module.__name__ in WHOLE:
            for name in dir(module):
                if not name.startswith("_"):
                    getattr(module, name)


class _AbsentLoader:
    """Creates the classes in place of modules and names that are left out."""

    def create_module(self, spec: ModuleSpec) -> Any:
        return absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """The class is complete."""


class _Finder(importlib.metadata.DistributionFinder):
    """Finds torch and its modules, and a distribution with this name."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        source = source_of(name)
        if source is not None:
            loader: Any = _Loader(source)
        elif name.partition(".")[0] == ROOT and group_of(name) is not None:
            loader = _AbsentLoader()
        else:
            return None
        return ModuleSpec(name, loader, origin="adjoint.as_torch", is_package=True)

    def find_distributions(self, context: Any = None) -> Iterator[importlib.metadata.Distribution]:
        if getattr(context, "name", None) == ROOT:
            yield _Distribution()


class _Distribution(importlib.metadata.Distribution):
    """The distribution torch, for importlib.metadata."""

    def read_text(self, filename: str) -> str | None:
        message = Message()
        message["Metadata-Version"], message["Name"], message["Version"] = "2.1", ROOT, VERSION
        return str(message) if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: the distribution {ROOT!r} is adjoint under its name and has no files")


def _loaded_modules() -> Iterable[str]:
    return [name for name in sys.modules if name.partition(".")[0] in (ROOT, "functorch")]


def is_installed() -> bool:
    """True if `import torch` imports adjoint in this process.

    >>> import adjoint.as_torch
    >>> adjoint.as_torch.is_installed()
    False
    """
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def install() -> None:
    """Make `import torch` and imports of its submodules import adjoint in this process.

    Raises RuntimeError if PyTorch itself is already imported. A second call has no effect.

    >>> import adjoint.as_torch
    >>> adjoint.as_torch.install()
    >>> import torch
    >>> from torch.nn import functional as F
    >>> F.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    >>> adjoint.as_torch.uninstall()
    """
    if is_installed():
        return
    if _loaded_modules():
        raise RuntimeError(
            f"cannot install adjoint as torch: {getattr(sys.modules[ROOT], '__file__', ROOT)} is imported already; "
            f"call adjoint.as_torch.install() before the first `import torch`"
        )
    sys.meta_path.insert(0, _Finder())
    # libraries determine the kind of an array from the module of its class
    Tensor.__module__ = printed.module = ROOT


def uninstall() -> None:
    """Undo install().

    Modules that have imported torch keep their references.
    """
    Tensor.__module__, printed.module = Tensor.__init__.__module__, "adjoint"
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in list(_loaded_modules()):
        del sys.modules[name]
