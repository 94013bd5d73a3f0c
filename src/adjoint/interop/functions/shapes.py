"""Shapes and axes; functions that return views in NumPy return views here."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_functions import Array, Arrays, function
from adjoint.interop.operands import (
    axes_of,
    axis_of,
    cast,
    kind_of,
    number,
    plain,
    promote,
    tensor_of,
    values_of,
)
from adjoint.tensor.table import ops

# one shape to another -------------------------------------------------------------------------------------------------


def reverse_axes(a):
    """All axes in reverse order."""
    return ops.permute(a, tuple(range(a.ndim))[::-1])


def _is_by_columns(a, order):
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    flags = getattr(a._array, "flags", None)  # arrays of other libraries have none, and are read by rows
    return order == "F" or (order in "AK" and flags is not None and flags.f_contiguous and not flags.c_contiguous)


@function("reshape")
def reshape(a: Array, /, shape, order="C", *, copy=None):
    """The elements under another shape."""
    shape = plain(shape)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape:
        product = -prod(shape)
        if not product or a.numel() % product:
            raise ValueError(f"cannot reshape array of size {a.numel()} into shape {shape}")
    elif prod(shape) != a.numel():
        raise ValueError(f"cannot reshape array of size {a.numel()} into shape {shape}")
    if _is_by_columns(a, order):
        result = reverse_axes(ops.reshape(reverse_axes(a), shape[::-1]))
    else:
        result = ops.reshape(a, shape)
    return result.clone() if copy else result


@function("ravel")
def ravel(a: Array, order="C"):
    """All elements in one axis."""
    if order == "K" and not _is_by_columns(a, "A"):
        order = "C"
    return reshape(a, (-1,), order) if a.numel() else reshape(a, (0,))


@function("transpose")
def transpose(a: Array, axes=None):
    """The axes in another order, reversed if none is given."""
    if axes is None:
        return reverse_axes(a)
    axes = plain(axes)
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    return ops.permute(a, axes_of(axes, a.ndim))


@function("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x: Array, /):
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return ops.transpose(x, -2, -1)


@function("swapaxes")
def swapaxes(a: Array, axis1, axis2):
    """Two axes exchanged."""
    return ops.transpose(a, axis_of(axis1, a.ndim), axis_of(axis2, a.ndim))


@function("moveaxis")
def moveaxis(a: Array, source, destination):
    """Axes moved to other places."""
    origin, target = axes_of(source, a.ndim), axes_of(destination, a.ndim)
    if len(origin) != len(target):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(a.ndim) if axis not in origin]
    for destination_axis, axis in sorted(zip(target, origin, strict=True)):
        order.insert(destination_axis, axis)
    return ops.permute(a, order)


@function("rollaxis")
def rollaxis(a: Array, axis, start=0):
    """An axis moved to the position before another."""
    axis = axis_of(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise numpy.exceptions.AxisError(f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, got {start}")
    order = [each for each in range(a.ndim) if each != axis]
    order.insert(start - (axis < start), axis)
    return ops.permute(a, order)


@function("expand_dims")
def expand_dims(a: Array, axis):
    """New axes of length one."""
    axis = axis if isinstance(axis, (tuple, list)) else (axis,)
    for dim in sorted(axes_of(axis, a.ndim + len(axis))):
        a = ops.unsqueeze(a, dim)
    return a


@function("squeeze")
def squeeze(a: Array, axis=None):
    """Without axes of length one."""
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else axes_of(axis, a.ndim)
    for i in axes:
        if a.shape[i] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return ops.squeeze_several(a, tuple(axes)) if axes else a[...]


@function("broadcast_to")
def broadcast_to(array: Array, shape, subok=False):
    """A view repeated to a larger shape."""
    shape = plain(shape)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if numpy.broadcast_shapes(tuple(array.shape), shape) != shape:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{tuple(array.shape)} and requested shape {shape}"
        )
    return ops.expand(array, shape)


@function("broadcast_arrays", star=tensor_of)
def broadcast_arrays(*args, subok=False):
    """Views of one common shape."""
    shape = numpy.broadcast_shapes(*[tuple(each.shape) for each in args])
    return tuple(ops.expand(each, shape) for each in args)


def _at_least(n):
    def with_axes(a):
        return a if a.ndim >= n else [
            lambda: ops.reshape(a, (1,) * n),
            lambda: ops.unsqueeze(a, 0) if n == 2 else a[None, :, None],
            lambda: ops.unsqueeze(a, 2),
        ][a.ndim]()  # fmt: skip

    def atleast(*arys):
        tensors = tuple(with_axes(each) for each in arys)
        return tensors[0] if len(tensors) == 1 else tensors

    atleast.__name__ = f"atleast_{n}d"
    atleast.__doc__ = f"Tensors with at least {n} axes."
    return atleast


atleast_1d, atleast_2d, atleast_3d = [function(f"atleast_{n}d", star=tensor_of)(_at_least(n)) for n in (1, 2, 3)]


# joining --------------------------------------------------------------------------------------------------------------


def _join(arrays, dtype):
    arrays = promote(*arrays)
    return arrays if dtype is None else [cast(each, dtype) for each in arrays]


@function("concatenate")
def concatenate(arrays: Arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Concatenates tensors along an axis; flattened if it is None."""
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    arrays = _join(arrays, dtype)
    if axis is None:
        return ops.cat([ops.reshape(each, (-1,)) for each in arrays], 0)
    if not arrays[0].ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    if len({each.ndim for each in arrays}) > 1:
        raise ValueError("all the input array dimensions must match: " + ", ".join(str(a.ndim) for a in arrays))
    return ops.cat(arrays, axis_of(axis, arrays[0].ndim))


