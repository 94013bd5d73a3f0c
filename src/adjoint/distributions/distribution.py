"""The base classes of distributions: shapes of batches and events, checks of parameters and values."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import adjoint
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.distributions import constraints
from adjoint.distributions.utils import broadcast_all, lazy_property

__all__ = ["Distribution", "ExponentialFamily", "Parametric"]

Size = adjoint.Size


class Distribution:
    """A batch of probability distributions, of shape `batch_shape`; each has events of shape `event_shape`.

    validate_args: whether to check parameters against `arg_constraints`, and values against `support`. The default is
    the value of `set_default_validate_args`.

    Raises ValueError for a parameter that violates its constraint.
    """

    has_rsample: bool = False
    has_enumerate_support = False
    arg_constraints: Any = None
    support: Any = None
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether new distributions check their arguments. Raises ValueError unless `value` is a bool."""
        if value not in (True, False):
            raise ValueError(f"the default of validate_args must be True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        if self.arg_constraints is None:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                f"the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # it is computed from another parameter
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape; they share memory."""
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single event."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The value with the largest probability or density."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples of shape sample_shape + batch_shape + event_shape, which do not require grad."""
        with adjoint.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples that are differentiable with respect to the parameters. Raises NotImplementedError without these."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """n samples. Deprecated: use sample((n,))."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density or probability at a value; the result drops the event axes."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The cumulative distribution function: the probability of values up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The quantile function, the inverse of `cdf`, at a probability."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first axis."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return adjoint.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError for a value with a wrong shape, or outside the support."""
        if not isinstance(value, adjoint.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = len(value.size()) - len(self._event_shape)
        if value.size()[start:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for size, expected_size in zip(reversed(value.size()), reversed(expected), strict=False):
            if size != 1 and expected_size != 1 and size != expected_size:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                f"define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints or () if name in self.__dict__]
        texts = [f"{name}: {_short(self.__dict__[name])}" for name in names]
        return f"{type(self).__name__}({', '.join(texts)})"


def _short(value: Any) -> Any:
    return value if value.numel() == 1 else value.size()


class ExponentialFamily(Distribution):
    """Distributions with densities exp(t(x) θ - F(θ) + k(x)), for natural parameters θ and the log normalizer F.

    Subclasses define `_natural_params`, `_log_normalizer(*θ)`, and the mean of k, `_mean_carrier_measure`. Entropies
    and divergences follow from the derivatives of F (F. Nielsen, R. Nock, Entropies and cross-entropies of exponential
    families, 2010).
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, from the derivatives of the log normalizer."""
        with adjoint.enable_grad():
            natural = [each.detach().requires_grad_() for each in self._natural_params]
            normalizer = self._log_normalizer(*natural)
            gradients = adjoint.autograd.grad(normalizer.sum(), natural, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for parameter, gradient in zip(natural, gradients, strict=True):
            result = result - (parameter * gradient).reshape(*self._batch_shape, -1).sum(-1)
        return result


class Parametric(Distribution):
    """The base class of distributions with formulas: it broadcasts and expands parameters, and checks values.

    A subclass sets its parameters by `_set`. Its formulas `_log_prob` and `_cdf` get values after the check.
    """

    #: Further attributes that are expanded together with the parameters.
    _expanded: ClassVar[tuple[str, ...]] = ()

    def _set(self, validate_args: bool | None, **parameters: Any) -> None:
        """Set scalar parameters as attributes, broadcast against each other."""
        values = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, values, strict=True))
        super().__init__(values[0].shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape; they share memory."""
        # the class that defines the parameters; subclasses of users may have other constructors
        cls = next(each for each in type(self).__mro__ if each.__module__.startswith("adjoint.distributions."))
        new = self._get_checked_instance(cls, _instance)
        batch = Size(batch_shape)
        for name in (*self.arg_constraints, *self._expanded):
            if name in self.__dict__:
                value = self.__dict__[name]
                parameter_shape = value.shape[len(self._batch_shape) :] if adjoint.is_tensor(value) else None
                new.__dict__[name] = (
                    value.expand(batch) if parameter_shape is None else value.expand(batch + parameter_shape)
                )
        self._expand_others(new, batch)
        Distribution.__init__(new, batch, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_others(self, new: Any, batch_shape: Size) -> None:
        """Set further attributes of an expanded distribution."""

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density or probability at a value. Raises ValueError outside the support."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)

    def _log_prob(self, value: Any) -> Any:
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of values up to `value`. Raises ValueError outside the support and its ends."""
        if self._validate_args:
            ends_at_zero = self.support is constraints.positive and adjoint.is_tensor(value)
            self._validate_sample(adjoint.where(value == 0, 1.0, value) if ends_at_zero else value)
        return self._cdf(value)

    def _cdf(self, value: Any) -> Any:
        raise NotImplementedError

    def _parameters_at(self, sample_shape: Any, *names: str) -> list[Any]:
        """Parameters, expanded to the shape of samples."""
        shape = self._extended_shape(sample_shape)
        return [getattr(self, name).expand(shape) for name in names]


def standard_uniform(like: Any, shape: Any) -> Any:
    """Uniform numbers in (0, 1), of the dtype and device of a tensor; log(u) and log(1 - u) are finite."""
    tiny = adjoint.finfo(like.dtype).tiny
    return adjoint.rand(shape, dtype=like.dtype, device=like.device).clamp(min=tiny)


def standard_normal(like: Any, shape: Any) -> Any:
    """Standard normal numbers of the dtype and device of a tensor."""
    return adjoint.randn(shape, dtype=like.dtype, device=like.device)


def shape_of(*values: Any) -> Size:
    """The broadcast shape of several values."""
    return Size(broadcast_shapes(*values))
