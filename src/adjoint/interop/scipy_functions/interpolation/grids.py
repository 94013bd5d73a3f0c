"""Functions on regular grids, and interp1d."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy

from adjoint.interop.scipy_functions.axes import move_axes, tensors
from adjoint.interop.scipy_functions.interpolation.piecewise import along, place
from adjoint.interop.scipy_functions.interpolation.splines import default_knots, local_basis, make_interp_spline
from adjoint.interop.scipy_functions.pieces import piecewise, plain
from adjoint.tensor.table import ops

#: The degrees of the splines behind the names of methods.
DEGREES = {"linear": 1, "slinear": 1, "quadratic": 2, "cubic": 3, "quintic": 5}

#: For kinds of steps, the node that counts between two of them.
_STEPS = {"previous": ("right", -1), "zero": ("right", -1), "next": ("left", 0)}


class RegularGridInterpolator:
    """The tensor product of splines along the axes of a grid (SciPy's class of that name)."""

    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan,
        *, solver: Any = None, solver_args: Any = None,
    ) -> None:  # fmt: skip
        *self.grid, self.values = tensors(*points, values)
        if any(not numpy.all(numpy.diff(plain(axis)) > 0) for axis in self.grid):
            raise ValueError("The points must be strictly increasing over Tensors.")
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """The values at places, whose last axis counts the grid's axes; a tuple of arrays is one of coordinates."""
        if nu is not None:
            raise TypeError(
                f"RegularGridInterpolator: nu={nu!r} is not supported for Tensors; differentiate the values"
            )
        places = _coordinates(xi, len(self.grid), self.values)
        form = tuple(places.shape[:-1])
        flat = ops.reshape(places, (-1, len(self.grid)))
        columns = [flat[:, i] for i in range(len(self.grid))]
        outside = self._outside(columns)
        value = self._evaluate(columns, method or self.method)
        if self.fill_value is not None and outside.any():
            mask = outside.reshape(-1, *[1] * (value.ndim - 1))
            value = piecewise([mask], [float(self.fill_value), lambda v: v], value)
        return ops.reshape(value, (*form, *value.shape[1:]))

    def _outside(self, columns: list[Any]) -> numpy.ndarray:
        """Places outside of the grid. Raises ValueError if there are some where that is an error."""
        ends = [(plain(axis)[0], plain(axis)[-1], plain(x)) for axis, x in zip(self.grid, columns, strict=True)]
        each = [(x < low) | (x > high) for low, high, x in ends]
        for i, wrong in enumerate(each):
            if self.bounds_error and wrong.any():
                raise ValueError(f"One of the requested xi is out of bounds in dimension {i}")
        return numpy.any(each, 0)

    def _evaluate(self, columns: list[Any], method: str) -> Any:
        if method == "nearest":
            return self.values[tuple(_nearest(plain(a), plain(x)) for a, x in zip(self.grid, columns, strict=True))]
        if method not in DEGREES:
            raise TypeError(
                f"RegularGridInterpolator: method={method!r} is not supported for Tensors; use one of "
                f"{', '.join(DEGREES)}, nearest"
            )
        k, c = DEGREES[method], self.values
        bases = []
        for i, (axis, x) in enumerate(zip(self.grid, columns, strict=True)):
            knots = default_knots(axis, k)
            if k > 1:
                c = move_axes(make_interp_spline(axis, move_axes(c, i, 0), k).c, 0, i)
            bases.append(local_basis(x, knots, k))
        total: Any = None
        for corner in itertools.product(range(k + 1), repeat=len(bases)):
            weight = math.prod(basis[:, j] for (basis, _), j in zip(bases, corner, strict=True))
            part = c[tuple(first + j for (_, first), j in zip(bases, corner, strict=True))]
            part = part * along(weight, part)
            total = part if total is None else total + part
        return total


