"""Elements of NumPy's arrays at places: read, written, and with values added, by C loops if there are any."""

import math
from typing import Any

import numpy

from adjoint.arrays.kernels import scatter

#: From this number of elements on a product with a sparse matrix is faster than numpy.add.at.
_MANY = 4096


def index_add(array: Any, where: Any, source: Any) -> Any:
    """A copy of `array` with `source` added at the places that `array[where]` picks; repeated places add up."""
    result = array.astype(_wide(array.dtype))
    if _added_by_rows(result, where, source):
        return result.astype(array.dtype, copy=False)
    places = _flat_places(result, where)
    if places is None:
        numpy.add.at(result, where, source)
    else:
        numpy.add.at(result.reshape(-1), places.reshape(-1), numpy.broadcast_to(source, places.shape).reshape(-1))
    return result.astype(array.dtype, copy=False)


def _added_by_rows(result: Any, where: Any, source: Any) -> bool:
    """Add the rows of `source` to the rows that arrays of places name; False, and no change, for others."""
    if type(where) is not tuple or not where or not scatter.can_do(result, source) or not result.flags.c_contiguous:
        return False
    if not all(type(item) is numpy.ndarray and item.dtype.kind in "iu" for item in where):
        return False
    rows = _row_numbers(where, result.shape)
    if rows is None or source.shape != (*rows.shape, *result.shape[len(where) :]):
        return False
    return bool(scatter.add_rows_to(result, source, rows, math.prod(result.shape[: len(where)])))


def _flat_places(array: Any, where: Any) -> Any:
    """For many places, named by an array for each of several axes, one array with their numbers in memory; else None.

    NumPy's loops for one array of places are several times as quick.
    """
    if type(where) is not tuple or not 1 < len(where) == array.ndim or not scatter.compiled:
        return None
    first, *others = where
    if type(first) is not numpy.ndarray or first.size < _MANY or not array.flags.c_contiguous:
        return None
    alike = all(type(item) is numpy.ndarray and item.shape == first.shape for item in others)
    return _row_numbers(where, array.shape) if alike else None


