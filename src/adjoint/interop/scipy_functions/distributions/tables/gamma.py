"""Gamma distributions, and distributions of powers, reciprocals or ratios of gamma variables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.interop.scipy_functions.distributions.tables.formulas import LOG_PI, LOG_TWO, Formulas, log_phi
from adjoint.interop.scipy_functions.pieces import constants, piecewise, plain
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: Below this skewness SciPy's Pearson distribution is the normal one.
_NEARLY_NORMAL = 0.000016


def log_gamma_density(z: Tensor, a: Tensor) -> Tensor:
    """log of z**(a - 1) * exp(-z) / Gamma(a)."""
    return ops.xlogy(a - 1, z) - z - ops.lgamma(a)


def _log_beta_density(z: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return ops.xlogy(a - 1, z) + ops.special_xlog1py(b - 1, -z) - ops.betaln(a, b)


def _log_student_density(z: Tensor, df: Tensor) -> Tensor:
    half = 0.5 * (df + 1)
    norm = ops.lgamma(half) - ops.lgamma(0.5 * df) - 0.5 * (LOG_PI + ops.log(df))
    student = norm - half * ops.log1p(z * z / df)
    return piecewise([numpy.isinf(plain(df))], [lambda z, _: log_phi(z), lambda _, s: s], z, student)


def _log_f_density(z: Tensor, n: Tensor, d: Tensor) -> Tensor:
    powers = 0.5 * n * ops.log(n / d) + ops.xlogy(0.5 * n - 1, z) - 0.5 * (n + d) * ops.log1p(n * z / d)
    return powers - ops.betaln(0.5 * n, 0.5 * d)


def _beta_prime(z: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return piecewise(
        [plain(z) > 1],
        [lambda z, a, b: 1 - ops.betainc(b, a, 1 / (1 + z)), lambda z, a, b: ops.betainc(a, b, z / (1 + z))],
        z, a, b,
    )  # fmt: skip


def _pearson(of_normal: Any, of_gamma: Any) -> Any:
    """A formula of Pearson's distribution: a gamma variable, shifted and, for a negative skew, turned."""

    def skew_gamma(z: Tensor, skew: Tensor) -> Tensor:
        shape = 4 / (skew * skew)
        return of_gamma(2 / skew * z + shape, shape, skew)

    def formula(z: Tensor, skew: Tensor) -> Tensor:
        is_normal = abs(plain(skew)) < _NEARLY_NORMAL
        return piecewise([is_normal], [lambda z, _: of_normal(z), skew_gamma], z, skew)

    return formula


def _log_pearson(y: Tensor, shape: Tensor, skew: Tensor) -> Tensor:
    log_density = lambda y, shape, skew: ops.log(abs(2 / skew)) + log_gamma_density(y, shape)
    return piecewise([plain(y) < 0], [-math.inf, log_density], y, shape, skew)


def _pearson_cdf(y: Tensor, shape: Tensor, skew: Tensor) -> Tensor:
    is_negative = plain(skew) < 0
    below = plain(y) <= 0
    return piecewise(
        [below & is_negative, below, is_negative],
        [1.0, 0.0, lambda y, shape: ops.igammac(shape, y), lambda y, shape: ops.igamma(shape, y)],
        y, shape,
    )  # fmt: skip


def _log_gamma_cdf(z: Tensor, c: Tensor) -> Tensor:
    """exp(z) may be below what floats hold."""
    return piecewise(
        [plain(z) < -700],
        [lambda z, c: ops.exp(c * z - ops.lgamma(c + 1)), lambda z, c: ops.igamma(c, ops.exp(z))],
        z, c,
    )  # fmt: skip


def _general_cdf(z: Tensor, a: Tensor, c: Tensor) -> Tensor:
    y = ops.exp(c * ops.log(z))
    return piecewise([plain(c) > 0], [ops.igamma, ops.igammac], *_alike(a, y, c))


