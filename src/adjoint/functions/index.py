"""Indexing with brackets, and composites over picking and writing elements.

An index is split in two, as in torch. First ints, slices, None and Ellipsis pick a view. Then arrays (lists, masks,
tensors) pick a copy from the view. So, unlike in NumPy, an int beside an array does not move axes.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from math import prod
from operator import index as as_int
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.arrays.infer import array_from_data
from adjoint.arrays.namespace import copy, first_outside, has_views, is_array, underlying
from adjoint.arrays.promotion import common_dtype, number_as
from adjoint.arrays.shapes import broadcast_shapes, normalize_dim
from adjoint.arrays.size import printed
from adjoint.core.graph import TensorBase, bump_version, new_tensor
from adjoint.core.holders import TensorHolder
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.core.recorded import operations
from adjoint.core.view_steps import basic_index, last_step
from adjoint.functions.arguments import require_member
from adjoint.functions.composite import as_tensor, composite, ops, takes_out
from adjoint.rules.index import check_value
from adjoint.rules.refusals import check_number
from adjoint.runtime.once import warn_caller, warn_once

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Basic = tuple[Any, ...] | None
Advanced = tuple[Any, ...] | None

_ALL = slice(None)
_INT64, _BOOL = numpy.dtype(numpy.int64), numpy.dtype(numpy.bool)
_TENSOR_KINDS = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
_BYTES = "indexing with dtype {0}.uint8 is now deprecated, please use a dtype {0}.bool instead."
_WRONG_DTYPE = "tensors used as indices must be long, int, byte or bool tensors"
_BATCHED_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)
_BATCHED_NONZERO = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::nonzero."
)


# brackets -------------------------------------------------------------------------------------------------------------


def getitem(tensor: Tensor, index: Any) -> Tensor:
    """tensor[index]: a view for ints, slices, None and Ellipsis, a copy where arrays or lists are among them.

    Slices may have negative steps, as in NumPy. Raises IndexError for indices out of range and for objects that are no
    index, ValueError for a slice with a step of 0.

    >>> import adjoint
    >>> x = adjoint.arange(6).reshape(2, 3)
    >>> x[0, 1:], x[:, [0, 2]], x[x > 3]
    (tensor([1, 2]), tensor([[0, 2],
            [3, 5]]), tensor([4, 5]))
    """
    basic = basic_index(index)
    if basic is not None:
        return _VIEWS[last_step(basic)].apply([tensor, basic])
    advanced = places_of(index, tensor._array.ndim)
    if advanced is None:
        basic, advanced = divide(index, tensor._array)
    if basic is not None:
        tensor = view_operation(basic).apply([tensor, basic])
    if advanced is None:
        return tensor if basic is not None else operations["getitem_alias"].apply([tensor, (...,)])
    if any(map(_is_batched, advanced)):
        return Rows(tensor, advanced).gather()
    return ops.index(tensor, copies_of_indices(advanced) if is_grad_enabled() and tensor.requires_grad else advanced)


def setitem(tensor: Tensor, index: Any, value: Any) -> None:
    """tensor[index] = value, in place; the value is broadcast, and converted if it is a number, an array or a list.

    Raises IndexError for indices out of range, RuntimeError where shapes do not fit or the tensor must not be
    modified, TypeError for an object that is no value.

    >>> import adjoint
    >>> x = adjoint.zeros(3)
    >>> x[1:] = adjoint.tensor([1.0, 2.0])
    >>> x
    tensor([0., 1., 2.])
    """
    value = assignable(tensor, value)
    basic = basic_index(index)
    advanced = None if basic is not None else places_of(index, tensor._array.ndim)
    if basic is None and advanced is None:
        basic, advanced = divide(index, tensor._array)
    if advanced is None and write_basic(tensor, (...,) if basic is None else basic, value):
        return
    if basic is not None and is_whole(basic, tensor._array.ndim):
        basic = None
    if basic is not None and not has_views(tensor._array):
        write_apart(tensor, basic, advanced, value)
        return
    target = tensor if basic is None else view_operation(basic).apply([tensor, basic])
    if advanced is not None and any(map(_is_batched, advanced)):
        written_rows = Rows(target, advanced).with_value(_without_ones(value, 0))
        operations["copy"].inplace((target, written_rows), {})
        return
    if advanced is not None:
        value = _filling(target, advanced, _without_ones(value, 0))
        operations["index_put"].inplace((target, copies_of_indices(advanced), value), {})
        return
    if isinstance(value, TensorBase):
        value = _fit(value, target._array)
    operations["copy"].inplace((target, value), {})


def write_apart(tensor: Tensor, basic: tuple[Any, ...], advanced: Advanced, value: Any) -> None:
    """`setitem` where a view of the tensor's array would be an array of its own."""
    part = view_operation(basic).apply([tensor, basic])
    if advanced is not None:
        value = _filling(part, advanced, _without_ones(value, 0))
        value = ops.index_put(part, copies_of_indices(advanced), value)
    elif isinstance(value, TensorBase):
        value = _fit(value, part._array)
    operations["written_at"].inplace((tensor, basic, value), {})