@function("stack")
def stack(arrays: Arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Tensors of one shape along a new axis."""
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({tuple(each.shape) for each in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    return ops.stack(_join(arrays, dtype), axis_of(axis, arrays[0].ndim + 1))


@function("vstack")
def vstack(tup: Arrays, *, dtype=None, casting="same_kind"):
    """Stacks tensors vertically."""
    return concatenate([atleast_2d(each) for each in tup], 0, dtype=dtype)


@function("hstack")
def hstack(tup: Arrays, *, dtype=None, casting="same_kind"):
    """Tensors side by side."""
    arrays = [atleast_1d(each) for each in tup]
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype)


@function("dstack")
def dstack(tup: Arrays):
    """Tensors along the third axis."""
    return concatenate([atleast_3d(each) for each in tup], 2)


@function("column_stack")
def column_stack(tup: Arrays):
    """Vectors (and matrices) as columns."""
    return concatenate([each if each.ndim >= 2 else ops.reshape(each, (-1, 1)) for each in tup], 1)


@function("block")
def block(arrays):
    """Joins nested lists of Tensors: the innermost along the last axis, the next along the axis before, and so on."""

    def depth(value):
        return 1 + depth(value[0]) if isinstance(value, list) else 0

    n = depth(arrays)

    def leaves(value):
        return [leaf for member in value for leaf in leaves(member)] if isinstance(value, list) else [tensor_of(value)]

    ndim = max(n, *[leaf.ndim for leaf in leaves(arrays)])

    def join(value, level):
        if not isinstance(value, list):
            value = tensor_of(value)
            return ops.reshape(value, (1,) * (ndim - value.ndim) + tuple(value.shape))
        return concatenate([join(member, level + 1) for member in value], level - n)

    return join(arrays, 0)


@function("append")
def append(arr: Array, values: Array, axis=None):
    """A Tensor with others at its end."""
    if axis is None:
        arr, values, axis = ops.reshape(arr, (-1,)), ops.reshape(values, (-1,)), 0
    return concatenate([arr, values], axis)


# splitting ------------------------------------------------------------------------------------------------------------


@function("array_split")
def array_split(ary: Array, indices_or_sections, axis=0):
    """Views of pieces along an axis, of nearly the same length or at given places."""
    axis, where = axis_of(axis, ary.ndim), plain(indices_or_sections)
    n = ary.shape[axis]
    if isinstance(where, int):
        if where <= 0:
            raise ValueError("number sections must be larger than 0.")
        sizes = [n // where + (i < n % where) for i in range(where)]
        bounds = numpy.cumsum([0, *sizes]).tolist()
    else:
        bounds = [0, *numpy.asarray(where).tolist(), n]
    spots = [slice(*each) for each in pairwise(bounds)]
    return [ary[(slice(None),) * axis + (spot,)] for spot in spots]


@function("split")
def split(ary: Array, indices_or_sections, axis=0):
    """Views of pieces along an axis, of the same length or at given places."""
    where = plain(indices_or_sections)
    if isinstance(where, int) and ary.shape[axis_of(axis, ary.ndim)] % where:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, where, axis)


def _split_along(name, axis, least):
    def split_along(ary: Array, indices_or_sections):
        if ary.ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, axis if ary.ndim > axis else 0)

    split_along.__name__ = name
    split_along.__doc__ = f"split() along axis {axis}."
    return split_along


for _name, _axis, _least in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    function(_name)(_split_along(_name, _axis, _least))


@function("unstack")
def unstack(x: Array, /, *, axis=0):
    """Views of all places along an axis."""
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    before = (slice(None),) * axis_of(axis, x.ndim)
    return tuple(x[(*before, i)] for i in range(x.shape[len(before)]))


# repeating, turning ---------------------------------------------------------------------------------------------------


@function("tile")
def tile(A: Array, reps):
    """The Tensor repeated along each axis."""
    reps = plain(reps)
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    return ops.repeat(A, (1,) * (A.ndim - len(reps)) + reps)


@function("flip")
def flip(m: Array, axis=None):
    """A view with the order along axes reversed."""
    axes = axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


@function("fliplr")
def fliplr(m: Array):
    """Left and right exchanged."""
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@function("flipud")
def flipud(m: Array):
    """Up and down exchanged."""
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


@function("roll")
def roll(a: Array, shift, axis=None):
    """Elements shifted cyclically along axes."""
    shift = plain(shift)
    if axis is None:
        total = shift if isinstance(shift, int) else sum(numpy.ravel(shift).tolist())
        return ops.reshape(ops.roll(ops.reshape(a, (-1,)), (int(total),), (0,)), a.shape)
    axis = plain(axis)
    pairs = list(numpy.broadcast(shift, axis))
    shifts, axes = [tuple(int(each[i]) for each in pairs) for i in (0, 1)]
    return ops.roll(a, shifts, tuple(axis_of(each, a.ndim) for each in axes))


@function("rot90")
def rot90(m: Array, k=1, axes=(0, 1)):
    """Turned by k right angles in the plane of two axes."""
    first, second = plain(axes)
    if first % m.ndim == second % m.ndim:
        raise ValueError("Axes must be different.")
    k %= 4
    if k == 0:
        return m[...]
    if k == 2:
        return flip(m, (first, second))
    if k == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


# diagonals and triangles ----------------------------------------------------------------------------------------------


@function("diagonal")
def diagonal(a: Array, offset=0, axis1=0, axis2=1):
    """A view of a diagonal, as the last axis."""
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    return ops.diagonal(a, int(offset), axis_of(axis1, a.ndim), axis_of(axis2, a.ndim))


@function("linalg.diagonal")
def linalg_diagonal(x: Array, /, *, offset=0):
    """A view of the diagonals of the matrices in the last two axes."""
    return diagonal(x, offset, -2, -1)


@function("diag")
def diag(v: Array, k=0):
    """A diagonal matrix of a vector, or a copy of the diagonal of a matrix."""
    if v.ndim == 1:
        n = v.shape[0] + abs(k)
        return ops.embed_diagonal(v, k, 0, 1, n, n)
    if v.ndim == 2:
        return ops.diagonal(v, k, 0, 1)
    raise ValueError("Input must be 1- or 2-d.")


@function("diagflat")
def diagflat(v: Array, k=0):
    """A diagonal matrix of all elements."""
    return diag(ops.reshape(v, (-1,)), k)


@function("trace")
def trace(a: Array, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum along a diagonal."""
    from adjoint.interop.functions.reductions import sum as total

    return total(diagonal(a, offset, axis1, axis2), -1, dtype)


@function("linalg.trace")
def linalg_trace(x: Array, /, *, offset=0, dtype=None):
    """The sums along the diagonals of the matrices in the last two axes."""
    return trace(x, offset, -2, -1, dtype)


@function("tril")
def tril(m: Array, k=0):
    """The lower triangle, and zeros."""
    return _triangle(ops.tril, m, k)


@function("triu")
def triu(m: Array, k=0):
    """The upper triangle, and zeros."""
    return _triangle(ops.triu, m, k)


def _triangle(operation, m, k):
    if m.ndim < 2:
        m = ops.expand(m, (m.shape[0], m.shape[0]))
    return operation(m, int(k))


@function("vander")
def vander(x: Array, N=None, increasing=False):
    """Powers of a vector's elements as columns."""
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.shape[0] if N is None else N
    kind = numpy.promote_types(kind_of(x), int)
    x = cast(x, kind)
    if n <= 0:
        return new_tensor(numpy.zeros((x.shape[0], 0), kind))
    rows = x.shape[0]
    first = ops.expand(number(1, kind), (rows, 1))
    powers = ops.cumprod(ops.cat([first, ops.expand(ops.unsqueeze(x, 1), (rows, n - 1))], 1), 1)
    return powers if increasing else ops.flip(powers, (1,))


# grids ----------------------------------------------------------------------------------------------------------------


@function("meshgrid", star=tensor_of)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """The coordinates of a grid, one Tensor for each axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    axes = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    spread = [ops.reshape(x, [-1 if i == axes[k] else 1 for i in range(n)]) for k, x in enumerate(xi)]
    if not sparse:
        shape = numpy.broadcast_shapes(*[tuple(each.shape) for each in spread])
        spread = [ops.expand(each, shape) for each in spread]
    return tuple(each.clone() for each in spread) if copy else tuple(spread)


@function("ix_", star=tensor_of)
def ix_(*args):
    """Sequences along one axis each; of truth values the places that are true."""
    if any(each.ndim != 1 for each in args):
        raise ValueError("Cross index must be 1 dimensional")
    columns = []
    for axis, each in enumerate(args):
        if kind_of(each).kind == "b":
            each = new_tensor(numpy.flatnonzero(values_of(each)))
        elif not each.numel():
            each = cast(each, numpy.intp)
        columns.append(ops.reshape(each, (1,) * axis + (-1,) + (1,) * (len(args) - axis - 1)))
    return tuple(columns)


@function("lib.stride_tricks.sliding_window_view")
def sliding_window_view(x: Array, window_shape, axis=None, *, subok=False, writeable=False):
    """All windows of a shape, as further axes."""
    sizes = plain(window_shape)
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    axes = axes_of(axis, x.ndim)
    if len(axes) != len(sizes):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(sizes)} and {len(axes)} elements."
        )
    for dim, size in zip(axes, sizes, strict=True):
        if size > x.shape[dim]:
            raise ValueError("window shape cannot be larger than input array shape")
        x = ops.unfold(x, dim, size, 1)
    return x


@function("lib.stride_tricks.as_strided")
def as_strided(x: Array, shape=None, strides=None, subok=False, writeable=True):
    """The elements at places that strides in bytes name, as a copy: overlapping elements add up their derivatives."""
    array = values_of(x)
    shape = x.shape if shape is None else plain(shape)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    strides = array.strides if strides is None else plain(strides)
    if len(strides) != len(shape) or any(n < 0 for n in shape):
        raise ValueError("strides is incompatible with shape of requested array")
    if not array.flags.c_contiguous:
        raise TypeError("as_strided(): over Tensors the array must be contiguous; use numpy.ascontiguousarray(x)")
    places, rest = numpy.zeros(shape, int), 0
    for dim, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        step, left = divmod(stride, array.itemsize)
        rest = rest or left
        places += step * numpy.arange(size).reshape((-1,) + (1,) * (len(shape) - dim - 1))
    if rest or (places.size and not 0 <= places.min() <= places.max() < array.size):
        raise ValueError(
            f"as_strided(): the strides {tuple(strides)} lead out of the {array.nbytes} bytes of the array"
        )
    return ops.reshape(x, (-1,))[places]


# functions along axes -------------------------------------------------------------------------------------------------


@function("apply_along_axis")
def apply_along_axis(func1d, axis, arr: Array, *args, **kwargs):
    """The result of a function for each row along an axis."""
    axis = axis_of(axis, arr.ndim)
    rows = ops.permute(arr, [*[i for i in range(arr.ndim) if i != axis], axis])
    indices = list(numpy.ndindex(*rows.shape[:-1]))
    if not indices:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [tensor_of(func1d(rows[index], *args, **kwargs)) for index in indices]
    result = ops.reshape(ops.stack(promote(*results), 0), (*rows.shape[:-1], *results[0].shape))
    n = len(rows.shape) - 1
    return ops.permute(result, [*range(axis), *range(n, result.ndim), *range(axis, n)])


@function("apply_over_axes")
def apply_over_axes(func, a: Array, axes):
    """The result of a function of a Tensor and an axis, applied for each axis."""
    for axis in axes_of(axes, a.ndim):
        reduced = func(a, axis)
        if reduced.ndim == a.ndim - 1:
            reduced = ops.unsqueeze(reduced, axis)
        if reduced.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = reduced
    return a


# parts ----------------------------------------------------------------------------------------------------------------


@function("real")
def real(val: Array):
    """The real part."""
    return val.real


@function("imag")
def imag(val: Array):
    """The imaginary part; zeros of a real Tensor."""
    return val.imag if kind_of(val).kind == "c" else ops.zeros_like(val)


@function("real_if_close")
def real_if_close(a: Array, tol=100):
    """The real part, if all imaginary parts are nearly 0."""
    if kind_of(a).kind != "c":
        return a
    limit = tol * numpy.finfo(kind_of(a)).eps if tol > 1 else tol
    return a.real if bool(numpy.all(numpy.absolute(a.detach()._array.imag) < limit)) else a
