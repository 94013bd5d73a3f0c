"""Distributions on an interval or a circle."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.interop.scipy_functions.distributions.quadrature import INTERVAL, integral
from adjoint.interop.scipy_functions.distributions.scipy_code import values
from adjoint.interop.scipy_functions.distributions.tables.formulas import Formulas
from adjoint.interop.scipy_functions.pieces import constants, piecewise, plain, value_with_formula
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _cosine_log_density(z: Tensor) -> Tensor:
    # log((1 + cos z) / (2 pi)), with all digits near the ends
    return 2 * ops.log(abs(ops.cos(0.5 * z))) - math.log(math.pi)


def _log_hypergeometric_beta(t: Tensor, a: Tensor, b: Tensor, c: Tensor, z: Tensor) -> Tensor:
    return ops.xlogy(a - 1, t) + ops.special_xlog1py(b - 1, -t) - c * ops.log1p(z * t)


def _hypergeometric_mass(a: Tensor, b: Tensor, c: Tensor, z: Tensor) -> Tensor:
    """B(a, b) * 2F1(c, a; a + b; -z) by Euler's integral (DLMF 15.6.1), which has derivatives by all of them.

    The integral starts at both ends, since the integrand may be singular there.
    """
    zero, half = 0 * a, 0 * a + 0.5
    left = integral(lambda t, *s: ops.exp(_log_hypergeometric_beta(t, *s)), zero, half, INTERVAL, a, b, c, z)
    # the same with t and 1 - t exchanged: 1 + z (1 - t) = (1 + z) (1 - z / (1 + z) t)
    parameters = (b, a, c, -z / (1 + z))
    right = integral(lambda t, *s: ops.exp(_log_hypergeometric_beta(t, *s)), zero, half, INTERVAL, *parameters)
    return left + right * ops.exp(-c * ops.log1p(z))


def _triangle_density(z: Tensor, c: Tensor) -> Tensor:
    at = plain(c)
    return piecewise(
        [at == 0, plain(z) < at, at != 1],
        [lambda z, c: 2 - 2 * z, lambda z, c: 2 * z / c, lambda z, c: 2 * (1 - z) / (1 - c), lambda z, c: 2 * z],
        z, c,
    )  # fmt: skip


def _triangle_cdf(z: Tensor, c: Tensor) -> Tensor:
    at = plain(c)
    return piecewise(
        [at == 0, plain(z) < at, at != 1],
        [
            lambda z, c: z * (2 - z),
            lambda z, c: z * z / c,
            lambda z, c: 1 - ops.square(1 - z) / (1 - c),
            lambda z, c: z * z,
        ],
        z, c,
    )  # fmt: skip


def _trapezoid(rising: object, level: object, falling: Any) -> Any:
    """A formula of each side; all get the density's height, too."""

    def formula(z: Tensor, c: Tensor, d: Tensor) -> Tensor:
        conditions = [plain(z) < plain(c), plain(z) <= plain(d)]
        return piecewise(conditions, [rising, level, falling], z, c, d, 2 / (d - c + 1))

    return formula


def _wrapped_cauchy_cdf(z: Tensor, c: Tensor) -> Tensor:
    ratio = (1 + c) / (1 - c)
    # the angle of (cos(z / 2), ratio * sin(z / 2)) runs from 0 to pi without a jump
    return ops.atan2(ratio * ops.sin(0.5 * z), ops.cos(0.5 * z)) / math.pi


def _trapezoid_moment(order: int, c: Tensor, d: Tensor) -> Tensor:
    """The mean of x**order: the density's pieces are linear."""
    powers = sum(d**k for k in range(1, order + 2)) + 1
    return 2 / ((d - c + 1) * (order + 1) * (order + 2)) * (powers - c ** (order + 1))


def _circular_cdf(name: str, z: Tensor, kappa: Tensor) -> Tensor:
    """By the integral of the density from 0, over the rest beyond full turns."""
    import scipy.stats

    rest = z - constants(2 * math.pi * numpy.round(plain(z) / (2 * math.pi)), z)

    def density(z: Tensor, kappa: Tensor) -> Tensor:
        return ops.exp(-2 * kappa * ops.square(ops.sin(0.5 * z))) / (2 * math.pi * ops.special_i0e(kappa))

    half = integral(density, 0 * rest.detach(), abs(rest), INTERVAL, kappa) * ops.sign(rest.detach())
    return value_with_formula(half, values(getattr(scipy.stats, name), "_cdf", z, kappa))


def _circular_entropy(kappa: Tensor) -> Tensor:
    ratio = ops.special_i1e(kappa) / ops.special_i0e(kappa)
    return kappa - kappa * ratio + ops.log(2 * math.pi * ops.special_i0e(kappa))


ROWS: dict[str, Formulas] = {
    "cosine": Formulas(
        _cosine_log_density,
        cdf=lambda z: 0.5 + (z + ops.sin(z)) / (2 * math.pi),
        sf=lambda z: 0.5 - (z + ops.sin(z)) / (2 * math.pi),
    ),
    "gausshyper": Formulas(
        lambda x, a, b, c, z: _log_hypergeometric_beta(x, a, b, c, z) - ops.log(_hypergeometric_mass(a, b, c, z)),
        by_quadrature=True,
    ),
    "triang": Formulas(middle=lambda c: c, density=_triangle_density, cdf=_triangle_cdf),
    "trapezoid": Formulas(
        density=_trapezoid(
            lambda z, c, d, u: u * z / c, lambda z, c, d, u: u, lambda z, c, d, u: u * (1 - z) / (1 - d)
        ),
        cdf=_trapezoid(
            lambda z, c, d, u: 0.5 * u * z * z / c,
            lambda z, c, d, u: u * (z - 0.5 * c),
            lambda z, c, d, u: 1 - 0.5 * u * ops.square(1 - z) / (1 - d),
        ),
        entropy=lambda c, d: 0.5 * (1 - d + c) / (1 + d - c) + ops.log(0.5 * (1 + d - c)),
        mean=lambda c, d: _trapezoid_moment(1, c, d),
        var=lambda c, d: _trapezoid_moment(2, c, d) - ops.square(_trapezoid_moment(1, c, d)),
    ),
    "wrapcauchy": Formulas(cdf=_wrapped_cauchy_cdf),
    "vonmises": Formulas(
        cdf=functools.partial(_circular_cdf, "vonmises"),
        entropy=_circular_entropy,
        ends=lambda kappa: (0 * kappa - math.pi, 0 * kappa + math.pi),
    ),
    "vonmises_line": Formulas(cdf=functools.partial(_circular_cdf, "vonmises_line"), entropy=_circular_entropy),
}