def is_whole(basic: tuple[Any, ...], ndim: int) -> bool:
    """True for an index that picks all of a tensor as it is."""
    slices = [item for item in basic if item is not Ellipsis]
    return len(slices) <= ndim and all(type(item) is slice and item == _ALL for item in slices)


def write_basic(tensor: Tensor, basic: tuple[Any, ...], value: Any) -> bool:
    """Write at a basic index if this needs no recording, check or conversion; True if the write happened."""
    array = tensor._array
    state = current()
    if state.unusual or type(array) is not numpy.ndarray or not array.flags.carray or tensor._view is not None:
        return False
    if tensor.is_inference() or (state.level is not None and tensor._level is not state.level):
        return False
    records = state.grad_enabled
    if isinstance(value, TensorBase):
        records = records and (tensor.requires_grad or value.requires_grad)
        value = value._array
        if type(value) is not numpy.ndarray or value.dtype != array.dtype:
            return False
        if (value.base is not None or array.base is not None) and numpy.may_share_memory(array, value):
            return False
    else:
        records = records and tensor.requires_grad
    if records:
        return False
    try:
        array[basic] = value
    except (IndexError, ValueError, OverflowError):
        # the general path raises the error
        return False
    bump_version(tensor)
    return True


def check(item: slice) -> slice:
    """The slice itself; negative steps, which torch does not have, are NumPy's. Raises ValueError for a step of 0."""
    if item.step is not None and as_int(item.step) == 0:
        raise ValueError("step must be greater than zero")
    return item


def view_operation(basic: tuple[Any, ...]) -> Any:
    """The operation that gives the view, under the name of the last step of the index."""
    return _VIEWS[last_step(basic)]


#: In the order of `last_step`.
_VIEWS = [operations["getitem_" + name] for name in ("alias", "slice", "select", "unsqueeze")]


def places_of(index: Any, ndim: int) -> tuple[Any, ...] | None:
    """The arrays of an index that has only int64 or bool arrays with axes, the most frequent case; else None."""
    items = index if type(index) is tuple else (index,)
    places, covered = [], 0
    for item in items:
        array = item._array if isinstance(item, TensorBase) else item
        if type(array) is not numpy.ndarray or not array.ndim:
            return None
        if array.dtype is _INT64:
            covered += 1
        elif array.dtype is _BOOL:
            covered += array.ndim
        else:
            return None
        places.append(array)
    return tuple(places) if 0 < covered <= ndim else None


def divide(index: Any, array: Any) -> tuple[Basic, Advanced]:
    """The view to take first and the arrays that then pick from it; either may be None."""
    items = [item_of(item) for item in items_of(index)]
    spare = array.ndim - sum(axes_of(item) for item in items)
    if spare < 0:
        raise IndexError(f"too many indices for tensor of dimension {array.ndim}")
    basic: list[Any] = []
    advanced: list[Any] = []
    for item in items:
        if item is Ellipsis:
            basic += [_ALL] * spare
            advanced += [_ALL] * spare
            spare = 0
        elif is_array(item) and (item.ndim or _is_batched(item)):
            basic += [_ALL] * axes_of(item)
            advanced.append(item)
        elif is_array(item):
            # a single bool is a mask of a new axis of length one
            basic.append(None)
            advanced.append(numpy.zeros(int(item), numpy.int64))
        else:
            basic.append(item)
            if not isinstance(item, int):
                advanced.append(_ALL)
    picks = any(is_array(item) for item in advanced)
    views = any(not isinstance(item, slice) or item != _ALL for item in basic)
    return (*basic, ...) if views else None, tuple(advanced) if picks else None


