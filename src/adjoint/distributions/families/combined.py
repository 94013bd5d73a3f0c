"""Distributions made from others: independent events, transformed values, mixtures."""

from __future__ import annotations

from typing import Any

import adjoint
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution
from adjoint.distributions.families.discrete import Categorical
from adjoint.distributions.transforms import ComposeTransform, Transform, sum_rightmost

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]

Size = adjoint.Size


class Independent(Distribution):
    """A distribution that treats the last batch axes as part of the event.

    reinterpreted_batch_ndims: the number of these axes. Raises ValueError if the base has fewer batch axes.

    >>> import adjoint
    >>> normal = adjoint.distributions.Normal(adjoint.zeros(3), 1.0)
    >>> adjoint.distributions.Independent(normal, 1).event_shape
    adjoint.Size([3])
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, n = base_distribution.batch_shape, reinterpreted_batch_ndims
        if n > len(batch):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {n} vs {len(batch)}"
            )
        shape = batch + base_distribution.event_shape
        events = n + len(base_distribution.event_shape)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        super().__init__(shape[: len(shape) - events], shape[len(shape) - events :], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        new = self._get_checked_instance(Independent, _instance)
        batch, n = Size(batch_shape), self.reinterpreted_batch_ndims
        new.base_dist, new.reinterpreted_batch_ndims = self.base_dist.expand(batch + self.event_shape[:n]), n
        Distribution.__init__(new, batch, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @property
    def has_enumerate_support(self) -> bool:
        """Whether the support can be enumerated: only without reinterpreted axes."""
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """The support of the base, with the further event axes."""
        support, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(support, n) if n else support

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples of the base."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Differentiable samples of the base."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The sum of the log-densities of the base over the reinterpreted axes."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The sum of the entropies of the base over the reinterpreted axes."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The values of the base. Raises NotImplementedError with reinterpreted axes."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of a random value after one transform or a list of transforms.

    Raises ValueError unless `transforms` is a Transform or a list of these.

    >>> import adjoint
    >>> d = adjoint.distributions
    >>> log_normal = d.TransformedDistribution(d.Normal(0.0, 1.0), [d.ExpTransform()])
    >>> log_normal.log_prob(adjoint.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(each, Transform) for each in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self._set_base(base_distribution)
        super().__init__(self._batch_shape, self._event_shape, validate_args=validate_args)

    def _set_base(self, base: Distribution) -> None:
        """Set the base, expanded to the axes that the transforms need, and the resulting shapes."""
        shape = base.batch_shape + base.event_shape
        chain = ComposeTransform(self.transforms)
        if len(shape) < chain.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {chain.domain.event_dim}, but got {shape}."
            )
        forward = chain.forward_shape(shape)
        needed = chain.inverse_shape(forward)
        if shape != needed:
            base = base.expand(needed[: len(needed) - len(base.event_shape)])
        missing = chain.domain.event_dim - len(base.event_shape)
        self.base_dist = Independent(base, missing) if missing > 0 else base
        event_dim = chain.codomain.event_dim + max(len(base.event_shape) - chain.domain.event_dim, 0)
        self._batch_shape = Size(forward[: len(forward) - event_dim])
        self._event_shape = Size(forward[len(forward) - event_dim :])

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with the base expanded to a batch shape."""
        new = self._get_checked_instance(TransformedDistribution, _instance)
        new.transforms = self.transforms
        shape = ComposeTransform(self.transforms).inverse_shape(Size(batch_shape) + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def _forward(self, value: Any) -> Any:
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Any = ()) -> Any:
        """Transformed samples of the base."""
        with adjoint.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Transformed samples of the base, differentiable in the parameters of the base and the transforms."""
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The log-density of the base minus the log-determinants of the transforms."""
        if self._validate_args:
            self._validate_sample(value)
        event_dim, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            logarithm = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(logarithm, event_dim - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _sign(self) -> Any:
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def cdf(self, value: Any) -> Any:
        """The distribution function of the base at the inverse transform; one minus it for decreasing transforms.

        The base checks the inverse transform, which may be infinite: the function is 0 or 1 at an end of the support.
        """
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return _apply_sign(self.base_dist.cdf(value), self._sign())

    def icdf(self, value: Any) -> Any:
        """The transform of the quantile of the base; of the opposite quantile for decreasing transforms."""
        return self._forward(self.base_dist.icdf(_apply_sign(value, self._sign())))


def _apply_sign(value: Any, sign: Any) -> Any:
    return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch axis; a Categorical holds the weights.

    Raises ValueError if the shapes of both distributions differ, or for other classes.

    >>> import adjoint
    >>> d = adjoint.distributions
    >>> weights = d.Categorical(adjoint.ones(2))
    >>> d.MixtureSameFamily(weights, d.Normal(adjoint.tensor([-1.0, 1.0]), 1.0)).mean
    tensor(0.)
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        batch = component_distribution.batch_shape[:-1]
        for size, batch_size in zip(reversed(mixture_distribution.batch_shape), reversed(batch), strict=False):
            if size != 1 and batch_size != 1 and size != batch_size:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        n = mixture_distribution.logits.shape[-1]
        if component_distribution.batch_shape[-1] != n:
            raise ValueError(
                f"`mixture_distribution component` ({n}) does not equal `component_distribution.batch_shape[-1]` "
                f"({component_distribution.batch_shape[-1]})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component = n
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The mixture with components and weights expanded to a batch shape."""
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch)
        new._num_component = self._num_component
        Distribution.__init__(new, batch, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    @constraints.dependent_property
    def support(self) -> Any:
        """The support of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Any:
        weights = self._mixture_distribution.probs
        return weights.reshape(*weights.shape, *[1] * len(self._event_shape))

    def _weighted_sum(self, values: Any) -> Any:
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    mean = property(lambda self: self._weighted_sum(self._component_distribution.mean))

    @property
    def variance(self) -> Any:
        """The mean of the variances plus the variance of the means."""
        components = self._component_distribution
        means = components.mean - self._pad(self.mean)
        return self._weighted_sum(components.variance) + self._weighted_sum(means**2)

    def _pad(self, value: Any) -> Any:
        return value.unsqueeze(-1 - len(self._event_shape))

    def cdf(self, x: Any) -> Any:
        """The weighted sum of the distribution functions."""
        values = self._component_distribution.cdf(self._pad(x))
        return (values * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the weighted sum of the densities or probabilities."""
        if self._validate_args:
            self._validate_sample(x)
        logs = self._component_distribution.log_prob(self._pad(x))
        return adjoint.logsumexp(logs + adjoint.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples of randomly selected components."""
        with adjoint.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            components = self._mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            index = components.reshape(*components.shape, 1, *[1] * len(self.event_shape))
            index = index.expand(*components.shape, 1, *self.event_shape)
            return adjoint.gather(samples, dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
