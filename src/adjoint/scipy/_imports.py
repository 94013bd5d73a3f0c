"""Imports in a block of `patched`: modules run with the original functions, which they may store."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Pause = Callable[[], AbstractContextManager[Any]]


class PausingFinder(MetaPathFinder):
    """A finder before all other finders. It undoes the replacements while a module runs.

    pause: a function that returns a block without replacements.
    """

    def __init__(self, pause: Pause) -> None:
        self.pause = pause
        #: The names under search by the other finders, which may search in turn.
        self.names: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec from the other finders, with a loader that runs the module in a pause."""
        if name in self.names:
            return None
        self.names.add(name)
        try:
            specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            self.names.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _PausingLoader(spec.loader, self.pause)
        return spec


class _PausingLoader(Loader):
    def __init__(self, loader: Any, pause: Pause) -> None:
        self.loader = loader
        self.pause = pause

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module from the original loader."""
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module in a pause; its `__loader__` is the original loader."""
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        with self.pause():
            self.loader.exec_module(module)
