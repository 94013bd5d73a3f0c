"""The arrays of any library that follows the array API standard, as the kernels see them.

The namespace has the library's functions under their standard names. Each dtype may be NumPy's, since the core and the
rules name types by these. Functions that kernels need and the standard lacks are composed here of functions that it
has. A function that cannot be composed is an error that says so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.arrays.dtypes import kind_of, numpy_dtype
from adjoint.arrays.libraries.numpy_namespace import xp as numpy_xp
from adjoint.arrays.shapes import broadcast_shapes


class MissingFunction(NotImplementedError, AttributeError):
    """The arrays of a library have no function of this name."""

    def __init__(self, library: str, name: str) -> None:
        super().__init__(
            f"arrays of {library} have no {name}, which this operation needs: neither does the array API standard. "
            "Convert the tensor's array to NumPy's for this step"
        )


class Namespace:
    """The functions that the core and the kernels need, for an array library that follows the standard.

    library: the library's namespace, or array-api-compat's version of it.
    """

    #: The standard leaves open whether a slice is a view, so writing through a slice is not allowed.
    views = False
    broadcast_shapes = staticmethod(broadcast_shapes)
    ndindex = numpy.ndindex
    inf, nan = numpy.inf, numpy.nan

    def __init__(self, library: Any) -> None:
        self.library = library
        self.__name__ = library.__name__
        self.linalg = Part(self, getattr(library, "linalg", None), "linalg")
        self.fft = Part(self, getattr(library, "fft", None), "fft")
        self.special = Part(self, None, "special")

    def __getattr__(self, name: str) -> Any:
        function = COMPOSED.get(name)
        if function is not None:
            value: Any = functools.partial(function, self)
        elif name.startswith("_") or not hasattr(self.library, name):
            raise MissingFunction(self.__name__, name)
        else:
            value = self.taking_dtypes(getattr(self.library, name))
        setattr(self, name, value)
        return value

    def taking_dtypes(self, function: Any) -> Any:
        """The function, also for NumPy's and adjoint's dtypes; an object that is no function is returned unchanged."""
        if not callable(function) or isinstance(function, type):
            return function

        @functools.wraps(function)
        def call(*values: Any, **options: Any) -> Any:
            new_options = {name: self.own_dtype(value) for name, value in options.items()}
            return function(*[self.own_dtype(value) for value in values], **new_options)

        return call

    def as_array(self, value: Any, dtype: Any = None) -> Any:
        """An array of NumPy's, or a number, as one of the library's; one of the library's as it is, or cast."""
        if not hasattr(value, "dtype") or isinstance(value, (numpy.ndarray, numpy.generic)):
            return self.library.asarray(value, dtype=self.own_dtype(dtype))
        return value if dtype is None or value.dtype == dtype else self.astype(value, dtype)

    def own_dtype(self, value: Any) -> Any:
        """The library's dtype for a dtype of NumPy, adjoint or Python; other objects are returned unchanged."""
        if isinstance(value, (numpy.dtype, Dtype)) or (isinstance(value, type) and value in DTYPE_CLASSES):
            return getattr(self.library, numpy_dtype(value).name)
        return value


DTYPE_CLASSES = frozenset((bool, int, float, complex, *numpy.sctypeDict.values()))


class Part:
    """An extension of the standard (linalg, fft), or an extension beyond it."""

    def __init__(self, outer: Namespace, library: Any, name: str) -> None:
        self._outer, self._library, self._name = outer, library, name

    def __getattr__(self, name: str) -> Any:
        full = f"{self._name}.{name}"
        if full in COMPOSED:
            value: Any = functools.partial(COMPOSED[full], self._outer)
        elif hasattr(self._library, name):
            value = self._outer.taking_dtypes(getattr(self._library, name))
        else:
            raise MissingFunction(self._outer.__name__, full)
        setattr(self, name, value)
        return value


#: Functions composed of functions of the standard, by their names in kernels.
COMPOSED: dict[str, Callable[..., Any]] = {}


