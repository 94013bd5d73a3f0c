"""Distributions of integers, categories and truth values, from their formulas.

Formulas without another source are from N. L. Johnson, A. W. Kemp, S. Kotz, Univariate Discrete Distributions, 2005.
"""

from __future__ import annotations

import math
from typing import Any

import adjoint
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, ExponentialFamily, Parametric
from adjoint.distributions.distribution import standard_uniform as _standard_uniform
from adjoint.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "ContinuousBernoulli",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
]

nan = math.nan


class Odds(Parametric):
    """The base class of distributions with one probability, given as `probs` or as log odds, `logits`.

    The other parameter is computed at its first access.
    """

    def _set_counted_odds(self, validate_args: bool | None, total_count: Any, probs: Any, logits: Any) -> None:
        check_one(probs, logits)
        parameter = probs if logits is None else logits
        count, parameter = broadcast_all(total_count, parameter)
        pair = (parameter, None) if logits is None else (None, parameter)
        self._set_odds(validate_args, *pair, total_count=count.to(parameter.dtype))

    def _set_odds(self, validate_args: bool | None, probs: Any, logits: Any, **others: Any) -> None:
        """Set probs or logits, and other parameters. Raises ValueError unless exactly one of the two is present."""
        check_one(probs, logits)
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        self._set(validate_args, **others, **{name: value})

    @lazy_property
    def logits(self) -> Any:
        """The log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _parameter(self) -> Any:
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter, `probs` or `logits`."""
        return self._parameter.size()

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._parameter.new(*args, **kwargs)


def check_one(probs: Any, logits: Any) -> None:
    """Raise ValueError unless exactly one of the two is present."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


_CHANCE = {"probs": constraints.unit_interval, "logits": constraints.real}


class Bernoulli(Odds, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability `probs`, otherwise 0.

    >>> import adjoint
    >>> adjoint.distributions.Bernoulli(0.25).log_prob(adjoint.tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = _CHANCE
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_odds(validate_args, probs, logits)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        """The more probable value; NaN for equal probabilities."""
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return adjoint.where(self.probs == 0.5, nan, mode)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random zeros and ones."""
        with adjoint.no_grad():
            return adjoint.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        return -adjoint.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        """-p log p - (1 - p) log(1 - p)."""
        return adjoint.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1, along a new first axis."""
        return enumerate_values(self, 2, expand, self._parameter)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (adjoint.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        return adjoint.nn.functional.softplus(x)


def enumerate_values(distribution: Distribution, n: int, expand: bool, like: Any, dtype: Any = None) -> Any:
    """The integers 0 to n - 1 along a new first axis; expand: repeat them for each distribution of the batch."""
    values = adjoint.arange(n, dtype=like.dtype if dtype is None else dtype, device=like.device)
    values = values.view(-1, *[1] * len(distribution.batch_shape))
    return values.expand(-1, *distribution.batch_shape) if expand else values


class Geometric(Odds):
    """The geometric distribution: the number of failures before the first success, with probability `probs` each.

    Parameters: probs: from 0 to 1; logits: real. Values: nonnegative integers.
    """

    arg_constraints = _CHANCE
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_odds(validate_args, probs, logits)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            value = self.probs[self.probs <= 0]
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{value}"
            )

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: adjoint.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random counts of failures."""
        with adjoint.no_grad():
            u = _standard_uniform(self.probs, self._extended_shape(sample_shape))
            return (u.log() / adjoint.log1p(-self.probs)).floor()

    def _log_prob(self, value: Any) -> Any:
        # 0 log 0 must be 0, with finite derivatives
        rest = adjoint.where((self.probs == 1) & (value == 0), 0.0, self.probs)
        return value * adjoint.log1p(-rest) + self.probs.log()

    def entropy(self) -> Any:
        """The entropy of one trial divided by the probability."""
        bce = adjoint.nn.functional.binary_cross_entropy_with_logits
        return bce(self.logits, self.probs, reduction="none") / self.probs


class Binomial(Odds):
    """The binomial distribution: the number of successes in total_count trials, with probability `probs` each.

    Parameters: total_count: nonnegative integer; probs: from 0 to 1; logits: real.
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **_CHANCE}
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_counted_odds(validate_args, total_count, probs, logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers 0 to total_count."""
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts of successes."""
        with adjoint.no_grad():
            return adjoint.binomial(*self._parameters_at(sample_shape, "total_count", "probs"))

    def _log_prob(self, value: Any) -> Any:
        n, logits = self.total_count, self.logits
        choices = adjoint.lgamma(n + 1) - adjoint.lgamma(value + 1) - adjoint.lgamma(n - value + 1)
        # log(1 + exp(logits)), without overflow for both signs
        return choices + value * logits - n * adjoint.nn.functional.softplus(logits, threshold=50.0)

    def entropy(self) -> Any:
        """The entropy, as a sum over all values. Raises NotImplementedError for different values of total_count."""
        n = whole_count(self.total_count, "Inhomogeneous total count not supported by `entropy`.")
        log_probs = self._log_prob(enumerate_values(self, n + 1, False, self._parameter))
        return -(log_probs.exp() * log_probs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 to total_count, along a new first axis. Raises NotImplementedError for different values of total_count."""
        n = whole_count(self.total_count, "Inhomogeneous total count not supported by `enumerate_support`.")
        return enumerate_values(self, n + 1, expand, self._parameter)


