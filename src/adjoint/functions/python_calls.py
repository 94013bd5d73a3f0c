"""Python functions called on every element, and written in place: apply_(), map_() and map2_()."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core import errors
from adjoint.core.graph import bump_version
from adjoint.functions.composite import composite, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _write(name: str, function: Callable[..., Any], input: Tensor, *others: Tensor) -> Tensor:
    if any(tensor.requires_grad for tensor in (input, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    errors.check_captured(input, name)
    kind = input._array.dtype
    for tensor in others:
        if tensor._array.dtype != kind:
            raise TypeError(f"{name}(): expected tensors of dtype {input.dtype}, but got one of dtype {tensor.dtype}")
    operands = [input._array, *(ops.expand(tensor, tuple(input._array.shape))._array for tensor in others)]
    # all results before the first is written: a function that raises leaves the tensor as it was
    results = [function(*(x.item() for x in elements)) for elements in zip(*(a.flat for a in operands), strict=True)]
    input._array[...] = numpy.array(results, kind).reshape(input._array.shape)
    bump_version(input)
    return input


@composite(namespace=None, name="apply_")
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by the result of a function of a Python number. Slow: one call for each element.

    Raises RuntimeError for a tensor that requires grad, since Python functions have no derivative.

    >>> import adjoint
    >>> adjoint.arange(3).apply_(lambda n: n * n)
    tensor([0, 1, 4])
    """
    return _write("apply_", callable, input)


@composite(namespace=None, name="map_")
def map_(input: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of another tensor's, which is broadcast.

    Raises RuntimeError for tensors that require grad, TypeError for another dtype.

    >>> import adjoint
    >>> adjoint.arange(3).map_(adjoint.tensor(4), max)
    tensor([4, 4, 4])
    """
    return _write("map_", callable, input, tensor)


@composite(namespace=None, name="map2_")
def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of two other tensors', which are broadcast.

    Raises RuntimeError for tensors that require grad, TypeError for another dtype.

    >>> import adjoint
    >>> adjoint.arange(3).map2_(adjoint.tensor(1), adjoint.tensor(2), lambda a, b, c: a * b + c)
    tensor([2, 3, 4])
    """
    return _write("map2_", callable, input, x, y)
