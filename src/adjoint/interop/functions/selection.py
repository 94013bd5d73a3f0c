"""Picking, ordering and writing elements.

Functions that only move elements are computed once, on numbers of elements: NumPy's own function moves the numbers, and
one gather moves the elements.
"""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.arrays.libraries.numpy_namespace import repeat
from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_functions import FUNCTIONS, Array, Arrays, Operand, function
from adjoint.interop.operands import (
    axes_of,
    axis_of,
    cast,
    constant,
    is_tensor,
    is_tracked,
    kind_of,
    known_values,
    plain,
    promote,
    tensor_of,
    values_of,
)
from adjoint.tensor.table import ops

# moving by numbers ----------------------------------------------------------------------------------------------------


def numbered_arrays(*shapes: Any) -> list[Any]:
    """Arrays of these shapes whose elements are counted through.

    >>> numbered_arrays((2,), (1, 2))
    [array([0, 1]), array([[2, 3]])]
    """
    indices, start = [], 0
    for shape in shapes:
        size = int(numpy.prod(shape))
        indices.append(numpy.arange(start, start + size).reshape(tuple(shape)))
        start += size
    return indices


def gather_elements(sources: Any, indices: Any) -> Any:
    """The elements of Tensors, all counted through, at given places."""
    flat = [ops.reshape(each, (-1,)) for each in sources]
    return ops.take(flat[0] if len(flat) == 1 else ops.cat(flat, 0), new_tensor(numpy.asarray(indices)))


def _moving(name: str, text: str) -> None:
    """A function of one array that moves elements: its other arguments are constants."""
    numpy_function = repeat if name == "repeat" else getattr(numpy, name)

    def gather(a, *args, **kwargs):
        a = tensor_of(a)
        (numbers,) = numbered_arrays(a.shape)
        return gather_elements([a], numpy_function(numbers, *constant(args), **constant(kwargs)))

    gather.__name__ = name
    gather.__doc__ = text
    FUNCTIONS[name] = gather


for _name, _text in {
    "repeat": "Each element as often as told.",
    "resize": "The elements under another shape, from the start again where they do not suffice.",
    "delete": "Without the places that are named.",
}.items():
    _moving(_name, _text)


@function("compress")
def compress(condition, a: Array, axis=None, out=None):
    """The slices along an axis at which a condition holds."""
    (numbers,) = numbered_arrays(a.shape)
    return gather_elements([a], numpy.compress(constant(condition), numbers, axis))


@function("extract")
def extract(condition, arr: Array):
    """The elements at which a condition holds."""
    where = numpy.flatnonzero(constant(condition))
    return gather_elements([arr], where)


@function("trim_zeros")
def trim_zeros(filt: Array, trim="fb", axis=None):
    """Without the zeros at the ends."""
    trimmed = numpy.trim_zeros(numpy.where(known_values(filt, "trim_zeros") != 0, 1, 0), trim, axis)
    if trimmed.size == filt.numel():
        return filt
    spots = [slice(None)] * filt.ndim
    nonzero = numpy.argwhere(known_values(filt, "trim_zeros"))
    for dim in axes_of(axis, filt.ndim):
        n = filt.shape[dim]
        first, last = (nonzero[:, dim].min(), nonzero[:, dim].max() + 1) if len(nonzero) else (n, n)
        start = first if "f" in trim.lower() else 0
        spots[dim] = slice(int(start), int(last if "b" in trim.lower() else n))
    return filt[tuple(spots)]


@function("insert")
def insert(arr: Array, obj, values: Array, axis=None):
    """A Tensor with values inserted before indices."""
    arr, values = cast(arr, kind_of(arr)), cast(values, kind_of(arr))
    old, new = numbered_arrays(arr.shape, values.shape)
    return gather_elements([arr, values], numpy.insert(old, constant(obj), new, axis))


@function("take")
def take(a: Array, indices, axis=None, out=None, mode="raise"):
    """The elements (or slices along an axis) that indices name."""
    indices = numpy.asarray(constant(indices))
    if axis is None:
        (numbers,) = numbered_arrays(a.shape)
        return gather_elements([a], numpy.take(numbers, indices, mode=mode))
    axis = axis_of(axis, a.ndim)
    positions = numpy.take(numpy.arange(a.shape[axis]), indices, mode=mode)
    return a[(slice(None),) * axis + (positions,)]


@function("take_along_axis")
def take_along_axis(arr: Array, indices, axis=-1):
    """The elements along an axis that indices of the same number of axes name."""
    indices = numpy.asarray(constant(indices))
    (numbers,) = numbered_arrays(arr.shape)
    return gather_elements([arr], numpy.take_along_axis(numbers, indices, axis))


@function("choose")
def choose(a, choices: Arrays, out=None, mode="raise"):
    """Each element from the choice that an index names."""
    choices = promote(*choices)
    numbers = numbered_arrays(*[each.shape for each in choices])
    return gather_elements(choices, numpy.choose(constant(a), numbers, mode=mode))


