"""Choices between two computations whose derivatives do not mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import uint8
from adjoint.core.graph import TensorBase
from adjoint.runtime.pytree import flatten
from adjoint.tensor.creation import as_tensor
from adjoint.tensor.protocol_hooks import values
from adjoint.tensor.table import ops
from adjoint.transforms import passing

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Branch = Any


def safe_where(condition: Any, on_true: Branch, on_false: Branch, *args: Any) -> Any:
    """`on_true(*args)` where a condition holds and `on_false(*args)` elsewhere, each with its own derivative only.

    `where(x > 0, sqrt(x), 0)` has the derivative NaN at 0: the branch that is not chosen gets the cotangent 0, and 0
    times the infinite slope of sqrt is NaN. Here each function gets arguments in which elements of the other branch are
    replaced by elements of its own branch. So its values and slopes at these elements have no effect.

    Args:
        condition: bools, with a shape that broadcasts with args.
        on_true, on_false: functions of args that work element by element, or numbers or arrays.
        args: Tensors, differentiable arrays, arrays or numbers, which broadcast.

    Returns:
        A Tensor, or an array for arrays, of the broadcast shape.

    >>> import adjoint, numpy
    >>> adjoint.grad(lambda x: numpy.sum(adjoint.safe_where(x > 0, numpy.sqrt, 0.0, x)))(numpy.array([0.0, 4.0]))
    array([0.  , 0.25])
    >>> adjoint.grad(lambda x: numpy.sum(numpy.where(x > 0, numpy.sqrt(x), 0.0)))(numpy.array([0.0, 4.0]))
    array([ nan, 0.25])
    """
    leaves = flatten((condition, on_true, on_false, args))[0]
    if any(isinstance(leaf, TensorBase) for leaf in leaves):
        return select(as_tensor(condition), (on_true, on_false), [as_tensor(arg) for arg in args])
    tensors: list[Any] = [values.take(arg, True) for arg in args]
    branches = (passing.outward(on_true), passing.outward(on_false))
    return passing.Leaving(passing.any_held(leaves)).result(select(values.take(condition, True), branches, tensors))


def select(condition: Tensor, branches: tuple[Branch, Branch], args: list[Tensor]) -> Tensor:
    """`safe_where` on Tensors."""
    masks = (condition, ~condition)
    results = [branch_at(mask, branch, args) for mask, branch in zip(masks, branches, strict=True)]
    return ops.where(condition, *[as_tensor(result) for result in results])


def branch_at(mask: Tensor, branch: Branch, args: list[Tensor]) -> Any:
    """One function, with elements outside of a mask replaced by one inside; a number or array as it is."""
    if not callable(branch):
        return branch
    shape = numpy.broadcast_shapes(*[tuple(value.shape) for value in (mask, *args)])
    if 0 in shape:
        return branch(*args)
    flat_mask = ops.reshape(ops.expand(mask, shape), (-1,))
    first = ops.argmax(ops.cast(flat_mask, uint8), 0)
    return branch(*[replace_outside(mask, arg, ops.expand(arg.detach(), shape), first) for arg in args])


def replace_outside(mask: Tensor, arg: Tensor, whole: Tensor, number: Tensor) -> Tensor:
    """An argument whose elements outside of a mask are one of them, by its number in the whole, as a constant."""
    return ops.where(mask, arg, ops.take(ops.reshape(whole, (-1,)), number))