def whole_count(counts: Any, message: str) -> int:
    """The common value of all counts. Raises NotImplementedError if they differ."""
    highest = int(counts.max())
    if not counts.min() == highest:
        raise NotImplementedError(message)
    return highest


class NegativeBinomial(Odds):
    """The negative binomial distribution: successes before total_count failures, with probability `probs` each.

    Parameters: total_count: nonnegative; probs: from 0 to below 1; logits: real. Values: nonnegative integers.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_counted_odds(validate_args, total_count, probs, logits)

    mean = property(lambda self: self.total_count * adjoint.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / adjoint.sigmoid(-self.logits))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random counts: Poisson samples with rates from a gamma distribution."""
        with adjoint.no_grad():
            count, logits = self._parameters_at(sample_shape, "total_count", "logits")
            return adjoint.poisson(adjoint._standard_gamma(count) * logits.exp())

    def _log_prob(self, value: Any) -> Any:
        n, logsigmoid = self.total_count, adjoint.nn.functional.logsigmoid
        powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        choices = adjoint.lgamma(n + value) - adjoint.lgamma(1.0 + value) - adjoint.lgamma(n)
        # for total_count = 0 and value = 0 both log Γ(0) are infinite, and the probability is 1
        return powers + adjoint.where(n + value == 0, 0.0, choices)