def axes_of(item: Any) -> int:
    """The number of axes of the tensor that an item of an index covers."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if is_array(item) and kind_of(item) == "b" else 1


def items_of(index: Any) -> Sequence[Any]:
    """The items of an index; as in torch, a short list that holds other objects than numbers acts as a tuple."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32 and any(map(_is_more_than_number, index)):
        return index
    return (index,)


def _is_more_than_number(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, (slice, TensorBase, list, tuple)) or is_array(item)


def item_of(item: Any) -> Any:
    """One item of an index as an int, slice, None, Ellipsis or raw array (bool ones without axes stay arrays)."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return check(item)
    if isinstance(item, (bool, numpy.bool)):
        return numpy.asarray(item)
    if isinstance(item, TensorBase):
        item = item._array
    elif isinstance(item, (list, tuple, range)):
        item = array_of(item)
    if is_array(item):
        return _array_item(item)
    try:
        return as_int(item)
    except TypeError:
        if isinstance(item, str):
            raise TypeError("new(): invalid data type 'str'") from None
        raise IndexError(f"{_TENSOR_KINDS} (got {type(item).__name__})") from None


def array_of(items: Sequence[Any]) -> numpy.ndarray[Any, Any]:
    """A nested list of ints or bools as an array; an empty one holds ints."""
    if all(type(item) is int for item in items):
        return numpy.array(items, numpy.int64)
    array = array_from_data(items, unwrap=_array_in)
    return array if array.size else array.astype(numpy.int64)


def _check_kind(array: Any) -> Any:
    """The array of an index, bytes as a mask. Raises for other dtypes, and for a mask for each member of a batch."""
    if kind_of(array) == "u" and array.dtype == numpy.uint8:
        warn_caller(_BYTES.format(printed.module))
        array = array.astype(numpy.dtype(bool))
    if kind_of(array) not in "iub":
        raise IndexError(_WRONG_DTYPE)
    if _is_batched(array) and kind_of(array) == "b":
        raise RuntimeError(_BATCHED_MASK)
    return array


def _array_item(array: Any) -> Any:
    array = _check_kind(array)
    return array if array.ndim or kind_of(array) == "b" or _is_batched(array) else int(array)


def _is_batched(item: Any) -> bool:
    """True for indices that are others for each member of a batch."""
    return underlying(item) is not item


def copies_of_indices(advanced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of the index arrays for the backward pass, so that later changes have no effect."""
    return tuple([item if isinstance(item, slice) else copy(item) for item in advanced])


