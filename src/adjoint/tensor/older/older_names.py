"""Arguments under the names that they had in older versions of PyTorch."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def older_names(**names: str) -> Callable[[F], F]:
    """Let a function take arguments under older names too, given as older=newer.

    Each use warns; giving one argument under both names raises TypeError.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def taking_older_names(*args: Any, **kwargs: Any) -> Any:
            if kwargs and not names.keys().isdisjoint(kwargs):
                kwargs = rename(function.__name__, names, kwargs)
            return function(*args, **kwargs)

        return taking_older_names  # type: ignore[return-value]

    return decorate


def rename(function: str, names: dict[str, str], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments under their newer names."""
    result = dict(kwargs)
    for older in names.keys() & kwargs.keys():
        newer = names[older]
        if newer in kwargs:
            raise TypeError(f"{function}() got both '{newer}' and '{older}', its older name; give only '{newer}'")
        warnings.warn(f"`{older}` is deprecated. Use `{newer}` instead.", FutureWarning, stacklevel=3)
        result[newer] = result.pop(older)
    return result
