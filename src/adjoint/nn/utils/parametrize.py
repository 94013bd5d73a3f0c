"""Tensors of a module as functions of other tensors: register_parametrization() and related functions."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.operations.arguments import check_functions
from adjoint.nn.modules.container import ModuleDict, ModuleList
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensor.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Any] = {}
_n_caching = 0


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """A block that computes each parametrized tensor only once.

    >>> from adjoint import nn
    >>> model = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> with nn.utils.parametrize.cached():
    ...     print(model.weight is model.weight)
    True
    """
    global _n_caching
    _n_caching += 1
    try:
        yield
    finally:
        _n_caching -= 1
        if not _n_caching:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The chain of functions that computes one tensor, and the original tensors.

    The attributes `original`, or `original0`, `original1` and so on, are parameters if the tensor was a parameter, and
    buffers otherwise.

    >>> from adjoint import nn
    >>> model = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> [name for name, _ in model.parametrizations.weight.named_parameters()]
    ['original0', 'original1']
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._checked_parts(self._invert(original, strict=False))
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype is not dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            # keep the same object, since an optimizer may refer to it
            original.data = new.detach()
            self._keep("original", original, isinstance(original, Parameter))
        else:
            for k, part in enumerate(new):
                self._keep(f"original{k}", part, isinstance(original, Parameter))
        if not unsafe:
            self._check_result(shape, dtype)

    @staticmethod
    def _checked_parts(new: Any) -> Any:
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        if not isinstance(new, Tensor):
            for k, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{k} of the sequence with type {type(part).__name__}."
                    )
        return new

    def _keep(self, name: str, tensor: Tensor, as_parameter: bool) -> None:
        if not as_parameter:
            self.register_buffer(name, tensor)
            return
        parameter = tensor if isinstance(tensor, Parameter) else Parameter(tensor, tensor.is_floating_point())
        self.register_parameter(name, parameter)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        """Raise ValueError unless the result has the shape and dtype of the replaced tensor."""
        with no_grad():
            result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        for what, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}"
                )

    def _originals(self) -> list[Tensor]:
        names = ["original"] if self.is_tensor else [f"original{k}" for k in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def _invert(self, value: Any, strict: bool) -> Any:
        """The value after the right_inverse of all functions; strict: a missing right_inverse is an error."""
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:
                        if strict:
                            raise
                elif strict:
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the result is `value`. Raises RuntimeError if a function lacks right_inverse.

        >>> import adjoint
        >>> from adjoint import nn
        >>> model = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> model.weight = adjoint.ones(3, 2)
        >>> bool((model.weight - 1).abs().max() < 1e-6)
        True
        """
        originals, new = self._originals(), self._invert(value, strict=True)
        parts = [self._checked_part(new)] if self.is_tensor else self._checked_sequence(new)
        for original, part in zip(originals, parts, strict=True):
            original.data = part.detach()

    def _checked_part(self, new: Any) -> Tensor:
        """The result of right_inverse, a single tensor. Raises ValueError for other objects and dtypes."""
        if not isinstance(new, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
        if new.dtype is not self._originals()[0].dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` has dtype "
                f"{self._originals()[0].dtype}"
            )
        return new

    def _checked_sequence(self, new: Any) -> Sequence[Tensor]:
        """The result of right_inverse, a sequence of tensors. Raises ValueError if it does not match the originals."""
        what = "'right_inverse' must return a sequence of tensors"
        if not isinstance(new, Sequence):
            raise ValueError(f"{what}. Got {type(new).__name__}.")
        if len(new) != self.ntensors:
            raise ValueError(f"{what} of length {self.ntensors}. Got a sequence of length {len(new)}.")
        for k, (original, part) in enumerate(zip(self._originals(), new, strict=True)):
            if not isinstance(part, Tensor):
                raise ValueError(f"{what}. Got element {k} of type {type(part).__name__}.")
            if part.dtype is not original.dtype:
                raise ValueError(
                    f"Tensor {k} returned by `right_inverse` has dtype {part.dtype} while `original{k}` has dtype "
                    f"{original.dtype}"
                )
        return new

    def forward(self) -> Any:
        first, *others = self
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _property(name: str) -> property:
    def read(self: Any) -> Any:
        functions = self.parametrizations[name]
        if not _n_caching:
            return functions()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = functions()
        return _cache[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, write)


def _no_pickle(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). Save the state_dict in place of "
        "the module."
    )


def _deepcopy(self: Any, memo: Any) -> Any:
    """A copy with a new class, so that its properties can differ."""
    cls: Any = type(self).__mro__[1]
    other = cls.__new__(cls)
    memo[id(self)] = other
    vars(other).update(copy.deepcopy(vars(self), memo))
    _give_class(other, list(other.parametrizations))
    return other


def _give_class(module: Module, names: Sequence[str]) -> None:
    """Give a module a new class with properties for the parametrized tensors."""
    cls = type(module)
    members = {"__getstate__": _no_pickle, "__deepcopy__": _deepcopy, **{name: _property(name) for name in names}}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrized tensors; with a name, whether this tensor is parametrized.

    >>> from adjoint import nn
    >>> nn.utils.parametrize.is_parametrized(nn.Linear(2, 3))
    False
    """
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of a module by another module, `parametrization`; returns the first module.

    Each access computes the tensor. If the parametrization has `right_inverse`, this method computes the originals from
    the present value. A second parametrization takes the result of the first one; the originals do not change.

    Raises ValueError for a missing tensor, and, unless `unsafe`, for a change of shape or dtype.

    >>> import adjoint
    >>> from adjoint import nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> model = nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    >>> bool((model.weight == model.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        functions: Any = module.parametrizations[tensor_name]
        if not unsafe:
            _check_next(tensor_name, parametrization, getattr(module, tensor_name))
        functions.append(parametrization)
        functions.unsafe = functions.unsafe or unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        functions = ParametrizationList([parametrization], original, unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_class(module, [])
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = functions
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_next(name: str, function: Module, value: Tensor) -> None:
    """Raise ValueError unless a further function and its right_inverse keep shape and dtype."""
    with no_grad():
        result = function(value)
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        _check_unchanged(
            "Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
            f"enabled.\nmodule.{name}.{{what}}: {{before}}\nparametrization(module.{name}).{{what}}: {{after}}",
            value,
            result,
        )
        if not hasattr(function, "right_inverse"):
            return
        try:
            inverted = function.right_inverse(result)
        except NotImplementedError:
            return
        if not isinstance(inverted, Tensor):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverted).__name__}")
        _check_unchanged(
            f"The tensor returned by parametrization.right_inverse must have the same {{what}} as module.{name}, "
            f"unless the `unsafe` flag is enabled.\nmodule.{name}.{{what}}: {{before}}\nreturned {{what}}: {{after}}",
            value,
            inverted,
        )


def _check_unchanged(message: str, value: Tensor, result: Tensor) -> None:
    """Raise ValueError if a result differs from its input in dtype or shape."""
    for what in ("dtype", "shape"):
        before, after = getattr(value, what), getattr(result, what)
        if before != after:
            raise ValueError(message.format(what=what, before=before, after=after))


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a parameter or buffer again; returns the module.

    leave_parametrized: it gets the present value; otherwise it gets the value of the original.

    Raises ValueError if it is not parametrized, or if it has several originals and leave_parametrized is False.

    >>> from adjoint import nn
    >>> model = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> nn.utils.parametrize.remove_parametrizations(model, "weight")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    table: Any = module.parametrizations
    functions = table[tensor_name]
    if functions.is_tensor:
        original = functions.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del table[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__mro__[1]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module without its parametrizations.

    >>> from adjoint import nn
    >>> nn.utils.parametrize.type_before_parametrizations(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)))
    <class 'adjoint.nn.modules.linear.Linear'>
    """
    return type(module).__mro__[1] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations and originals of one module to another: of all tensors, or of one tensor.

    >>> from adjoint import nn
    >>> transfer = nn.utils.parametrize.transfer_parametrizations_and_params
    >>> nn.utils.parametrize.is_parametrized(
    ...     transfer(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)), nn.Linear(2, 3))
    ... )
    True
    """
    table: Any = getattr(from_module, "parametrizations", {})
    for name in [tensor_name] if tensor_name is not None else list(table):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for function in table[name]:
            register_parametrization(to_module, name, copy.deepcopy(function), unsafe=True)
        other: Any = to_module.parametrizations
        other[name].load_state_dict(table[name].state_dict())
    return to_module


check_functions(globals(), __all__[2:])