def _row_numbers(where: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """The rows that arrays of places name along the first axes, numbered in memory; None for places out of range.

    One array is its own result, whatever its places are. Negative places are out of range.
    """
    rows = where[0]
    if len(where) > 1:
        if not all(scatter.are_within(item, 0, length) for item, length in zip(where, shape, strict=False)):
            return None
        for item, length in zip(where[1:], shape[1:], strict=False):
            rows = rows * length + item
    return rows


def _wide(dtype: Any) -> Any:
    """The dtype in which elements of a dtype are summed: float32 for halves, which are rounded once."""
    return numpy.dtype(numpy.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


class AlongAxis:
    """The elements at `index` along one axis (see numpy.take_along_axis), by C loops if there are any."""

    __slots__ = ("axis", "index")

    def __init__(self, index: Any, axis: int) -> None:
        self.index = index
        self.axis = axis

    def grid(self) -> tuple[Any, ...]:
        """The index tuple that picks them."""
        shape = [1] * self.index.ndim
        grid = []
        for i, n in enumerate(self.index.shape):
            if i == self.axis:
                grid.append(self.index)
            else:
                grid.append(numpy.arange(n).reshape((*shape[:i], n, *shape[i + 1 :])))
        return tuple(grid)


def along_axis(index: Any, axis: int) -> AlongAxis | tuple[Any]:
    """The index that picks, along one axis, the places that `index` names, for the functions of this module."""
    return AlongAxis(index, axis) if index.ndim else (index,)


def nonzero(array: Any) -> Any:
    """numpy.nonzero; for large arrays it computes coordinates from a flat bool array, which is faster.

    >>> nonzero(numpy.array([[0.0, 2.0]]))
    (array([0]), array([1]))
    """
    if array.size < _MANY or not array.flags.c_contiguous:
        return array.nonzero()
    truths = array if array.dtype == bool else array != 0
    (places,) = truths.reshape(-1).nonzero()
    coordinates: list[Any] = []
    for n in reversed(array.shape[1:]):
        rows = places // n
        coordinates.insert(0, places - rows * n)
        places = rows
    return (places, *coordinates)


def getitem(array: Any, where: Any) -> Any:
    """Reading at an index. The standard has fewer kinds of index than NumPy; so kernels call this and setitem()."""
    if type(where) is AlongAxis:
        values = scatter.take_along(array, where.index, where.axis) if scatter.compiled else None
        return array[where.grid()] if values is None else values
    places = _flat_places(array, where)
    return array[where] if places is None else array.reshape(-1).take(places)


def setitem(array: Any, where: Any, values: Any) -> None:
    """Writing at an index."""
    if type(where) is not AlongAxis:
        array[where] = values
    elif not (scatter.compiled and scatter.put_along(array, where.index, where.axis, values)):
        array[where.grid()] = values


def combine(name: str, target: Any, where: Any, values: Any) -> None:
    """Write the result of a ufunc, of the elements at a basic index and values, to that index.

    >>> target = numpy.zeros(3)
    >>> combine("add", target, slice(1, None), 2.0)
    >>> target
    array([0., 2., 2.])
    """
    part = target[where]
    getattr(numpy, name)(part, values, out=part)


def sum_at(shape: tuple[int, ...], where: tuple[Any, ...], values: Any) -> Any:
    """Zeros of `shape` with `values` added at the places that zeros[where] picks; repeated places add up.

    `where` holds arrays of ints or bools, and full slices.

    >>> sum_at((3,), (numpy.array([2, 2]),), numpy.array([1.0, 2.0]))
    array([0., 0., 3.])
    """
    if len(where) == 1 and scatter.can_do(values) and values.shape == (*where[0].shape, *shape[1:]):
        sums = _sums_at_places(shape, where, values)
        if sums is not None:
            return sums
    arrays = [item for item in where if isinstance(item, numpy.ndarray)]
    if all(item.dtype == bool for item in arrays):
        # a mask picks no place twice
        result = numpy.zeros(shape, values.dtype)
        result[where] = values
        return result
    if scatter.can_do(values) and len(arrays) == len(where):
        sums = _sums_at_places(shape, where, values)
        if sums is not None:
            return sums
    if len(arrays) == 1 and scatter.can_do(values):
        sums = _sums_along(shape, where, values)
        if sums is not None:
            return sums
    fits_sparse = values.dtype.kind in "fc" and values.dtype.itemsize >= 4
    if len(where) == 1 and len(shape) > 1 and values.size >= _MANY and fits_sparse:
        return _sum_rows(shape, where[0], values)
    result = numpy.zeros(shape, _wide(values.dtype))
    if len(where) == len(shape) == 1:
        numpy.add.at(result, where[0].reshape(-1), values.reshape(-1))
    else:
        numpy.add.at(result, where, values)
    return result.astype(values.dtype, copy=False)


def _sums_at_places(shape: tuple[int, ...], where: tuple[Any, ...], values: Any) -> Any:
    # arrays of places that are not below zero, as the numbers of rows; None for others
    for item in where:
        if item.dtype.kind not in "iu":
            return None
    rows = _row_numbers(where, shape)
    if rows is None or values.shape != (*rows.shape, *shape[len(where) :]):
        return None
    return scatter.add_rows(values, rows, shape, math.prod(shape[: len(where)]))


def _sums_along(shape: tuple[int, ...], where: tuple[Any, ...], values: Any) -> Any:
    """As `sum_at`, for one array of places behind full slices: rows are summed, with its axes in front."""
    axis = [isinstance(item, numpy.ndarray) for item in where].index(True)
    n = where[axis].ndim
    places = range(axis, axis + n)
    rows = values.transpose((*places, *range(axis), *range(axis + n, values.ndim)))
    sums = _sums_at_places((shape[axis], *shape[:axis], *shape[axis + 1 :]), (where[axis],), rows)
    if sums is None:
        return None
    return numpy.ascontiguousarray(sums.transpose((*range(1, axis + 1), 0, *range(axis + 1, len(shape)))))


def add_at(target: Any, where: Any, values: Any) -> None:
    """numpy.add.at for arrays of places not below zero, one for each axis; much faster for a row-major target.

    >>> target = numpy.zeros((2, 2))
    >>> add_at(target, (numpy.array([0, 0, 1]), numpy.array([1, 1, 0])), numpy.ones(3))
    >>> target
    array([[0., 2.],
           [1., 0.]])
    """
    reduce_at("add", target, where, values)


def reduce_at(name: str, target: Any, where: Any, values: Any) -> None:
    """Reduce values into positions, which may repeat, by a ufunc."""
    if type(where) is AlongAxis:
        if name == "add" and scatter.compiled and scatter.add_along(target, where.index, where.axis, values):
            return
        where = where.grid()
    at = getattr(numpy, name).at
    kind = _wide(target.dtype)
    if kind != target.dtype:
        total = target.astype(kind)
        reduce_at(name, total, where, values)
        target[...] = total
        return
    if len(where) != target.ndim or not target.flags.c_contiguous:
        at(target, where, values)
        return
    # NumPy has a fast loop for one array of places only
    indices = where[0]
    for n, further in zip(target.shape[1:], where[1:], strict=True):
        indices = indices * n + further
    if getattr(values, "shape", None) != indices.shape:
        values = numpy.broadcast_to(values, indices.shape)
    at(target.reshape(-1), indices.reshape(-1), values.reshape(-1))


def _sum_rows(shape: tuple[int, ...], rows: Any, values: Any) -> Any:
    rows = rows.reshape(-1)
    if rows.size and (rows.min() < -shape[0] or rows.max() >= shape[0]):
        outside = rows[(rows < -shape[0]) | (rows >= shape[0])][0]
        raise IndexError(f"index {outside} is out of bounds for axis 0 with size {shape[0]}")
    n = rows.size
    rows = numpy.where(rows < 0, rows + shape[0], rows)
    if scatter.can_do(values):
        return scatter.add_rows(values, rows, shape, shape[0])
    from scipy.sparse import csr_matrix

    # one row of the matrix for each value, with a single 1 in the column of its destination
    picks = csr_matrix((numpy.ones(n, values.dtype), rows, numpy.arange(n + 1)), shape=(n, shape[0]))
    return numpy.asarray(picks.T @ values.reshape(n, -1)).reshape(shape)
