"""Names of autograd.misc.tracers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """The function with its first arguments given: what it computes must not depend on values otherwise.

    Nothing is cached: each call runs the function.
    """
    return functools.partial(fun, *args, **kwargs)
