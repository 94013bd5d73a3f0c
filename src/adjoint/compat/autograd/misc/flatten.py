"""Nested containers of arrays as one vector, and back, both ways differentiable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from adjoint.compat.autograd import numpy as np
from adjoint.runtime import pytree

Function = Callable[..., Any]


def flatten(value: Any) -> tuple[Any, Function]:
    """All numbers of nested lists, tuples and dictionaries as one vector, and a function that undoes it.

    Dictionaries are taken in the order of their keys. Integers become floats.

    >>> vector, unflatten = flatten({"b": [1.0, 2.0], "a": np.ones(2)})
    >>> vector
    array([1., 1., 1., 2.])
    >>> unflatten(2 * vector)["b"]
    [np.float64(2.0), np.float64(4.0)]
    """
    leaves, structure = pytree.flatten(_sort_keys(value))
    shapes = [np.shape(leaf) for leaf in leaves]
    kinds = [_kind_of(leaf) for leaf in leaves]
    ends = numpy.cumsum([int(numpy.prod(shape)) for shape in shapes], dtype=int)
    vector = np.concatenate([np.reshape(1.0 * leaf, (-1,)) for leaf in leaves]) if leaves else numpy.zeros(0)

    def unflatten(vector: Any) -> Any:
        starts = [0, *ends.tolist()][:-1]
        parts = zip(starts, ends.tolist(), shapes, kinds, strict=True)
        return structure.unflatten([_of_kind(np.reshape(vector[a:b], s), kind) for a, b, s, kind in parts])

    return vector, unflatten


def _kind_of(leaf: Any) -> numpy.dtype[Any]:
    kind = leaf.dtype if hasattr(leaf, "dtype") else numpy.asarray(leaf).dtype
    return kind if kind.kind in "fc" else numpy.dtype(float)


def _of_kind(part: Any, kind: numpy.dtype[Any]) -> Any:
    if part.dtype == kind or part.dtype.kind == "O":
        return part[()]
    return (np.real(part) if part.dtype.kind == "c" and kind.kind != "c" else part).astype(kind)[()]


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    if type(value) in (list, tuple):
        return type(value)(_sort_keys(member) for member in value)
    return value


def flatten_func(func: Function, example: Any) -> tuple[Function, Function, Any]:
    """A function of containers as a function of vectors.

    Returns the function from vectors to vectors, the function from a vector to the containers of the example, and the
    example's vector.
    """
    vector, unflatten = flatten(example)
    return (lambda x, *args: flatten(func(unflatten(x), *args))[0]), unflatten, vector
