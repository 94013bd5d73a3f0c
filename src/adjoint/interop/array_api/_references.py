"""The paragraph that the help of the standard's functions shares."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

_PAGES = "https://data-apis.org/array-api/2024.12/API_specification/generated/array_api"

_SHARED = "Arguments, shapes, dtypes and errors are the standard's; arrays are Tensors, and results have history."


def add_references(space: dict[str, Any], prefix: str, names: Iterable[str] | None = None) -> None:
    """Add the page of the standard to the docstrings of a module's functions, by default of all public ones.

    >>> import adjoint
    >>> print(adjoint.tensor([1.0]).__array_namespace__().sin.__doc__)
    numpy.sin, elementwise.
    <BLANKLINE>
    Arguments, shapes, dtypes and errors are the standard's; arrays are Tensors, and results have history.
    https://data-apis.org/array-api/2024.12/API_specification/generated/array_api.sin.html
    """
    for name in names or [name for name in space if not name.startswith("_")]:
        function = space[name]
        if inspect.isfunction(function) and function.__module__.startswith("adjoint.interop.array_api"):
            text = inspect.getdoc(function)
            function.__doc__ = f"{text}\n\n{_SHARED}\n{_PAGES}.{prefix}{name}.html"
