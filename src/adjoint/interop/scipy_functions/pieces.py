"""Piecewise functions, each branch on its own elements, and results whose values are supplied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.operands import kind_of, values_of
from adjoint.tensor.table import ops
from adjoint.transforms import func
from adjoint.transforms.custom_functions.custom import custom

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]


def shape_of(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    return numpy.broadcast_shapes(*[tensor._array.shape for tensor in tensors])


def plain(tensor: Tensor) -> numpy.ndarray:
    """The values, for comparisons and for SciPy."""
    return numpy.asarray(values_of(tensor))


def column(tensor: Tensor) -> Tensor:
    """Adds a last axis for the places of an integral."""
    return ops.unsqueeze(tensor, -1)


def constants(array: Any, like: Tensor) -> Tensor:
    """Numbers as a Tensor of another one's dtype."""
    return new_tensor(numpy.asarray(array).astype(kind_of(like)))


def piecewise(conditions: Sequence[Any], functions: Sequence[Any], *tensors: Tensor) -> Tensor:
    """For each element the function of the first condition that holds; the last function if none does.

    Each function, or number, gets only a vector of its own elements. So other elements cannot affect values or
    derivatives.

    >>> import adjoint
    >>> x = adjoint.tensor([0.0, 4.0], dtype=adjoint.float64, requires_grad=True)
    >>> piecewise([x.detach().numpy() > 0], [adjoint.sqrt, 0.0], x).sum().backward()
    >>> x.grad
    tensor([0.0000, 0.2500], dtype=adjoint.float64)
    """
    shape = shape_of(tensors)
    places = _places([numpy.broadcast_to(condition, shape) for condition in conditions], shape)
    size = int(numpy.prod(shape, dtype=int))
    for function, indices in zip(functions, places, strict=True):
        if indices.size == size and callable(function):
            # all elements are of one branch, the usual case
            return ops.expand(function(*tensors), shape)
    vectors = [ops.reshape(ops.expand(tensor, shape), (-1,)) for tensor in tensors]
    parts = [_part(f, indices, vectors) for f, indices in zip(functions, places, strict=True) if indices.size]
    joined = ops.cat(parts, 0) if parts else ops.zeros_like(vectors[0])
    order = numpy.argsort(numpy.concatenate(places))
    return ops.reshape(joined[order] if size else joined, shape)


def _places(conditions: list[numpy.ndarray], shape: tuple[int, ...]) -> list[numpy.ndarray]:
    """The flat places of each branch, each place once."""
    rest = numpy.ones(shape, bool)
    places = []
    for condition in conditions:
        places.append(numpy.flatnonzero(rest & condition))
        rest &= ~condition
    return [*places, numpy.flatnonzero(rest)]


def _part(function: Any, places: numpy.ndarray, vectors: list[Tensor]) -> Tensor:
    if callable(function):
        return ops.expand(function(*[vector[places] for vector in vectors]), places.shape)
    return new_tensor(numpy.full(places.shape, function, kind_of(vectors[0])))


# results whose values come from elsewhere -----------------------------------------------------------------------------


@custom
def value_with_formula(formula: Tensor, value: Any) -> Any:
    """A value that another library computes, with the derivatives of a formula of the same function."""
    return new_tensor(numpy.broadcast_to(value, formula._array.shape).astype(kind_of(formula)))


@value_with_formula.vjp("formula")
def _(g: Any) -> Any:
    return g


@custom
def antiderivative(z: Tensor, value: Any, slope: Formula) -> Any:
    """A value that another library computes, by the place z alone; slope: its derivative, a formula."""
    return new_tensor(numpy.broadcast_to(value, z._array.shape).astype(kind_of(z)))


@antiderivative.vjp("z")
def _(g: Any, z: Any, slope: Any) -> Any:
    return g * slope(z)


@custom
def inverse(target: Tensor, parameters: tuple[Tensor, ...], value: Any, function: Formula, slope: Formula) -> Any:
    """The place y = value, known, at which function(y, *parameters) is the target. slope: the derivative by y.

    Its derivatives are those of an implicit function: dy = (d target - the sum of df / dp * dp) / slope.
    """
    return new_tensor(numpy.asarray(value).astype(kind_of(target)))


@inverse.vjp
def _(g: Any, y: Any, parameters: Any, function: Any, slope: Any) -> Any:
    by_target = g / slope(y, *parameters)
    of_function = func.vjp(lambda *leaves: function(y, *leaves), *parameters)[1](-by_target) if parameters else ()
    return {"target": by_target, "parameters": of_function}
