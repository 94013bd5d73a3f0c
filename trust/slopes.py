"""Values and slopes of a function in a library of tensors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .references import Reference

DTYPES = ("float64", "float32")


def with_slopes(library: Any, function: Callable[..., Any], arguments: list[Any], reference: Reference) -> list[Any]:
    """A function's value and slopes in a library of tensors; None for slopes that it has not."""
    leaves = [library.tensor(values) for values in arguments]
    for leaf, slope in zip(leaves, reference.slopes, strict=True):
        leaf.requires_grad_(slope is not None)
    result = function(*leaves, **reference.keywords)
    wanted = [k for k, slope in enumerate(reference.slopes) if slope is not None]
    slopes: list[Any] = [None] * len(leaves)
    if wanted and result.requires_grad:
        inputs = [leaves[k] for k in wanted]
        with suppress(NotImplementedError, RuntimeError):
            gradients = library.autograd.grad(result, inputs, library.ones_like(result), allow_unused=True)
            for k, slope in zip(wanted, gradients, strict=True):
                slopes[k] = None if slope is None else slope.detach().numpy()
    return [result.detach().numpy(), *slopes]
