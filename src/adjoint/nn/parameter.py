"""Parameter and Buffer: the tensors that a module owns."""

from __future__ import annotations

import typing as _typing
from typing import Any

from adjoint.core import errors
from adjoint.tensor import creation
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tensor.subclasses import disabled_torch_function
from adjoint.tensor.tensor import Tensor

__all__ = ["Buffer", "Parameter", "is_lazy"]


class _ParameterClass(type(Tensor)):  # type: ignore[misc]
    """The metaclass that makes tensors with the mark of a parameter instances of Parameter."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        data = args[0] if args else options.get("data")
        if cls is not Parameter or data is None or type(data) in (Tensor, Parameter):
            return super().__call__(*args, **options)
        return parameter_of_subclass(*args, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or (
            cls is Parameter and isinstance(instance, Tensor) and bool(getattr(instance, "_is_param", False))
        )


def parameter_of_subclass(data: Tensor, requires_grad: bool = True) -> Tensor:
    """A leaf of the data's own class with the mark of a parameter."""
    leaf: Any = data.detach().requires_grad_(requires_grad)
    if type(leaf) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(leaf).__name__} was found instead."
        )
    leaf.__dict__["_is_param"] = True
    return leaf


class Parameter(Tensor, metaclass=_ParameterClass):
    """A leaf that requires grad and shares the memory of `data`. Operations on it return plain tensors.

    Args:
        data: a Tensor of any shape and dtype; None means an empty tensor. For an instance of a subclass the result is
            one too, with a mark that makes it a Parameter for isinstance.
        requires_grad: whether the leaf requires grad.

    Raises RuntimeError if an integer or bool tensor should require grad, or if `detach()` of an instance of a subclass
    does not return one.

    >>> import adjoint
    >>> weight = adjoint.nn.Parameter(adjoint.tensor([1.0, 2.0]))
    >>> (3 * weight).sum().backward()
    >>> weight, weight.grad
    (Parameter containing:
    tensor([1., 2.], requires_grad=True), tensor([3., 3.]))
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # type: ignore[assignment]
    _warns_of_lost_hooks = _copies_gradient = False

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        leaf: Any = (creation.empty(0) if data is None else data).detach()
        self._array, self._counter, self._view = leaf._array, leaf._counter, leaf._view
        if requires_grad and not (leaf.is_floating_point() or leaf.is_complex()):
            raise RuntimeError(errors.REQUIRES_GRAD_DTYPE)
        self.requires_grad = requires_grad

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(**options)


class _BufferClass(type(Tensor)):  # type: ignore[misc]
    """The metaclass that makes tensors with the mark of a buffer instances of Buffer."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and bool(getattr(instance, "_is_buffer", False))


class Buffer(Tensor, metaclass=_BufferClass):
    """A tensor that a module registers as a buffer when it is assigned: `Buffer(data, persistent=True)`.

    The result is a plain Tensor with a mark, and shares the memory of the data. persistent: it is part of
    `state_dict()`.

    >>> import adjoint
    >>> module = adjoint.nn.Module()
    >>> module.mean = adjoint.nn.Buffer(adjoint.zeros(2))
    >>> module.state_dict()["mean"]
    tensor([0., 0.])
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        buffer: Any = (creation.empty(0) if data is None else data).detach()
        buffer.requires_grad_(data is not None and data.requires_grad)
        buffer.persistent, buffer._is_buffer = persistent, True
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether a parameter has no shape yet: always False, since modules get all sizes at construction.

    >>> import adjoint
    >>> adjoint.nn.parameter.is_lazy(adjoint.nn.Parameter())
    False
    """
    return False


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
