"""Continuous distributions of one number, from their formulas.

Formulas without another source are from N. L. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions,
1994 and 1995.
"""

from __future__ import annotations

import math
from typing import Any

import adjoint
from adjoint.core.recorded import operations
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, ExponentialFamily, Parametric
from adjoint.distributions.distribution import standard_normal as _standard_normal
from adjoint.distributions.distribution import standard_uniform as _standard_uniform
from adjoint.distributions.families.combined import TransformedDistribution
from adjoint.distributions.transforms import AbsTransform, ExpTransform

__all__ = [
    "Beta",
    "Cauchy",
    "Chi2",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "InverseGamma",
    "Kumaraswamy",
    "Laplace",
    "LogNormal",
    "Normal",
    "Pareto",
    "StudentT",
    "Uniform",
    "VonMises",
    "Weibull",
]

inf, nan = math.inf, math.nan
_EULER = 0.57721566490153286060


class Normal(Parametric, ExponentialFamily):
    """The normal distribution with mean loc and standard deviation scale.

    >>> import adjoint
    >>> adjoint.distributions.Normal(0.0, 1.0).log_prob(adjoint.tensor(0.0))
    tensor(-0.9189)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + scale * ε, for ε from the standard normal distribution."""
        return self.loc + self.scale * _standard_normal(self.loc, self._extended_shape(sample_shape))

    def _log_prob(self, value: Any) -> Any:
        return -(((value - self.loc) / self.scale) ** 2) / 2 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def _cdf(self, value: Any) -> Any:
        return adjoint.special.ndtr((value - self.loc) / self.scale)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.loc + self.scale * adjoint.special.ndtri(value)

    def entropy(self) -> Any:
        """0.5 + 0.5 log 2π + log scale."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.loc / self.variance, -0.5 / self.variance

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x * x / y + 0.5 * adjoint.log(-math.pi / y)


class LogNormal(TransformedDistribution):
    """The distribution of exp(x), for a normal x with mean loc and standard deviation scale.

    Parameters: loc: real; scale: positive. Values: positive.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        return super().expand(batch_shape, self._get_checked_instance(LogNormal, _instance))

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())
    variance = property(lambda self: (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp())

    def entropy(self) -> Any:
        """The entropy of the normal distribution, plus loc."""
        return self.base_dist.entropy() + self.loc


class HalfNormal(Parametric, TransformedDistribution):
    """The distribution of |x|, for a normal x with mean 0 and standard deviation scale.

    Parameters: scale: positive. Values: nonnegative.
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(0.0, scale, validate_args=False)
        TransformedDistribution.__init__(self, base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        new = self._get_checked_instance(HalfNormal, _instance)
        return TransformedDistribution.expand(self, batch_shape, new)

    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    mode = property(lambda self: adjoint.zeros_like(self.scale))
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi))

    def _log_prob(self, value: Any) -> Any:
        density = 0.5 * math.log(2 / math.pi) - self.scale.log() - (value / self.scale) ** 2 / 2
        return adjoint.where(value >= 0, density, -inf)

    def _cdf(self, value: Any) -> Any:
        return adjoint.erf(value / (self.scale * math.sqrt(2)))

    def icdf(self, prob: Any) -> Any:
        """The quantile of a probability."""
        return self.scale * math.sqrt(2) * adjoint.erfinv(prob)

    def entropy(self) -> Any:
        """0.5 + 0.5 log(π / 2) + log scale."""
        return 0.5 + 0.5 * math.log(math.pi / 2) + self.scale.log()


class Laplace(Parametric):
    """The Laplace distribution, with the density exp(-|x - loc| / scale) / (2 scale).

    Parameters: loc: real; scale: positive. Values: real.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc - scale * sign(u) log(1 - |u|), for u uniform in (-1, 1)."""
        u = 1 - 2 * _standard_uniform(self.loc, self._extended_shape(sample_shape))
        near_one = 1 - adjoint.finfo(u.dtype).eps / 2
        return self.loc - self.scale * u.sign() * adjoint.log1p(-u.abs().clamp(max=near_one))

    def _log_prob(self, value: Any) -> Any:
        return -adjoint.log(2 * self.scale) - (value - self.loc).abs() / self.scale

    def _cdf(self, value: Any) -> Any:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * adjoint.expm1(-distance.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * adjoint.log1p(-2 * term.abs())

    def entropy(self) -> Any:
        """1 + log(2 scale)."""
        return 1 + adjoint.log(2 * self.scale)


class Cauchy(Parametric):
    """The Cauchy distribution with median loc and half width scale at half maximum. It has no mean.

    Parameters: loc: real; scale: positive. Values: real.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    mode = property(lambda self: self.loc)
    mean = property(lambda self: adjoint.full_like(self.loc, nan))
    variance = property(lambda self: adjoint.full_like(self.loc, inf))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + scale * ε, for ε from the standard Cauchy distribution."""
        return self.loc + adjoint.empty_like(self.loc.expand(self._extended_shape(sample_shape))).cauchy_() * self.scale

    def _log_prob(self, value: Any) -> Any:
        return -math.log(math.pi) - self.scale.log() - adjoint.log1p(((value - self.loc) / self.scale) ** 2)

    def _cdf(self, value: Any) -> Any:
        return adjoint.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return adjoint.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        """log(4π scale)."""
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(Parametric, TransformedDistribution):
    """The distribution of |x|, for x from the Cauchy distribution with median 0.

    Parameters: scale: positive. Values: nonnegative.
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Cauchy(0.0, scale, validate_args=False)
        TransformedDistribution.__init__(self, base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        new = self._get_checked_instance(HalfCauchy, _instance)
        return TransformedDistribution.expand(self, batch_shape, new)

    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: adjoint.full_like(self.scale, inf))
    mode = property(lambda self: adjoint.zeros_like(self.scale))
    variance = property(lambda self: adjoint.full_like(self.scale, inf))

    def _log_prob(self, value: Any) -> Any:
        density = math.log(2 / math.pi) - self.scale.log() - adjoint.log1p((value / self.scale) ** 2)
        return adjoint.where(value >= 0, density, -inf)

    def _cdf(self, value: Any) -> Any:
        return 2 / math.pi * adjoint.atan(value / self.scale)

    def icdf(self, prob: Any) -> Any:
        """The quantile of a probability."""
        return self.scale * adjoint.tan(math.pi / 2 * prob)

    def entropy(self) -> Any:
        """log(2π scale)."""
        return math.log(2 * math.pi) + self.scale.log()


class Exponential(Parametric, ExponentialFamily):
    """The exponential distribution, with the density rate * exp(-rate * x).

    Parameters: rate: positive. Values: nonnegative.
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, rate=rate)

    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: adjoint.zeros_like(self.rate))
    variance = property(lambda self: self.rate**-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Standard exponential numbers divided by the rate."""
        return adjoint.empty_like(self.rate.expand(self._extended_shape(sample_shape))).exponential_() / self.rate

    def _log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * value

    def _cdf(self, value: Any) -> Any:
        return -adjoint.expm1(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return -adjoint.log1p(-value) / self.rate

    def entropy(self) -> Any:
        """1 - log rate."""
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -adjoint.log(-x)


class Uniform(Parametric):
    """The uniform distribution over [low, high).

    low and high broadcast against each other. Raises ValueError unless low < high, and for values outside.
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, low=low, high=high)
        if self._validate_args and not adjoint.lt(self.low, self.high).all():
            raise ValueError("Uniform is not defined when low>= high")

    arg_constraints = {
        "low": constraints.dependent(is_discrete=False, event_dim=0),
        "high": constraints.dependent(is_discrete=False, event_dim=0),
    }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval from low to high."""
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """low + (high - low) * u, for u uniform in [0, 1)."""
        shape = self._extended_shape(sample_shape)
        u = adjoint.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def _log_prob(self, value: Any) -> Any:
        in_support = (self.low <= value) & (self.high > value)
        return adjoint.log(in_support.to(self.low.dtype)) - adjoint.log(self.high - self.low)

    def _cdf(self, value: Any) -> Any:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """log(high - low)."""
        return adjoint.log(self.high - self.low)


class Gamma(Parametric, ExponentialFamily):
    """The gamma distribution with shape parameter `concentration` and a rate.

    Samples have derivatives of any order in both; derivatives in the concentration are implicit.

    >>> import adjoint
    >>> concentration = adjoint.tensor(2.0, requires_grad=True)
    >>> adjoint.distributions.Gamma(concentration, 1.0).rsample().backward()
    >>> bool(concentration.grad > 0)
    True
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with implicit derivatives in the concentration (Figurnov, Mohamed and Mnih, 2018)."""
        concentration, rate = self._parameters_at(sample_shape, "concentration", "rate")
        return _off_zero(adjoint._standard_gamma(concentration) / rate)

    def _log_prob(self, value: Any) -> Any:
        a, rate = self.concentration, self.rate
        return adjoint.xlogy(a, rate) + adjoint.xlogy(a - 1, value) - rate * value - adjoint.lgamma(a)

    def _cdf(self, value: Any) -> Any:
        return adjoint.special.gammainc(self.concentration, self.rate * value)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return _of_dtype(operations["gammaincinv"](*_alike(self.concentration, value)), value) / self.rate

    def entropy(self) -> Any:
        """a - log rate + log Γ(a) + (1 - a) ψ(a), for the concentration a."""
        a = self.concentration
        return a - self.rate.log() + adjoint.lgamma(a) + (1 - a) * adjoint.digamma(a)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return adjoint.lgamma(x + 1) - (x + 1) * adjoint.log(-y)


class Chi2(Gamma):
    """The chi-squared distribution: the sum of the squares of df standard normal numbers.

    Parameters: df: positive. Values: nonnegative.
    """

    arg_constraints = {"df": constraints.positive}
    _expanded = ("concentration", "rate")

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = adjoint.distributions.utils.broadcast_all(df)
        half = adjoint.full_like(self.df, 0.5)
        self.concentration, self.rate = self.df * half, half
        Distribution.__init__(self, self.df.shape, validate_args=validate_args)


class InverseGamma(Parametric):
    """The distribution of 1 / x, for x from the gamma distribution.

    Parameters: concentration: positive; rate: positive. Values: positive.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, concentration=concentration, rate=rate)

    @property
    def base_dist(self) -> Gamma:
        """The gamma distribution of the reciprocals."""
        return Gamma(self.concentration, self.rate, validate_args=False)

    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def mean(self) -> Any:
        """rate / (concentration - 1), infinite for a concentration up to 1."""
        return adjoint.where(self.concentration > 1, self.rate / (self.concentration - 1), inf)

    @property
    def variance(self) -> Any:
        """Infinite for a concentration up to 2."""
        a = self.concentration
        return adjoint.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Reciprocals of samples of the gamma distribution."""
        return self.base_dist.rsample(sample_shape).reciprocal()

    def _log_prob(self, value: Any) -> Any:
        return self.base_dist._log_prob(value.reciprocal()) - 2 * value.log()

    def _cdf(self, value: Any) -> Any:
        return adjoint.special.gammaincc(self.concentration, self.rate / value)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.base_dist.icdf(1 - value).reciprocal()

    def entropy(self) -> Any:
        """a + log rate + log Γ(a) - (1 + a) ψ(a), for the concentration a."""
        a = self.concentration
        return a + self.rate.log() + adjoint.lgamma(a) - (1 + a) * adjoint.digamma(a)


class Beta(Parametric, ExponentialFamily):
    """The beta distribution over (0, 1), with density x ** (concentration1 - 1) (1 - x) ** (concentration0 - 1) / B.

    Parameters: concentration1: positive; concentration0: positive. Values: from 0 to 1.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, concentration1=concentration1, concentration0=concentration0)

    total = property(lambda self: self.concentration1 + self.concentration0)
    mean = property(lambda self: self.concentration1 / self.total)
    variance = property(lambda self: self.concentration1 * self.concentration0 / (self.total**2 * (self.total + 1)))

    @property
    def mode(self) -> Any:
        """The inner maximum, or the end with the larger density; NaN if both ends have the same density."""
        a, b = self.concentration1, self.concentration0
        inner = (a - 1) / (a + b - 2)
        at_ends = adjoint.where((a < 1) & (b < 1), nan, adjoint.where(a >= b, 1.0, 0.0))
        return adjoint.where((a > 1) & (b > 1), inner, adjoint.where((a == 1) & (b == 1), nan, at_ends))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """x / (x + y), for samples x and y of gamma distributions, with implicit derivatives."""
        pair = adjoint.stack(self._parameters_at(sample_shape, "concentration1", "concentration0"), -1)
        sample = adjoint._sample_dirichlet(pair)[..., 0]
        info = adjoint.finfo(sample.dtype)
        return _clamp(sample, info.tiny, 1 - info.eps / 2)

    def _log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        powers = adjoint.xlogy(a - 1, value) + adjoint.special.xlog1py(b - 1, -value)
        return powers + adjoint.lgamma(a + b) - adjoint.lgamma(a) - adjoint.lgamma(b)

    def _cdf(self, value: Any) -> Any:
        return _of_dtype(operations["betainc"](*_alike(self.concentration1, self.concentration0, value)), value)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return _of_dtype(operations["betaincinv"](*_alike(self.concentration1, self.concentration0, value)), value)

    def entropy(self) -> Any:
        """log B(a, b) - (a - 1) ψ(a) - (b - 1) ψ(b) + (a + b - 2) ψ(a + b)."""
        a, b = self.concentration1, self.concentration0
        psi = adjoint.digamma
        log_beta = adjoint.lgamma(a) + adjoint.lgamma(b) - adjoint.lgamma(a + b)
        return log_beta - (a - 1) * psi(a) - (b - 1) * psi(b) + (a + b - 2) * psi(a + b)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return adjoint.lgamma(x) + adjoint.lgamma(y) - adjoint.lgamma(x + y)


class Kumaraswamy(Parametric):
    """The distribution over (0, 1) with distribution function 1 - (1 - x ** a) ** b, for concentrations a and b.

    Parameters: concentration1: positive; concentration0: positive. Values: from 0 to 1.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, concentration1=concentration1, concentration0=concentration0)

    def _moment(self, order: int) -> Any:
        a, b = self.concentration1, self.concentration0
        x = 1 + order / a
        return (b.log() + adjoint.lgamma(x) + adjoint.lgamma(b) - adjoint.lgamma(x + b)).exp()

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self._moment(1) ** 2)

    @property
    def mode(self) -> Any:
        """The inner maximum; NaN without one."""
        a, b = self.concentration1, self.concentration0
        log_mode = adjoint.log((a - 1) / (a * b - 1)) / a
        return adjoint.where((a < 1) | (b < 1), nan, log_mode.exp())

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples: quantiles of uniform numbers."""
        return self.icdf(_standard_uniform(self.concentration1, self._extended_shape(sample_shape)))

    def _log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return (a * b).log() + adjoint.xlogy(a - 1, value) + adjoint.special.xlog1py(b - 1, -(value**a))

    def _cdf(self, value: Any) -> Any:
        return -adjoint.expm1(self.concentration0 * adjoint.log1p(-(value**self.concentration1)))

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return (-adjoint.expm1(adjoint.log1p(-value) / self.concentration0)) ** self.concentration1.reciprocal()

    def entropy(self) -> Any:
        """1 - 1 / b + (1 - 1 / a) H(b) - log(a b), for the harmonic number H."""
        a, b = self.concentration1, self.concentration0
        harmonic = adjoint.digamma(b + 1) + _EULER
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class StudentT(Parametric):
    """The distribution of loc + scale * t, for t from Student's t distribution with df degrees of freedom.

    Parameters: df: positive; loc: real; scale: positive. Values: real.
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self._set(validate_args, df=df, loc=loc, scale=scale)

    mode = property(lambda self: self.loc)
    mean = property(lambda self: adjoint.where(self.df > 1, self.loc, nan))

    @property
    def variance(self) -> Any:
        """scale ** 2 df / (df - 2) for df > 2, infinite for 1 < df <= 2, otherwise NaN."""
        finite = self.scale**2 * self.df / (self.df - 2)
        return adjoint.where(self.df > 2, finite, adjoint.where(self.df > 1, inf, nan))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A normal number divided by the root of a gamma number, with implicit derivatives in df."""
        (df,) = self._parameters_at(sample_shape, "df")
        # Z / df has the gamma distribution with shape df / 2 and rate df / 2
        mean_square = _off_zero(adjoint._standard_gamma(df / 2) / (df / 2))
        return self.loc + self.scale * _standard_normal(df, df.shape) * adjoint.rsqrt(mean_square)

    def _log_prob(self, value: Any) -> Any:
        t = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * (self.df * math.pi).log()
        norm = norm + adjoint.lgamma(self.df / 2) - adjoint.lgamma((self.df + 1) / 2)
        return -0.5 * (self.df + 1) * adjoint.log1p(t**2 / self.df) - norm

    def _cdf(self, value: Any) -> Any:
        return _of_dtype(operations["stdtr"](*_alike(self.df, (value - self.loc) / self.scale)), value)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.loc + self.scale * _of_dtype(operations["stdtrit"](*_alike(self.df, value)), value)

    def entropy(self) -> Any:
        """log scale + (df + 1) / 2 (ψ((df + 1) / 2) - ψ(df / 2)) + log(√df B(df / 2, 1 / 2))."""
        half, df = (self.df + 1) / 2, self.df
        log_beta = adjoint.lgamma(df / 2) + math.lgamma(0.5) - adjoint.lgamma(half)
        slopes = adjoint.digamma(half) - adjoint.digamma(df / 2)
        return self.scale.log() + half * slopes + 0.5 * df.log() + log_beta


class FisherSnedecor(Parametric):
    """The F distribution of (x / df1) / (y / df2), for chi-squared x and y with df1 and df2 degrees of freedom.

    Parameters: df1: positive; df2: positive. Values: positive.
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, df1=df1, df2=df2)

    mean = property(lambda self: adjoint.where(self.df2 > 2, self.df2 / (self.df2 - 2), nan))
    mode = property(
        lambda self: adjoint.where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), nan)
    )

    @property
    def variance(self) -> Any:
        """The variance; NaN for df2 up to 4."""
        m, n = self.df1, self.df2
        return adjoint.where(n > 4, 2 * n**2 * (m + n - 2) / (m * (n - 2) ** 2 * (n - 4)), nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The quotient of two samples of gamma distributions."""
        m, n = self._parameters_at(sample_shape, "df1", "df2")
        upper, lower = (_off_zero(adjoint._standard_gamma(df / 2) / (df / 2)) for df in (m, n))
        return _off_zero(upper / lower)

    def _log_prob(self, value: Any) -> Any:
        m, n = self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        norm = adjoint.lgamma(m + n) - adjoint.lgamma(m) - adjoint.lgamma(n)
        return norm + m * ratio.log() + (m - 1) * value.log() - (m + n) * adjoint.log1p(ratio * value)

    def _cdf(self, value: Any) -> Any:
        part = self.df1 * value / (self.df1 * value + self.df2)
        return _of_dtype(operations["betainc"](*_alike(self.df1 / 2, self.df2 / 2, part)), value)


class Gumbel(Parametric):
    """The Gumbel distribution, with the distribution function exp(-exp(-(x - loc) / scale)).

    Parameters: loc: real; scale: positive. Values: real.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    mean = property(lambda self: self.loc + self.scale * _EULER)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev**2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples: quantiles of uniform numbers."""
        waiting = adjoint.empty_like(self.loc.expand(self._extended_shape(sample_shape))).exponential_()
        return self.loc - self.scale * _off_zero(waiting).log()

    def _log_prob(self, value: Any) -> Any:
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def _cdf(self, value: Any) -> Any:
        return adjoint.exp(-adjoint.exp((self.loc - value) / self.scale))

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.loc - self.scale * adjoint.log(-adjoint.log(value))

    def entropy(self) -> Any:
        """log scale + 1 + γ, for Euler's constant γ."""
        return self.scale.log() + (1 + _EULER)


class Weibull(Parametric):
    """The Weibull distribution, with the distribution function 1 - exp(-(x / scale) ** concentration).

    Parameters: scale: positive; concentration: positive. Values: positive.
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, scale=scale, concentration=concentration)

    def _moment(self, order: int) -> Any:
        return self.scale**order * adjoint.exp(adjoint.lgamma(1 + order / self.concentration))

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self._moment(1) ** 2)

    @property
    def mode(self) -> Any:
        """scale ((k - 1) / k) ** (1 / k) for a concentration k >= 1, otherwise 0."""
        k = self.concentration
        inner = ((k - 1).clamp(min=0) / k) ** k.reciprocal()
        return adjoint.where(k >= 1, self.scale * inner, 0.0)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Powers of exponential numbers."""
        waiting = adjoint.empty_like(self.scale.expand(self._extended_shape(sample_shape))).exponential_()
        return self.scale * _off_zero(waiting) ** self.concentration.reciprocal()

    def _log_prob(self, value: Any) -> Any:
        k, x = self.concentration, value / self.scale
        return (k / self.scale).log() + (k - 1) * x.log() - x**k

    def _cdf(self, value: Any) -> Any:
        return -adjoint.expm1(-((value / self.scale) ** self.concentration))

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.scale * (-adjoint.log1p(-value)) ** self.concentration.reciprocal()

    def entropy(self) -> Any:
        """γ (1 - 1 / k) + log(scale / k) + 1, for Euler's constant γ and the concentration k."""
        k = self.concentration
        return _EULER * (1 - k.reciprocal()) + (self.scale / k).log() + 1


class Pareto(Parametric):
    """The Pareto distribution over [scale, ∞), with the distribution function 1 - (scale / x) ** alpha.

    Parameters: alpha: positive; scale: positive.
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, scale=scale, alpha=alpha)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval [scale, ∞)."""
        return constraints.greater_than_eq(self.scale)

    mode = property(lambda self: self.scale)
    mean = property(lambda self: adjoint.where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), inf))

    @property
    def variance(self) -> Any:
        """The variance; infinite for alpha up to 2."""
        a = self.alpha
        return adjoint.where(a > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """scale exp(w / alpha), for w from the standard exponential distribution."""
        waiting = adjoint.empty_like(self.scale.expand(self._extended_shape(sample_shape))).exponential_()
        return self.scale * adjoint.exp(waiting / self.alpha)

    def _log_prob(self, value: Any) -> Any:
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def _cdf(self, value: Any) -> Any:
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.scale * adjoint.exp(-adjoint.log1p(-value) / self.alpha)

    def entropy(self) -> Any:
        """log(scale / alpha) + 1 + 1 / alpha."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Parametric):
    """The distribution of what exceeds a high threshold loc, with the tail (1 + c (x - loc) / scale) ** (-1 / c).

    Parameters: loc: real; scale: positive; concentration: real, the c of the tail. Where it is zero, the distribution
    is exponential; where it is negative, values end at loc - scale / c.

    From: J. Pickands, Statistical inference using extreme order statistics, Annals of Statistics 3, 1975.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval from loc to the end of the values, which may be infinite."""
        return constraints.interval(self.loc, self._end())

    def _end(self) -> Any:
        return adjoint.where(self.concentration < 0, self.loc - self.scale / self.concentration, inf)

    mode = property(lambda self: adjoint.where(self.concentration < -1, self._end(), self.loc))

    @property
    def mean(self) -> Any:
        """The mean; infinite for a concentration from 1."""
        return adjoint.where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), inf)

    @property
    def variance(self) -> Any:
        """The variance; infinite for a concentration from 0.5."""
        c = self.concentration
        return adjoint.where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + scale (exp(c w) - 1) / c, for w from the standard exponential distribution."""
        waiting = adjoint.empty_like(self.scale.expand(self._extended_shape(sample_shape))).exponential_()
        return self._after(waiting)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self._after(-adjoint.log1p(-value))

    def _after(self, waiting: Any) -> Any:
        """The value whose survival function is exp(-waiting)."""
        c = self.concentration
        # at the end of an exponential distribution 0 times infinity is 0
        exponent = c * adjoint.where((c == 0) & waiting.isinf(), 0.0, waiting)
        small = exponent.abs() < _SMALL
        series = waiting * _polynomial(exponent, (1, 1 / 2, 1 / 6, 1 / 24, 1 / 120))
        return self.loc + self.scale * adjoint.where(small, series, adjoint.expm1(exponent) / c.where(~small, 1.0))

    def _log_prob(self, value: Any) -> Any:
        waiting = -self._log_survival(value)
        return -self.scale.log() - (1 + self.concentration) * waiting

    def _log_survival(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        part = self.concentration * z
        small = part.abs() < _SMALL
        series = z * _polynomial(part, (1, -1 / 2, 1 / 3, -1 / 4, 1 / 5))
        return -adjoint.where(small, series, adjoint.log1p(part) / self.concentration.where(~small, 1.0))

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of values above `value`. Raises ValueError outside the support."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_survival(value)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the distribution function. Raises ValueError outside the support."""
        return adjoint.log(-adjoint.expm1(self.log_survival_function(value)))

    def _cdf(self, value: Any) -> Any:
        return -adjoint.expm1(self._log_survival(value))

    def entropy(self) -> Any:
        """log(scale) + c + 1."""
        return self.scale.log() + self.concentration + 1


#: Where functions divided by a concentration are polynomials, with their derivatives at zero.
_SMALL = 1e-3


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


class VonMises(Parametric):
    """The von Mises distribution of angles, with a density proportional to exp(concentration cos(x - loc)).

    Parameters: loc: real; concentration: positive. Values: real.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, concentration=concentration)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        """The circular variance, 1 - I1 / I0 of the concentration."""
        k = self.concentration
        return 1 - adjoint.special.i1e(k) / adjoint.special.i0e(k)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Angles from -π to π, by rejection sampling (D. J. Best, N. I. Fisher, 1979)."""
        with adjoint.no_grad():
            loc, kappa = (each.double() for each in self._parameters_at(sample_shape, "loc", "concentration"))
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            # a series for small concentrations, since the fraction loses all digits there
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = adjoint.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            angles = adjoint.zeros_like(loc)
            waiting = adjoint.ones_like(loc, dtype=adjoint.bool)
            while waiting.any():
                u = adjoint.rand(3, *loc.shape, dtype=loc.dtype, device=loc.device)
                z = adjoint.cos(math.pi * u[0])
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                fits = (c * (2 - c) > u[1]) | ((c / u[1]).log() + 1 - c >= 0)
                angle = (u[2] - 0.5).sign() * f.clamp(-1, 1).acos()
                angles = adjoint.where(waiting & fits, angle, angles)
                waiting = waiting & ~fits
            return ((angles + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def _log_prob(self, value: Any) -> Any:
        k = self.concentration
        # cos - 1, since i0e contains the factor exp(-k)
        return k * (adjoint.cos(value - self.loc) - 1) - math.log(2 * math.pi) - adjoint.special.i0e(k).log()


def _clamp(value: Any, low: float, high: float) -> Any:
    """Samples, clamped to a range; derivatives of clamped samples are not set to zero."""
    target = value.detach().clamp(low, high)
    return adjoint.where(target == value, value, value + (target - value).detach())


def _off_zero(value: Any) -> Any:
    """Positive samples, with zeros replaced by the smallest positive number."""
    return _clamp(value, adjoint.finfo(value.dtype).tiny, inf)


def _alike(*values: Any) -> list[Any]:
    """Tensors in double precision, for the computation of distribution functions."""
    return [each.double() for each in adjoint.broadcast_tensors(*values)]


def _of_dtype(value: Any, model: Any) -> Any:
    return value.to(model.dtype)
