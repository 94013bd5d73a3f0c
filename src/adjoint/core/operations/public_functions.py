"""Wrappers of public functions that most calls pass by."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from adjoint.core.operations.operation import PublicFunction


def skip_wrapper(
    function: Callable[..., Any],
    wrapper: Callable[..., Any],
    *names: str,
    of_tensor: bool = False,
    follows: bool = False,
) -> Any:
    """A function in place of a wrapper: calls without keywords that the wrapper alone takes need none.

    names: these keywords. The others are the parameters of the function, by which they can be given. of_tensor,
    follows: see `PublicFunction`.
    """
    call = PublicFunction(wrapper, function.__name__, False)
    call.quick, call.of_tensor, call.follows = function, of_tensor, follows
    if isinstance(function, PublicFunction) and not (function.of_tensor or function.follows):
        call.quick, call.names = function.quick, function.names.difference(names)
    else:
        code = inspect.unwrap(function).__code__
        call.names = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]).difference(names)
    return call
