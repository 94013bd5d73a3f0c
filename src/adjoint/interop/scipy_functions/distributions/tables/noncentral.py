"""Noncentral distributions: mixtures and integrals of central ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy

from adjoint.interop.scipy_functions.distributions.quadrature import GAUSS
from adjoint.interop.scipy_functions.distributions.tables.formulas import LOG_PI, LOG_TWO, Formulas
from adjoint.interop.scipy_functions.distributions.tables.gamma import log_gamma_density
from adjoint.interop.scipy_functions.pieces import column, constants, piecewise, plain
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _log_chi_square(z: Tensor, df: Tensor) -> Tensor:
    return log_gamma_density(0.5 * z, 0.5 * df) - LOG_TWO


def _log_noncentral_chi_square(z: Tensor, df: Tensor, nc: Tensor) -> Tensor:
    """By the modified Bessel function (Johnson, Kotz and Balakrishnan 1995, 29.4)."""

    def of_bessel(z: Tensor, df: Tensor, nc: Tensor) -> Tensor:
        of_place, of_centre = ops.sqrt(z), ops.sqrt(nc)
        order = 0.5 * df - 1
        powers = 0.5 * order * ops.log(z / nc) - 0.5 * ops.square(of_place - of_centre)
        return powers + _log_bessel(order, of_place * of_centre) - math.log(2)

    return piecewise([plain(nc) == 0], [lambda z, df, _: _log_chi_square(z, df), of_bessel], z, df, nc)


def _log_bessel(order: Tensor, x: Tensor) -> Tensor:
    """log of the scaled modified Bessel function, which itself would be 0 for small arguments (DLMF 10.25.2)."""

    def series(order: Tensor, x: Tensor) -> Tensor:
        return order * ops.log(0.5 * x) - ops.lgamma(order + 1) + 0.25 * x * x / (order + 1) - x

    def direct(order: Tensor, x: Tensor) -> Tensor:
        return ops.log(ops.iv(order, x, 0, True))

    return piecewise([plain(x) ** 2 < 1e-8 * (plain(order) + 1)], [series, direct], order, x)


def _poisson_terms(nc: Tensor, most: float) -> Tensor:
    """Counts on an axis behind the others, up to where a mixture with a mean of nc / 2 has no weight any more."""
    mean = max(0.5 * float(plain(nc).max(initial=0.0)), most)
    return constants(numpy.arange(math.ceil(mean + 12 * math.sqrt(mean + 1) + 30)), nc)


def _log_noncentral_f(z: Tensor, n: Tensor, d: Tensor, nc: Tensor) -> Tensor:
    """A mixture by Poisson's weights of mean nc / 2 (Johnson, Kotz and Balakrishnan 1995, 30.10)."""
    j = _poisson_terms(nc, 0.0)
    z, n, d, nc = (column(v) for v in (z, n, d, nc))
    a, b, ratio = 0.5 * n + j, 0.5 * d, n / d
    weight = ops.xlogy(j, 0.5 * nc) - 0.5 * nc - ops.lgamma(j + 1)
    part = a * ops.log(ratio) + (a - 1) * ops.log(z) - (a + b) * ops.log1p(ratio * z) - ops.betaln(a, b)
    return ops.logsumexp(weight + part, (-1,))


def _log_noncentral_t(z: Tensor, df: Tensor, nc: Tensor) -> Tensor:
    """By the integral over the chi variable: of y**df * exp(-(y - m)**2 / 2), m = nc * z / sqrt(z**2 + df).

    The integrand has one maximum and no more than the width of a normal density; a rule of fixed order around it has
    all digits. For few degrees of freedom, which make the lower end singular, y = u**4 is integrated over u.
    """
    rest = z * z + df
    shift = nc * z / ops.sqrt(rest)
    top = 0.5 * (plain(shift) + numpy.sqrt(plain(shift) ** 2 + 4 * plain(df)))
    low, high = (constants(numpy.maximum(end, 0.0) ** 0.25, z) for end in (top - 9, top + 9))
    u = column(low) + column(high - low) * constants(GAUSS[0], z)
    power, y = column(df), u**4
    log = power * ops.log(y) - 0.5 * ops.square(y - column(shift)) + ops.log(4 * u**3 * column(high - low))
    mass = ops.logsumexp(log + constants(numpy.log(GAUSS[1]), z), (-1,))
    norm = 0.5 * df * ops.log(df) - 0.5 * LOG_PI - ops.lgamma(0.5 * df) - 0.5 * (df - 1) * LOG_TWO
    return norm - 0.5 * df * nc * nc / rest - 0.5 * (df + 1) * ops.log(rest) + mass


ROWS: dict[str, Formulas] = {
    "ncx2": Formulas(_log_noncentral_chi_square, by_quadrature=True),
    "ncf": Formulas(_log_noncentral_f, by_quadrature=True),
    "nct": Formulas(_log_noncentral_t, by_quadrature=True),
    "rice": Formulas(by_quadrature=True),
}
