"""torch.autograd.Variable, the older name of Tensor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from adjoint.arrays.size import type_name
from adjoint.core import errors
from adjoint.core.engine import accumulates, call_at_end
from adjoint.tensor.creation import empty
from adjoint.tensor.older.volatile import DEPRECATED, make_volatile
from adjoint.tensor.tensor import Tensor


class ImperativeEngine:
    """The engine as programs of older versions see it, `Variable._execution_engine`.

    It has the two methods that such programs call.
    """

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call a function after the current backward pass has run all its nodes; to be called in a hook, for instance.

        Raises RuntimeError if no backward pass runs.

        >>> import adjoint
        >>> engine = adjoint.autograd.Variable._execution_engine
        >>> x = adjoint.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda g: engine.queue_callback(lambda: print("gradients are there:", x.grad)))
        >>> x.sum().backward()
        gradients are there: tensor([1., 1.])
        """
        call_at_end(callback)

    def is_checkpoint_valid(self) -> bool:
        """True if the current backward pass accumulates into all leaves.

        Reentrant checkpoints need that.
        """
        return accumulates()


class VariableMeta(type):
    """The class of `Variable`.

    It makes `isinstance(x, Variable)` True for every Tensor.
    """

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """A Tensor, under its older name: `Variable(tensor)` is a leaf that shares the memory of `tensor`.

    data: a tensor. requires_grad: as of tensors. volatile: results computed from it have no history; deprecated,
    `no_grad` does the same.

    Raises TypeError for data that is no tensor, ValueError for a volatile variable that requires grad.

    >>> import adjoint
    >>> x = adjoint.autograd.Variable(adjoint.ones(2), requires_grad=True)
    >>> x
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(x, adjoint.autograd.Variable), type(x)
    (True, <class 'adjoint.tensor.tensor.Tensor'>)
    """

    _execution_engine = ImperativeEngine()

    def __new__(  # type: ignore[misc]
        cls, data: Any = None, requires_grad: bool = False, volatile: bool = False, _grad_fn: None = None
    ) -> Tensor:
        if volatile:
            warnings.warn(DEPRECATED, stacklevel=2)
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type_name(data)}")
        variable = empty(0) if data is None else data.detach()
        if requires_grad:
            if not errors.is_differentiable(variable.dtype):
                raise RuntimeError(errors.REQUIRES_GRAD_DTYPE)
            variable.requires_grad_()
        if volatile:
            make_volatile(variable)
        return variable
