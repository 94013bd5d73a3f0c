"""The objects of adjoint.scipy.stats: SciPy's distributions, whose methods also take Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.interop.namespaces import for_both
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.operands import class_of_results
from adjoint.interop.scipy_functions.distributions.univariate import Univariate
from adjoint.runtime.caches import memoize

Function = Callable[..., Any]


class Distribution:
    """A distribution of scipy.stats whose methods also take Tensors and Arrays; called with parameters, it is frozen.

    Plain numbers and arrays run SciPy's own methods. Tensors give Tensors, and Arrays give Arrays, with derivatives by
    the place, the shape parameters, loc and scale.

    >>> import adjoint, scipy.stats
    >>> gamma = Distribution("gamma", scipy.stats.gamma)
    >>> shape = adjoint.tensor(2.0, dtype=adjoint.float64, requires_grad=True)
    >>> gamma.logpdf([1.0, 3.0], shape).sum().backward()
    >>> shape.grad
    tensor(0.2530, dtype=adjoint.float64)
    """

    def __init__(self, name: str, of_scipy: Any, *args: Any, **kwargs: Any) -> None:
        self._name = name
        self._of_scipy = of_scipy
        self._args = args
        self._kwargs = kwargs
        self.__module__ = "adjoint.scipy.stats"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if class_of_results((args, kwargs)) is not None:
            return Distribution(self._name, self._of_scipy, *args, **kwargs)
        return self._of_scipy(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_name", "_of_scipy", "_args", "_kwargs"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        function = methods_of(self._name, self._of_scipy).get(name)
        if self._args or self._kwargs:
            if function is None:
                raise AttributeError(
                    f"{self._name} frozen with Tensors has no {name!r}: there is no derivative of it; "
                    "give plain numbers as parameters"
                )
            # the place if there is one, then the parameters
            over_all = for_both(function, function)
            return lambda *args: over_all(*args, *self._args, **self._kwargs)
        plain = getattr(self._of_scipy, name)
        return plain if function is None else for_both(plain, function)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._of_scipy)})

    def __reduce_ex__(self, protocol: Any) -> Any:
        # by its name, unless it is frozen
        return object.__reduce_ex__(self, protocol) if self._args or self._kwargs else self._name

    def __repr__(self) -> str:
        return f"<scipy.stats.{self._name}, also over Tensors>"


@memoize()
def methods_of(name: str, of_scipy: Any) -> dict[str, Function]:
    """The methods over Tensors of a distribution of numbers, or of one of vectors, which is in the table."""
    prefix = f"scipy.stats.{name}."
    if hasattr(of_scipy, "shapes"):
        univariate = Univariate(name, of_scipy)
        return {method: univariate.method(method) for method in univariate.methods}
    return {key.removeprefix(prefix): function for key, function in FUNCTIONS.items() if key.startswith(prefix)}


def distributions(module: Any) -> dict[str, Distribution]:
    """All distributions of scipy.stats that are differentiated, by name."""
    of_vectors = {name.split(".")[2] for name in FUNCTIONS if name.startswith("scipy.stats.")}
    members = ((name, getattr(module, name)) for name in module.__all__)
    return {
        name: Distribution(name, member)
        for name, member in members
        if name in of_vectors or isinstance(member, (module.rv_continuous, module.rv_discrete))
    }