def enter(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function into the table under its own name."""
    COMPOSED[function.__name__.rstrip("_")] = function
    return function


@enter
def errstate(xp: Namespace, **kinds: str) -> Any:
    """The standard has no warnings of floating point errors."""
    return nullcontext()


@enter
def may_share_memory(xp: Namespace, first: Any, second: Any) -> bool:
    """True: the standard does not define which results are views."""
    return True


@enter
def total(xp: Namespace, array: Any) -> Any:
    """The sum of all elements."""
    return xp.sum(array)


@enter
def average(xp: Namespace, array: Any) -> Any:
    """The mean of all elements."""
    return xp.mean(array)


@enter
def copy(xp: Namespace, array: Any) -> Any:
    """A copy."""
    return xp.library.asarray(array, copy=True)


@enter
def result_type(xp: Namespace, *values: Any) -> Any:
    """The common dtype; integers and truth values give way to other numbers, which the standard leaves out."""
    dtypes = [xp.own_dtype(value) for value in values]
    numbers = [value for value in dtypes if not is_whole(value)]
    return xp.library.result_type(*(numbers if any(hasattr(v, "dtype") for v in numbers) else dtypes))


def is_whole(value: Any) -> bool:
    """True for integers and truth values, arrays or dtypes of them."""
    return isinstance(value, int) or (not isinstance(value, (float, complex)) and kind_of(value) in "biu")


# features of NumPy that the standard lacks: other argument orders, truth values as numbers


@enter
def sum_(xp: Namespace, array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum; of truth values their number."""
    if kind_of(array) == "b":
        array = xp.astype(array, dtype or numpy.int64)
    return xp.library.sum(array, axis=axis, dtype=xp.own_dtype(dtype), keepdims=keepdims)


@enter
def prod_(xp: Namespace, array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product; of truth values as of numbers."""
    if kind_of(array) == "b":
        array = xp.astype(array, dtype or numpy.int64)
    return xp.library.prod(array, axis=axis, dtype=xp.own_dtype(dtype), keepdims=keepdims)


@enter
def cumsum(xp: Namespace, array: Any, axis: int, dtype: Any = None) -> Any:
    """The sums of all elements along an axis up to each."""
    if kind_of(array) == "b":
        array = xp.astype(array, dtype or numpy.int64)
    return xp.library.cumulative_sum(array, axis=axis, dtype=xp.own_dtype(dtype))


@enter
def cumprod(xp: Namespace, array: Any, axis: int, dtype: Any = None) -> Any:
    """The products of all elements along an axis up to each."""
    if kind_of(array) == "b":
        array = xp.astype(array, dtype or numpy.int64)
    return xp.library.cumulative_prod(array, axis=axis, dtype=xp.own_dtype(dtype))


@enter
def where(xp: Namespace, condition: Any, first: Any, second: Any) -> Any:
    """The selection, also between two numbers, and by a number that is true or false."""
    condition = xp.as_array(condition)
    if kind_of(condition) != "b":
        condition = condition != 0
    if not (hasattr(first, "dtype") or hasattr(second, "dtype")):
        first = xp.as_array(first)
    if not hasattr(first, "dtype"):
        first = xp.as_array(first, xp.result_type(second, first))
    if not hasattr(second, "dtype"):
        second = xp.as_array(second, xp.result_type(first, second))
    return xp.library.where(condition, first, second)


@enter
def round_(xp: Namespace, array: Any, decimals: int = 0) -> Any:
    """Rounded to a number of decimals, halves to even."""
    if not decimals or kind_of(array) not in "fc":
        return xp.library.round(array)
    scale = 10.0 ** abs(decimals)
    return xp.library.round(array * scale) / scale if decimals > 0 else xp.library.round(array / scale) * scale


@enter
def logical_not(xp: Namespace, array: Any) -> Any:
    """True where an element is 0."""
    return ~array if kind_of(array) == "b" else array == 0


def _as_truth(function: str) -> None:
    def call(xp: Namespace, first: Any, second: Any) -> Any:
        first, second = [xp.as_array(x) for x in (first, second)]
        first, second = [x if kind_of(x) == "b" else x != 0 for x in (first, second)]
        return getattr(xp.library, function)(first, second)

    COMPOSED[function] = call


for _name in ("logical_and", "logical_or", "logical_xor"):
    _as_truth(_name)


def _as_numbers(function: str) -> None:
    # functions that the standard has for numbers, not for truth values
    def call(xp: Namespace, array: Any, **options: Any) -> Any:
        if kind_of(array) == "b":
            array = xp.astype(array, numpy.uint8)
        return getattr(xp.library, function)(array, **options)

    COMPOSED[function] = call


for _name in ("sort", "argsort", "argmax", "argmin"):
    _as_numbers(_name)


@enter
def abs_(xp: Namespace, array: Any) -> Any:
    """The magnitude, of a number too."""
    return xp.library.abs(array) if hasattr(array, "dtype") else abs(array)


@enter
def argpartition(xp: Namespace, array: Any, kth: int, axis: int) -> Any:
    """The order of sorting, which is a partition at every place."""
    return xp.argsort(array, axis=axis)


@enter
def partition(xp: Namespace, array: Any, kth: int, axis: int) -> Any:
    """The sorted elements, which are a partition at every place."""
    return xp.sort(array, axis=axis)


@enter
def complex_of(xp: Namespace, real: Any, imag: Any) -> Any:
    """The complex numbers of these parts."""
    kind = xp.result_type(real, imag, numpy.complex64)
    return xp.astype(real, kind) + xp.astype(imag, kind) * 1j


@enter
def pairs(xp: Namespace, array: Any) -> Any:
    """Complex numbers as pairs of their parts, along a new last axis; a copy."""
    return xp.stack((xp.real(array), xp.imag(array)), axis=-1)


@enter
def from_pairs(xp: Namespace, array: Any) -> Any:
    """The way back; a copy."""
    return xp.complex_of(array[..., 0], array[..., 1])


@enter
def angle(xp: Namespace, array: Any) -> Any:
    """The argument of complex numbers."""
    return xp.atan2(xp.imag(array), xp.real(array))


# functions of one and two numbers


@enter
def expit(xp: Namespace, array: Any) -> Any:
    """1 / (1 + exp(-array)), without overflow."""
    power = xp.exp(-xp.abs(array))
    return xp.where(array >= 0, 1 / (1 + power), power / (1 + power))


@enter
def softplus(xp: Namespace, array: Any) -> Any:
    """log(1 + exp(array)), without overflow."""
    return xp.maximum(array, 0) + xp.log1p(xp.exp(-xp.abs(array)))


@enter
def logaddexp2(xp: Namespace, first: Any, second: Any) -> Any:
    """log2(2 ** first + 2 ** second), without overflow."""
    return xp.logaddexp(first * LOG_TWO, second * LOG_TWO) / LOG_TWO


LOG_TWO = 0.6931471805599453


@enter
def exp2(xp: Namespace, array: Any) -> Any:
    """2 to the power of each element."""
    return xp.pow(2.0, array)


@enter
def ldexp(xp: Namespace, array: Any, exponent: Any) -> Any:
    """array * 2 ** exponent, in two steps so that neither factor overflows."""
    half = exponent // 2
    first, second = [xp.pow(2.0, xp.astype(power, array.dtype)) for power in (half, exponent - half)]
    return array * first * second


@enter
def cbrt(xp: Namespace, array: Any) -> Any:
    """The real cube root."""
    return xp.sign(array) * xp.abs(array) ** (1 / 3)


@enter
def pairwise_distances(xp: Namespace, a: Any, b: Any, p: float) -> Any:
    """The p-norm of the difference of each row of a and each row of b; for p 0 the number of other elements."""
    away = xp.abs(a[..., :, None, :] - b[..., None, :, :])
    if p == 0:
        return xp.sum(away != 0, axis=-1, dtype=a.dtype)
    if p == numpy.inf:
        return xp.max(away, axis=-1, initial=0.0)
    return xp.sum(away**p, axis=-1) ** (1 / p)


@enter
def windows_along(xp: Namespace, array: Any, size: int, axis: int) -> Any:
    """All windows of a size along an axis, as a copy; the places in a window are the last axis."""
    n = array.shape[axis] - size + 1
    before = (slice(None),) * axis
    if not size:
        return xp.zeros((*array.shape[:axis], n, *array.shape[axis + 1 :], 0), dtype=array.dtype)
    return xp.stack([xp.getitem(array, (*before, slice(i, i + n), ...)) for i in range(size)], axis=-1)


@enter
def places_in_memory(xp: Namespace, *layout: Any) -> Any:
    """For each element of a strided array the number of the memory cell that it lies in, as a flat array."""
    return xp.as_array(numpy_xp.places_in_memory(*layout))


@enter
def fmax(xp: Namespace, first: Any, second: Any) -> Any:
    """The larger element, of a number and NaN the number."""
    return xp.where(xp.isnan(first), second, xp.where(xp.isnan(second), first, xp.maximum(first, second)))


@enter
def fmin(xp: Namespace, first: Any, second: Any) -> Any:
    """The smaller element, of a number and NaN the number."""
    return xp.where(xp.isnan(first), second, xp.where(xp.isnan(second), first, xp.minimum(first, second)))


@enter
def fmod(xp: Namespace, first: Any, second: Any) -> Any:
    """The remainder of the division, of the sign of the dividend."""
    size = xp.remainder(xp.abs(first), xp.abs(second))
    return xp.where(first < 0, -size, size)


@enter
def sinc(xp: Namespace, array: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0."""
    angle = xp.where(array == 0, 1.0, array) * numpy.pi
    return xp.where(array == 0, 1.0, xp.sin(angle) / angle)


@enter
def xlogy(xp: Namespace, factor: Any, array: Any) -> Any:
    """factor * log(array), 0 where the factor is."""
    zero = (factor == 0) & ~xp.isnan(array)
    return xp.where(zero, 0.0, factor * xp.log(xp.where(zero, 1.0, array)))


@enter
def isin(xp: Namespace, elements: Any, tests: Any, invert: bool = False) -> Any:
    """Whether each element is among the tests, a vector."""
    is_member = xp.any(xp.as_array(elements)[..., None] == tests, axis=-1)
    return ~is_member if invert else is_member


# indices: the standard has basic indices within bounds that name every axis, and integer arrays for all axes together


def complete(shape: tuple[int, ...], index: Any) -> tuple[Any, ...]:
    """A basic index with an item for every axis, and slices cut off where the axis ends."""
    items = list(index) if isinstance(index, tuple) else [index]
    n_indices = sum(item is not None and item is not Ellipsis for item in items)
    if n_indices > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {n_indices} were indexed")
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    complete_items: list[Any] = []
    axis = 0
    for item in items:
        if item is Ellipsis:
            complete_items += [slice(None)] * (len(shape) - n_indices)
            axis += len(shape) - n_indices
        elif item is None:
            complete_items.append(None)
        else:
            complete_items.append(clip_slice(item, shape[axis]) if isinstance(item, slice) else item)
            axis += 1
    return tuple(complete_items)


def clip_slice(item: slice, n: int) -> slice:
    """A slice that lies inside an axis of n elements."""
    if item.start is None and item.stop is None:
        return item
    start, stop, step = item.indices(n)
    return slice(start, None if stop < 0 else stop, step)


def is_basic(index: Any) -> bool:
    """True if no item of an index is an array."""
    items = index if isinstance(index, tuple) else (index,)
    return not any(hasattr(item, "shape") for item in items)


@enter
def max_(xp: Namespace, array: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """The largest elements; `initial` is the lower bound of results."""
    return _extremes(xp, "max", "maximum", array, axis, keepdims, initial)


@enter
def min_(xp: Namespace, array: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """The smallest elements; `initial` is the upper bound of results."""
    return _extremes(xp, "min", "minimum", array, axis, keepdims, initial)


def _extremes(xp: Namespace, name: str, pair: str, array: Any, axis: Any, keepdims: bool, initial: Any) -> Any:
    if kind_of(array) == "b":
        return xp.astype(_extremes(xp, name, pair, xp.astype(array, numpy.uint8), axis, keepdims, initial), bool)
    function = getattr(xp.library, name)
    if initial is None:
        return function(array, axis=axis, keepdims=keepdims)
    if 0 in array.shape:
        return xp.sum(array, axis=axis, keepdims=keepdims) * 0 + initial
    return getattr(xp, pair)(function(array, axis=axis, keepdims=keepdims), initial)


@enter
def getitem(xp: Namespace, array: Any, index: Any) -> Any:
    """array[index], with NumPy's meaning."""
    if is_basic(index):
        return array[complete(array.shape, index)]
    positions = flat_places(xp, array.shape, index)
    return xp.reshape(xp.library.take(xp.reshape(array, (-1,)), xp.reshape(positions, (-1,)), axis=0), positions.shape)


@enter
def setitem(xp: Namespace, array: Any, index: Any, values: Any) -> None:
    """array[index] = values, with NumPy's meaning; at index arrays one element after the other."""
    if is_basic(index):
        full = complete(array.shape, index)
        position = tuple([item for item in full if item is not None])
        if len(position) < len(full) and hasattr(values, "ndim"):
            # the standard writes at no new axes
            values = xp.reshape(xp.broadcast_to(values, array[full].shape), array[position].shape)
        array[position] = values
    else:
        write_elements(xp, array, index, values, lambda old, new: new)


@enter
def reduce_at(xp: Namespace, name: str, array: Any, index: Any, values: Any) -> None:
    """array[index] = function(array[index], values), one element after the other, since positions may repeat."""
    write_elements(xp, array, index, values, getattr(xp, name))


def write_elements(xp: Namespace, array: Any, index: Any, values: Any, function: Callable[[Any, Any], Any]) -> None:
    """Write a function of old and new values, one element after the other: the standard has no scatter."""
    positions = flat_places(xp, array.shape, index)
    values = xp.as_array(values, array.dtype)
    if tuple(positions.shape) != tuple(xp.broadcast_shapes(tuple(positions.shape), tuple(values.shape))):
        raise ValueError(f"shape mismatch: values of shape {values.shape} at places of shape {positions.shape}")
    values = xp.reshape(xp.broadcast_to(values, positions.shape), (-1,))
    positions = xp.reshape(positions, (-1,))
    for k in range(positions.shape[0]):
        element = tuple([int(i) for i in numpy.unravel_index(int(positions[k]), array.shape)])
        array[element] = function(array[element], values[k])


@enter
def combine(xp: Namespace, name: str, array: Any, index: Any, values: Any) -> None:
    """As above, at a basic index."""
    setitem(xp, array, index, getattr(xp, name)(getitem(xp, array, index), values))


@enter
def add_at(xp: Namespace, array: Any, where: Any, values: Any) -> None:
    """array[where] += values; places may be named twice."""
    reduce_at(xp, "add", array, where, values)


@enter
def index_add(xp: Namespace, array: Any, where: Any, values: Any) -> Any:
    """A copy with values added."""
    result = xp.copy(array)
    reduce_at(xp, "add", result, where, values)
    return result


@enter
def sum_at(xp: Namespace, shape: tuple[int, ...], where: Any, values: Any) -> Any:
    """Zeros with values added at the places that an index picks."""
    result = xp.zeros(shape, dtype=values.dtype)
    reduce_at(xp, "add", result, where, values)
    return result


def flat_places(xp: Namespace, shape: tuple[int, ...], index: Any) -> Any:
    """For each element that an index of arrays and full slices picks, its number in row-major order.

    A mask means the indices of its true elements. The result's axes of adjacent index arrays replace their axes; with
    slices between the arrays they come first.
    """
    items: list[Any] = []
    for item in index if isinstance(index, tuple) else (index,):
        if not hasattr(item, "shape"):
            items.append(item)
            continue
        array = xp.as_array(item)
        items += list(xp.library.nonzero(array)) if kind_of(array) == "b" else [xp.astype(array, numpy.int64)]
    items += [slice(None)] * (len(shape) - len(items))
    arrays = [axis for axis, item in enumerate(items) if not isinstance(item, slice)]
    together = arrays[-1] - arrays[0] + 1 == len(arrays)
    first = arrays[0] if together else 0
    index_shape = tuple(xp.broadcast_shapes(*[tuple(items[axis].shape) for axis in arrays]))
    result_ndim = len(index_shape) + len(shape) - len(arrays)
    step, positions, sliced = 1, xp.zeros((1,) * result_ndim, dtype=numpy.int64), result_ndim
    for axis in range(len(shape) - 1, -1, -1):
        n, item = shape[axis], items[axis]
        if isinstance(item, slice):
            # axes of slices come after the axes of index arrays, or before them if the arrays come later
            sliced -= 1
            if together and axis < first:
                first_axis = axis
            elif together:
                first_axis = axis - len(arrays) + len(index_shape)
            else:
                first_axis = sliced
            coordinates = xp.reshape(xp.arange(n), (n,) + (1,) * (result_ndim - first_axis - 1))
        else:
            if item.ndim == 0 or 0 not in item.shape:
                check_bounds(item, n, axis, xp)
            coordinates = xp.where(item < 0, item + n, item)
            coordinates = xp.reshape(
                coordinates, tuple(coordinates.shape) + (1,) * (result_ndim - first - len(index_shape))
            )
        positions = positions + coordinates * step
        step *= n
    return xp.broadcast_to(positions, broadcast_shapes(tuple(positions.shape), (1,) * result_ndim))


def check_bounds(item: Any, n: int, axis: int, xp: Namespace) -> None:
    """Raise IndexError unless places lie in an axis of n elements."""
    if bool(xp.any((item < -n) | (item >= n))):
        raise IndexError(f"an index is out of bounds for axis {axis} with size {n}")


@enter
def along_axis(xp: Namespace, index: Any, axis: int) -> tuple[Any, ...]:
    """The index that picks, along one axis, the places that an array names."""
    if not index.ndim:
        return (index,)
    grid = []
    for i, n in enumerate(index.shape):
        grid.append(index if i == axis else xp.reshape(xp.arange(n), (n,) + (1,) * (index.ndim - i - 1)))
    return tuple(grid)


@enter
def take(xp: Namespace, array: Any, indices: Any, axis: int = 0) -> Any:
    """The slices along an axis that places name, NumPy's arrays or the library's, with any number of axes."""
    indices = xp.as_array(indices)
    if indices.ndim == 1:
        return xp.library.take(array, indices, axis=axis)
    elements = xp.library.take(array, xp.reshape(indices, (-1,)), axis=axis)
    return xp.reshape(elements, (*array.shape[:axis], *indices.shape, *array.shape[axis + 1 :]))


@enter
def accumulate(xp: Namespace, name: str, array: Any, axis: int) -> Any:
    """The results of an associative function of all elements along an axis up to each, by recursive doubling."""
    function = getattr(xp, name)
    result, n, step = xp.copy(array), array.shape[axis], 1
    before = (slice(None),) * axis
    while step < n:
        late = (*before, slice(step, n), ...)
        early = (*before, slice(0, n - step), ...)
        result[late] = function(result[late], result[early])
        step *= 2
    return result


@enter
def bincount(xp: Namespace, bins: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 on occurs, or the sum of its weights."""
    width = max(minlength, int(xp.max(bins)) + 1 if bins.shape[0] else 0)
    values = xp.ones(bins.shape, dtype=numpy.int64) if weights is None else weights
    return xp.sum_at((width,), (bins,), values)


# diagonals, triangles


@enter
def diagonal(xp: Namespace, array: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of matrices in two axes, as the last axis; a copy."""
    return xp.library.linalg.diagonal(xp.moveaxis(array, (axis1, axis2), (-2, -1)), offset=offset)


@enter
def with_diagonal(xp: Namespace, array: Any, values: Any, offset: int, axis1: int, axis2: int) -> Any:
    """The array, with values written along a diagonal of it."""
    matrices = xp.moveaxis(array, (axis1, axis2), (-2, -1))
    rows, columns = matrices.shape[-2:]
    row, column = xp.reshape(xp.arange(rows), (rows, 1)), xp.reshape(xp.arange(columns), (1, columns))
    there = column - row == offset
    # along a row, or a column, that is not longer than the diagonal, values lie in order
    start = max(-offset, 0)
    position = xp.clip(row - start, 0, max(values.shape[-1] - 1, 0))
    spread = xp.take(values, xp.reshape(position, (-1,)), axis=values.ndim - 1)[..., None] if values.shape[-1] else 0
    return xp.moveaxis(xp.where(there, spread, matrices), (-2, -1), (axis1, axis2))


@enter
def triangular_solution(xp: Namespace, a: Any, b: Any, *, lower: bool, unit_diagonal: bool = False) -> Any:
    """x with a @ x = b for triangular a, by the general solver: only the named triangle of a is used."""
    triangle = xp.tril(a) if lower else xp.triu(a)
    if unit_diagonal:
        n = a.shape[-1]
        triangle = xp.where(xp.astype(xp.eye(n), bool), 1.0, triangle)
    return xp.library.linalg.solve(triangle, b)


COMPOSED["linalg.eigh"] = lambda xp, a, UPLO="L": xp.library.linalg.eigh(from_triangle(xp, a, UPLO == "L"))


def from_triangle(xp: Namespace, a: Any, lower: bool) -> Any:
    """Hermitian matrices from one triangle."""
    triangle = xp.tril(a) if lower else xp.triu(a)
    other = xp.matrix_transpose(xp.tril(a, k=-1) if lower else xp.triu(a, k=1))
    return triangle + (xp.conj(other) if kind_of(a) == "c" else other)


def _of_complex(name: str) -> None:
    # transforms that the standard has for complex numbers only
    def call(xp: Namespace, array: Any, **options: Any) -> Any:
        if kind_of(array) != "c":
            array = xp.astype(array, xp.result_type(array, numpy.complex64))
        return getattr(xp.library.fft, name)(array, **options)

    COMPOSED[f"fft.{name}"] = call


for _name in ("fftn", "ifftn", "irfftn"):
    _of_complex(_name)