class Rows:
    """Indexing with different indices for each member of a batch, along one merged axis.

    The axes that index arrays cover are moved to the front and merged; the indices become numbers along the merged
    axis.
    """

    def __init__(self, tensor: Tensor, advanced: tuple[Any, ...]) -> None:
        self.tensor = tensor
        items: list[Any] = []
        for item in advanced:
            # a mask is equal for all members and is replaced by the indices of its true elements
            is_mask = not isinstance(item, slice) and kind_of(item) == "b"
            items.extend(numpy.nonzero(item) if is_mask else [item])
        axes = [axis for axis, item in enumerate(items) if not isinstance(item, slice)]
        shape = tensor._array.shape
        self.rest = [axis for axis in range(len(shape)) if axis not in axes]
        self.order = (*axes, *self.rest)
        self.lengths = tuple(shape[axis] for axis in axes)
        # the picked places stand where the arrays did, or in front if these were apart
        together = axes == list(range(axes[0], axes[0] + len(axes)))
        self.front = axes[0] if together else 0
        self.numbers = ops.zeros_like(new_tensor(numpy.zeros((), numpy.int64)))
        for axis, n in zip(axes, self.lengths, strict=True):
            indices = new_tensor(items[axis])
            self._check(indices._array, axis, n)
            self.numbers = self.numbers * n + ops.where(indices < 0, indices + n, indices)
        self.shape = self.numbers._array.shape
        self.numbers = ops.reshape(self.numbers, (-1,))

    def _check(self, indices: Any, axis: int, n: int) -> None:
        values = underlying(indices)
        outside = values[(values < -n) | (values >= n)] if values.ndim else values[(values < -n) | (values >= n), None]
        if outside.size:
            raise IndexError(f"index {int(outside.reshape(-1)[0])} is out of bounds for dimension {axis} with size {n}")

    def _as_rows(self) -> Tensor:
        sizes = [self.tensor._array.shape[axis] for axis in self.rest]
        return ops.reshape(ops.permute(self.tensor, self.order), (prod(self.lengths), *sizes))

    def _arrangement(self) -> list[int]:
        """The axes of a picked result, counted in an array whose first axes are the index arrays' axes."""
        n = len(self.shape)
        behind = list(range(n, n + len(self.rest)))
        return [*behind[: self.front], *range(n), *behind[self.front :]]

    def gather(self) -> Tensor:
        """tensor[advanced]."""
        rows = ops.index_select(self._as_rows(), 0, self.numbers)
        row_shape = rows._array.shape[1:]
        return ops.permute(ops.reshape(rows, (*self.shape, *row_shape)), tuple(self._arrangement()))

    def with_value(self, value: Any, accumulate: bool = False) -> Tensor:
        """A copy of the tensor with a value, broadcast, written at (or added to) tensor[advanced]."""
        rows = self._as_rows()
        row_shape = rows._array.shape[1:]
        arrangement = self._arrangement()
        shape = [(*self.shape, *row_shape)[axis] for axis in arrangement]
        if not isinstance(value, TensorBase):
            value = new_tensor(numpy.asarray(number_as(value, rows._array.dtype), rows._array.dtype))
        if value._array.dtype != rows._array.dtype:
            value = ops.cast(value, from_numpy_dtype(rows._array.dtype))
        value = ops.permute(ops.expand(value, shape), tuple(map(arrangement.index, range(len(arrangement)))))
        value = ops.reshape(value, (prod(self.shape), *row_shape))
        write = ops.index_add if accumulate else ops.index_copy
        whole = write(rows, 0, self.numbers, value)
        back = ops.reshape(whole, (*self.lengths, *row_shape))
        return ops.permute(back, tuple(map(self.order.index, range(len(self.order)))))


def _array_in(value: Any) -> Any:
    return value._array if isinstance(value, TensorBase) else None


def assignable(tensor: Tensor, value: Any) -> Any:
    """A value as a number or a Tensor. Raises TypeError for an object that cannot be converted to one."""
    if isinstance(value, TensorBase):
        return value
    if isinstance(value, TensorHolder):
        return value._tensor
    kind = from_numpy_dtype(tensor._array.dtype)
    if isinstance(value, (bool, int, float, complex, numpy.number, numpy.bool)):
        return _convert(value.item() if isinstance(value, numpy.generic) else value, kind)
    if isinstance(value, (numpy.ndarray, list, tuple)):
        return new_tensor(array_from_data(value, kind, unwrap=_array_in))
    raise TypeError(f"can't assign a {type(value).__name__} to a adjoint.{kind.long_name}Tensor")


_PYTHON_TYPES = {"f": float, "c": complex, "i": int, "u": int, "b": bool}


def _convert(value: Any, kind: Any) -> Any:
    """A number converted to the tensor's dtype.

    Raises RuntimeError if the dtype cannot represent it, ValueError for an integer that no dtype holds.
    """
    if kind.numpy.kind in "iu":
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("Overflow when unpacking long long")
        check_number(kind, value)
    try:
        return _PYTHON_TYPES.get(kind.numpy.kind, float)(value)
    except (TypeError, OverflowError, ValueError):
        raise RuntimeError(f"value cannot be converted to type {kind.c_name} without overflow") from None


def _without_ones(value: Any, ndim: int) -> Any:
    """A value without leading axes of length one beyond the target's number of axes."""
    shape = value._array.shape if isinstance(value, TensorBase) else ()
    extra = 0
    while len(shape) - extra > ndim and shape[extra] == 1:
        extra += 1
    return ops.reshape(value, shape[extra:]) if extra else value


