"""NumPy as the kernels see it: numpy itself, and the few functions that it lacks.

Everything of numpy is here under its own name (the very same objects: a kernel named "tanh" is the ufunc). What comes
from SciPy is looked up when it is first used, so that importing adjoint does not import SciPy.
"""

import importlib
from typing import Any

import numpy
from numpy import *  # noqa: F403
from numpy import linalg  # noqa: F401

_SPECIAL = {
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "gammaln": "gammaln",
    "digamma": "digamma",
    "polygamma": "polygamma",
    "expit": "expit",
    "logsumexp": "logsumexp",
    "xlogy": "xlogy",
    "ndtr": "ndtr",
    "ndtri": "ndtri",
}


def __getattr__(name: str) -> Any:
    if name in _SPECIAL:
        value = getattr(importlib.import_module("scipy.special"), _SPECIAL[name])
    else:
        value = getattr(numpy, name)
    globals()[name] = value
    return value


def scatter_add(array: Any, axis: int, index: Any, source: Any) -> Any:
    """A copy of `array` with source[i] added at index[i] along one axis; indices may repeat.

    `index` and `source` have the same shape, which outside `axis` fits into that of `array`.

    >>> scatter_add(numpy.zeros(3), 0, numpy.array([2, 2]), numpy.array([1.0, 2.0]))
    array([0., 0., 3.])
    """
    result = array.copy()
    source = source[tuple(slice(n) for n in index.shape)]
    numpy.add.at(result, along_axis(index, axis), source)
    return result


def index_add(array: Any, where: Any, source: Any) -> Any:
    """A copy of `array` with `source` added at the places that `array[where]` picks; repeated places add up."""
    result = array.copy()
    numpy.add.at(result, where, source)
    return result


def along_axis(index: Any, axis: int) -> tuple[Any, ...]:
    """The index tuple that picks, along one axis, the places that `index` names (see numpy.take_along_axis)."""
    grid = list(numpy.ogrid[tuple(slice(n) for n in index.shape)])
    if index.ndim:
        grid[axis] = index
        return tuple(grid)
    return (index,)


def solve_triangular(a: Any, b: Any, *, lower: bool, transposed: bool = False, unit_diagonal: bool = False) -> Any:
    """x with a @ x = b for triangular a, batched over leading axes; only the named triangle of a is read."""
    from scipy.linalg import solve_triangular as solve

    if transposed:
        a, lower = numpy.matrix_transpose(a), not lower
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    kind = numpy.result_type(a, b)
    if not batch and a.size and b.size:
        return solve(a, b, lower=lower, unit_diagonal=unit_diagonal, check_finite=False).astype(kind, copy=False)
    a = numpy.broadcast_to(a, batch + a.shape[-2:])
    b = numpy.broadcast_to(b, batch + b.shape[-2:])
    result = numpy.empty(b.shape, kind)
    for place in numpy.ndindex(*batch):
        if b.shape[-1] and b.shape[-2]:
            result[place] = solve(
                a[place], b[place], lower=lower, unit_diagonal=unit_diagonal, check_finite=False
            )
    return result
