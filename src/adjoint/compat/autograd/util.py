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
    """The function itself.

    It exists for programs that unwrap methods by it.
    """
    return f


def toposort(end_node: Any, *parents: Callable[[Any], Any]) -> Iterable[Any]:
    """The ancestors of end_node and itself, each node after all nodes that use it.

    parents: a function from a node to its parents.
    """
    return _nodes.toposort(end_node, *parents)


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    **ignored: Any,
) -> None:
    """Deprecated form of test_util.check_grads: the first argument, reverse mode, first order.

    Raises AssertionError for a wrong gradient.
    """
    warnings.warn("The quick_grad_check function is deprecated; use test_util.check_grads", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
