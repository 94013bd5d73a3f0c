"""Classes with `__torch_function__` among the arguments of operations and functions, and the class of results.

The core calls `override` for an operation, `dispatch` for a function, if an argument's class overrides results: each
subclass of Tensor without `disabled_torch_function`, and each foreign class with a method of that name, where the
function refuses its objects. The class decides, as in torch; Tensor's own form is below.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adjoint.arrays.size import printed
from adjoint.core.graph import TensorBase, any_overrides, count_overriding, registry
from adjoint.core.modes.state import current, with_plain_results
from adjoint.core.operations.operation import Operation
from adjoint.tensor.arithmetic import Method, make_inplace

_in_place: dict[Operation, Method] = {}
#: The functions as which classes see operations that are a part of them, or bear another name than torch has for them.
_PUBLIC = {
    "clone": "clone", "linear": "nn.functional.linear", "mean": "mean", "mean_all": "mean", "prod": "prod",
    "prod_all": "prod", "squeeze_all": "squeeze", "sum": "sum", "sum_all": "sum", "true_divide": "div",
    "cast": "Tensor.to", **dict.fromkeys(("getitem", "getitem_select", "getitem_slice", "index"), "Tensor.__getitem__"),
}  # fmt: skip


def disabled_torch_function(function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As `__torch_function__` of a class: operations return plain Tensors, as for a Parameter."""
    return with_plain_results(lambda: function(*args, **(kwargs or {})), ())


#: The methods of Tensor that are no operations, and that a class with a `__torch_function__` of its own sees.
_SEEN_METHODS = (
    "backward",
    "cpu",
    "contiguous",
    "cuda",
    "detach",
    "detach_",
    "double",
    "float",
    "half",
    "long",
    "new_empty",
    "new_full",
    "new_ones",
    "new_tensor",
    "new_zeros",
    "register_hook",
    "requires_grad_",
    "retain_grad",
    "to",
    "type_as",
)


def note_class(cls: type) -> None:
    """Let the core know of a new subclass of Tensor."""
    cls._overrides = cls.__torch_function__ is not disabled_torch_function
    if cls._overrides:
        count_overriding()
        if getattr(cls.__torch_function__, "__func__", None) is not registry.tensor_type.__torch_function__.__func__:
            _show_methods(cls)
    if "__new__" in vars(cls):
        cls._made_by_new = True
        if "__init__" not in vars(cls):
            # as in torch: it gets the arguments of `__new__` as well
            setattr(cls, "__init__", _initialize_nothing)  # noqa: B010


def _show_methods(cls: type) -> None:
    """Have a class asked about methods that are no operations, too, unless it has its own."""
    for name in _SEEN_METHODS:
        method = getattr(registry.tensor_type, name)
        if getattr(cls, name) is method:
            setattr(cls, name, _asking(method))


