"""numpy.pad: more elements at the ends of each axis."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.functions import reductions, statistics
from adjoint.interop.functions.creation import linspace
from adjoint.interop.functions.selection import gather_elements, numbered_arrays
from adjoint.interop.numpy_functions import Array, function
from adjoint.interop.operands import axis_of, cast, kind_of, plain, tensor_of
from adjoint.tensor.table import ops

_BY_NUMBER = ("edge", "reflect", "symmetric", "wrap")


@function("pad")
def pad(array: Array, pad_width, mode="constant", **kwargs):
    """More elements at the ends of each axis, of the ways that numpy.pad knows."""
    widths = plain(pad_width)
    if isinstance(widths, dict):
        by_axis = {axis_of(axis, array.ndim): each for axis, each in widths.items()}
        widths = [by_axis.get(axis, (0, 0)) for axis in range(array.ndim)]
        widths = [(each, each) if isinstance(each, int) else tuple(each) for each in widths]
    pairs = numpy.broadcast_to(widths, (array.ndim, 2)).tolist()
    if mode == "constant":
        values = cast(tensor_of(kwargs.pop("constant_values", 0)), kind_of(array))
        array_numbers, value_numbers = numbered_arrays(array.shape, values.shape)
        _refuse_more(kwargs, mode)
        return gather_elements([array, values], numpy.pad(array_numbers, pairs, constant_values=value_numbers))
    if mode in _BY_NUMBER and kwargs.get("reflect_type", "even") == "even":
        (numbers,) = numbered_arrays(array.shape)
        return gather_elements([array], numpy.pad(numbers, pairs, mode, **kwargs))
    ends = _Ends(array, mode, kwargs)
    for axis, (before, after) in enumerate(pairs):
        array = ends.pad_axis(array, axis, before, after)
    return array


def _refuse_more(kwargs, mode):
    if kwargs:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(kwargs)}")


class _Ends:
    """The values at the ends of an axis for the modes of padding that compute them."""

    def __init__(self, array, mode, kwargs):
        kwargs = dict(kwargs)
        statistic: Any = {
            "maximum": reductions.max, "minimum": reductions.min, "mean": reductions.mean, "median": statistics.median,
        }.get(mode)  # fmt: skip
        if statistic is not None:
            lengths = kwargs.pop("stat_length", None)
            self.lengths = None if lengths is None else numpy.broadcast_to(lengths, (array.ndim, 2)).tolist()
            self.make = lambda part, axis: statistic(part, axis, keepdims=True)
        elif mode == "linear_ramp":
            self.values = ops.expand(tensor_of(kwargs.pop("end_values", 0)), (array.ndim, 2))
        elif mode not in ("empty", *_BY_NUMBER):
            raise ValueError(f"mode '{mode}' is not supported")
        self.mode = mode
        self.odd = kwargs.pop("reflect_type", "even") == "odd"
        _refuse_more(kwargs, mode)

    def pad_axis(self, array, axis, before, after):
        parts = [self.end(array, axis, before, True), array, self.end(array, axis, after, False)]
        return ops.cat([cast(part, kind_of(array)) for part in parts if part is not None], axis)

    def end(self, array, axis, width, front):
        if not width:
            return None
        shape = [*array.shape[:axis], width, *array.shape[axis + 1 :]]
        if self.mode == "empty":
            return new_tensor(numpy.zeros(shape, kind_of(array)))
        if self.mode == "linear_ramp":
            return self.ramp(array, axis, width, front)
        if self.mode in ("reflect", "symmetric"):
            return self.reflection(array, axis, width, front)
        n = array.shape[axis]
        length = n if self.lengths is None else min(self.lengths[axis][0 if front else 1], n)
        margin = self.make(array.narrow(axis, 0 if front else n - length, length), axis)
        if kind_of(array).kind in "iu":
            margin = ops.round(margin)
        return ops.expand(margin, shape)

    def ramp(self, array, axis, width, front):
        edge = array.select(axis, 0 if front else array.shape[axis] - 1)
        target = self.values[axis, 0 if front else 1]
        ramp = linspace(target, edge, width, endpoint=False, dtype=kind_of(array), axis=axis)
        return ramp if front else ops.flip(ramp, (axis,))

    def reflection(self, array, axis, width, front):
        """Twice the edge less the reflection, again and again until there is enough."""
        n = array.shape[axis]
        skip = self.mode == "reflect"
        pieces: list[Any] = []
        have, current = 0, array
        if n == 1:
            return ops.expand(array, [*array.shape[:axis], width, *array.shape[axis + 1 :]])
        while have < width:
            edge = current.narrow(axis, 0 if front else n - 1, 1)
            mirrored = 2 * edge - ops.flip(current, (axis,))
            part = mirrored.narrow(axis, 0 if front else int(skip), n - skip)
            pieces = [part, *pieces] if front else [*pieces, part]
            have, current = have + n - skip, mirrored
        whole = ops.cat(pieces, axis)
        return whole.narrow(axis, have - width if front else 0, width)
