"""Distributions of counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy

from adjoint.core.modes.grad_mode import no_grad
from adjoint.interop.scipy_functions.distributions.quadrature import HALF_LINE, integral
from adjoint.interop.scipy_functions.distributions.tables.formulas import Formulas, log1mexp
from adjoint.interop.scipy_functions.pieces import column, constants, piecewise, plain
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _log_choose(n: Tensor, k: Tensor) -> Tensor:
    return ops.lgamma(n + 1) - ops.lgamma(k + 1) - ops.lgamma(n - k + 1)


def _log_negative_binomial(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    powers = n * ops.log(p) + ops.special_xlog1py(k, -p)
    return ops.lgamma(n + k) - ops.lgamma(k + 1) - ops.lgamma(n) + powers


def _log_skellam(k: Tensor, mu1: Tensor, mu2: Tensor) -> Tensor:
    """By the modified Bessel function of order |k| (SciPy's reference page)."""
    of_first, of_second = ops.sqrt(mu1), ops.sqrt(mu2)
    bessel = ops.log(ops.iv(abs(k), 2 * of_first * of_second, 0, True))
    return 0.5 * k * ops.log(mu1 / mu2) - ops.square(of_first - of_second) + bessel


def _log_zipfian(k: Tensor, a: Tensor, n: Tensor) -> Tensor:
    most = int(plain(n).max(initial=1))
    j = constants(numpy.arange(1, most + 1), k)
    weights = piecewise([plain(j) > plain(column(n))], [-math.inf, lambda j, a: -a * ops.log(j)], j, column(a))
    return -a * ops.log(k) - ops.logsumexp(weights, (-1,))


#: Bernoulli's numbers B(2k) / (2k)! (DLMF 24.2.1).
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)


def _log_zeta(a: Tensor) -> Tensor:
    """log of Riemann's zeta function by Euler and Maclaurin's formula (DLMF 25.2.9), with derivatives by a."""
    first = 16
    total = ops.sum(ops.exp(-column(a) * constants(numpy.log(numpy.arange(1, first)), a)), (-1,))
    power = ops.exp(-a * math.log(first))
    total = total + power * (first / (a - 1) + 0.5)
    factor = power * a / first
    for k, number in enumerate(_BERNOULLI):
        total = total + number * factor
        factor = factor * (a + 2 * k + 1) * (a + 2 * k + 2) / first**2
    return ops.log(total)


def _log_fisher(k: Tensor, total: Tensor, first: Tensor, draws: Tensor, odds: Tensor) -> Tensor:
    """Fisher's noncentral hypergeometric distribution: weights over their sum."""

    def log_weight(k: Tensor, total: Tensor, first: Tensor, draws: Tensor, odds: Tensor) -> Tensor:
        return _log_choose(first, k) + _log_choose(total - first, draws - k) + k * ops.log(odds)

    shapes = (total, first, draws, odds)
    j = constants(numpy.arange(int(plain(draws).max(initial=0)) + 1), k)
    columns = [column(shape) for shape in shapes]
    low, high = plain(columns[2] - columns[0] + columns[1]), numpy.minimum(plain(columns[1]), plain(columns[2]))
    outside = (plain(j) < low) | (plain(j) > high)
    return log_weight(k, *shapes) - ops.logsumexp(piecewise([outside], [-math.inf, log_weight], j, *columns), (-1,))


def _log_wallenius(k: Tensor, total: Tensor, first: Tensor, draws: Tensor, odds: Tensor) -> Tensor:
    """Wallenius' noncentral hypergeometric distribution, an integral (SciPy's reference page)."""
    rest = draws - k
    rate = odds * (first - k) + (total - first - rest)

    def log_integrand(y: Tensor, k: Tensor, rest: Tensor, odds: Tensor, rate: Tensor) -> Tensor:
        # over y = -log(t) / rate
        return k * ops.log(-ops.expm1(-odds * y)) + rest * ops.log(-ops.expm1(-y)) - rate * y

    values = (k, rest, odds, rate)
    grid = constants(numpy.logspace(-5, 3, 200), k)
    with no_grad(), numpy.errstate(all="ignore"):
        logs = plain(log_integrand(grid, *[column(v) for v in values]))
    top = constants(numpy.max(logs, -1), k)
    width = constants(plain(grid)[numpy.argmax(logs, -1)], k)

    def integrand(y: Tensor, top: Tensor, *values: Tensor) -> Tensor:
        return ops.exp(log_integrand(y, *values) - top)

    mass = integral(integrand, 0 * width, width, HALF_LINE, top, *values)
    return _log_choose(first, k) + _log_choose(total - first, rest) + ops.log(rate * mass) + top