def _asking(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of Tensor that asks the classes of its arguments first."""

    @functools.wraps(method)
    def asking(self: Any, *args: Any, **kwargs: Any) -> Any:
        if current().plain_results:
            return method(self, *args, **kwargs)
        return dispatch(method, (self, *args), kwargs)

    return asking


def _initialize_nothing(self: Any, *_: Any, **__: Any) -> None:
    """In place of an inherited `__init__` where a class has a `__new__` of its own."""


def initialize_base(tensor: Any, data: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Initialize what a subclass's `__new__` asks for by `super().__new__`, as the nearest base without one does."""
    bases: list[Any] = [each for each in type(tensor).__mro__ if not getattr(each, "_made_by_new", True)]
    bases[0].__init__(tensor, *data, **options)


def override(operation: Operation, values: list[Any], in_place: bool) -> Any:
    """The result of an operation for these arguments, by the classes among them with an override."""
    return dispatch(_public(operation, in_place), *_as_given(operation, values))


def is_public(operation: Operation) -> bool:
    """True for an operation that is a public function, or its unchecked part."""
    return bool(operation.rule.function) or operation.name in _PUBLIC


def _public(operation: Operation, in_place: bool) -> Any:
    """The function passed to a class for an operation: the public one."""
    if in_place:
        if operation not in _in_place:
            _in_place[operation] = make_inplace(operation, operation.name + "_")
        return _in_place[operation]
    space, _, name = _PUBLIC.get(operation.name, "").rpartition(".")
    if not name:
        return operation
    return getattr(registry.tensor_type, name) if space == "Tensor" else registry.functions[space][name]


def dispatch(function: Any, args: Sequence[Any], kwargs: dict[str, Any], relevant: Sequence[Any] | None = None) -> Any:
    """Call `__torch_function__` of the innermost block, then of the classes among the relevant arguments (all),
    derived ones first.

    Raises TypeError if none of them answers.
    """
    types = overriding_types([*args, *kwargs.values()] if relevant is None else relevant)
    state = current()
    blocks = state.function_modes
    if blocks:
        state.function_modes = blocks[:-1]
        try:
            result = blocks[-1].__torch_function__(function, tuple(types), tuple(args), kwargs)
        finally:
            state.function_modes = blocks
        if result is not NotImplemented:
            return result
    for cls in types:
        result = cls.__torch_function__(function, tuple(types), tuple(args), kwargs)
        if result is not NotImplemented:
            return result
    lines = "\n".join(f"  - {'tensor subclass' if issubclass(cls, TensorBase) else 'class'} {cls}" for cls in types)
    if blocks:
        lines = f"  - mode object {blocks[-1]!r}\n{lines}".rstrip()
    raise TypeError(
        f"Multiple dispatch failed for '{printed.module}.{function.__name__}'; all __torch_function__ handlers "
        f"returned NotImplemented:\n\n{lines}"
    )


def default(cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The result of Tensor's own `__torch_function__`: of the class, if no other class is unrelated to it."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    result = with_plain_results(lambda: function(*args, **(kwargs or {})), ())
    name = function.__name__
    in_place = isinstance(function, Method) or (name.endswith("_") and not name.endswith("__"))
    fresh = isinstance(function, Operation) or name in _SEEN_METHODS or name.endswith("_like")
    return result if in_place else as_class(result, cls, fresh)


def as_class(result: Any, cls: type, fresh: bool) -> Any:
    """The Tensors of a result as instances of a class; fresh: nobody else has them."""
    if isinstance(result, TensorBase):
        if isinstance(result, cls):
            return result
        if not fresh:
            return result.as_subclass(cls)
        result.__class__ = cls
        return result
    if isinstance(result, (tuple, list)):
        members = [as_class(member, cls, fresh) for member in result]
        return tuple.__new__(type(result), members) if isinstance(result, tuple) else type(result)(members)
    return result


def like(result: Any, *models: Any) -> Any:
    """A Tensor, or several, that nobody else has, as instances of the most derived class among the models."""
    if not registry.overriding or not any_overrides(list(models)):
        return result
    cls = _most_derived(models)
    return result if cls is None else as_class(result, cls, True)


def gradients_like(gradients: Any, targets: tuple[Any, ...], grad_outputs: Any) -> tuple[Any, ...]:
    """Gradients as instances of the most derived class among outputs and inputs; given: cotangents of the user's."""
    cls = _most_derived(targets)
    if cls is None:
        return gradients
    cotangents = grad_outputs if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    return tuple(as_class(g, cls, all(g is not cotangent for cotangent in cotangents)) for g in gradients)


def _as_given(operation: Operation, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments in the order of the signature as a user would give them: those with default values are left out."""
    arguments = operation.arguments
    names, defaults, n = arguments.names, arguments.defaults, arguments.n_positional
    is_default = [value is default for value, default in zip(values, defaults, strict=True)]
    kwargs = {names[k]: values[k] for k in range(n, len(values)) if not is_default[k]}
    while n and is_default[n - 1]:
        n -= 1
    return values[:n], kwargs


def has_override(value: Any) -> bool:
    """True for an instance of a class that overrides results: a subclass of Tensor, or a foreign class."""
    if isinstance(value, TensorBase):
        return type(value)._overrides and not current().plain_results
    return hasattr(type(value), "__torch_function__")


def has_foreign(values: Sequence[Any]) -> bool:
    """True if one of these, or a member of a sequence among them, is of a foreign class with `__torch_function__`."""
    return any(not isinstance(value, TensorBase) for value in _overriding(values))


def _overriding(values: Any) -> Iterator[Any]:
    for value in values:
        if has_override(value):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from (member for member in value if has_override(member))


def _most_derived(values: Any) -> type | None:
    types = overriding_types(values)
    return next((each for each in types if all(issubclass(each, other) for other in types)), None)


def overriding_types(values: Any) -> list[type]:
    """The overriding classes among the arguments, each once: derived classes before their bases, else in order."""
    classes: list[type] = []
    for value in _overriding(values):
        cls = type(value)
        if cls not in classes:
            position = next((k for k, other in enumerate(classes) if issubclass(cls, other)), len(classes))
            classes.insert(position, cls)
    return classes


registry.override, registry.dispatch = override, dispatch
registry.has_foreign, registry.is_public = has_foreign, is_public
