"""Floating point operations by the shapes of arguments: a multiplication and an addition are two."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

Counter = Callable[[list[Any], Any], int]


def of_product(positions: tuple[int, int]) -> Counter:
    """For each element of the result, a product and a sum along the last axis of the first factor.

    For A of shape (m, k) and B of shape (k, n) that is 2 m n k.
    """

    def count(arguments: list[Any], result: Any) -> int:
        first = arguments[positions[0]]
        return 2 * int(prod(result.shape) * (first.shape[-1] if first.ndim else 1))

    return count


def of_convolution(arguments: list[Any], result: Any) -> int:
    """For each element of the result, a product and a sum for each weight of one output channel."""
    return 2 * int(prod(result.shape) * prod(arguments[1].shape[1:]))


def of_elements(arguments: list[Any], result: Any) -> int:
    """One for each element of the result."""
    return prod(result.shape)


#: The counter of each operation that has one. Those in place count like the others.
COUNTERS: dict[str, Counter] = {name: of_product((0, 1)) for name in ("mm", "matmul", "bmm", "mv", "dot", "linear")}
COUNTERS |= {name: of_product((1, 2)) for name in ("addmm", "addmv", "baddbmm")}
COUNTERS["convolution"] = of_convolution
COUNTERS |= dict.fromkeys(("mul", "add"), of_elements)


def flops_of(name: str, arguments: list[Any], result: Any) -> int:
    """The floating point operations of an operation; 0 without a counter, and for a failed operation."""
    counter = COUNTERS.get(name.removesuffix("_"))
    if counter is None or not hasattr(result, "shape"):
        return 0
    return counter(arguments, result)
