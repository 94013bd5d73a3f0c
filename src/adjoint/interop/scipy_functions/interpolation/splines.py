"""B-splines over Tensors, by the recurrence of Cox and de Boor: differentiable by places, coefficients and knots."""

from __future__ import annotations

import math
from typing import Any

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.scipy_functions.axes import move_axes, tensors
from adjoint.interop.scipy_functions.interpolation.piecewise import along, conditions_of, data, place
from adjoint.interop.scipy_functions.pieces import piecewise, plain
from adjoint.tensor.table import ops


def local_basis(x: Any, knots: Any, degree: int) -> tuple[Any, numpy.ndarray]:
    """The B-splines of a degree that are not 0 at each place, as rows, and the number of the first of each."""
    at = plain(knots)
    last = at.size - degree - 2
    span = numpy.clip(numpy.searchsorted(at, plain(x), "right") - 1, degree, last)
    one = 0 * x + 1
    rows = [one]
    for size in range(1, degree + 1):
        padded = [0 * one, *rows, 0 * one]
        new = []
        for i in range(size + 1):
            first = span - size + i
            value = 0 * one
            if i > 0:
                value = value + (x - knots[first]) / _apart(knots, first, size) * padded[i]
            if i < size:
                value = value + (knots[first + size + 1] - x) / _apart(knots, first + 1, size) * padded[i + 1]
            new.append(value)
        rows = new
    return ops.stack(rows, -1), span - degree


def _apart(knots: Any, first: numpy.ndarray, size: int) -> Any:
    return knots[first + size] - knots[first]


class BSpline:
    """The sum of B-splines times coefficients (SciPy's class of that name)."""

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, c = tensors(t, c)
        self.k = int(k)
        self.extrapolate = extrapolate
        self.axis = axis % c.ndim
        self.c = move_axes(c, self.axis, 0)
        n = self.t.shape[0] - self.k - 1
        if n < self.k + 1 or self.c.shape[0] < n:
            raise ValueError("Need at least 2k + 2 knots, and a coefficient for each B-spline of degree k.")

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values, or a derivative's values, at places; NaN outside without extrapolation."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise TypeError("BSpline: extrapolate='periodic' is not supported for Tensors; use CubicSpline")
        spline = self.derivative(nu) if nu else self
        x = tensors(x, spline.c)[0]
        form = tuple(x.shape)
        flat = ops.reshape(x, (-1,))
        basis, first = local_basis(flat, spline.t, spline.k)
        parts = [along(basis[:, i], spline.c) * spline.c[first + i] for i in range(spline.k + 1)]
        value = sum(parts[1:], parts[0])
        if not extrapolate:
            at, knots = plain(flat), plain(self.t)
            outside = (at < knots[self.k]) | (at > knots[-self.k - 1])
            value = piecewise([outside.reshape(-1, *[1] * (value.ndim - 1))], [math.nan, lambda v: v], value)
        value = ops.reshape(value, (*form, *value.shape[1:]))
        return place(value, len(form), self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative, a spline of a lower degree. Raises TypeError for a negative order."""
        if nu < 0:
            raise TypeError(
                f"BSpline: nu={nu} must not be negative for Tensors, since antiderivatives are not supported; use "
                "CubicSpline"
            )
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            if k == 0:
                return self._like(t, 0 * c, 0)
            n = t.shape[0] - k - 1
            width = t[k + 1 : k + n] - t[1:n]
            gaps = plain(width) == 0
            scale = piecewise([gaps], [0.0, lambda w, k=k: k / w], width)
            c = (c[1:n] - c[: n - 1]) * along(scale, c)
            t, k = t[1:-1], k - 1
        return self._like(t, c, k)

    def _like(self, t: Any, c: Any, k: int) -> BSpline:
        other = BSpline.__new__(BSpline)
        other.t, other.c, other.k, other.extrapolate, other.axis = t, c, k, self.extrapolate, self.axis
        return other


def default_knots(x: Any, k: int) -> Any:
    """The knots of an interpolating spline of a degree, without conditions at the ends."""
    if k % 2:
        inner = x[(k + 1) // 2 : x.shape[0] - (k + 1) // 2]
    else:
        middle = 0.5 * (x[1:] + x[:-1])
        inner = middle[k // 2 : middle.shape[0] - k // 2]
    return ops.cat([ops.expand(x[:1], (k + 1,)), inner, ops.expand(x[-1:], (k + 1,))], 0)


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """The B-spline through data, whose coefficients solve a linear system with bands. Raises TypeError if periodic."""
    x, y, axis = data(x, y, axis)
    ends = [None, None] if bc_type in (None, "not-a-knot", (None, None)) else conditions_of(bc_type)
    if "periodic" in ends:
        raise TypeError("make_interp_spline: bc_type='periodic' is not supported for Tensors; use CubicSpline")
    ends = [None if end == "not-a-knot" else end for end in ends]
    if t is None:
        t = default_knots(x, k) if ends == [None, None] else _clamped_knots(x, k)
    t = tensors(t, x)[0]
    rows, first = local_basis(x, t, k)
    right = [y]
    for position, end in enumerate(ends):
        if end is not None:
            row, start = _derivative_row(x[-position], t, k, end[0])
            value = (tensors(end[1], y)[0] + 0 * y[0])[None]
            rows = ops.cat([row, rows] if position == 0 else [rows, row], 0)
            first = numpy.concatenate([start, first] if position == 0 else [first, start])
            right = [value, *right] if position == 0 else [*right, value]
    c = _solve(rows, first, ops.cat(right, 0), k)
    spline = BSpline(t, c, k)
    spline.axis = axis
    return spline


def _clamped_knots(x: Any, k: int) -> Any:
    if k != 3:
        raise TypeError(
            f"make_interp_spline: bc_type with k={k} is not supported for Tensors; use k=3, or give the knots t"
        )
    return ops.cat([ops.expand(x[:1], (k,)), x, ops.expand(x[-1:], (k,))], 0)


def _derivative_row(x: Any, t: Any, k: int, order: int) -> tuple[Any, numpy.ndarray]:
    """The derivatives of the B-splines that are not 0 at a place, as one row."""
    first = int(numpy.clip(numpy.searchsorted(plain(t), plain(x), "right") - 1, k, plain(t).size - k - 2)) - k
    units = numpy.zeros((plain(t).size - k - 1, k + 1))
    units[first : first + k + 1] = numpy.eye(k + 1)
    return BSpline(t, units, k)(x[None], order), numpy.array([first])


def _solve(rows: Any, first: numpy.ndarray, right: Any, k: int) -> Any:
    """The solution of a system whose row j has its values from the column first[j] on."""
    n = rows.shape[0]
    columns = first[:, None] + numpy.arange(k + 1)
    band = k + 1 + numpy.arange(n)[:, None] - columns
    flat = ops.scatter(
        ops.reshape(0 * ops.expand(rows[:1, :1], (2 * k + 3, n)), (-1,)), 0,
        tensors_of_places((band * n + columns).ravel()), ops.reshape(rows, (-1,)),
    )  # fmt: skip
    bands = ops.reshape(flat, (2 * k + 3, n))
    solved = FUNCTIONS["scipy.linalg.solve_banded"]((k + 1, k + 1), bands, ops.reshape(right, (n, -1)))
    return ops.reshape(solved, tuple(right.shape))


def tensors_of_places(places: numpy.ndarray) -> Any:
    """An index as operations take it."""
    from adjoint.core.graph import new_tensor

    return new_tensor(places.astype(numpy.int64))
