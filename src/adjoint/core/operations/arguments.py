"""Errors that name the argument to blame.

A check of every argument of every function would cost time in each correct call. So a function uses its arguments
unchecked. Only if it fails with an error about its internals (an object has no attribute `ndim`, a table no such key)
are the arguments checked, and the error names the wrong one. All other errors stay unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

import numpy

from adjoint.arrays.dtypes import dtype
from adjoint.arrays.namespace import is_array
from adjoint.core import errors
from adjoint.core.graph import TensorBase, any_overrides, registry
from adjoint.core.operations.naming import known_by

F = TypeVar("F", bound=Callable[..., Any])

#: Types of errors about the internals of a function that a wrong argument can cause.
INTERNAL = (AttributeError, KeyError, AssertionError, UnboundLocalError)
#: And that objects of classes with `__torch_function__` cause.
REFUSALS = (TypeError, *INTERNAL)
_PACKAGES = ("adjoint", "numpy", "scipy")
_DEEPEST = 3
#: Attributes that arrays of other libraries have too, with values that can less than a Tensor's.
_ATTRIBUTES = ("dtype", "device")


class Argument:
    """An argument of a call: its name, position (from 1) and annotation, as text."""

    __slots__ = ("annotation", "name", "position", "value")

    def __init__(self, name: str, position: int, annotation: str, value: Any) -> None:
        self.name, self.position, self.annotation, self.value = name, position, annotation, value


def blame_arguments(function: F, name: str = "") -> F:
    """A function that names the argument to blame where it fails inside.

    >>> blame_arguments(lambda x: x.ndim, "rank")(3)
    Traceback (most recent call last):
    TypeError: rank(): argument 'x' (position 1) must be Tensor, not int
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except INTERNAL as error:
            better = explanation(function, name or function.__name__, args, kwargs, error)
            if better is None:
                raise
            raise better from error

    return call  # type: ignore[return-value]


