"""The result of `adjoint.compile` for a module: a wrapper that records and replays its calls."""

from __future__ import annotations

from typing import Any

from adjoint.nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """A wrapper of a module, `_orig_mod`, whose calls are recorded once and replayed.

    It reads and sets the attributes of the original module, and has the same parameters. Names of parameters and keys
    of states begin with "_orig_mod.".

    >>> import adjoint
    >>> model = adjoint.compile(adjoint.nn.Linear(2, 3))
    >>> model.in_features, [name for name, _ in model.named_parameters()]
    (2, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    _orig_mod: Module

    def __init__(self, module: Module, replayed: Any) -> None:
        super().__init__()
        vars(self)["_modules"]["_orig_mod"] = module
        vars(self)["_replayed"] = replayed

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The output of the original module."""
        return self._replayed(*args, **kwargs)

    def replayed_by(self, replayed: Any) -> Module:
        """This module, which already replays its calls."""
        return self

    @property
    def training(self) -> bool:
        """Whether the original module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        state = vars(self)
        module = state.get("_modules", {}).get("_orig_mod")
        if name == "_orig_mod" or module is None or name.startswith("__"):
            return super().__getattr__(name)
        try:
            return getattr(module, name)
        except AttributeError:
            if not hasattr(state["_replayed"], name):
                raise
            return getattr(state["_replayed"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        state = vars(self)
        if name in state or name == "training" or "_orig_mod" not in state.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