def _filling(target: Tensor, indices: tuple[Any, ...], value: Any) -> Any:
    """The value as a number of the target's type if it is one element for one mask, which is to fill; else as it is."""
    arrays = [item for item in indices if not isinstance(item, slice)]
    if not isinstance(value, TensorBase) or value._array.size != 1 or len(arrays) != 1 or kind_of(arrays[0]) != "b":
        return value
    if value._array.ndim:
        value = ops.reshape(value, ())
    if value._array.dtype == target._array.dtype:
        return value
    check_value("masked_fill", target, value.detach())
    return ops.cast(value, from_numpy_dtype(target._array.dtype))


def _fit(value: Any, target: Any) -> Tensor:
    """A value with the target's type. Raises RuntimeError, as expand() does, if it cannot be broadcast to it."""
    value = _without_ones(value, target.ndim)
    if value._array.dtype != target.dtype:
        value = ops.cast(value, from_numpy_dtype(target.dtype))
    if value._array.shape != target.shape:
        ops.expand(value.detach(), target.shape)
    return value


# overloads ------------------------------------------------------------------------------------------------------------


@composite()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The view of one slice along an axis, without that axis.

    Raises IndexError for an index out of range.

    >>> import adjoint
    >>> adjoint.tensor([[1, 2], [3, 4]]).select(1, 0)
    tensor([1, 3])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = normalize_dim(dim, len(shape)), as_int(index)
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return ops.getitem_select(input, (*(_ALL,) * dim, index, ...))


def _index_arrays(indices: Any) -> tuple[Any, ...]:
    """The raw arrays of an index_put(). Raises TypeError for objects other than tensors, IndexError for floats."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
        )
    arrays = []
    for i, item in enumerate(indices):
        require_member(0, i, item, (TensorBase, numpy.ndarray))
        array = item._array if isinstance(item, TensorBase) else item
        arrays.append(_check_kind(copy(array)))
    return tuple(arrays)


def _require_tensor(values: Any) -> None:
    if not isinstance(values, (TensorBase, numpy.ndarray)):
        raise TypeError(f"index_put(): argument 'values' (position 2) must be Tensor, not {type(values).__name__}")


@composite()
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values, broadcast, written at (or, if accumulate, added to) the places that the indices pick.

    Raises RuntimeError for values of another dtype or a shape that does not fit, IndexError for places out of range.

    >>> import adjoint
    >>> adjoint.zeros(3).index_put((adjoint.tensor([0, 0]),), adjoint.tensor(1.0), accumulate=True)
    tensor([2., 0., 0.])
    """
    _require_tensor(values)
    arrays = _index_arrays(indices)
    if any(map(_is_batched, arrays)):
        return Rows(input, arrays).with_value(values, accumulate)
    return ops.index_put(input, arrays, values if accumulate else _filling(input, arrays, values), accumulate)


