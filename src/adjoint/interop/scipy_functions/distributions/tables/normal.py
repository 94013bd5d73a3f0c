"""The normal distribution and distributions derived from it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.interop.scipy_functions.distributions.tables.formulas import (
    HALF_LOG_TWO_PI,
    LOG_TWO,
    Formulas,
    log1mexp,
    log_phi,
)
from adjoint.interop.scipy_functions.pieces import piecewise, plain
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _log_mass(low: Tensor, high: Tensor) -> Tensor:
    """The logarithm of the normal distribution's mass between two places, on the side where it keeps its digits."""

    def left(low: Tensor, high: Tensor) -> Tensor:
        top = ops.special_log_ndtr(high)
        return top + log1mexp(ops.special_log_ndtr(low) - top)

    def around(low: Tensor, high: Tensor) -> Tensor:
        return ops.log1p(-ops.special_ndtr(low) - ops.special_ndtr(-high))

    is_left, is_right = plain(high) <= 0, plain(low) > 0
    return piecewise([is_left, is_right], [left, lambda low, high: left(-high, -low), around], low, high)


def _share(low: Tensor, high: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The mass between two places over that between a and b; its slope is finite where the mass is 0."""

    def left(low: Tensor, high: Tensor, log_mass: Tensor) -> Tensor:
        top = ops.special_log_ndtr(high)
        return -ops.expm1(ops.special_log_ndtr(low) - top) * ops.exp(top - log_mass)

    def right(low: Tensor, high: Tensor, log_mass: Tensor) -> Tensor:
        return left(-high, -low, log_mass)

    def around(low: Tensor, high: Tensor, log_mass: Tensor) -> Tensor:
        return (1 - ops.special_ndtr(low) - ops.special_ndtr(-high)) * ops.exp(-log_mass)

    return piecewise([plain(high) <= 0, plain(low) > 0], [left, right, around], low, high, _log_mass(a, b))


def _exponential_part(z: Tensor, K: Tensor) -> Tensor:
    """The logarithm of exp((0.5 / K - z) / K) ndtr(z - 1 / K), in the form that keeps its digits."""

    def near(z: Tensor, K: Tensor) -> Tensor:
        return (0.5 / K - z) / K + ops.special_log_ndtr(z - 1 / K)

    def far(z: Tensor, K: Tensor) -> Tensor:
        # ndtr(-v) = 0.5 exp(-v^2 / 2) erfcx(v / sqrt(2))
        return -0.5 * z * z - LOG_TWO + ops.log(ops.special_erfcx((1 / K - z) * math.sqrt(0.5)))

    is_far = (plain(K) < 1) & (plain(K) * plain(z) <= 1)
    return piecewise([is_far], [far, near], z, K)


def _below(z: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return _share(a, z, a, b)


def _above(z: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return _share(z, b, a, b)


def _log_below(z: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return _log_mass(a, z) - _log_mass(a, b)


def _log_above(z: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return _log_mass(z, b) - _log_mass(a, b)


def _one_side(log_share: Any, rest: Any) -> Any:
    """The logarithm of a share; by the share of the rest where it is near to 1."""

    def formula(z: Tensor, *shapes: Tensor) -> Tensor:
        near = plain(log_share(z, *shapes)) > -0.1
        return piecewise([near], [lambda *v: ops.log1p(-rest(*v)), log_share], z, *shapes)

    return formula


def _log_density_in_bands(z: Tensor, beta: Tensor, m: Tensor) -> Tensor:
    tail = m * ops.log(m / beta) - 0.5 * beta * beta
    return (
        piecewise(
            [plain(z) > -plain(beta)],
            [lambda z, *_: -0.5 * z * z, lambda z, beta, m, tail: tail - m * ops.log(m / beta - beta - z)],
            z, beta, m, tail,
        )
        - _log_mass_in_bands(beta, m)
    )  # fmt: skip


def _log_mass_in_bands(beta: Tensor, m: Tensor) -> Tensor:
    return ops.log(_tail_mass(beta, m) + math.sqrt(2 * math.pi) * ops.special_ndtr(beta))


def _tail_mass(beta: Tensor, m: Tensor) -> Tensor:
    return m / beta / (m - 1) * ops.exp(-0.5 * beta * beta)


def _cdf_in_bands(z: Tensor, beta: Tensor, m: Tensor) -> Tensor:
    def core(z: Tensor, beta: Tensor, m: Tensor) -> Tensor:
        return _tail_mass(beta, m) + math.sqrt(2 * math.pi) * (ops.special_ndtr(z) - ops.special_ndtr(-beta))

    def tail(z: Tensor, beta: Tensor, m: Tensor) -> Tensor:
        log = m * ops.log(m / beta) - 0.5 * beta * beta - (m - 1) * ops.log(m / beta - beta - z)
        return ops.exp(log) / (m - 1)

    mass = piecewise([plain(z) > -plain(beta)], [core, tail], z, beta, m)
    return mass * ops.exp(-_log_mass_in_bands(beta, m))


def _log_mills(z: Tensor) -> Tensor:
    """log of (1 - Phi(z)) / phi(z)."""
    return piecewise(
        [plain(z) > 0],
        [
            lambda z: ops.log(math.sqrt(math.pi / 2) * ops.special_erfcx(z * math.sqrt(0.5))),
            lambda z: ops.special_log_ndtr(-z) - log_phi(z),
        ],
        z,
    )


def _log_double_pareto(x: Tensor, u: Tensor, s: Tensor, a: Tensor, b: Tensor) -> Tensor:
    z = (ops.log(x) - u) / s
    sides = ops.logaddexp(_log_mills(a * s - z), _log_mills(b * s + z))
    return ops.log(a) + ops.log(b) - ops.log(a + b) - ops.log(x) + log_phi(z) + sides


def _double_pareto(x: Tensor, u: Tensor, s: Tensor, a: Tensor, b: Tensor) -> Tensor:
    z = (ops.log(x) - u) / s
    low, high = (ops.exp(log_phi(z) + _log_mills(side)) for side in (a * s - z, b * s + z))
    return ops.special_ndtr(z) - (b * low - a * high) / (a + b)


def _skew_cdf(z: Tensor, a: Tensor) -> Tensor:
    return ops.special_ndtr(z) - 2 * ops.special_function_of_two(z, a, "owens_t")


_LOGNORM = Formulas(
    lambda z, s: -0.5 * ops.square(ops.log(z) / s) - HALF_LOG_TWO_PI - ops.log(s * z),
    cdf=lambda z, s: ops.special_ndtr(ops.log(z) / s),
    sf=lambda z, s: ops.special_ndtr(-ops.log(z) / s),
    ppf=lambda q, s: ops.exp(s * ops.special_ndtri(q)),
    isf=lambda q, s: ops.exp(-s * ops.special_ndtri(q)),
    log_cdf=lambda z, s: ops.special_log_ndtr(ops.log(z) / s),
    log_sf=lambda z, s: ops.special_log_ndtr(-ops.log(z) / s),
    mean=lambda s: ops.exp(0.5 * s * s),
    var=lambda s: ops.exp(s * s) * ops.expm1(s * s),
)


def _with_shape_1(formula: Any) -> Any:
    def of_place(z: Tensor) -> Tensor:
        return formula(z, ops.ones_like(z))

    return of_place


ROWS: dict[str, Formulas] = {
    "exponnorm": Formulas(
        lambda z, K: _exponential_part(z, K) - ops.log(K),
        cdf=lambda z, K: ops.special_ndtr(z) - ops.exp(_exponential_part(z, K)),
        sf=lambda z, K: ops.special_ndtr(-z) + ops.exp(_exponential_part(z, K)),
    ),
    "norm": Formulas(
        log_phi,
        cdf=lambda z: ops.special_ndtr(z),
        sf=lambda z: ops.special_ndtr(-z),
        ppf=lambda q: ops.special_ndtri(q),
        isf=lambda q: -ops.special_ndtri(q),
        log_cdf=lambda z: ops.special_log_ndtr(z),
        log_sf=lambda z: ops.special_log_ndtr(-z),
    ),
    "lognorm": _LOGNORM,
    "gibrat": Formulas(
        _with_shape_1(_LOGNORM.log_density), cdf=_with_shape_1(_LOGNORM.cdf), sf=_with_shape_1(_LOGNORM.sf)
    ),
    "halfnorm": Formulas(
        lambda z: log_phi(z) + LOG_TWO,
        cdf=lambda z: ops.erf(z * math.sqrt(0.5)),
        sf=lambda z: ops.erfc(z * math.sqrt(0.5)),
        ppf=lambda q: ops.special_ndtri(0.5 * (1 + q)),
        log_sf=lambda z: ops.special_log_ndtr(-z) + LOG_TWO,
    ),
    "truncnorm": Formulas(
        lambda z, a, b: log_phi(z) - _log_mass(a, b),
        cdf=_below,
        sf=_above,
        log_cdf=_one_side(_log_below, _above),
        log_sf=_one_side(_log_above, _below),
        ends=lambda a, b: (a, b),
        mean=lambda a, b: _truncated_moments(a, b)[0],
        var=lambda a, b: _truncated_moments(a, b)[1],
    ),
    "skewnorm": Formulas(
        lambda z, a: LOG_TWO + log_phi(z) + ops.special_log_ndtr(a * z),
        cdf=_skew_cdf,
        sf=lambda z, a: _skew_cdf(-z, -a),
    ),
    "crystalball": Formulas(_log_density_in_bands, cdf=_cdf_in_bands, middle=lambda beta, m: -beta),
    "dpareto_lognorm": Formulas(_log_double_pareto, cdf=_double_pareto),
    "fatiguelife": Formulas(
        mean=lambda c: 0.5 * c * c + 1,
        var=lambda c: 0.25 * c * c * (5 * c * c + 4),
    ),
    "recipinvgauss": Formulas(
        lambda z, mu: -ops.square(1 - mu * z) / (2 * z * mu * mu) - 0.5 * ops.log(2 * math.pi * z)
    ),
}


def _truncated_moments(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the truncated normal distribution; an end may be infinite."""
    log_mass = _log_mass(a, b)
    at_a, at_b = (ops.exp(log_phi(end) - log_mass) for end in (a, b))
    of_a, of_b = (
        piecewise([numpy.isinf(plain(end))], [0.0, lambda e, p: e * p], end, p) for end, p in ((a, at_a), (b, at_b))
    )
    mean = at_a - at_b
    return mean, 1 + of_a - of_b - mean * mean
