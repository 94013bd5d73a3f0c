"""The functions that classes with `__torch_function__` can override, under torch.overrides' names."""

from __future__ import annotations

import sys as _sys
import typing as _typing
from collections.abc import Callable as _Callable
from collections.abc import Iterable as _Iterable
from functools import wraps as _wraps
from typing import Any

from adjoint.arrays.size import printed as _printed
from adjoint.core.graph import any_overrides as _any_overrides
from adjoint.core.graph import count_overriding as _count_overriding
from adjoint.core.modes.state import PUSH as _PUSH
from adjoint.core.modes.state import ModeBlock as _ModeBlock
from adjoint.functions.binding import functions as _functions
from adjoint.tensor.arithmetic import Method as _Method
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tensor.subclasses import dispatch as _dispatch
from adjoint.tensor.subclasses import has_override as _has_override
from adjoint.tensor.tensor import Tensor as _Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


class TorchFunctionMode(_ModeBlock):
    """A block whose `__torch_function__` gets the calls of adjoint's functions in it, in the calling thread.

    A subclass defines `__torch_function__(self, func, types, args=(), kwargs=None)`, which calls `func` or returns a
    result of its own; while it runs, the next outer block is asked. types: the classes with an override among the
    arguments. Operators and methods are seen as functions (`add`, `getitem`), attributes and the making of arrays
    inside a function are not seen. Raises TypeError in the function that is called, if it returns NotImplemented.

    >>> import adjoint
    >>> class Log(adjoint.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = adjoint.ones(2) * 2
    ones
    mul
    """

    def __torch_function__(
        self, func: _Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def _changes(self) -> Any:
        _count_overriding()
        return ((_PUSH, "function_modes", self),)

    def _entry_value(self) -> Any:
        return self


class BaseTorchFunctionMode(TorchFunctionMode):
    """The block that calls each function as it is, for subclasses to build on.

    >>> import adjoint
    >>> with adjoint.overrides.BaseTorchFunctionMode():
    ...     adjoint.ones(2)
    tensor([1., 1.])
    """

    def __torch_function__(
        self, func: _Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: _Iterable[Any]) -> bool:
    """True if the class of one of the arguments has a `__torch_function__` of its own, and in a TorchFunctionMode.

    Classes whose results are plain tensors, such as Parameter, do not count.

    >>> import adjoint
    >>> adjoint.overrides.has_torch_function((adjoint.ones(2), 3))
    False
    """
    return _any_overrides([]) or any(map(_has_override, relevant_args))


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """`has_torch_function` of one argument.

    >>> import adjoint
    >>> adjoint.overrides.has_torch_function_unary(adjoint.ones(2))
    False
    """
    return has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """`has_torch_function` of several arguments.

    >>> import adjoint
    >>> adjoint.overrides.has_torch_function_variadic(adjoint.ones(2), 3)
    False
    """
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: _Callable[..., Any], relevant_args: _Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """The answer of the classes of the relevant arguments to a call, derived classes first.

    Raises TypeError if all of them return NotImplemented.
    """
    return _dispatch(public_api, args, kwargs, list(relevant_args))


def wrap_torch_function(dispatcher: _Callable[..., Any]) -> _Callable[[_Callable[..., Any]], _Callable[..., Any]]:
    """A decorator that lets classes among the arguments override a function.

    dispatcher: a function of the same arguments that returns those whose classes count.

    >>> import adjoint
    >>> @adjoint.overrides.wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return 2 * x
    >>> twice(adjoint.ones(2))
    tensor([2., 2.])
    """

    def decorate(function: _Callable[..., Any]) -> _Callable[..., Any]:
        @_wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = list(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return _dispatch(call, args, kwargs, relevant)
            return function(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """True for a Tensor, and for an object whose class has `__torch_function__`.

    >>> import adjoint
    >>> adjoint.overrides.is_tensor_like(adjoint.ones(2)), adjoint.overrides.is_tensor_like(2)
    (True, False)
    """
    return isinstance(inp, _Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: _Callable[..., Any]) -> bool:
    """True if a function is a method of Tensor, or reads one of its properties.

    >>> import adjoint
    >>> adjoint.overrides.is_tensor_method_or_property(adjoint.Tensor.add)
    True
    """
    name = getattr(func, "__name__", "")
    return isinstance(func, _Method) or name == "__get__" or getattr(_Tensor, name, None) is func


def resolve_name(f: _Callable[..., Any]) -> str | None:
    """The full name of a function or method under torch, None for one that is not adjoint's.

    >>> import adjoint
    >>> adjoint.overrides.resolve_name(adjoint.nn.functional.relu)
    'torch.nn.functional.relu'
    """
    if isinstance(f, _Method):
        return f"torch.{f.__qualname__}"
    for space in sorted(_functions, key=len, reverse=True):
        name = getattr(f, "__name__", "")
        if name in _functions[space] and _functions[space][name] is f:
            return ".".join(part for part in ("torch", space, name) if part)
    name = getattr(f, "__name__", "")
    return f"torch.{name}" if name and vars(_sys.modules["adjoint"]).get(name) is f else None


def get_default_nowrap_functions() -> set[_Callable[..., Any]]:
    """An empty set: functions that return attributes of a Tensor are not given to classes at all.

    Torch lists those functions whose results it does not convert to the subclass.
    """
    return set()


def get_overridable_functions() -> dict[Any, list[_Callable[..., Any]]]:
    """The functions that classes can override, by the module or class that has them.

    >>> import adjoint
    >>> adjoint.add in adjoint.overrides.get_overridable_functions()[adjoint]
    True
    """
    from importlib import import_module

    functions: dict[Any, list[_Callable[..., Any]]] = {
        import_module(f"{_printed.module}.{space}".rstrip(".")): list(_functions[space].values())
        for space in _functions
    }
    methods = (getattr(_Tensor, name, None) for name in dir(_Tensor) if not name.startswith("_"))
    functions[_Tensor] = [each for each in methods if callable(each)]
    return functions


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