@composite(namespace=None, name="index_put_")
def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place version of index_put().

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """
    _require_tensor(values)
    arrays = _index_arrays(indices)
    if any(map(_is_batched, arrays)):
        return operations["copy"].inplace((input, Rows(input, arrays).with_value(values, accumulate)), {})
    values = values if accumulate else _filling(input, arrays, values)
    return operations["index_put"].inplace((input, arrays, values, accumulate), {})


def _source(src: Any, value: Any, index: Tensor, dtype: Any, reduce: str | None) -> Any:
    """The source of scatter(): src or value; for a sum a tensor in any case."""
    if (src is None) == (value is None):
        raise TypeError("scatter(): give either src, a Tensor, or value, a number")
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    source = value if src is None else src
    if reduce is None or isinstance(source, TensorBase):
        return source
    return new_tensor(numpy.full(index._array.shape, source, dtype))


@composite()
@takes_out
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | float | None = None,
    *,
    value: float | None = None,
    reduce: str | None = None,
) -> Tensor:
    """A copy with elements of src (or one number) written to the positions in index along an axis.

    index: int32 or int64, not longer than input along other axes, nor than src along any.
    reduce: "add" adds to the elements instead of replacing them, "multiply" multiplies them.

    Raises RuntimeError for indices out of range, shapes that do not fit, and another dtype.

    >>> import adjoint
    >>> adjoint.zeros(3).scatter(0, adjoint.tensor([2, 0]), adjoint.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    source = _source(src, value, index, input._array.dtype, reduce)
    if reduce == "multiply":
        return ops.scatter_reduce(input, dim, index, source, "prod", True)
    return (ops.scatter if reduce is None else ops.scatter_add)(input, dim, index, source)


@composite(namespace=None, name="scatter_")
def scatter_(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | float | None = None,
    *,
    value: float | None = None,
    reduce: str | None = None,
) -> Tensor:
    """In-place version of scatter().

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """
    source = _source(src, value, index, input._array.dtype, reduce)
    if reduce == "multiply":
        return scatter_reduce_(input, dim, index, source, "prod")
    return operations["scatter" if reduce is None else "scatter_add"].inplace((input, dim, index, source), {})


_ALIASES = {"max": "amax", "min": "amin"}


@composite()
@takes_out
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy with the elements of src that index sends to one place along an axis reduced: "sum", "prod" ...

    reduce: "sum", "prod", "mean", "amax" or "amin". include_self: the element itself takes part.

    Raises RuntimeError for indices out of range, shapes that do not fit, and another dtype.

    >>> import adjoint
    >>> places, values = adjoint.tensor([0, 1, 0]), adjoint.tensor([2.0, 3.0, 4.0])
    >>> adjoint.ones(2).scatter_reduce(0, places, values, "prod")
    tensor([8., 3.])
    """
    return ops.scatter_reduce(input, dim, index, src, _ALIASES.get(reduce, reduce), include_self)


@composite(namespace=None, name="scatter_reduce_")
def scatter_reduce_(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """In-place version of scatter_reduce().

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """
    # its derivative needs the elements that are overwritten
    reduced = ops.scatter_reduce(ops.clone(input), dim, index, src, _ALIASES.get(reduce, reduce), include_self)
    return operations["copy"].inplace((input, reduced), {})


@composite()
@takes_out
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy with the slices of source that a vector of indices sends to one slice reduced: "prod", "mean" ...

    reduce: "prod", "mean", "amax" or "amin". include_self: the slice that was there takes part.

    Raises RuntimeError for another reduction, shapes that do not fit, and another dtype, IndexError for indices out of
    range.

    >>> import adjoint
    >>> adjoint.zeros(2).index_reduce(0, adjoint.tensor([1, 1]), adjoint.tensor([3.0, 5.0]), "mean", include_self=False)
    tensor([0., 4.])
    """
    if index._array.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index._array.ndim} with type: "
            f"{index.dtype.long_name} and size: {list(index._array.shape)}"
        )
    axis = normalize_dim(dim, input._array.ndim)
    shape = source._array.shape
    n = shape[axis] if shape else 1
    if index._array.size != n:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index._array.size}) should be equal to source.size(dim): ({n}), for "
            f"dim: {dim}"
        )
    input_shape = input._array.shape
    if len(shape) != len(input_shape) or any(shape[i] != input_shape[i] for i in range(len(input_shape)) if i != axis):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input_shape)} source.shape = {list(shape)}"
        )
    if source._array.dtype != input._array.dtype:
        kinds = [from_numpy_dtype(t._array.dtype).long_name for t in (input, source)]
        raise RuntimeError(f"index_reduce_(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type")
    positions = underlying(index._array)
    if kind_of(positions) not in "iu" or positions.dtype.itemsize < 4:
        dtype_name = index.dtype.long_name
        raise RuntimeError(f"index_reduce_(): Expected dtype int32/int64 for index but got: {dtype_name}")
    if first_outside(positions, 0, input._array.shape[axis] if shape else 1) is not None:
        raise IndexError("index out of range in self")
    index = ops.expand(ops.reshape(index, [n if i == axis else 1 for i in range(len(shape))]), shape)
    return ops.index_reduce(input, axis, index, source, reduce, include_self)


