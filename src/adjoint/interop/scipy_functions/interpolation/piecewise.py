"""Polynomials by pieces over Tensors, and the cubic ones that go through data: splines, Akima's, monotone ones."""

from __future__ import annotations

import math
from typing import Any

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.scipy_functions.axes import move_axes, tensors
from adjoint.interop.scipy_functions.pieces import constants, piecewise, plain
from adjoint.tensor.table import ops


def data(x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    """Nodes, the values at them along the first axis, and the axis counted from the front.

    Raises ValueError unless the nodes increase and there is a value for each.
    """
    x, y = tensors(x, y)
    axis = axis % y.ndim
    y = move_axes(y, axis, 0)
    if x.ndim != 1 or x.shape[0] < 2 or not numpy.all(numpy.diff(plain(x)) > 0):
        raise ValueError("`x` must be a strictly increasing sequence of at least two nodes.")
    if y.shape[0] != x.shape[0]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    return x, y, axis


def along(vector: Any, like: Any) -> Any:
    """A vector with further axes that broadcast against the values' other axes."""
    return ops.reshape(vector, (-1, *[1] * (like.ndim - 1)))


def place(result: Any, places_ndim: int, axis: int) -> Any:
    """A result whose first axes are those of places, with these where the axis of the values was."""
    return move_axes(result, tuple(range(places_ndim)), tuple(range(axis, axis + places_ndim)))


class PiecewisePolynomial:
    """Polynomials by pieces: c[k, i] are the coefficients of (x - nodes[i]) ** (degree - k)."""

    def __init__(self, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.c, self.x = tensors(c, x)
        self.extrapolate = extrapolate
        self.axis = axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values, or a derivative's values, at places; NaN outside of the nodes without extrapolation."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        c = self.c if not nu else self.derivative(nu).c
        x = tensors(x, c)[0]
        form = tuple(x.shape)
        flat = ops.reshape(x, (-1,))
        if extrapolate == "periodic":
            flat = self._in_period(flat)
        at, nodes = plain(flat), plain(self.x)
        piece = numpy.clip(numpy.searchsorted(nodes, at, "right") - 1, 0, nodes.size - 2)
        step = flat - self.x[piece]
        value = c[0][piece]
        for row in c[1:]:
            value = value * along(step, value) + row[piece]
        if not extrapolate:
            outside = (at < nodes[0]) | (at > nodes[-1])
            value = piecewise([outside.reshape(-1, *[1] * (value.ndim - 1))], [math.nan, lambda v: v], value)
        value = ops.reshape(value, (*form, *value.shape[1:]))
        return place(value, len(form), self.axis)

    def _in_period(self, x: Any) -> Any:
        first, last = plain(self.x)[[0, -1]]
        turns = numpy.floor((plain(x) - first) / (last - first))
        return x - constants(turns, x) * (self.x[-1] - self.x[0])

    def derivative(self, nu: int = 1) -> PiecewisePolynomial:
        """The derivative of an order, or the antiderivative of a negative one."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            degree = c.shape[0] - 1
            powers = constants(numpy.arange(degree, 0, -1), c)
            c = c[:-1] * along(powers, c) if degree else 0 * c
        return PiecewisePolynomial(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PiecewisePolynomial:
        """An antiderivative that is 0 at the first node, and continuous."""
        if nu < 1:
            return self.derivative(-nu) if nu else self
        n = self.c.shape[0]
        c = self.c / along(constants(numpy.arange(n, 0, -1), self.c), self.c)
        step = along(self.x[1:] - self.x[:-1], c[0])
        whole = sum(c[k] * step ** (n - k) for k in range(n))
        start = ops.cumsum(whole, 0) - whole
        once = PiecewisePolynomial(ops.cat([c, start[None]], 0), self.x, self.extrapolate, self.axis)
        return once.antiderivative(nu - 1) if nu > 1 else once

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b. Raises TypeError for a periodic one."""
        if (self.extrapolate if extrapolate is None else extrapolate) == "periodic":
            raise TypeError(
                "integrate: extrapolate='periodic' is not supported for Tensors; integrate each period by itself"
            )
        whole = self.antiderivative()
        return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)


class CubicHermiteSpline(PiecewisePolynomial):
    """The cubic pieces with given values and slopes at nodes (SciPy's class of that name)."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, axis = data(x, y, axis)
        self._join(x, y, move_axes(tensors(dydx, y)[0], axis, 0), axis, extrapolate)

    def _join(self, x: Any, y: Any, slopes: Any, axis: int, extrapolate: Any) -> None:
        step = along(x[1:] - x[:-1], y)
        secant = (y[1:] - y[:-1]) / step
        bend = (slopes[:-1] + slopes[1:] - 2 * secant) / step
        c = ops.stack([bend / step, (secant - slopes[:-1]) / step - bend, slopes[:-1], y[:-1]], 0)
        super().__init__(c, x, True if extrapolate is None else extrapolate, axis)


class CubicSpline(CubicHermiteSpline):
    """The cubic spline through data, whose slopes solve a linear system with three bands."""

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        x, y, axis = data(x, y, axis)
        if extrapolate is None and isinstance(bc_type, str) and bc_type == "periodic":
            extrapolate = "periodic"
        self._join(x, y, slopes_of_spline(x, y, bc_type), axis, extrapolate)


def slopes_of_spline(x: Any, y: Any, bc_type: Any) -> Any:
    """The slopes at the nodes that make the second derivative continuous (de Boor 1978, chapter IV)."""
    start, end = conditions_of(bc_type)
    step = x[1:] - x[:-1]
    secant = (y[1:] - y[:-1]) / along(step, y)
    n = x.shape[0]
    if "periodic" in (start, end):
        return _periodic_slopes(step, secant)
    if n == 2:
        start, end = ((1, secant[0]) if each == "not-a-knot" else each for each in (start, end))
    if n == 3 and start == end == "not-a-knot":
        return _parabola(step, secant)
    first = _end_row(step, secant, start, 1)
    last = _end_row(ops.flip(step, (0,)), ops.flip(secant, (0,)), end, -1)
    lower = ops.cat([step[1:], last[1][None]], 0)
    middle = ops.cat([first[0][None], 2 * (step[:-1] + step[1:]), last[0][None]], 0)
    upper = ops.cat([first[1][None], step[:-1]], 0)
    inner = 3 * (along(step[1:], y) * secant[:-1] + along(step[:-1], y) * secant[1:])
    right = ops.cat([first[2][None], inner, last[2][None]], 0)
    zero = 0 * step[:1]
    bands = ops.stack([ops.cat([zero, upper], 0), middle, ops.cat([lower, zero], 0)], 0)
    solved = FUNCTIONS["scipy.linalg.solve_banded"]((1, 1), bands, ops.reshape(right, (n, -1)))
    return ops.reshape(solved, tuple(y.shape))


def conditions_of(bc_type: Any) -> list[Any]:
    """The conditions at both ends: "not-a-knot", "periodic", or the order of a derivative and its value."""
    conditions = {"clamped": (1, 0.0), "natural": (2, 0.0)}
    both = [bc_type, bc_type] if isinstance(bc_type, str) else list(bc_type)
    ends = [conditions.get(each, each) if isinstance(each, str) else each for each in both]
    for each in ends:
        if each not in ("not-a-knot", "periodic") if isinstance(each, str) else each[0] not in (1, 2):
            raise ValueError(f"bc_type={bc_type!r} is not allowed.")
    return ends


def _end_row(step: Any, secant: Any, condition: Any, sign: int) -> tuple[Any, Any, Any]:
    """The equation of the first slope: its coefficient, that of the second one, and the right side."""
    one = 0 * step[0] + 1
    if condition == "not-a-knot":
        both = step[0] + step[1]
        return step[1], both, ((step[0] + 2 * both) * step[1] * secant[0] + step[0] ** 2 * secant[1]) / both
    order, value = condition
    value = tensors(value, secant)[0] + 0 * secant[0]
    if order == 1:
        return one, 0 * one, value
    return 2 * step[0], step[0], -0.5 * sign * value * step[0] ** 2 + 3 * secant[0] * step[0]


def _parabola(step: Any, secant: Any) -> Any:
    a, b = step[0], step[1]
    middle = (a * secant[1] + b * secant[0]) / (a + b)
    return ops.stack([2 * secant[0] - middle, middle, 2 * secant[1] - middle], 0)


def _periodic_slopes(step: Any, secant: Any) -> Any:
    """The system of a closed ring of nodes."""
    n = step.shape[0]
    before = ops.roll(step, (1,), (0,))
    ring = numpy.eye(n)
    middle = 2 * (before + step)[:, None] * constants(ring, step)
    below, above = (constants(numpy.roll(ring, shift, 1), step) for shift in (-1, 1))
    matrix = middle + step[:, None] * below + before[:, None] * above
    right = 3 * (along(step, secant) * ops.roll(secant, (1,), (0,)) + along(before, secant) * secant)
    solved = ops.reshape(ops.linalg_solve(matrix, ops.reshape(right, (n, -1))), tuple(right.shape))
    return ops.cat([solved, solved[:1]], 0)


class PchipInterpolator(CubicHermiteSpline):
    """Cubic pieces that are monotone where the data are (Fritsch and Butland 1984)."""

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, axis = data(x, y, axis)
        step = along(x[1:] - x[:-1], y) + 0 * y[1:]
        secant = (y[1:] - y[:-1]) / step
        if x.shape[0] == 2:
            slopes = ops.cat([secant, secant], 0)
        else:
            inner = _harmonic_mean(step[:-1], step[1:], secant[:-1], secant[1:])
            first = _monotone_end(step[:2], secant[:2])
            last = _monotone_end(ops.flip(step[-2:], (0,)), ops.flip(secant[-2:], (0,)))
            slopes = ops.cat([first[None], inner, last[None]], 0)
        self._join(x, y, slopes, axis, extrapolate)


def _harmonic_mean(before: Any, after: Any, left: Any, right: Any) -> Any:
    """The weighted harmonic mean of two secants, 0 where their signs differ."""

    def mean(before: Any, after: Any, left: Any, right: Any) -> Any:
        first, second = 2 * after + before, after + 2 * before
        return (first + second) / (first / left + second / right)

    return piecewise([plain(left) * plain(right) <= 0], [0.0, mean], before, after, left, right)


def _monotone_end(step: Any, secant: Any) -> Any:
    """The slope at an end by three points, limited so that the curve stays monotone."""
    slope = ((2 * step[0] + step[1]) * secant[0] - step[0] * secant[1]) / (step[0] + step[1])
    signs = [numpy.sign(plain(part)) for part in (slope, secant[0], secant[1])]
    steep = (signs[1] != signs[2]) & (abs(plain(slope)) > 3 * abs(plain(secant[0])))
    return piecewise([signs[0] != signs[1], steep], [0.0, lambda _, s: 3 * s, lambda d, _: d], slope, secant[0])


class Akima1DInterpolator(CubicHermiteSpline):
    """Cubic pieces whose slopes are means of secants near by (Akima 1970), or those of "makima"."""

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, y, axis = data(x, y, axis)
        secant = (y[1:] - y[:-1]) / along(x[1:] - x[:-1], y)
        slopes = ops.cat([secant, secant], 0) if x.shape[0] == 2 else _akima(secant, method == "makima")
        self._join(x, y, slopes, axis, False if extrapolate is None else extrapolate)


def _akima(secant: Any, modified: bool) -> Any:
    m = secant
    for _ in range(2):
        m = ops.cat([(2 * m[0] - m[1])[None], m, (2 * m[-1] - m[-2])[None]], 0)
    change = abs(m[1:] - m[:-1])
    if modified:
        extra = 0.5 * abs(m[1:] + m[:-1])
        change = change + extra
    before, after = change[:-2], change[2:]
    total = plain(before) + plain(after)
    flat = total <= 1e-9 * numpy.max(total, initial=-math.inf)

    def interpolate(before: Any, after: Any, left: Any, right: Any, *_: Any) -> Any:
        return left + before / (before + after) * (right - left)

    def mean(before: Any, after: Any, left: Any, right: Any, first: Any, last: Any) -> Any:
        return 0.5 * (first + last)

    # the extended secants: those on both sides of a node, and the ones farther off
    return piecewise([flat], [mean, interpolate], before, after, m[1:-2], m[2:-1], m[:-3], m[3:])