def _alike(a: Tensor, y: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    return ops.expand(a, y.shape) if y.ndim > a.ndim else a, y


def _two_sided(formula: Any) -> Any:
    """The cdf of a variable that is symmetric about 0, from half the probability beyond |z|."""

    def cdf(z: Tensor, *shapes: Tensor) -> Tensor:
        # powers of 0 have no derivative by the exponent
        tiny = constants(numpy.where(plain(z) == 0, 1e-150, 0.0), z)
        return piecewise(
            [plain(z) > 0],
            [lambda z, *s: 1 - formula(z, *s), lambda z, *s: formula(-z, *s)],
            z - tiny, *shapes,
        )  # fmt: skip

    return cdf


def _log_inverse_gaussian(z: Tensor, p: Tensor, b: Tensor) -> Tensor:
    """SciPy's reference page of geninvgauss; kve(p, b) = K_p(b) * exp(b)."""
    norm = LOG_TWO + ops.log(ops.kv(p, b, 0, True)) - b
    return (p - 1) * ops.log(z) - 0.5 * b * (z + 1 / z) - norm


def _log_hyperbolic(z: Tensor, p: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """SciPy's reference page of genhyperbolic."""
    square = (a - b) * (a + b)
    root, width = ops.sqrt(square), ops.sqrt(1 + z * z)
    norm = 0.5 * p * ops.log(square) - 0.5 * math.log(2 * math.pi) - (p - 0.5) * ops.log(a)
    norm = norm - ops.log(ops.kv(p, root, 0, True)) + root
    of_place = ops.log(ops.kv(p - 0.5, a * width, 0, True)) - a * width
    return norm + of_place + (p - 0.5) * ops.log(width) + b * z


ROWS: dict[str, Formulas] = {
    "t": Formulas(
        _log_student_density,
        cdf=lambda z, df: ops.stdtr(df, z),
        sf=lambda z, df: ops.stdtr(df, -z),
        ppf=lambda q, df: ops.stdtrit(df, q),
        isf=lambda q, df: -ops.stdtrit(df, q),
    ),
    "gamma": Formulas(
        log_gamma_density,
        cdf=lambda z, a: ops.igamma(a, z),
        sf=lambda z, a: ops.igammac(a, z),
        ppf=lambda q, a: ops.gammaincinv(a, q),
        isf=lambda q, a: ops.gammainccinv(a, q),
    ),
    "chi2": Formulas(
        lambda z, df: log_gamma_density(0.5 * z, 0.5 * df) - LOG_TWO,
        cdf=lambda z, df: ops.igamma(0.5 * df, 0.5 * z),
        sf=lambda z, df: ops.igammac(0.5 * df, 0.5 * z),
        ppf=lambda q, df: 2 * ops.gammaincinv(0.5 * df, q),
        isf=lambda q, df: 2 * ops.gammainccinv(0.5 * df, q),
    ),
    "invgamma": Formulas(
        lambda z, a: -(a + 1) * ops.log(z) - ops.lgamma(a) - 1 / z,
        cdf=lambda z, a: ops.igammac(a, 1 / z),
        sf=lambda z, a: ops.igamma(a, 1 / z),
        ppf=lambda q, a: 1 / ops.gammainccinv(a, q),
        isf=lambda q, a: 1 / ops.gammaincinv(a, q),
    ),
    "gengamma": Formulas(
        lambda z, a, c: ops.log(abs(c)) + ops.xlogy(c * a - 1, z) - ops.exp(c * ops.log(z)) - ops.lgamma(a),
        cdf=_general_cdf,
    ),
    "loggamma": Formulas(cdf=_log_gamma_cdf),
    "dgamma": Formulas(middle=lambda a: 0 * a, cdf=_two_sided(lambda z, a: 0.5 * ops.igammac(a, z))),
    "gennorm": Formulas(cdf=_two_sided(lambda z, beta: 0.5 * ops.igammac(1 / beta, z**beta))),
    "dweibull": Formulas(middle=lambda c: 0 * c, cdf=_two_sided(lambda z, c: 0.5 * ops.exp(-(z**c)))),
    "pearson3": Formulas(
        _pearson(log_phi, _log_pearson),
        cdf=_pearson(ops.special_ndtr, _pearson_cdf),
        sf=lambda z, skew: _pearson(ops.special_ndtr, _pearson_cdf)(-z, -skew),
        mean=lambda skew: 0 * skew,
        var=lambda skew: 0 * skew + 1,
    ),
    "beta": Formulas(
        _log_beta_density,
        cdf=lambda z, a, b: ops.betainc(a, b, z),
        sf=lambda z, a, b: ops.betainc(b, a, 1 - z),
        ppf=lambda q, a, b: ops.betaincinv(a, b, q),
    ),
    "betaprime": Formulas(cdf=_beta_prime),
    "f": Formulas(
        _log_f_density,
        cdf=lambda z, n, d: ops.betainc(0.5 * n, 0.5 * d, n * z / (n * z + d)),
        sf=lambda z, n, d: ops.betainc(0.5 * d, 0.5 * n, d / (n * z + d)),
    ),
    "geninvgauss": Formulas(_log_inverse_gaussian, by_quadrature=True),
    "genhyperbolic": Formulas(_log_hyperbolic, by_quadrature=True),
    "norminvgauss": Formulas(by_quadrature=True),
}
