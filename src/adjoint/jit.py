"""torch.jit's names over plain Python: functions and modules run in Python, without compilation of their source.

`is_scripting()` and `is_tracing()` are False, so that programs take their branches for Python.
"""

from __future__ import annotations

import contextlib as _contextlib
import typing as _typing
from collections.abc import Callable as _Callable
from typing import Any, Final, TypeVar

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")


class Error(RuntimeError):
    """An error in a compiled function. Here functions run in Python and raise their own errors.

    The class exists for programs that catch it.
    """


class TracerWarning(Warning):
    """A warning about missing parts of a trace. It is never given, since nothing is traced here.

    The class exists for programs that filter it.
    """


class ScriptFunction:
    """The class of compiled functions. It has no instances: `script` returns the function itself.

    isinstance(f, ScriptFunction) is False.
    """


class ScriptModule:
    """The class of compiled modules. It has no instances: `script` returns the module itself.

    isinstance(m, ScriptModule) is False.
    """


class Attribute(_typing.NamedTuple):
    """A value of a module with its type in a compiled module.

    value: the value. type: the type.
    """

    value: Any
    type: Any


def script(obj: T, *_: Any, **__: Any) -> T:
    """The function, module or class itself.

    Further arguments, the options of compilation, are accepted without effect.

    >>> import adjoint
    >>> @adjoint.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(adjoint.ones(2))
    tensor([2., 2.])
    """
    return obj


def trace(func: T, example_inputs: Any = None, *_: Any, **__: Any) -> T:
    """The function or module itself. It is not called with the example.

    Further arguments are accepted without effect.
    """
    return func


def trace_module(mod: T, inputs: Any, *_: Any, **__: Any) -> T:
    """The module itself. Its methods are not called with the examples.

    Further arguments are accepted without effect.
    """
    return mod


def freeze(mod: T, preserved_attrs: Any = None, *_: Any, **__: Any) -> T:
    """The module itself.

    Its parameters remain parameters.
    """
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself.

    It does not change.
    """
    return mod


def script_method(fn: T) -> T:
    """The method itself.

    As a decorator in a class of modules.
    """
    return fn


def script_if_tracing(fn: T) -> T:
    """The function itself.

    As a decorator.
    """
    return fn


def export(fn: T) -> T:
    """The function itself.

    As a decorator.
    """
    return fn


def unused(fn: T) -> T:
    """The function itself, which runs like any other function.

    As a decorator.
    """
    return fn


def interface(obj: T) -> T:
    """The class itself.

    As a decorator.
    """
    return obj


def ignore(drop: Any = False, **_: Any) -> Any:
    """The function itself, as `@ignore` or `@ignore(drop=...)`.

    drop: a function, or whether compiled modules leave the function out.
    """
    return drop if callable(drop) else script


def is_scripting() -> bool:
    """False: functions run as Python.

    >>> import adjoint
    >>> adjoint.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False: nothing is traced.

    >>> import adjoint
    >>> adjoint.jit.is_tracing()
    False
    """
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """The value.

    the_type: what a compiler would take it for.
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is an instance of a type, which may be a type of typing, for instance list[int].

    Members of containers are checked; an empty container is an instance of all its generic types.

    >>> import adjoint
    >>> adjoint.jit.isinstance([1, 2], list[int]), adjoint.jit.isinstance([1, 2], list[str])
    (True, False)
    """
    import builtins

    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, arguments = _typing.get_origin(target_type), _typing.get_args(target_type)
    if origin is None:
        return target_type is Any or builtins.isinstance(obj, type(None) if target_type is None else target_type)
    if origin is _typing.Union or not builtins.isinstance(origin, type):
        return any(isinstance(obj, each) for each in arguments)
    if not builtins.isinstance(obj, origin):
        return origin.__name__ == "UnionType" and any(isinstance(obj, each) for each in arguments)
    if builtins.isinstance(obj, dict):
        key, value = arguments
        return all(isinstance(k, key) and isinstance(v, value) for k, v in obj.items())
    if builtins.isinstance(obj, tuple) and arguments[-1:] != (Ellipsis,):
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    members: Any = obj
    return all(isinstance(member, arguments[0]) for member in members)


def fork(func: _Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """The result of a call, which has ended when `fork` returns.

    `wait` returns it.
    """
    return func(*args, **kwargs)


def wait(future: T) -> T:
    """The result of `fork`.

    The call has already ended.
    """
    return future


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """An empty list, the previous strategy.

    A strategy has no effect: functions run in Python.
    """
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """It has no effect: nothing is compiled.

    enabled: any truth value.
    """


def onednn_fusion_enabled() -> bool:
    """False: nothing is compiled.

    See `enable_onednn_fusion`.
    """
    return False


@_contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> _typing.Iterator[None]:
    """A block without effect: functions run in Python.

    should_optimize: any truth value.
    """
    yield


class strict_fusion(_contextlib.AbstractContextManager[None]):
    """A block without effect: no functions are fused.

    Functions run in Python.
    """

    def __exit__(self, *_: Any) -> None:
        return None


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