def call_public(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a `PublicFunction`.

    Subclasses of Tensor override before the call. Other classes override after the call has refused their objects. So
    calls with plain arguments cost nothing more.
    """
    if function.is_overridable and registry.overriding and any_overrides([*args, *kwargs.values()]):
        return registry.dispatch(function, args, kwargs)
    try:
        return function.target(args[0] if args else None, tuple(kwargs))(*args, **kwargs)
    except REFUSALS as refusal:
        if not function.is_overridable:
            raise
        error = refusal
    return refusal_of(function, error, args, kwargs)


def refusal_of(function: Any, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What classes say that override a `PublicFunction`, after its error. Else raises that error, or a better one."""
    if registry.has_foreign([*args, *kwargs.values()]):
        return registry.dispatch(function, args, kwargs)
    better = None
    if not isinstance(error, TypeError):
        better = explanation(function.function, function.name, args, kwargs, error)
    if better is None:
        raise error
    raise better from error


def check_functions(space: dict[str, Any], names: Iterable[str]) -> None:
    """Replace the functions that a module (given as its globals()) defines by checked functions."""
    for name in names:
        if inspect.isfunction(space[name]) and space[name].__module__.startswith(space["__name__"]):
            space[name] = known_by(blame_arguments(space[name]), space["__name__"], name)


def explanation(
    function: Callable[..., Any] | inspect.Signature,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> Exception | None:
    """The error that names the argument to blame for an error of the inside of a function, or None."""
    if not _is_ours(error.__traceback__) or (isinstance(error, AssertionError) and error.args):
        return None
    arguments = list(_arguments(function, args, kwargs))
    blamed = _argument_to_blame(arguments, error)
    if blamed is None:
        return None
    where = f"{name}(): argument '{blamed.name}' (position {blamed.position})"
    if isinstance(error, AttributeError) and blamed.annotation in [cls.__name__ for cls in type(blamed.value).__mro__]:
        # the argument is what it should be, and lacks an attribute that the caller named
        return None
    if isinstance(error, AttributeError) or not _fits(blamed.annotation, blamed.value):
        if blamed.annotation in ("", "Any") and isinstance(blamed.value, TensorBase):
            return TypeError(f"{where} must be no {_kind(blamed.value)}")
        expected = blamed.annotation if blamed.annotation not in ("", "Any") else "Tensor"
        return TypeError(f"{where} must be {expected}, not {_kind(blamed.value)}")
    return ValueError(f"{where} has no such choice as {blamed.value!r}")


def error_of_kernel(rule: Any, names: tuple[str, ...], error: Exception, raw: list[Any]) -> Exception:
    """The error to raise for a kernel's error: in torch's words where the rule or the shapes determine them."""
    if rule.explain is not None:
        better = rule.explain(error, *raw)
        if better is not None:
            return better
    if isinstance(error, INTERNAL):
        by_name = dict(zip(names, raw, strict=True))
        return explanation(registry.signature_of(rule), rule.name, (), by_name, error) or error
    if rule.kind == "elementwise":
        errors.check_broadcast([a for a in raw if is_array(a)])
    if type(error) is ValueError:
        return RuntimeError(f"{rule.name}(): {error}")
    return error


def _is_ours(traceback: TracebackType | None) -> bool:
    """Whether an error was raised by this package or a library below it, and not by a function of the user's."""
    module = ""
    while traceback is not None:
        module = traceback.tb_frame.f_globals.get("__name__") or ""
        traceback = traceback.tb_next
    return module.partition(".")[0] in _PACKAGES


def _arguments(
    function: Callable[..., Any] | inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[Argument]:
    """The arguments of a call by name; positional arguments of *args are under its name."""
    try:
        signature = function if isinstance(function, inspect.Signature) else inspect.signature(function)
        bound = signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return
    for position, (name, parameter) in enumerate(signature.parameters.items(), 1):
        if name not in bound:
            continue
        annotation = "" if parameter.annotation is parameter.empty else parameter.annotation
        value = bound[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from (Argument(name, position + i, annotation, each) for i, each in enumerate(value))
        elif parameter.kind is parameter.VAR_KEYWORD:
            yield from (Argument(key, position + i, annotation, each) for i, (key, each) in enumerate(value.items()))
        else:
            yield Argument(name, position, annotation, value)


def _argument_to_blame(arguments: list[Argument], error: Exception) -> Argument | None:
    """The argument that an error is about, or that is not of the type that its annotation has."""
    subject = getattr(error, "obj", None)
    is_named = subject is not None or str(error).startswith("'NoneType' object")
    about = [each for each in arguments if is_named and _holds(each.value, subject, _DEEPEST)]
    unfit = [each for each in arguments if not _fits(each.annotation, each.value)]
    if isinstance(error, KeyError) and not unfit:
        about = [each for each in arguments if error.args and each.value is error.args[0]]
    both = [each for each in about if each in unfit]
    return next(iter(both or about or unfit), None)


def _holds(value: Any, subject: Any, depth: int) -> bool:
    if value is subject or any(getattr(value, name, None) is subject for name in _ATTRIBUTES if _is_tensor(value)):
        return True
    if isinstance(value, str) and isinstance(subject, str):
        return subject in value  # a letter of a string that was given for a list
    if depth and isinstance(value, (list, tuple, set)):
        return any(_holds(each, subject, depth - 1) for each in value)
    return (
        bool(depth)
        and isinstance(value, dict)
        and any(_holds(each, subject, depth - 1) for each in (*value, *value.values()))
    )


def _kind(value: Any) -> str:
    """The type of a value, for a list or tuple also the types of its members."""
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (list, tuple)):
        return f"{type(value).__name__} of {type(value[0]).__name__}"
    return type(value).__name__


def _is_tensor(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return True
    of_numbers = getattr(value, "dtype", None) is not None and getattr(value.dtype, "kind", "f") not in "OSUTMm"
    return is_array(value) and of_numbers and getattr(value.dtype, "names", None) is None


def _is_int(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, type)


def _is_number(value: Any) -> bool:
    if isinstance(value, (TensorBase, numpy.ndarray)):
        return getattr(value, "ndim", 1) == 0
    return isinstance(value, (int, float, complex, numpy.generic))


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__iter__") and not isinstance(value, (str, bytes, type))


def _is_generator(value: Any) -> bool:
    from adjoint.core.modes.random import Generator

    return isinstance(value, Generator)


#: The Python types that annotations name; values of other types are never refused.
_TYPES: dict[str, Callable[[Any], bool]] = {
    "Tensor": _is_tensor,
    "int": _is_int,
    "bool": lambda value: isinstance(value, (int, numpy.bool_, TensorBase)),
    "float": _is_number,
    "complex": _is_number,
    "Number": _is_number,
    "str": lambda value: isinstance(value, str),
    "None": lambda value: value is None,
    "dtype": lambda value: isinstance(value, dtype),
    "Generator": _is_generator,
    "Callable": callable,
    "Sequence": _is_sequence,
    "Iterable": lambda value: hasattr(value, "__iter__") and not isinstance(value, (str, bytes, type)),
    "list": _is_sequence,
    "tuple": _is_sequence,
    "Tensors": _is_sequence,
}
#: Types whose values hold others; the members of an iterator are not examined.
_OF_MANY = ("Sequence", "Iterable", "list", "tuple")


def _fits(annotation: str, value: Any) -> bool:
    """False if a value cannot have the annotated type."""
    kinds = _alternatives(annotation)
    heads = [kind.partition("[")[0].rpartition(".")[2] for kind in kinds]
    if not heads or any(head not in _TYPES for head in heads):
        return True
    return any(_fits_one(head, kind, value) for head, kind in zip(heads, kinds, strict=True))


def _fits_one(head: str, kind: str, value: Any) -> bool:
    if not _TYPES[head](value):
        return False
    inner = kind.partition("[")[2].removesuffix("]").removesuffix(", ...")
    if head in _OF_MANY and inner and "," not in inner and _is_sequence(value) and not isinstance(value, TensorBase):
        return all(_fits(inner, each) for each in value)
    return True


def _alternatives(annotation: str) -> list[str]:
    """The parts of `A | B[C | D]` that stand outside of brackets.

    >>> _alternatives("int | Sequence[int | None]")
    ['int', 'Sequence[int | None]']
    """
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
