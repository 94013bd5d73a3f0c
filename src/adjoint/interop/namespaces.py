"""Namespaces of other libraries whose functions also take Tensors: plain values run the library's own functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from adjoint.core.graph import TensorBase
from adjoint.core.operations.naming import known_by
from adjoint.interop.numpy_functions import FUNCTIONS

Function = Callable[..., Any]


def holds_tensor(value: Any) -> bool:
    """True for a Tensor, or nested lists, tuples and dictionaries with one in them; quick on long lists of numbers."""
    if isinstance(value, (list, tuple)):
        for kind in set(map(type, value)):
            if issubclass(kind, TensorBase):
                return True
            if issubclass(kind, (list, tuple, dict)) and any(
                holds_tensor(member) for member in value if type(member) is kind
            ):
                return True
        return False
    if isinstance(value, dict):
        return holds_tensor(list(value.values()))
    return isinstance(value, TensorBase)


def for_both(function: Function, over_tensors: Function) -> Function:
    """One function for plain values, and another one if there are Tensors among the arguments."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if holds_tensor(args) or (kwargs and holds_tensor(kwargs)):
            return over_tensors(*args, **kwargs)
        return function(*args, **kwargs)

    return call


def over_tensors(library: str, module: Any) -> dict[str, Function]:
    """The public functions of a module that have a counterpart over Tensors, each for both.

    library: what the names in the table begin with, "scipy.linalg." for instance.
    """
    names = [name.removeprefix(library) for name in FUNCTIONS if name.startswith(library)]
    return {
        name: known_by(for_both(getattr(module, name), FUNCTIONS[library + name]), f"adjoint.{library[:-1]}", name)
        for name in names
        if "." not in name and hasattr(module, name)
    }


class Distribution:
    """A distribution of scipy.stats whose methods also take Tensors; called with parameters, it is frozen.

    >>> import adjoint, scipy.stats
    >>> from adjoint.interop import scipy_functions
    >>> scipy_functions.load()
    >>> norm = Distribution("norm", scipy.stats.norm)
    >>> norm.logpdf(adjoint.tensor([0.0, 1.0]), loc=0.5)
    tensor([-1.0439, -1.0439], dtype=adjoint.float64)
    """

    def __init__(self, name: str, of_scipy: Any, *args: Any, **kwargs: Any) -> None:
        self._name = name
        self._of_scipy = of_scipy
        self._args = args
        self._kwargs = kwargs
        self.__module__ = "adjoint.scipy.stats"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if holds_tensor(args) or holds_tensor(kwargs):
            return Distribution(self._name, self._of_scipy, *args, **kwargs)
        return self._of_scipy(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_name", "_of_scipy", "_args", "_kwargs"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        own = FUNCTIONS.get(f"scipy.stats.{self._name}.{name}")
        if self._args or self._kwargs:
            if own is None:
                raise AttributeError(
                    f"{self._name} frozen with Tensors has no {name!r}: there is no derivative of it; "
                    "give plain numbers as parameters"
                )
            # the place, or nothing, then the parameters
            return lambda *args: own(*args, *self._args, **self._kwargs)
        plain = getattr(self._of_scipy, name)
        return plain if own is None else for_both(plain, own)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # by its name, unless it is frozen
        return object.__reduce_ex__(self, protocol) if self._args or self._kwargs else self._name

    def __repr__(self) -> str:
        return f"<scipy.stats.{self._name}, also over Tensors>"
