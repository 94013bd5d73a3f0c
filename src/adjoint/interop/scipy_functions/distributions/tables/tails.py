"""Distributions with closed forms: exponential and extreme value ones, and those with heavy tails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from adjoint.interop.scipy_functions.distributions.scipy_code import values
from adjoint.interop.scipy_functions.distributions.tables.formulas import LOG_PI, LOG_TWO, Formulas
from adjoint.interop.scipy_functions.pieces import inverse, piecewise, plain
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _laplace_side(z: Tensor) -> Tensor:
    return piecewise([plain(z) > 0], [lambda z: 1 - 0.5 * ops.exp(-z), lambda z: 0.5 * ops.exp(z)], z)


def _laplace_quantile(q: Tensor) -> Tensor:
    return piecewise([plain(q) > 0.5], [lambda q: -ops.log(2 * (1 - q)), lambda q: ops.log(2 * q)], q)


def _log_sech_square(z: Tensor) -> Tensor:
    size = abs(z)
    return -size - 2 * ops.softplus(-size)


def _log1p_over(x: Tensor, c: Tensor) -> Tensor:
    """log(1 + c * x) / c, which is x at c = 0."""
    return piecewise(
        [abs(plain(c)) * (1 + abs(plain(x))) < 1e-3],
        [lambda x, c: _log1p_series(x, c * x), lambda x, c: ops.log1p(c * x) / c],
        x, c,
    )  # fmt: skip


def _log1p_series(x: Tensor, u: Tensor) -> Tensor:
    return x * (1 - u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u / 5))))


def _log_burr(z: Tensor, c: Tensor, d: Tensor) -> Tensor:
    log = ops.log(z)
    return ops.log(c) + ops.log(d) + (c * d - 1) * log - (d + 1) * ops.softplus(c * log)


def _inverse_weibull_cdf(z: Tensor, c: Tensor) -> Tensor:
    # beyond exp(700) all values are 0
    return ops.exp(-ops.exp(ops.clamp(-c * ops.log(z), max=700.0)))


def _log_levy(z: Tensor) -> Tensor:
    return -0.5 * math.log(2 * math.pi) - 1.5 * ops.log(z) - 0.5 / z


def _log_laplace_cdf(z: Tensor, c: Tensor) -> Tensor:
    return piecewise([plain(z) < 1], [lambda z, c: 0.5 * z**c, lambda z, c: 1 - 0.5 * z**-c], z, c)


def _log_extreme(z: Tensor, c: Tensor) -> Tensor:
    y = _log1p_over(-z, c)
    return y * (1 - c) - ops.exp(y)


def _log_half_logistic(z: Tensor, c: Tensor) -> Tensor:
    y = _log1p_over(-z, c)
    return LOG_TWO + (1 - c) * y - 2 * ops.softplus(y)


def _log_truncated_pareto(z: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return ops.log(b / -ops.expm1(-b * ops.log(c))) - (b + 1) * ops.log(z)


def _kappa_sum(z: Tensor, h: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """y = log(1 - k z) / k, and log(1 - h exp(y)) / h, with their limits where a parameter is 0."""
    y = _log1p_over(-z, k)
    return y, _log1p_over(-ops.exp(y), h)


def _log_kappa(z: Tensor, h: Tensor, k: Tensor) -> Tensor:
    y, w = _kappa_sum(z, h, k)
    return (1 - k) * y + (1 - h) * w


def _tukey_quantile(q: Tensor, lam: Tensor) -> Tensor:
    return ops.special_function_of_two(q, lam, "boxcox") - ops.special_function_of_two(-q, lam, "boxcox1p")


def _tukey_slope(q: Tensor, lam: Tensor) -> Tensor:
    return q ** (lam - 1) + (1 - q) ** (lam - 1)


def _tukey_cdf(z: Tensor, lam: Tensor) -> Tensor:
    import scipy.stats

    value = values(scipy.stats.tukeylambda, "_cdf", z, lam)
    return inverse(z, (lam,), value, _tukey_quantile, _tukey_slope)


def _where_finite(condition: Any, formula: Any, otherwise: float, shape: Tensor) -> Tensor:
    """An end of a support that is finite for some shapes alone."""
    return piecewise([condition], [formula, otherwise], shape)


ROWS: dict[str, Formulas] = {
    "expon": Formulas(
        lambda z: -z, cdf=lambda z: -ops.expm1(-z), sf=lambda z: ops.exp(-z), ppf=lambda q: -ops.log1p(-q),
        log_sf=lambda z: -z,
    ),
    "uniform": Formulas(lambda z: 0 * z, cdf=lambda z: z, sf=lambda z: 1 - z, ppf=lambda q: q),
    "laplace": Formulas(
        lambda z: -abs(z) - LOG_TWO, cdf=_laplace_side, sf=lambda z: _laplace_side(-z), ppf=_laplace_quantile
    ),
    "logistic": Formulas(
        _log_sech_square, cdf=lambda z: ops.sigmoid(z), sf=lambda z: ops.sigmoid(-z), ppf=lambda q: ops.logit(q),
        log_cdf=lambda z: ops.logsigmoid(z), log_sf=lambda z: ops.logsigmoid(-z),
    ),
    "cauchy": Formulas(
        lambda z: -LOG_PI - ops.log1p(z * z),
        cdf=lambda z: ops.atan2(ops.ones_like(z), -z) / math.pi, sf=lambda z: ops.atan2(ops.ones_like(z), z) / math.pi,
        ppf=lambda q: ops.tan(math.pi * (q - 0.5)),
    ),
    "weibull_min": Formulas(
        lambda z, c: ops.log(c) + ops.xlogy(c - 1, z) - z**c,
        cdf=lambda z, c: -ops.expm1(-(z**c)), sf=lambda z, c: ops.exp(-(z**c)),
        ppf=lambda q, c: (-ops.log1p(-q)) ** (1 / c), log_sf=lambda z, c: -(z**c),
    ),
    "gumbel_r": Formulas(
        lambda z: -z - ops.exp(-z), cdf=lambda z: ops.exp(-ops.exp(-z)), sf=lambda z: -ops.expm1(-ops.exp(-z)),
        ppf=lambda q: -ops.log(-ops.log(q)), log_cdf=lambda z: -ops.exp(-z),
    ),
    "gumbel_l": Formulas(
        lambda z: z - ops.exp(z), cdf=lambda z: -ops.expm1(-ops.exp(z)), sf=lambda z: ops.exp(-ops.exp(z)),
        ppf=lambda q: ops.log(-ops.log1p(-q)), log_sf=lambda z: -ops.exp(z),
    ),
    "pareto": Formulas(
        lambda z, b: ops.log(b) - (b + 1) * ops.log(z),
        cdf=lambda z, b: -ops.expm1(-b * ops.log(z)), sf=lambda z, b: z ** (-b),
        ppf=lambda q, b: (1 - q) ** (-1 / b), log_sf=lambda z, b: -b * ops.log(z),
    ),
    "rayleigh": Formulas(
        lambda z: ops.log(z) - 0.5 * z * z, cdf=lambda z: -ops.expm1(-0.5 * z * z), sf=lambda z: ops.exp(-0.5 * z * z),
        ppf=lambda q: ops.sqrt(-2 * ops.log1p(-q)), log_sf=lambda z: -0.5 * z * z,
    ),
    "burr": Formulas(_log_burr, cdf=lambda z, c, d: ops.exp(-d * ops.softplus(-c * ops.log(z)))),
    "fisk": Formulas(
        lambda z, c: _log_burr(z, c, ops.ones_like(c)),
        cdf=lambda z, c: ops.sigmoid(c * ops.log(z)), sf=lambda z, c: ops.sigmoid(-c * ops.log(z)),
    ),
    "invweibull": Formulas(
        lambda z, c: ops.log(c) - (c + 1) * ops.log(z) - ops.exp(-c * ops.log(z)), cdf=_inverse_weibull_cdf
    ),
    "levy": Formulas(_log_levy, cdf=lambda z: ops.erfc(ops.rsqrt(2 * z)), sf=lambda z: ops.erf(ops.rsqrt(2 * z))),
    "levy_l": Formulas(
        lambda z: _log_levy(-z), cdf=lambda z: ops.erf(ops.rsqrt(-2 * z)), sf=lambda z: ops.erfc(ops.rsqrt(-2 * z))
    ),
    "loglaplace": Formulas(cdf=_log_laplace_cdf),
    "exponweib": Formulas(sf=lambda z, a, c: -ops.special_function_of_two(-ops.expm1(-(z**c)), a, "powm1"),
                          cdf=lambda z, a, c: (-ops.expm1(-(z**c))) ** a),
    "genextreme": Formulas(
        _log_extreme,
        cdf=lambda z, c: ops.exp(-ops.exp(_log1p_over(-z, c))),
        sf=lambda z, c: -ops.expm1(-ops.exp(_log1p_over(-z, c))),
        log_cdf=lambda z, c: -ops.exp(_log1p_over(-z, c)),
        ends=lambda c: (
            _where_finite(plain(c) < 0, lambda c: 1 / c, -math.inf, c),
            _where_finite(plain(c) > 0, lambda c: 1 / c, math.inf, c),
        ),
    ),
    "genpareto": Formulas(
        lambda z, c: -(1 + c) * _log1p_over(z, c),
        cdf=lambda z, c: -ops.expm1(-_log1p_over(z, c)), sf=lambda z, c: ops.exp(-_log1p_over(z, c)),
        log_sf=lambda z, c: -_log1p_over(z, c),
        ends=lambda c: (0 * c, _where_finite(plain(c) < 0, lambda c: -1 / c, math.inf, c)),
    ),
    "genhalflogistic": Formulas(
        _log_half_logistic, cdf=lambda z, c: ops.tanh(-0.5 * _log1p_over(-z, c)),
        sf=lambda z, c: 2 * ops.sigmoid(_log1p_over(-z, c)), ends=lambda c: (0 * c, 1 / c),
    ),
    "truncpareto": Formulas(
        _log_truncated_pareto,
        cdf=lambda z, b, c: ops.expm1(-b * ops.log(z)) / ops.expm1(-b * ops.log(c)), ends=lambda b, c: (0 * c + 1, c),
    ),
    "kappa4": Formulas(
        _log_kappa,
        cdf=lambda z, h, k: ops.exp(_kappa_sum(z, h, k)[1]), log_cdf=lambda z, h, k: _kappa_sum(z, h, k)[1],
    ),
    "kappa3": Formulas(sf=lambda z, a: -ops.expm1(-ops.log1p(a * z**-a) / a)),
    "truncexpon": Formulas(ends=lambda b: (0 * b, b)),
    "truncweibull_min": Formulas(ends=lambda c, a, b: (a, b)),
    "loguniform": Formulas(ends=lambda a, b: (a, b)),
    "reciprocal": Formulas(ends=lambda a, b: (a, b)),
    "laplace_asymmetric": Formulas(middle=lambda kappa: 0 * kappa),
    "skewcauchy": Formulas(middle=lambda a: 0 * a),
    "tukeylambda": Formulas(
        lambda z, lam: -ops.log(_tukey_slope(_tukey_cdf(z, lam), lam)),
        cdf=_tukey_cdf, sf=lambda z, lam: _tukey_cdf(-z, lam), ppf=_tukey_quantile,
        ends=lambda lam: (
            _where_finite(plain(lam) > 0, lambda s: -1 / s, -math.inf, lam),
            _where_finite(plain(lam) > 0, lambda s: 1 / s, math.inf, lam),
        ),
    ),
}  # fmt: skip
