"""Events of public functions that consist of several operations, or that make tensors.

Operations look for a profiler themselves. These functions do not, so they have no cost without a profiler. While a
profiler is on, wrappers replace them in the namespaces and as methods. A function that was imported by name before has
no wrapper, but its inner operations are recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from typing import Any

from adjoint.core.modes.profiling import current_profiler
from adjoint.core.recorded import operations
from adjoint.functions.binding import functions, load_all
from adjoint.functions.composite import COMPOSITES
from adjoint.runtime.caches import memoize
from adjoint.runtime.forks import new_lock
from adjoint.tensor import creation
from adjoint.tensor.default_device import PUBLIC
from adjoint.tensor.tensor import Tensor
from adjoint.tools.profiler import names

Function = Callable[..., Any]
_lock = new_lock()
_in_use = 0


def observe() -> None:
    """Put the wrappers in place, until `release` was called as often."""
    global _in_use
    with _lock:
        _in_use += 1
        if _in_use == 1:
            for owner, name, function, wrapper in wrapped_functions():
                exchange(owner, name, function, wrapper)


def release() -> None:
    """Undo `observe`."""
    global _in_use
    with _lock:
        _in_use -= 1
        if _in_use == 0:
            for owner, name, function, wrapper in wrapped_functions():
                exchange(owner, name, wrapper, function)


def exchange(owner: Any, name: str, old: Function, new: Function) -> None:
    """Replace a function in its module, unless the user has replaced it."""
    # a module may not have looked up its function yet
    if vars(owner).get(name, old) is old:
        setattr(owner, name, new)


@memoize()
def wrapped_functions() -> list[tuple[Any, str, Function, Function]]:
    """For each place where a function stands: whose attribute it is, its name there, the function and its wrapper."""
    replaced = []
    for owner, name, function, event in attributes():
        replaced.append((owner, name, function, wrapper_of(event, function)))
    return replaced


def attributes() -> Iterator[tuple[Any, str, Function, str]]:
    """The attributes to replace, with the names of the functions' events."""
    load_all()
    operation_names = {names.OPERATIONS.get(name, name) for name in operations}
    for (namespace, name), declared in COMPOSITES.items():
        event = names.function(name, namespace)
        # the event of the inner operation shows the same
        if event is None or event.removesuffix("_") in operation_names or event in operation_names:
            continue
        if namespace != "(method)":
            yield import_module(f"adjoint.{namespace}".rstrip(".")), name, functions[namespace][name], event
        if declared.method and declared.method in vars(Tensor):
            yield Tensor, declared.method, vars(Tensor)[declared.method], event
    for name in creation.PUBLIC:
        event = names.function(name, "")
        if event is not None:
            yield sys.modules["adjoint"], name, PUBLIC[name], event
    for name in names.METHODS:
        yield Tensor, name, vars(Tensor)[name], names.FUNCTIONS.get(name, name)


def wrapper_of(event: str, function: Function) -> Function:
    """The function with a note of each call while a profiler is on in the calling thread."""

    @wraps(function)
    def note(*args: Any, **kwargs: Any) -> Any:
        profiler = current_profiler()
        if profiler is None:
            return function(*args, **kwargs)
        return profiler.call(event, lambda _: function(*args, **kwargs), [*args, *kwargs.values()])

    return note