class Poisson(Parametric, ExponentialFamily):
    """The Poisson distribution of counts, with mean `rate`.

    Parameters: rate: nonnegative. Values: nonnegative integers.
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set(validate_args, rate=rate)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random counts."""
        with adjoint.no_grad():
            return adjoint.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, value)
        return adjoint.xlogy(value, rate) - rate - adjoint.lgamma(value + 1)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (adjoint.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:
        return adjoint.exp(x)


class ContinuousBernoulli(Odds, ExponentialFamily):
    """The distribution over [0, 1] with a density proportional to p ** x (1 - p) ** (1 - x).

    G. Loaiza-Ganem, J. P. Cunningham, The continuous Bernoulli, 2019. lims: between these two probabilities, the
    formulas are Taylor series at 1 / 2.
    """

    arg_constraints = _CHANCE
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._lims = lims
        self._set_odds(validate_args, probs, logits)

    def _expand_others(self, new: Any, batch_shape: Any) -> None:
        new._lims = self._lims

    @property
    def _is_outside(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    @property
    def _cut_probs(self) -> Any:
        return adjoint.where(self._is_outside, clamp_probs(self.probs), self._lims[0])

    @property
    def _log_norm(self) -> Any:
        p = self._cut_probs
        exact = (adjoint.log1p(-p) - p.log()).abs().log() - adjoint.log(adjoint.where(p <= 0.5, 1 - 2 * p, 2 * p - 1))
        x = (self.probs - 0.5) ** 2
        return adjoint.where(self._is_outside, exact, math.log(2.0) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Any:
        """p / (2 p - 1) + 1 / log((1 - p) / p)."""
        p = self._cut_probs
        exact = p / (2 * p - 1) + 1 / (adjoint.log1p(-p) - p.log())
        x = self.probs - 0.5
        return adjoint.where(self._is_outside, exact, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self) -> Any:
        """p (p - 1) / (1 - 2 p) ** 2 + 1 / log((1 - p) / p) ** 2."""
        p = self._cut_probs
        exact = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (adjoint.log1p(-p) - p.log()) ** 2
        x = (self.probs - 0.5) ** 2
        return adjoint.where(self._is_outside, exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples: quantiles of uniform numbers."""
        return self.icdf(_standard_uniform(self.probs, self._extended_shape(sample_shape)))

    def _log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        bce = adjoint.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_norm - bce

    def _cdf(self, value: Any) -> Any:
        p = self._cut_probs
        exact = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        inner = adjoint.where(self._is_outside, exact, value)
        return adjoint.where(value <= 0, 0.0, adjoint.where(value >= 1, 1.0, inner))

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        p = self._cut_probs
        exact = (adjoint.log1p(-p + value * (2 * p - 1)) - adjoint.log1p(-p)) / (p.log() - adjoint.log1p(-p))
        return adjoint.where(self._is_outside, exact, value)

    def entropy(self) -> Any:
        """The entropy, from the mean of the log-density."""
        rest = adjoint.log1p(-self.probs)
        return -self.mean * (self.probs.log() - rest) - self._log_norm - rest

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (adjoint.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        inner = adjoint.where(outside, x, self._lims[0] - 0.5)
        exact = adjoint.log(adjoint.special.expm1(inner).abs()) - adjoint.log(inner.abs())
        return adjoint.where(outside, exact, 0.5 * x + x**2 / 24 - x**4 / 2880)


# categories -----------------------------------------------------------------------------------------------------------


class Categorical(Parametric):
    """A distribution of indices, with probabilities (`probs`) or their logarithms (`logits`) along the last axis.

    Both are normalized. Raises ValueError for a parameter with shape ().

    >>> import adjoint
    >>> adjoint.distributions.Categorical(adjoint.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _expanded = ("_param",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        name, parameter = ("probs", probs) if logits is None else ("logits", logits)
        if parameter.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = parameter / parameter.sum(-1, keepdim=True)
        else:
            self.logits = parameter - parameter.logsumexp(dim=-1, keepdim=True)
        self._param = parameter
        self._num_events = parameter.size(-1)
        Distribution.__init__(self, parameter.size()[:-1], validate_args=validate_args)

    def _expand_others(self, new: Any, batch_shape: Any) -> None:
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers 0 to n - 1, for n categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter, `probs` or `logits`."""
        return self._param.size()

    mean = variance = property(lambda self: self.probs.new_full(self._batch_shape, nan))
    mode = property(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random indices of categories."""
        shape = adjoint.Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        indices = adjoint.multinomial(rows, shape.numel(), True).T
        return indices.reshape(self._extended_shape(shape))

    def _log_prob(self, value: Any) -> Any:
        value = value.long().unsqueeze(-1)
        value, log_pmf = adjoint.broadcast_tensors(value, self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """-Σ p log p, with 0 log 0 = 0."""
        return -(self.logits.clamp(min=adjoint.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The indices of all categories, along a new first axis."""
        return enumerate_values(self, self._num_events, expand, self._param, adjoint.int64)


class OneHotCategorical(Parametric):
    """A distribution of one-hot vectors: a one at the index of the category, zeros elsewhere.

    Parameters: probs: points of the simplex; logits: real vectors. Values: vectors with a one and zeros.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        batch, events = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        Distribution.__init__(self, batch, events, validate_args=validate_args)

    def _expand_others(self, new: Any, batch_shape: Any) -> None:
        new._categorical = self._categorical.expand(batch_shape)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self._categorical.probs)
    variance = property(lambda self: self._categorical.probs * (1 - self._categorical.probs))
    param_shape = property(lambda self: self._categorical.param_shape)

    @property
    def _param(self) -> Any:
        return self._categorical._param

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    @property
    def mode(self) -> Any:
        """The one-hot vector of the most probable category."""
        return self._as_vectors(self._categorical.mode)

    def _as_vectors(self, indices: Any) -> Any:
        n = self._categorical._num_events
        return adjoint.nn.functional.one_hot(indices, n).to(self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random one-hot vectors."""
        return self._as_vectors(self._categorical.sample(sample_shape))

    def _log_prob(self, value: Any) -> Any:
        return self._categorical._log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        """The entropy of the index."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All one-hot vectors, along a new first axis."""
        n = self.event_shape[0]
        values = adjoint.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *[1] * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical with differentiable samples: their derivatives are those of the probabilities.

    Parameters: probs: points of the simplex; logits: real vectors. Values: vectors with a one and zeros.
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """One-hot samples with the derivatives of the probabilities."""
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())


class Multinomial(Parametric):
    """The multinomial distribution: the counts of the categories in total_count trials.

    Parameters: probs: points of the simplex; logits: real vectors.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        # the distribution of the count of one category; it checks total_count
        Binomial(total_count, self.probs)
        batch, events = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        Distribution.__init__(self, batch, events, validate_args=validate_args)

    def _expand_others(self, new: Any, batch_shape: Any) -> None:
        new.total_count, new._categorical = self.total_count, self._categorical.expand(batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Vectors of counts with at most total_count trials."""
        return constraints.multinomial(self.total_count)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._categorical.param_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random counts of the categories."""
        categories = self._categorical.sample((self.total_count, *sample_shape))
        one_hot = adjoint.nn.functional.one_hot(categories, self._categorical._num_events)
        return one_hot.sum(0).to(self.probs.dtype)

    def _log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        # 0 log 0 must be 0
        powers = adjoint.where((value == 0) & (logits == -math.inf), 0.0, logits) * value
        return adjoint.lgamma(value.sum(-1) + 1) - adjoint.lgamma(value + 1).sum(-1) + powers.sum(-1)

    def entropy(self) -> Any:
        """The entropy, from sums over the counts of each category."""
        n = self.total_count
        counts = adjoint.arange(1, n + 1, dtype=self.probs.dtype, device=self.probs.device)
        counts = counts.view(-1, *[1] * self.probs.dim())
        of_each = Binomial(n, probs=self.probs, validate_args=False)._log_prob(counts).exp()
        sums = (of_each * adjoint.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + sums