@function("select")
def select(condlist, choicelist, default: Operand = 0):
    """Each element from the first choice whose condition holds."""
    *choices, rest = promote(*choicelist, default)
    result = rest
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        condition = tensor_of(condition)
        if kind_of(condition).kind != "b":
            raise TypeError("invalid entry in condlist: should be boolean ndarray")
        result = ops.where(condition, choice, result)
    return result


@function("where")
def where(condition: Array, x: Operand = None, y: Operand = None, /):
    """x where a condition holds and y elsewhere; the places where it holds, if these are not given."""
    if (x is None) != (y is None):
        raise ValueError("either both or neither of x and y should be given")
    if x is None:
        return tuple(new_tensor(each) for each in numpy.nonzero(known_values(condition, "where")))
    x, y = promote(x, y)
    return ops.where(cast(condition, bool), x, y)


@function("piecewise")
def piecewise(x: Array, condlist, funclist, *args, **kw):
    """For each of several conditions, a function of the elements at which it holds."""
    conditions = constant(condlist)
    if (
        isinstance(condlist, (bool, numpy.bool))
        or is_tensor(condlist)
        or (not isinstance(conditions[0], (list, numpy.ndarray)) and x.ndim != 0)
    ):
        conditions = [conditions] if not is_tensor(condlist) or condlist.ndim <= x.ndim else list(conditions)
    conditions = [numpy.broadcast_to(numpy.asarray(each, bool), tuple(x.shape)) for each in conditions]
    if len(conditions) == len(funclist) - 1:
        conditions.append(~numpy.any(conditions, axis=0))
    if len(conditions) != len(funclist):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = ops.zeros_like(x)
    for condition, piece in zip(conditions, funclist, strict=True):
        spots = numpy.flatnonzero(condition)
        elements = gather_elements([x], spots)
        value = piece(elements, *args, **kw) if callable(piece) else piece
        if elements.numel():
            value = ops.expand(cast(tensor_of(value), kind_of(x)), elements.shape)
            result = ops.put(result, new_tensor(spots), value, False)
    return result


# order ----------------------------------------------------------------------------------------------------------------


@function("sort")
def sort(a: Array, axis=-1, kind=None, order=None, *, stable=None):
    """In ascending order along an axis, or of all elements if it is None."""
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), -1
    axis = axis_of(axis, a.ndim)
    if kind_of(a).kind != "c":
        return ops.sort(a, axis)[0]
    return take_along_axis(a, numpy.argsort(values_of(a), axis, kind="stable"), axis)


@function("partition")
def partition(a: Array, kth, axis=-1, kind="introselect", order=None):
    """Ordered so far that the k-th element stands where it would in order."""
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), -1
    return take_along_axis(a, numpy.argpartition(values_of(a), plain(kth), axis, kind), axis)


@function("sort_complex")
def sort_complex(a: Array):
    """In ascending order along the last axis, as complex numbers."""
    kind = kind_of(a)
    return sort(a if kind.kind == "c" else cast(a, "complex64" if kind.name in _SHORT else "complex128"), -1)


_SHORT = ("int8", "int16", "uint8", "uint16")


# sets -----------------------------------------------------------------------------------------------------------------


@function("unique")
def unique(
    ar: Array, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):
    """The elements without repetitions; each one's gradient goes to where it first stands."""
    parts = numpy.unique(known_values(ar, "unique"), True, True, True, axis, equal_nan=equal_nan)
    first = parts[1]
    values = gather_elements([ar], first) if axis is None else ar[(slice(None),) * axis_of(axis, ar.ndim) + (first,)]
    requested = (True, return_index, return_inverse, return_counts)
    results = [values, *[new_tensor(each) for each in parts[1:]]]
    outputs = tuple(each for each, flag in zip(results, requested, strict=True) if flag)
    return outputs if len(outputs) > 1 else values


def _unique(kind, x):
    results = numpy.unique(known_values(x, "unique"), True, True, True, equal_nan=False)
    parts = dict(zip(("values", "indices", "inverse_indices", "counts"), results, strict=True))
    parts = {
        name: gather_elements([x], results[1]) if name == "values" else new_tensor(each) for name, each in parts.items()
    }
    return kind(**{name: parts[name] for name in kind._fields})


def _declare_unique(name):
    kind = type(getattr(numpy, name)(numpy.zeros(1)))

    def unique(x: Array):
        return _unique(kind, x)

    unique.__name__ = name
    unique.__doc__ = "The elements without repetitions, and what the name says, as the array API standard has it."
    function(name)(unique)


for _name in ("unique_all", "unique_counts", "unique_inverse"):
    _declare_unique(_name)


@function("unique_values")
def unique_values(x: Array):
    """The elements without repetitions."""
    return unique(x, equal_nan=False)


