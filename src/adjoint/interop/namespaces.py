"""Namespaces of other libraries whose functions also take Tensors: plain values run the library's own functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from adjoint.core.graph import TensorBase
from adjoint.core.operations.naming import known_by
from adjoint.interop.numpy_array.base import ArrayHolder, exchange, wrap
from adjoint.interop.numpy_array.writes import to_read
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.operands import class_of_results, is_tracked, map_instances, tensors_in, values_of
from adjoint.interop.reasons import NoDerivativeError
from adjoint.transforms.passing import calls_back

Function = Callable[..., Any]

#: SciPy's own functions with clear errors where a derivative would be lost, as `public_names` has them.
GUARDED: set[Function] = set()


def to_tensors(value: Any) -> Any:
    """Nested containers, with Tensors in place of arrays that hold one."""
    return exchange(to_read, value)


def as_class(kind: type | None, result: Any) -> Any:
    """A result over Tensors as an object of the class of results."""
    return wrap(kind, result) if kind is not None and issubclass(kind, ArrayHolder) else result


def for_both(function: Function, over_tensors: Function) -> Function:
    """One function for plain values, and another one for Tensors, or arrays that hold one, among the arguments.

    Results are arrays of that class unless there is a Tensor among the arguments.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        kind = class_of_results((args, kwargs) if kwargs else args)
        if kind is None:
            return function(*args, **kwargs)
        return as_class(kind, over_tensors(*to_tensors(args), **to_tensors(kwargs)))

    return call


def over_tensors(library: str, module: Any) -> dict[str, Function]:
    """The public functions of a module that have a counterpart over Tensors, each for both.

    library: the beginning of the names in the table, "scipy.linalg." for instance.
    """
    names = [name.removeprefix(library) for name in FUNCTIONS if name.startswith(library)]
    return {
        name: known_by(for_both(getattr(module, name), FUNCTIONS[library + name]), f"adjoint.{library[:-1]}", name)
        for name in names
        if "." not in name and hasattr(module, name)
    }


def public_names(library: str, module: Any) -> dict[str, Any]:
    """All public names of a module; its functions say so where they have no derivative.

    library: as for `over_tensors`.
    """
    return {name: _guard(library, name, getattr(module, name)) for name in module.__all__}


def _guard(library: str, name: str, value: Any) -> Any:
    if not inspect.isfunction(value):
        return value
    function = _or_refused(value, library + name)
    GUARDED.add(function)
    return known_by(function, f"adjoint.{library[:-1]}", name)


def _or_refused(function: Function, name: str) -> Function:
    """The library's function, and NoDerivativeError where it fails on a derivative alone, and not on its values."""

    @functools.wraps(function)
    @calls_back
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if class_of_results((args, kwargs)) is None or not _is_of_values(function, args, kwargs):
                raise
            raise NoDerivativeError(name) from error

    return call


def _is_of_values(function: Function, args: Any, kwargs: Any) -> bool:
    """True for a function that runs on plain values, also while derivatives are taken through its arguments."""
    arguments = to_tensors((args, kwargs))
    if not any(is_tracked(tensor) for tensor in tensors_in(arguments)):
        return False
    args, kwargs = map_instances(lambda tensor: values_of(tensor)[()], TensorBase, arguments)
    try:
        function(*args, **kwargs)
    except Exception:
        return False
    return True
