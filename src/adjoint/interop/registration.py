"""Tensors are registered with libraries that know types of arrays by name: at once, or when they are imported later."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def _register_with_einops(backends: ModuleType) -> None:
    """Tell einops how to work on Tensors."""
    from adjoint.interop.einops_backend import backend_class

    # einops looks for subclasses, which Python knows weakly
    backends.TensorBackend = backend_class(backends.AbstractBackend)  # type: ignore[attr-defined]


def _register_with_opt_einsum(dispatch: ModuleType) -> None:
    """Tell opt_einsum where its functions over Tensors are."""
    dispatch._aliases["adjoint"] = "adjoint.interop.contraction"


#: The functions to call after the import of a module.
_REGISTRATIONS: dict[str, Callable[[ModuleType], None]] = {
    "einops._backends": _register_with_einops,
    "opt_einsum.backends.dispatch": _register_with_opt_einsum,
}


class _RegisteringLoader:
    """A module's own loader, and the registration that follows it."""

    def __init__(self, loader: Any, register: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.register = register

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        self.register(module)


class _Finder:
    """Finds the modules in the table by the other finders, and calls their registrations after the import."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _REGISTRATIONS:
            return None
        for finder in sys.meta_path:
            spec = None if isinstance(finder, _Finder) else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _RegisteringLoader(spec.loader, _REGISTRATIONS[name])  # type: ignore[assignment]
                return spec
        return None


def register_tensors() -> None:
    """Register with the libraries that are imported already, and with others when they are imported."""
    for name, register in _REGISTRATIONS.items():
        if name in sys.modules:
            register(sys.modules[name])
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