def _nearest(nodes: numpy.ndarray, x: numpy.ndarray) -> numpy.ndarray:
    piece = numpy.clip(numpy.searchsorted(nodes, x) - 1, 0, nodes.size - 2)
    return numpy.where((x - nodes[piece]) / (nodes[piece + 1] - nodes[piece]) <= 0.5, piece, piece + 1)


def _coordinates(xi: Any, n: int, like: Any) -> Any:
    """Places as one Tensor with the coordinates along the last axis."""
    if isinstance(xi, tuple):
        parts = tensors(*xi, like)[:-1]
        shape = numpy.broadcast_shapes(*[tuple(part.shape) for part in parts])
        return ops.stack([ops.expand(part, shape) for part in parts], -1)
    xi = tensors(xi, like)[0]
    if xi.ndim == 1 and n > 1:
        xi = xi[None]
    elif n == 1 and (xi.ndim < 2 or xi.shape[-1] != 1):
        xi = xi[..., None]
    if xi.shape[-1] != n:
        raise ValueError(f"The requested sample points xi have dimension {xi.shape[-1]} but this grid has {n}")
    return xi


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan
) -> Any:
    """Values on a regular grid, at other places."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


class interp1d:
    """Interpolation of one variable (SciPy's class of that name)."""

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True, bounds_error: bool | None = None,
        fill_value: Any = math.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        x, y = tensors(x, y)
        self.axis = axis % y.ndim
        y = move_axes(y, self.axis, 0)
        if not assume_sorted:
            order = numpy.argsort(plain(x), kind="mergesort")
            x, y = x[order], y[order]
        self.x, self.y, self.kind, self.fill_value = x, y, kind, fill_value
        self.extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        has_fill = self.extrapolates or not (isinstance(fill_value, float) and math.isnan(fill_value))
        self.bounds_error = not has_fill if bounds_error is None else bounds_error

    def __call__(self, x: Any) -> Any:
        """The values at places."""
        x = tensors(x, self.y)[0]
        form = tuple(x.shape)
        flat = ops.reshape(x, (-1,))
        value = self._evaluate(flat)
        at, nodes = plain(flat), plain(self.x)
        below, above = at < nodes[0], at > nodes[-1]
        if self.bounds_error and (below.any() or above.any()):
            side = "below" if below.any() else "above"
            raise ValueError(f"A value in x_new is {side} the interpolation range.")
        if not self.extrapolates and (below | above).any():
            low, high = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value, self.fill_value)
            masks = [mask.reshape(-1, *[1] * (value.ndim - 1)) for mask in (below, above)]
            fills = [ops.expand(tensors(each, value)[0], tuple(value.shape)) for each in (low, high)]
            branches = [lambda _, low, high: low, lambda _, low, high: high, lambda value, *_: value]
            value = piecewise(masks, branches, value, *fills)
        value = ops.reshape(value, (*form, *value.shape[1:]))
        return place(value, len(form), self.axis)

    def _evaluate(self, x: Any) -> Any:
        nodes, at = plain(self.x), plain(x)
        if self.kind in ("nearest", "nearest-up"):
            middle = 0.5 * (nodes[1:] + nodes[:-1])
            return self.y[numpy.searchsorted(middle, at, "left" if self.kind == "nearest" else "right")]
        if self.kind in _STEPS:
            side, shift = _STEPS[self.kind]
            index = numpy.searchsorted(nodes, at, side) + shift  # type: ignore[call-overload]
            return self.y[numpy.clip(index, 0, nodes.size - 1)]
        k = self.kind if isinstance(self.kind, int) else DEGREES.get(self.kind)
        if k is None:
            raise NotImplementedError(f"{self.kind} is unsupported: Use fitpack routines for other types.")
        if k == 1:
            piece = numpy.clip(numpy.searchsorted(nodes, at) - 1, 0, nodes.size - 2)
            slope = (self.y[piece + 1] - self.y[piece]) / along(self.x[piece + 1] - self.x[piece], self.y)
            return self.y[piece] + slope * along(x - self.x[piece], self.y)
        return make_interp_spline(self.x, self.y, k)(x)