@composite(namespace=None, name="index_reduce_")
def index_reduce_(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """In-place version of index_reduce().

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """
    reduced = index_reduce(ops.clone(input), dim, index, source, reduce, include_self=include_self)
    return operations["copy"].inplace((input, reduced), {})


@composite()
@takes_out
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements that indices name along one axis, other axes broadcast; without dim, of the flattened input.

    Negative indices count from the end of the axis `dim`; without dim there may be none. Raises RuntimeError for a
    different number of axes, sizes that do not fit, and indices out of range.

    >>> import adjoint
    >>> x = adjoint.tensor([[3, 1, 2]])
    >>> adjoint.take_along_dim(x, x.argsort(1), 1)
    tensor([[1, 2, 3]])
    """
    indices = as_tensor("take_along_dim", "indices", 2, indices)
    if indices.dtype.long_name != "Long":
        raise RuntimeError(
            f"adjoint.take_along_dim(): dtype of indices should be Long but got {indices.dtype.long_name}"
        )
    if dim is None:
        return ops.gather(ops.reshape(input, (-1,)), 0, ops.reshape(indices, (-1,)))
    input_shape, index_shape = input._array.shape, indices._array.shape
    if len(input_shape) != len(index_shape):
        raise RuntimeError(
            "adjoint.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(input_shape)} dimensions for input, and {len(index_shape)} dimensions for indices"
        )
    dim = normalize_dim(dim, len(input_shape))
    places = indices._array
    if type(places) is not numpy.ndarray or first_outside(places, 0, input_shape[dim]) is not None:
        # negative indices count from the end
        indices = ops.where((indices < 0) & (indices >= -input_shape[dim]), indices + input_shape[dim], indices)
    common = broadcast_shapes(
        (*input_shape[:dim], 1, *input_shape[dim + 1 :]), (*index_shape[:dim], 1, *index_shape[dim + 1 :])
    )
    before, after = common[:dim], common[dim + 1 :]
    return ops.gather(
        ops.expand(input, (*before, input_shape[dim], *after)),
        dim,
        ops.expand(indices, (*before, index_shape[dim], *after)),
    )


@composite()
@takes_out
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The places of the elements that are not zero, one in each row; as_tuple: one tensor for each axis instead.

    >>> import adjoint
    >>> adjoint.tensor([0, 3, 4]).nonzero(as_tuple=True)
    (tensor([1, 2]),)
    """
    if not as_tuple:
        return ops.argwhere(input)
    if _is_batched(input._array):
        raise RuntimeError(_BATCHED_NONZERO)
    return tuple(new_tensor(coordinates) for coordinates in numpy.nonzero(numpy.atleast_1d(input._array)))


def _select(condition: Tensor, input: Any, other: Any, out: Tensor | None = None) -> Tensor:
    condition = as_tensor("where", "condition", 1, condition)
    if condition._array.dtype is not _BOOL:
        condition = _as_condition(condition)
    is_tensor = isinstance(input, TensorBase) or isinstance(other, TensorBase)
    if not is_tensor and isinstance(input, numbers.Number) and isinstance(other, numbers.Number):
        # two numbers have torch's type for numbers, not NumPy's
        input = new_tensor(numpy.asarray(input, common_dtype([input, other], "same").numpy))
    return ops.where(condition, input, other) if out is None else ops.where(condition, input, other, out=out)


def _as_condition(condition: Tensor) -> Tensor:
    """A condition of bools. Raises RuntimeError for other types, but for bytes, which are deprecated."""
    kind = from_numpy_dtype(condition._array.dtype)
    if kind.numpy == numpy.uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead."
        )
        condition = ops.ne(condition, 0)
    elif kind.numpy.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind.long_name}"
        )
    return condition


_ABSENT = object()


@composite(method=False)
def where(condition: Tensor, input: Any = _ABSENT, other: Any = _ABSENT, *, out: Tensor | None = None) -> Any:
    """input where the condition holds, other elsewhere, broadcast; with the condition alone, the places where it holds.

    Raises RuntimeError if the condition is not of bools.

    >>> import adjoint
    >>> x = adjoint.tensor([-1.0, 2.0])
    >>> adjoint.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if input is _ABSENT and other is _ABSENT:
        return nonzero(condition, as_tuple=True)
    if input is _ABSENT or other is _ABSENT:
        raise TypeError("where(): give both input and other, or neither")
    return _select(condition, input, other, out)


@composite(namespace=None, name="where")
def tensor_where(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor where the condition holds, other elsewhere.

    condition: truth values. All three are broadcast; each gets the cotangent where it was taken.

    >>> import adjoint
    >>> adjoint.tensor([1.0, 2.0]).where(adjoint.tensor([True, False]), 0.0)
    tensor([1., 0.])
    """
    return _select(condition, input, other)