def _log_negative_hypergeometric(k: Tensor, total: Tensor, first: Tensor, stop: Tensor) -> Tensor:
    """Good ones before the given number of bad ones (SciPy's reference page)."""
    before, after = k + stop - 1, total - stop - k
    return _log_choose(before, k) + _log_choose(after, first - k) - _log_choose(total, first)


ROWS: dict[str, Formulas] = {
    "poisson": Formulas(
        lambda k, mu: ops.xlogy(k, mu) - mu - ops.lgamma(k + 1),
        cdf=lambda k, mu: ops.igammac(k + 1, mu),
        sf=lambda k, mu: ops.igamma(k + 1, mu),
    ),
    "bernoulli": Formulas(
        lambda k, p: ops.xlogy(k, p) + ops.special_xlog1py(1 - k, -p),
        cdf=lambda k, p: piecewise([plain(k) >= 1], [1.0, lambda k, p: 1 - p], k, p),
        sf=lambda k, p: piecewise([plain(k) >= 1], [0.0, lambda k, p: p], k, p),
    ),
    "binom": Formulas(
        lambda k, n, p: _log_choose(n, k) + ops.xlogy(k, p) + ops.special_xlog1py(n - k, -p),
        cdf=lambda k, n, p: ops.betainc(n - k, k + 1, 1 - p),
        sf=lambda k, n, p: ops.betainc(k + 1, n - k, p),
        counts=("n",),
    ),
    "betabinom": Formulas(counts=("n",)),
    "betanbinom": Formulas(counts=("n",)),
    "boltzmann": Formulas(counts=("N",)),
    "geom": Formulas(
        lambda k, p: ops.special_xlog1py(k - 1, -p) + ops.log(p),
        cdf=lambda k, p: -ops.expm1(k * ops.log1p(-p)),
        sf=lambda k, p: ops.exp(k * ops.log1p(-p)),
        log_sf=lambda k, p: k * ops.log1p(-p),
    ),
    "nbinom": Formulas(
        _log_negative_binomial,
        cdf=lambda k, n, p: ops.betainc(n, k + 1, p),
        sf=lambda k, n, p: ops.betainc(k + 1, n, 1 - p),
    ),
    "skellam": Formulas(_log_skellam),
    "zipf": Formulas(lambda k, a: -a * ops.log(k) - _log_zeta(a)),
    "zipfian": Formulas(_log_zipfian, counts=("n",)),
    "randint": Formulas(lambda k, low, high: -ops.log(high - low) + 0 * k, counts=("low", "high")),
    "hypergeom": Formulas(counts=("M", "n", "N")),
    "nhypergeom": Formulas(_log_negative_hypergeometric, counts=("M", "n", "r")),
    "nchypergeom_fisher": Formulas(_log_fisher, counts=("M", "n", "N")),
    "nchypergeom_wallenius": Formulas(_log_wallenius, counts=("M", "n", "N")),
    "poisson_binom": Formulas(refused="its shape parameter is a vector; there is no formula of single probabilities"),
    "dlaplace": Formulas(lambda k, a: ops.log(ops.tanh(0.5 * a)) - a * abs(k)),
    "logser": Formulas(lambda k, p: ops.xlogy(k, p) - ops.log(k) - ops.log(-ops.log1p(-p))),
    "planck": Formulas(lambda k, lam: log1mexp(-lam) - lam * k),
}
