"""Reductions, searching, sorting, sets and selections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.core.graph import new_tensor
from adjoint.interop.array_api.dtypes import numpy_kind
from adjoint.interop.functions.selection import take_along_axis as along
from adjoint.interop.operands import axis_of, tensor_of, values_of
from adjoint.interop.table import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Axis = int | tuple[int, ...] | None


def sum(x: Tensor, /, *, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False) -> Tensor:
    """The sum over axes."""
    return FUNCTIONS["sum"](x, axis, numpy_kind(dtype), keepdims=keepdims)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False) -> Tensor:
    """The product over axes."""
    return FUNCTIONS["prod"](x, axis, numpy_kind(dtype), keepdims=keepdims)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The maximum over axes."""
    return FUNCTIONS["max"](x, axis, keepdims=keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The minimum over axes."""
    return FUNCTIONS["min"](x, axis, keepdims=keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean over axes."""
    return FUNCTIONS["mean"](x, axis, keepdims=keepdims)


def var(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over axes: squared distances from the mean over (count - correction)."""
    return FUNCTIONS["var"](x, axis, ddof=correction, keepdims=keepdims)


def std(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes."""
    return FUNCTIONS["std"](x, axis, ddof=correction, keepdims=keepdims)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along axes are true."""
    return FUNCTIONS["all"](x, axis, keepdims=keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether any element along axes is true."""
    return FUNCTIONS["any"](x, axis, keepdims=keepdims)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Dtype | None = None, include_initial: bool = False
) -> Tensor:
    """Running sums along an axis."""
    return FUNCTIONS["cumulative_sum"](x, axis=axis, dtype=numpy_kind(dtype), include_initial=include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Dtype | None = None, include_initial: bool = False
) -> Tensor:
    """Running products along an axis."""
    return FUNCTIONS["cumulative_prod"](x, axis=axis, dtype=numpy_kind(dtype), include_initial=include_initial)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    return FUNCTIONS["diff"](x, n, axis, prepend, append)


# where elements are ---------------------------------------------------------------------------------------------------


def _constant(array: Any) -> Tensor:
    return new_tensor(numpy.asarray(array))


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the maximum along an axis."""
    array: Any = values_of(x)
    return _constant(array.argmax(axis, keepdims=keepdims))


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the minimum along an axis."""
    array: Any = values_of(x)
    return _constant(array.argmin(axis, keepdims=keepdims))


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The number of elements along axes that are not 0."""
    return _constant(numpy.count_nonzero(values_of(x), axis, keepdims=keepdims))


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of elements that are not 0: one Tensor for each axis."""
    if not x.ndim:
        raise ValueError("nonzero is not defined for zero-dimensional arrays; reshape to one axis first")
    return tuple(_constant(each) for each in numpy.nonzero(values_of(x)))


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """The indices at which elements of another Tensor would keep a sorted vector sorted."""
    order = None if sorter is None else values_of(sorter)
    return _constant(numpy.searchsorted(values_of(x1), values_of(tensor_of(x2)), side, order))  # type: ignore[call-overload]


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """x1 where a condition holds and x2 elsewhere."""
    return FUNCTIONS["where"](condition, x1, x2)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices at indices along an axis; the axis is optional for a vector."""
    if axis is None and x.ndim != 1:
        raise ValueError("take: axis must be given for an array of other than one axis")
    return FUNCTIONS["take"](x, indices, 0 if axis is None else axis)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements along an axis that indices name."""
    return along(x, indices, axis)


# order and sets -------------------------------------------------------------------------------------------------------


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The places of the elements in order."""
    values = values_of(x)
    if not descending:
        return _constant(numpy.argsort(values, axis, kind="stable"))
    # of the flipped array, so that equal elements keep their order
    order = numpy.flip(numpy.argsort(numpy.flip(values, axis), axis, kind="stable"), axis)
    return _constant(values.shape[axis] - 1 - order if values.ndim else order)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order."""
    axis_of(axis, x.ndim)
    return along(x, values_of(argsort(x, axis=axis, descending=descending)), axis)


def unique_all(x: Tensor, /) -> Any:
    """The elements without repetitions, where they first stand, which each is of them, and how often there is one."""
    return FUNCTIONS["unique_all"](x)


def unique_counts(x: Tensor, /) -> Any:
    """The elements without repetitions, and how often each is there."""
    return FUNCTIONS["unique_counts"](x)


def unique_inverse(x: Tensor, /) -> Any:
    """The elements without repetitions, and which of them each element is."""
    return FUNCTIONS["unique_inverse"](x)


def unique_values(x: Tensor, /) -> Tensor:
    """The elements without repetitions."""
    return FUNCTIONS["unique_values"](x)
