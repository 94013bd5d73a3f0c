"""Small helpers that dependents import."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A tuple of the same members, but others in some places.

    >>> subvals((1, 2, 3), [(0, 10)])
    (10, 2, 3)
    """
    members = list(x)
    for i, value in ivs:
        members[i] = value
    return tuple(members)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """A tuple of the same members, but another in one place."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """The function itself: methods need not be unwrapped any more."""
    return f


def toposort(end_node: Any, *parents: Callable[[Any], Any]) -> Iterable[Any]:
    """The nodes that lead to one, each after all those that it leads to."""
    return importlib.import_module("adjoint.compat.autograd._nodes").toposort(end_node, *parents)  # type: ignore[no-any-return]


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    **ignored: Any,
) -> None:
    """Deprecated: test_util.check_grads of the first argument, in reverse mode to first order."""
    warnings.warn("The quick_grad_check function is deprecated; use test_util.check_grads", stacklevel=2)
    check_grads = importlib.import_module("adjoint.compat.autograd.test_util").check_grads
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
