"""Functions for authors of primitives, to undo broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.compat.autograd import numpy as np


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """The sum over the axes along which an argument was broadcast, real if the argument was.

    target_meta: the result of numpy_wrapper.metadata() for the argument. broadcast_idx: the position of the axes that
    the argument did not have, 0 for in front, -1 for behind.
    """
    shape, ndim, _, is_complex = target_meta
    while np.ndim(x) > ndim:
        x = np.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1 and np.shape(x)[axis] != 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return np.real(x) if np.iscomplexobj(x) and not is_complex else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of cotangents whose results are summed to the shape of an argument.

    >>> import numpy
    >>> unbroadcast_f(numpy.ones(2), lambda g: 2 * g)(numpy.ones((3, 2)))
    array([6., 6.])
    """
    target_meta = np.metadata(target)
    return lambda g: unbroadcast(f(g), target_meta)


def match_complex(target: Any, x: Any) -> Any:
    """x converted to a complex or a real array, as target is.

    A conversion from complex to real returns the real part.
    """
    is_complex = np.iscomplexobj(target)
    if is_complex == np.iscomplexobj(x):
        return x
    return x + 0j if is_complex else np.real(x)


def repeat_to_match_shape(g: Any, shape: tuple[int, ...], dtype: Any, axis: Any, keepdims: bool) -> tuple[Any, int]:
    """The result of a reduction, repeated along the reduced axes for each element, and the number of these.

    >>> repeat_to_match_shape(2.0, (3,), float, None, False)
    (array([2., 2., 2.]), 3)
    """
    axes = range(len(shape)) if axis is None else [int(i) % len(shape) for i in np.atleast_1d(axis)]
    kept_shape = [1 if i in axes else n for i, n in enumerate(shape)]
    repeats = 1
    for i in axes:
        repeats *= shape[i]
    return np.broadcast_to(np.reshape(g, kept_shape), shape) * np.ones((), dtype), repeats
