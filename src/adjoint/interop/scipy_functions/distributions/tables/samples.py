"""Distributions of statistics of samples (Kolmogorov, Smirnov, Irwin and Hall), and Landau's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.interop.scipy_functions.distributions.quadrature import GAUSS
from adjoint.interop.scipy_functions.distributions.tables.formulas import Formulas
from adjoint.interop.scipy_functions.pieces import column, constants, piecewise, plain
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _by_count(formula: Any) -> Any:
    """A formula of a place and one whole number, for each of the numbers that occur."""

    def of_all(z: Tensor, n: Tensor) -> Tensor:
        counts = numpy.unique(plain(n))
        conditions = [plain(n) == count for count in counts[:-1]]
        return piecewise(conditions, [lambda z, n=int(c): formula(z, n) for c in counts], z)

    return of_all


def _spline(z: Tensor, n: int) -> Tensor:
    """The cardinal B-spline of degree n - 1 by the recurrence of Cox and de Boor, over all knots at once."""
    shifted = column(z) - constants(numpy.arange(n), z)
    basis = constants((plain(shifted) >= 0) & (plain(shifted) < 1), z)
    for degree in range(1, n):
        rising, falling = shifted[..., : n - degree], degree + 1 - shifted[..., : n - degree]
        basis = (rising * basis[..., :-1] + falling * basis[..., 1:]) / degree
    return basis[..., 0]


def _smirnov_terms(z: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """log of C(n, j) (z + j / n)**(j - 1) (1 - z - j / n)**(n - j) for j along the last axis, and j."""
    j = constants(numpy.arange(n + 1), z)
    at, rest = column(z) + j / n, 1 - column(z) - j / n
    choose = math.lgamma(n + 1) - ops.lgamma(j + 1) - ops.lgamma(n - j + 1)
    positive = plain(rest) > 0

    def term(at: Tensor, rest: Tensor, j: Tensor) -> Tensor:
        return (j - 1) * ops.log(at) + (n - j) * ops.log(rest)

    return choose + piecewise([~positive], [-math.inf, term], at, rest, j), j


def _smirnov_density(z: Tensor, n: int) -> Tensor:
    """-d/dz of z * (the sum of the terms), Smirnov's distribution of one side (SciPy: special.smirnov)."""
    log, j = (part[..., 1:] for part in _smirnov_terms(z, n))
    at, rest = column(z) + j / n, 1 - column(z) - j / n

    def slope(log: Tensor, at: Tensor, rest: Tensor, j: Tensor, z: Tensor) -> Tensor:
        return ops.exp(log) * (1 + z * ((j - 1) / at - (n - j) / rest))

    parts = piecewise([~numpy.isfinite(plain(log))], [0.0, slope], log, at, rest, j, column(z))
    return n * (1 - z) ** (n - 1) - ops.sum(parts, (-1,))


def _kolmogorov_density(z: Tensor) -> Tensor:
    """The theta series on both sides of where they converge equally fast (DLMF 20.7.32)."""
    k = constants(numpy.arange(1, 12), z)

    def right(z: Tensor) -> Tensor:
        z, sign = column(z), constants((-1.0) ** numpy.arange(11), z)
        return ops.sum(8 * sign * k * k * z * ops.exp(-2 * k * k * z * z), (-1,))

    def left(z: Tensor) -> Tensor:
        z = column(z)
        rate = ops.square((2 * k - 1) * math.pi) / 8
        parts = ops.exp(-rate / (z * z)) * (2 * rate / (z * z) - 1)
        return ops.sum(math.sqrt(2 * math.pi) / (z * z) * parts, (-1,))

    return piecewise([plain(z) < 0.05, plain(z) < 0.8], [0.0, left, right], z)


def _landau_density(z: Tensor) -> Tensor:
    """By Landau's integrals; SciPy's scale is pi / 2 of his, and its location is shifted by that of his logarithm."""
    y = 0.5 * math.pi * z + math.log(0.5 * math.pi)
    return 0.5 * math.pi * piecewise([plain(y) > 0], [_landau_right, _landau_left], y)


def _landau_right(y: Tensor) -> Tensor:
    """The integral of exp(-t log t - y t) sin(pi t) / pi over the half-line, of which no more than 16 counts.

    t = 16 u**2 makes t log t smooth at 0.
    """
    u, weights = (constants(part, y) for part in GAUSS)
    t = 16 * u * u
    values = ops.exp(-t * ops.log(t) - column(y) * t) * ops.sin(math.pi * t) / math.pi
    return ops.sum(values * weights * 32 * u, (-1,))


def _landau_left(y: Tensor) -> Tensor:
    """Bromwich's integral of exp(s log s + y s) on the line through its saddle point s = exp(-1 - y)."""
    saddle = column(constants(numpy.exp(-1 - plain(y)), y))
    places, weights = (constants(part, y) for part in GAUSS)
    reach, y = 9 * ops.sqrt(saddle) + 25, column(y)
    t = reach * places
    size, angle = 0.5 * ops.log(saddle * saddle + t * t), ops.atan2(t, saddle)
    wave = ops.cos(saddle * angle + t * size + y * t) / math.pi
    return ops.sum(ops.exp(saddle * size - t * angle + y * saddle) * wave * weights * reach, (-1,))


ROWS: dict[str, Formulas] = {
    "irwinhall": Formulas(density=_by_count(_spline), counts=("n",)),
    "ksone": Formulas(density=_by_count(_smirnov_density), counts=("n",)),
    "kstwobign": Formulas(density=_kolmogorov_density),
    "landau": Formulas(density=_landau_density),
    "kstwo": Formulas(refused="the density of Kolmogorov's statistic of a finite sample is a sum without closed form"),
    "levy_stable": Formulas(refused="its density is an integral that SciPy computes numerically, by several methods"),
    "studentized_range": Formulas(refused="its density is a double integral that SciPy computes numerically"),
}
