"""Relaxations of discrete distributions, with differentiable samples, and the logistic normal distribution."""

from __future__ import annotations

from typing import Any

import adjoint
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, Parametric
from adjoint.distributions.distribution import standard_uniform as _standard_uniform
from adjoint.distributions.families.combined import TransformedDistribution
from adjoint.distributions.families.continuous import Normal
from adjoint.distributions.families.discrete import Categorical, Odds, check_one
from adjoint.distributions.transforms import ExpTransform, SigmoidTransform, StickBreakingTransform
from adjoint.distributions.utils import clamp_probs

__all__ = ["LogisticNormal", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


class LogitRelaxedBernoulli(Odds):
    """The distribution of the log odds of RelaxedBernoulli (C. J. Maddison and others, 2017).

    Parameters: probs: from 0 to 1; logits: real. Values: real.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._set_odds(validate_args, probs, logits)

    def _expand_others(self, new: Any, batch_shape: Any) -> None:
        new.temperature = self.temperature

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Log odds plus logistic noise, divided by the temperature."""
        u = clamp_probs(_standard_uniform(self.logits, self._extended_shape(sample_shape)))
        return (u.log() - adjoint.log1p(-u) + self.logits) / self.temperature

    def _log_prob(self, value: Any) -> Any:
        difference = self.logits - value * self.temperature
        return adjoint.as_tensor(self.temperature).log() + difference - 2 * adjoint.nn.functional.softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """A relaxation of Bernoulli to (0, 1): with a lower temperature, values are nearer to 0 or 1.

    Parameters: probs: from 0 to 1; logits: real. Values: from 0 to 1.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class ExpRelaxedCategorical(Parametric):
    """The distribution of the logarithms of RelaxedOneHotCategorical (C. J. Maddison and others, 2017).

    Parameters: probs: points of the simplex; logits: real vectors. Values: real vectors.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one(probs, logits)
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        batch, events = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        Distribution.__init__(self, batch, events, validate_args=validate_args)

    def _expand_others(self, new: Any, batch_shape: Any) -> None:
        new.temperature, new._categorical = self.temperature, self._categorical.expand(batch_shape)

    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)
    param_shape = property(lambda self: self._categorical.param_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The log-softmax of logits with Gumbel noise, divided by the temperature."""
        u = clamp_probs(_standard_uniform(self.logits, self._extended_shape(sample_shape)))
        scores = (self.logits - adjoint.log(-u.log())) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def _log_prob(self, value: Any) -> Any:
        n, temperature = self._categorical._num_events, adjoint.as_tensor(self.temperature, dtype=value.dtype)
        score = self.logits - value * temperature
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + adjoint.lgamma(adjoint.full_like(temperature, float(n))) + (n - 1) * temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """A relaxation of OneHotCategorical to the simplex: with a lower temperature, values are nearer to one-hot vectors.

    Parameters: probs: points of the simplex; logits: real vectors. Values: points of the simplex.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        return super().expand(batch_shape, self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class LogisticNormal(TransformedDistribution):
    """The distribution of StickBreakingTransform of a normal vector: points of the simplex.

    Parameters: loc: real; scale: positive. Values: points of the simplex.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