def _among(a, b, of_sets, *options):
    """The result of a function of two sets, with the gradient of each element at its first occurrence."""
    a, b = promote(a, b)
    both = [ops.reshape(each, (-1,)) for each in (a, b)]
    arrays = [known_values(each, of_sets.__name__) for each in both]
    values, first = numpy.unique(numpy.concatenate(arrays), return_index=True)
    return gather_elements(both, first[numpy.searchsorted(values, of_sets(*arrays, *options))])


@function("union1d")
def union1d(ar1: Array, ar2: Array):
    """The elements of both."""
    return _among(ar1, ar2, numpy.union1d)


@function("setdiff1d")
def setdiff1d(ar1: Array, ar2: Array, assume_unique=False):
    """The elements of the first that are not in the second."""
    return _among(ar1, ar2, numpy.setdiff1d, assume_unique)


@function("setxor1d")
def setxor1d(ar1: Array, ar2: Array, assume_unique=False):
    """The elements of one of the two."""
    return _among(ar1, ar2, numpy.setxor1d, assume_unique)


@function("intersect1d")
def intersect1d(ar1: Array, ar2: Array, assume_unique=False, return_indices=False):
    """The elements that both have."""
    result = _among(ar1, ar2, numpy.intersect1d, assume_unique)
    if not return_indices:
        return result
    results = numpy.intersect1d(values_of(ar1), values_of(ar2), assume_unique, True)
    return (result, *[new_tensor(each) for each in results[1:]])


# writing --------------------------------------------------------------------------------------------------------------


def _target(name: str, target: Any, *others: Any) -> Any:
    """The Tensor that is written to. Raises TypeError for an array, if the written values require grad."""
    if is_tensor(target):
        return target
    if any(is_tensor(each) and is_tracked(each) for each in others):
        raise TypeError(
            f"{name}: the target is an array, which cannot hold the history of a Tensor that requires grad; "
            "make the target a Tensor, or detach() what is written"
        )
    return new_tensor(target)


@function("copyto")
def copyto(dst, src: Array, casting="same_kind", where=True):
    """Write to a Tensor in place, where a mask says."""
    target = _target("copyto", dst, src)
    if not numpy.can_cast(kind_of(src), kind_of(target), casting):
        raise TypeError(
            f"Cannot cast array data from {kind_of(src)!r} to {kind_of(target)!r} according to the rule '{casting}'"
        )
    value = cast(src, kind_of(target))
    if where is True:
        target.copy_(ops.expand(value, target.shape))
    else:
        mask = ops.expand(cast(tensor_of(where), bool), target.shape)
        target.copy_(ops.where(mask, value, target))


def _write(target, positions, values):
    """Write values, from the start again where they do not suffice, to elements counted through."""
    flat = ops.reshape(values, (-1,))
    if not positions.size or not flat.numel():
        return
    # where a place is named several times the last one counts
    last = {int(position): i for i, position in enumerate(positions)}
    sources = numpy.fromiter(last.values(), int)
    entries = cast(gather_elements([flat], sources % flat.numel()), kind_of(target))
    if target.ndim:
        target[numpy.unravel_index(numpy.fromiter(last, int), tuple(target.shape))] = entries
    else:
        target[...] = entries[0]


@function("put")
def put(a, ind, v: Array, mode="raise"):
    """Write to places of a Tensor, counted through."""
    target = _target("put", a, v)
    n = target.numel()
    _write(target, numpy.take(numpy.arange(n), numpy.ravel(constant(ind)), mode=mode), v)


@function("place")
def place(arr, mask, vals: Array):
    """Write values in order to the positions at which a mask holds."""
    target = _target("place", arr, vals)
    positions = numpy.flatnonzero(constant(mask))
    if positions.size and not vals.numel():
        raise ValueError("Cannot insert from an empty array!")
    _write(target, positions, vals)


@function("putmask")
def putmask(a, /, mask, values: Array):
    """Write to the positions of a mask the values at the same flat positions, repeated if they are fewer."""
    target = _target("putmask", a, values)
    positions = numpy.flatnonzero(constant(mask))
    if positions.size:
        _write(target, positions, gather_elements([values], positions % values.numel()))


@function("put_along_axis")
def put_along_axis(arr, indices, values: Array, axis):
    """Write to the places along an axis that indices name."""
    target = _target("put_along_axis", arr, values)
    indices = numpy.asarray(constant(indices))
    (numbers,) = numbered_arrays(target.shape)
    if axis is None:
        numbers, axis = numpy.ravel(numbers), 0
    positions = numpy.take_along_axis(numbers, indices, axis)
    _write(target, numpy.ravel(positions), ops.expand(values, positions.shape))


@function("fill_diagonal")
def fill_diagonal(a, val: Array, wrap=False):
    """Write to the diagonal."""
    target = _target("fill_diagonal", a, val)
    if target.ndim < 2:
        raise ValueError("array must be at least 2-d")
    marks = numpy.zeros(tuple(target.shape), bool)
    numpy.fill_diagonal(marks, True, wrap)
    _write(target, numpy.flatnonzero(marks), val)
