"""Libraries that know the types of their arrays by name learn of Tensors: at once, or when they are imported later."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def _teach_einops(backends: ModuleType) -> None:
    """Tell einops how to work on Tensors."""
    from adjoint.interop.einops_backend import backend_class

    # einops looks for subclasses, which Python knows weakly
    backends.TensorBackend = backend_class(backends.AbstractBackend)  # type: ignore[attr-defined]


def _teach_opt_einsum(dispatch: ModuleType) -> None:
    """Tell opt_einsum where its functions over Tensors are."""
    dispatch._aliases["adjoint"] = "adjoint.interop.contraction"


#: What is done after a module was imported.
_LESSONS: dict[str, Callable[[ModuleType], None]] = {
    "einops._backends": _teach_einops,
    "opt_einsum.backends.dispatch": _teach_opt_einsum,
}


class _Lesson:
    """A module's own loader, and what is done after it."""

    def __init__(self, loader: Any, teach: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.teach = teach

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        self.teach(module)


class _Watcher:
    """Finds only modules for which there is a lesson, as the other finders find them."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _LESSONS:
            return None
        for finder in sys.meta_path:
            spec = None if isinstance(finder, _Watcher) else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Lesson(spec.loader, _LESSONS[name])  # type: ignore[assignment]
                return spec
        return None


def watch() -> None:
    """Teach what is imported already, and wait for the rest."""
    for name, teach in _LESSONS.items():
        if name in sys.modules:
            teach(sys.modules[name])
    if not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())  # type: ignore[arg-type]
