"""Kullback-Leibler divergences of pairs of distributions, from formulas.

The general source is M. Gil, F. Alajaji, T. Linder, Rényi divergence measures for commonly used univariate continuous
distributions, 2013.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import adjoint
from adjoint.distributions.distribution import Distribution, ExponentialFamily
from adjoint.distributions.families import combined, multivariate
from adjoint.distributions.transforms import sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
_FORMULAS: dict[tuple[type, type], Formula] = {}
_EULER = 0.57721566490153286060


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator that registers a formula for two classes of distributions. Raises TypeError for other arguments.

    >>> import adjoint
    >>> d = adjoint.distributions
    >>> class Fixed(d.Normal):
    ...     pass
    >>> @d.register_kl(Fixed, Fixed)
    ... def divergence(p, q):
    ...     return p.loc * 0
    >>> d.kl_divergence(Fixed(0.0, 1.0), Fixed(0.0, 2.0))
    tensor(0.)
    """
    for name, each in (("type_p", type_p), ("type_q", type_q)):
        # classes of other libraries need not be subclasses of Distribution
        if not isinstance(each, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {each}")

    def decorate(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The divergence KL(p, q), the mean of log(p / q) under p: a tensor with the broadcast batch shape.

    Raises NotImplementedError if no formula is registered for the classes.

    >>> import adjoint
    >>> d = adjoint.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    formula = _formula(type(p), type(q))
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return formula(p, q)


def _formula(type_p: type, type_q: type) -> Formula | None:
    """The formula of the closest classes, in the method resolution order of p's class, then of q's class."""
    for p in type_p.__mro__:
        for q in type_q.__mro__:
            if (p, q) in _FORMULAS:
                return _FORMULAS[p, q]
    return None


# formulas -------------------------------------------------------------------------------------------------------------


def _register(classes: str, formula: Formula) -> None:
    """Register a formula for two classes, or for one class and itself."""
    names = classes.split()
    pair = [getattr(adjoint.distributions, name) for name in (names[0], names[-1])]
    _FORMULAS[pair[0], pair[1]] = formula


def _xlogxy(x: Any, y: Any) -> Any:
    """x log(x / y), where 0 log 0 is 0."""
    return adjoint.xlogy(x, x) - adjoint.xlogy(x, y)


def _bernoulli(p: Any, q: Any) -> Any:
    return _xlogxy(p.probs, q.probs) + _xlogxy(1 - p.probs, 1 - q.probs)


def _beta(p: Any, q: Any) -> Any:
    lgamma, psi = adjoint.lgamma, adjoint.digamma
    norms = lgamma(q.concentration1) + lgamma(q.concentration0) + lgamma(p.total)
    norms = norms - lgamma(p.concentration1) - lgamma(p.concentration0) - lgamma(q.total)
    of_one = (p.concentration1 - q.concentration1) * psi(p.concentration1)
    of_zero = (p.concentration0 - q.concentration0) * psi(p.concentration0)
    return norms + of_one + of_zero + (q.total - p.total) * psi(p.total)


def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    result = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return adjoint.where(p.total_count > q.total_count, math.inf, result)


def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = adjoint.where(q.probs == 0, math.inf, terms)
    return adjoint.where(p.probs == 0, 0.0, terms).sum(-1)


def _cauchy(p: Any, q: Any) -> Any:
    """(F. Chyzak, F. Nielsen, 2019.)"""
    return (((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) / (4 * p.scale * q.scale)).log()


def _continuous_bernoulli(p: Any, q: Any) -> Any:
    means = p.mean * (p.logits - q.logits)
    return means + p._log_norm + adjoint.log1p(-p.probs) - q._log_norm - adjoint.log1p(-q.probs)


def _dirichlet(p: Any, q: Any) -> Any:
    a, b, lgamma = p.concentration, q.concentration, adjoint.lgamma
    norms = lgamma(a.sum(-1)) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
    return norms + ((a - b) * (adjoint.digamma(a) - adjoint.digamma(a.sum(-1, True)))).sum(-1)


def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    rates = b * (p.rate / q.rate).log() + a * (q.rate - p.rate) / p.rate
    return rates + adjoint.lgamma(b) - adjoint.lgamma(a) + (a - b) * adjoint.digamma(a)


def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - adjoint.log1p(-q.probs) / p.probs - q.logits


def _gumbel(p: Any, q: Any) -> Any:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - shift + ratio * _EULER + adjoint.exp(shift + (1 + ratio).lgamma()) - (1 + _EULER)


def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * adjoint.exp(-distance / p.scale) - 1


def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _half_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - ratio.log())


def _multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    p_factor, q_factor = (_factor(each) for each in (p, q))
    log_dets = multivariate.half_log_det(q_factor) - multivariate.half_log_det(p_factor)
    p_factor = p_factor.expand(multivariate.shape_of(p_factor.shape, q_factor.shape))
    trace = adjoint.linalg.solve_triangular(q_factor, p_factor, upper=False).pow(2).sum((-2, -1))
    distance = multivariate.squared_distance(q_factor, q.loc - p.loc)
    return log_dets + 0.5 * (trace + distance - p.event_shape[0])


def _factor(distribution: Any) -> Any:
    return (
        getattr(distribution, "_unbroadcasted_scale_tril", None)
        if isinstance(distribution, multivariate.MultivariateNormal)
        else distribution.scale_tril
    )


def _pareto(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    result = q.alpha * ratio.log() + (p.alpha / q.alpha).log() + q.alpha / p.alpha - 1
    return adjoint.where(p.scale < q.scale, math.inf, result)


def _poisson(p: Any, q: Any) -> Any:
    return adjoint.xlogy(p.rate, p.rate / q.rate) - (p.rate - q.rate)


def _uniform(p: Any, q: Any) -> Any:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return adjoint.where((q.low > p.low) | (q.high < p.high), math.inf, result)


def _uniform_normal(p: Any, q: Any) -> Any:
    distance = ((p.high - p.low) ** 2 / 12 + ((p.high + p.low) / 2 - q.loc) ** 2) / (2 * q.scale**2)
    return distance + (math.sqrt(2 * math.pi) * q.scale / (p.high - p.low)).log()


def _normal_laplace(p: Any, q: Any) -> Any:
    z = (p.loc - q.loc) / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * adjoint.exp(-0.5 * z**2) + (p.loc - q.loc) * adjoint.erf(z / math.sqrt(2))
    return mean / q.scale - 0.5 - 0.5 * math.log(2 * math.pi) - p.scale.log() + (2 * q.scale).log()


def _weibull(p: Any, q: Any) -> Any:
    """(C. Bauckhage, 2013.)"""
    k, m = p.concentration, q.concentration
    shapes = k.log() - k * p.scale.log() - m.log() + m * q.scale.log()
    power = (p.scale / q.scale) ** m * adjoint.exp(adjoint.lgamma(m / k + 1))
    return shapes + (k - m) * (p.scale.log() - _EULER / k) + power - 1


def _wishart(p: Any, q: Any) -> Any:
    n, half = p.event_shape[-1], p.df / 2
    p_factor, q_factor = _factor(p), _factor(q)
    log_dets = 2 * (multivariate.half_log_det(q_factor) - multivariate.half_log_det(p_factor))
    trace = adjoint.linalg.solve_triangular(q_factor, p_factor, upper=False).pow(2).sum((-2, -1))
    slopes = adjoint.digamma(half.unsqueeze(-1) - adjoint.arange(n, dtype=half.dtype, device=half.device) / 2).sum(-1)
    norms = adjoint.mvlgamma(q.df / 2, p=n) - adjoint.mvlgamma(half, p=n)
    return 0.5 * (q.df * log_dets + p.df * (trace - n) + (p.df - q.df) * slopes) + norms


def _by_entropy(mean_of_log: Formula) -> Formula:
    """The divergence formula, from the formula of the mean of log q under p."""
    return lambda p, q: -p.entropy() - mean_of_log(p, q)


def _normal_under(p: Any, q: Any) -> Any:
    """The mean of the log-density of a normal q, from the mean and variance of p."""
    distance = (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2)
    return -q.scale.log() - 0.5 * math.log(2 * math.pi) - distance


def _exponential_under(p: Any, q: Any) -> Any:
    return q.rate.log() - q.rate * p.mean


def _gamma_under(mean_of_logarithm: Callable[[Any], Any]) -> Formula:
    def formula(p: Any, q: Any) -> Any:
        norm = q.concentration * q.rate.log() - adjoint.lgamma(q.concentration)
        return norm + (q.concentration - 1) * mean_of_logarithm(p) - q.rate * p.mean

    return formula


def _gumbel_under(mean_of_exponential: Callable[[Any, Any], Any]) -> Formula:
    """mean_of_exponential: a function of p and s, the mean of exp(-x / s)."""

    def formula(p: Any, q: Any) -> Any:
        mean = (q.loc / q.scale).exp() * mean_of_exponential(p, q.scale)
        return -q.scale.log() - (p.mean - q.loc) / q.scale - mean

    return formula


def _uniform_exponential_mean(p: Any, scale: Any) -> Any:
    return scale * ((-p.low / scale).exp() - (-p.high / scale).exp()) / (p.high - p.low)


def _uniform_log_mean(p: Any) -> Any:
    return (adjoint.xlogy(p.high, p.high) - adjoint.xlogy(p.low, p.low)) / (p.high - p.low) - 1


def _beta_under_uniform(p: Any, q: Any) -> Any:
    norm = adjoint.lgamma(q.total) - adjoint.lgamma(q.concentration1) - adjoint.lgamma(q.concentration0)
    high, low = 1 - p.low, 1 - p.high
    of_rest = (adjoint.xlogy(high, high) - adjoint.xlogy(low, low)) / (high - low) - 1
    return norm + (q.concentration1 - 1) * _uniform_log_mean(p) + (q.concentration0 - 1) * of_rest


def _pareto_under(p: Any, q: Any) -> Any:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _uniform_log_mean(p)


def _continuous_bernoulli_under(p: Any, q: Any) -> Any:
    return p.mean * q.logits + adjoint.log1p(-q.probs) + q._log_norm


def _uniform_under(p: Any, q: Any) -> Any:
    return -(q.high - q.low).log()


def _within(formula: Formula, outside: Callable[[Any, Any], Any]) -> Formula:
    """A formula with the result infinity if q excludes values of p."""
    return lambda p, q: adjoint.where(outside(p, q), math.inf, formula(p, q))


def _infinite(p: Any, q: Any) -> Any:
    shape = multivariate.shape_of(p.batch_shape, q.batch_shape)
    like = next(getattr(p, name) for name in p.arg_constraints if isinstance(getattr(p, name, None), adjoint.Tensor))
    return adjoint.full(shape, math.inf, dtype=like.dtype, device=like.device)


_TABLE: dict[str, Formula] = {
    "Bernoulli": _bernoulli,
    "Bernoulli Poisson": lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate),
    "Beta": _beta,
    "Beta ContinuousBernoulli": _by_entropy(_continuous_bernoulli_under),
    "Beta Exponential": _by_entropy(_exponential_under),
    "Beta Gamma": _by_entropy(
        _gamma_under(lambda p: adjoint.digamma(p.concentration1) - adjoint.digamma(p.total))
    ),
    "Beta Normal": _by_entropy(_normal_under),
    "Beta Uniform": _within(_by_entropy(_uniform_under), lambda p, q: (q.low > 0) | (q.high < 1)),
    "Binomial": _binomial,
    "Categorical": _categorical,
    "Cauchy": _cauchy,
    "ContinuousBernoulli": _continuous_bernoulli,
    "ContinuousBernoulli Exponential": _by_entropy(_exponential_under),
    "ContinuousBernoulli Normal": _by_entropy(_normal_under),
    "ContinuousBernoulli Uniform": _within(_by_entropy(_uniform_under), lambda p, q: (q.low > 0) | (q.high < 1)),
    "Dirichlet": _dirichlet,
    "Exponential": _exponential,
    "Exponential Gamma": _by_entropy(_gamma_under(lambda p: -_EULER - p.rate.log())),
    "Exponential Gumbel": _by_entropy(_gumbel_under(lambda p, s: p.rate / (p.rate + 1 / s))),
    "Exponential Normal": _by_entropy(_normal_under),
    "Gamma": _gamma,
    "Gamma Exponential": _by_entropy(_exponential_under),
    "Gamma Gumbel": _by_entropy(_gumbel_under(lambda p, s: (1 + 1 / (s * p.rate)) ** -p.concentration)),
    "Gamma Normal": _by_entropy(_normal_under),
    "Geometric": _geometric,
    "Gumbel": _gumbel,
    "Gumbel Normal": _by_entropy(_normal_under),
    "HalfCauchy": lambda p, q: ((p.scale + q.scale) ** 2 / (4 * p.scale * q.scale)).log(),
    "HalfNormal": _half_normal,
    "InverseGamma": _gamma,
    "Laplace": _laplace,
    "Laplace Normal": _by_entropy(_normal_under),
    "LowRankMultivariateNormal": _multivariate_normal,
    "LowRankMultivariateNormal MultivariateNormal": _multivariate_normal,
    "MultivariateNormal": _multivariate_normal,
    "MultivariateNormal LowRankMultivariateNormal": _multivariate_normal,
    "Normal": _normal,
    "Normal Gumbel": _by_entropy(
        lambda p, q: -q.scale.log() - (p.loc - q.loc) / q.scale
        - adjoint.exp((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale) ** 2)
    ),
    "Normal Laplace": _normal_laplace,
    "OneHotCategorical": lambda p, q: _categorical(p._categorical, q._categorical),
    "Pareto": _pareto,
    "Pareto Exponential": _by_entropy(_exponential_under),
    "Pareto Gamma": _by_entropy(_gamma_under(lambda p: p.scale.log() + p.alpha.reciprocal())),
    "Pareto Normal": _by_entropy(_normal_under),
    "Poisson": _poisson,
    "Uniform": _uniform,
    "Uniform Beta": _within(_by_entropy(_beta_under_uniform), lambda p, q: (p.low < 0) | (p.high > 1)),
    "Uniform ContinuousBernoulli": _within(
        _by_entropy(_continuous_bernoulli_under), lambda p, q: (p.low < 0) | (p.high > 1)
    ),
    "Uniform Exponential": _within(_by_entropy(_exponential_under), lambda p, q: p.low < 0),
    "Uniform Gamma": _within(_by_entropy(_gamma_under(_uniform_log_mean)), lambda p, q: p.low < 0),
    "Uniform Gumbel": _by_entropy(_gumbel_under(_uniform_exponential_mean)),
    "Uniform Normal": _uniform_normal,
    "Uniform Pareto": _within(_by_entropy(_pareto_under), lambda p, q: p.low < q.scale),
    "Weibull": _weibull,
    "Wishart": _wishart,
}  # fmt: skip
#: Distributions q that exclude values of p: the divergence is infinite.
_INFINITE = {
    "Beta": "Pareto",
    "ContinuousBernoulli": "Pareto",
    "Exponential": "Beta ContinuousBernoulli Pareto Uniform",
    "Gamma": "Beta ContinuousBernoulli Pareto Uniform",
    "Gumbel": "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform",
    "Laplace": "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform",
    "Normal": "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform",
    "Pareto": "Beta ContinuousBernoulli Uniform",
    "Poisson": "Bernoulli Binomial",
}
for _classes, _function in _TABLE.items():
    _register(_classes, _function)
for _p, _others in _INFINITE.items():
    for _q in _others.split():
        _register(f"{_p} {_q}", _infinite)


@register_kl(combined.Independent, combined.Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(combined.TransformedDistribution, combined.TransformedDistribution)
def _same_transforms(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """Bregman's divergence of the log normalizers (F. Nielsen, R. Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    p_params = [each.detach().requires_grad_() for each in p._natural_params]
    q_params = q._natural_params
    normalizer = p._log_normalizer(*p_params)
    gradients = adjoint.autograd.grad(normalizer.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q_params) - normalizer
    for theirs, mine, gradient in zip(q_params, p_params, gradients, strict=True):
        result = result - sum_rightmost((theirs - mine) * gradient, len(q.event_shape))
    return result
