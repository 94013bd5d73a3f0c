"""Parameter: a tensor that a model is fitted by."""

from __future__ import annotations

import typing as _typing
from typing import Any

from adjoint.tensor import creation
from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf
from adjoint.tensor.subclasses import disabled_torch_function
from adjoint.tensor.tensor import Tensor

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A leaf that requires grad, over the memory of the data. Results computed from it are plain tensors.

    >>> import adjoint
    >>> weight = adjoint.nn.Parameter(adjoint.tensor([1.0, 2.0]))
    >>> (3 * weight).sum().backward()
    >>> weight, weight.grad
    (Parameter containing:
    tensor([1., 2.], requires_grad=True), tensor([3., 3.]))
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # type: ignore[assignment]

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        leaf: Any = (creation.empty(0) if data is None else data).detach()
        self._array, self._counter, self._view = leaf._array, leaf._counter, leaf._view
        self.requires_grad = requires_grad

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(**options)


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
