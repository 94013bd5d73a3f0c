"""Small helpers that dependents import."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adjoint.compat.autograd import _nodes
from adjoint.compat.autograd._sequences import subval, subvals
from adjoint.compat.autograd.test_util import check_grads

__all__ = ["func", "quick_grad_check", "subval", "subvals", "toposort"]


def func(f: Any) -> Any:
    """The function itself: methods need not be unwrapped any more."""
    return f


def toposort(end_node: Any, *parents: Callable[[Any], Any]) -> Iterable[Any]:
    """The nodes that lead to one, each after all those that it leads to."""
    return _nodes.toposort(end_node, *parents)


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    **ignored: Any,
) -> None:
    """Deprecated: test_util.check_grads of the first argument, in reverse mode to first order."""
    warnings.warn("The quick_grad_check function is deprecated; use test_util.check_grads", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
