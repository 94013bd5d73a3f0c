"""The functions of NumPy, SciPy and PyTorch for a reference, with their values and slopes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
import scipy.special

DTYPES = ("float64", "float32")
#: NumPy's names of functions with another name here.
NUMPY_NAMES = {name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}


class Measured(Protocol):
    """The attributes of a reference that this module uses, real or complex."""

    @property
    def rule(self) -> str: ...
    @property
    def slopes(self) -> tuple[Any, ...]: ...
    @property
    def keywords(self) -> Mapping[str, Any]: ...
    @property
    def numpy(self) -> str | None: ...
    @property
    def torch(self) -> str | None: ...


def with_slopes(library: Any, function: Callable[..., Any], arguments: list[Any], reference: Measured) -> list[Any]:
    """A function's value and slopes in a library of tensors. None for missing slopes."""
    leaves = [library.tensor(values) for values in arguments]
    for leaf, slope in zip(leaves, reference.slopes, strict=True):
        leaf.requires_grad_(slope is not None)
    result = function(*leaves, **reference.keywords)
    indices = [k for k, slope in enumerate(reference.slopes) if slope is not None]
    slopes: list[Any] = [None] * len(leaves)
    if indices and result.requires_grad:
        inputs = [leaves[k] for k in indices]
        with suppress(NotImplementedError, RuntimeError):
            gradients = library.autograd.grad(result, inputs, library.ones_like(result), allow_unused=True)
            for k, slope in zip(indices, gradients, strict=True):
                slopes[k] = None if slope is None else slope.detach().numpy()
    return [result.detach().numpy(), *slopes]


def numpy_function(reference: Measured) -> Callable[..., Any] | None:
    """The function of NumPy or SciPy; `name.k` is the k-th of its results."""
    name = reference.numpy or reference.rule.removeprefix("special_")
    if name == "-" or (reference.keywords and not reference.numpy):
        return None
    name, _, position = name.partition(".")
    function = getattr(np, NUMPY_NAMES.get(name, name), None) or getattr(scipy.special, name, None)
    if function is None or not position:
        return function
    return lambda *arguments: function(*arguments)[int(position)]


def torch_function(torch: Any, reference: Measured) -> Callable[..., Any] | None:
    """PyTorch's function of this name."""
    name = (reference.torch or reference.rule.removeprefix("special_")).rpartition(".")[2]
    if name == "-":
        return None
    for module in (torch, torch.special, torch.nn.functional):
        function = getattr(module, name, None)
        if callable(function):
            return function  # type: ignore[no-any-return]
    return None


def torch_results(torch: Any, reference: Measured, arguments: list[Any]) -> list[Any]:
    """PyTorch's value and slopes. An empty list if there is no PyTorch or no such function."""
    function = None if torch is None else torch_function(torch, reference)
    if function is not None:
        with suppress(TypeError, NotImplementedError, RuntimeError):
            return with_slopes(torch, function, arguments, reference)
    return []
