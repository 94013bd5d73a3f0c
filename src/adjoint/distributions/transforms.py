"""Transforms of random values with their log-determinants, under torch's names."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import mul
from typing import Any

import adjoint
from adjoint.distributions import constraints
from adjoint.distributions.distribution import shape_of
from adjoint.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

Size = adjoint.Size
softplus = adjoint.nn.functional.softplus


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last `dim` axes."""
    if not dim or not isinstance(value, adjoint.Tensor):
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


class Transform:
    """A differentiable function of random values. Subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`.

    cache_size: 1 stores the last value and its result, so that the inverse of this result is not computed. Raises
    ValueError unless it is 0 or 1.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of axes of an event. Raises ValueError if domain and codomain differ in it."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse transform; its inverse is this transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 for an increasing function, -1 for a decreasing one. Raises NotImplementedError for other functions."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        before, result = self._cached
        if x is before:
            return result
        result = self._call(x)
        self._cached = x, result
        return result

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        before, result = self._cached
        if y is result:
            return before
        before = self._inverse(y)
        self._cached = before, y
        return before

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy / dx| for a value and its result."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for the shape of a value."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the value for the shape of a result."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain = constraints.dependent_property(lambda self: self._inv.codomain)
    codomain = constraints.dependent_property(lambda self: self._inv.domain)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """The composition of several transforms; the first part is applied first.

    Inverses, log-determinants and shapes follow from the parts.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        self.parts = [each.with_cache(cache_size) for each in parts] if cache_size else list(parts)
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The domain of the first part, extended by the event axes of later parts."""
        return self._constraint_of([(each.domain, each.codomain) for each in self.parts])

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The codomain of the last part, extended by the event axes of earlier parts."""
        return self._constraint_of([(each.codomain, each.domain) for each in reversed(self.parts)])

    @staticmethod
    def _constraint_of(pairs: Sequence[tuple[Any, Any]]) -> Any:
        if not pairs:
            return constraints.real
        event_dim = pairs[-1][1].event_dim
        for near, far in reversed(pairs):
            event_dim = max(event_dim + near.event_dim - far.event_dim, near.event_dim)
        first = pairs[0][0]
        return constraints.independent(first, event_dim - first.event_dim) if event_dim > first.event_dim else first

    bijective = property(lambda self: all(each.bijective for each in self.parts))
    sign = property(lambda self: reduce(mul, [each.sign for each in self.parts], 1))

    @property
    def inv(self) -> Any:
        """The composition of the inverses of the parts, in reverse order."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([each.inv for each in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the log-determinants of the parts."""
        if not self.parts:
            return adjoint.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim, terms = self.domain.event_dim, []
        for part, (before, after) in zip(self.parts, pairwise(values), strict=True):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return reduce(lambda a, b: a + b, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __reduce_ex__(self, protocol: Any) -> Any:
        return "identity_transform" if self is identity_transform else super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform that treats further axes on the right as part of an event.

    Log-determinants are summed over these axes.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    domain = constraints.dependent_property(
        lambda self: constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)
    )
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)
    )
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    def _check(self, value: Any, event_dim: int) -> None:
        if value.dim() < event_dim:
            raise ValueError("Too few dimensions on input")

    def _call(self, x: Any) -> Any:
        self._check(x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        self._check(y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The log-determinant of the base transform, summed over the further event axes."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """A reshape of events. Raises ValueError if the numbers of elements differ.

    in_shape, out_shape: the shapes of an event before and after. The log-determinant is 0.
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    domain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.in_shape)), is_discrete=False
    )
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.out_shape)), is_discrete=False
    )

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(self._other(x.shape, self.in_shape, self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self._other(y.shape, self.out_shape, self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Zeros."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    @staticmethod
    def _other(shape: Any, old: Size, new: Size) -> Any:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if Size(shape[cut:]) != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new

    def forward_shape(self, shape: Any) -> Any:
        return self._other(Size(shape), self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._other(Size(shape), self.out_shape, self.in_shape)


# scalar transforms ----------------------------------------------------------------------------------------------------


class _Scalar(Transform):
    """A bijective scalar function without parameters; all instances are equal."""

    bijective = True
    domain = constraints.real
    sign: Any = +1

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class ExpTransform(_Scalar):
    """y = exp(x).

    From: real. To: positive.
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class SigmoidTransform(_Scalar):
    """y = 1 / (1 + exp(-x)), clamped to the open interval (0, 1).

    From: real. To: from 0 to 1.
    """

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        info = adjoint.finfo(x.dtype)
        return adjoint.sigmoid(x).clamp(min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y: Any) -> Any:
        info = adjoint.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - adjoint.log1p(-y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Scalar):
    """y = log(1 + exp(x)).

    From: real. To: positive.
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-adjoint.expm1(-y)).log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Scalar):
    """y = tanh(x).

    From: real. To: from -1 to 1.
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return adjoint.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(1 - tanh(x) ** 2), computed without loss of digits for large x."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Scalar):
    """y = |x|. It is not bijective; the inverse of y is y.

    From: real. To: positive.
    """

    bijective = False
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """y = x ** exponent, for positive numbers.

    From: positive. To: positive.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = adjoint.distributions.utils.broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        """The sign of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return shape_of(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """y = loc + scale * x. event_dim: the number of axes of an event, 0 for numbers.

    loc and scale are numbers or tensors, which broadcast against the values.
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The real numbers, or arrays of them."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and all(
            bool(adjoint.as_tensor(mine == theirs).all())
            for mine, theirs in ((self.loc, other.loc), (self.scale, other.scale))
        )

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        if isinstance(self.scale, adjoint.Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, adjoint.Tensor):
            result = self.scale.abs().log()
        else:
            result = adjoint.full_like(x, math.log(abs(self.scale)))
        if self.event_dim:
            result = result.view((*result.shape[: -self.event_dim], -1)).sum(-1) if result.dim() else result
        return result.expand(x.shape[: x.dim() - self.event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return shape_of(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = cdf(x), for a distribution.

    From: the support of the distribution. To: (0, 1).
    """

    bijective = True
    codomain = constraints.unit_interval
    sign: Any = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The log-density of the distribution."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


# transforms of vectors and matrices -----------------------------------------------------------------------------------


class SoftmaxTransform(Transform):
    """y = softmax(x) along the last axis. It is not bijective; the inverse of y is log(y).

    From: real vectors. To: points of the simplex.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return adjoint.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Points of the simplex from real vectors: a sigmoid of each number is the next part, as a fraction of the rest.

    From: real vectors. To: points of the simplex.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = object.__hash__

    @staticmethod
    def _shift(x: Any) -> Any:
        """The logarithms of the numbers of remaining parts; with this shift, x = 0 gives the centre."""
        n = x.shape[-1]
        return adjoint.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Any) -> Any:
        z = adjoint.sigmoid(x - self._shift(x)).clamp(max=1 - adjoint.finfo(x.dtype).eps)
        rest = (1 - z).cumprod(-1)
        pad = adjoint.nn.functional.pad
        return pad(z, [0, 1], value=1.0) * pad(rest, [1, 0], value=1.0)

    def _inverse(self, y: Any) -> Any:
        inner = y[..., :-1]
        rest = (1 - inner.cumsum(-1)).clamp(min=adjoint.finfo(y.dtype).tiny)
        return inner.log() - rest.log() + self._shift(inner)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._shift(x)
        return (-x + adjoint.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return _changed_last(shape, 1)

    def inverse_shape(self, shape: Any) -> Any:
        return _changed_last(shape, -1)


def _changed_last(shape: Any, change: int) -> Any:
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input")
    return shape[:-1] + (shape[-1] + change,)


class LowerCholeskyTransform(Transform):
    """Triangular matrices with a positive diagonal: exp of the diagonal, and the unchanged part below it.

    From: real matrices. To: lower triangular with a positive diagonal.
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the diagonal of x, since each diagonal element of y is exp(x)."""
        return x.diagonal(dim1=-2, dim2=-1).sum(-1)


class PositiveDefiniteTransform(Transform):
    """Positive-definite matrices L Lᵀ, with the factor L of LowerCholeskyTransform.

    From: real matrices. To: positive definite.
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(adjoint.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Cholesky factors of correlation matrices from vectors of n (n - 1) / 2 numbers.

    tanh maps the numbers to partial correlations. From these follow the rows of the factor, which are unit vectors (D.
    Lewandowski, D. Kurowicka, H. Joe, 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        bound = 1 - adjoint.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(adjoint.tanh(x).clamp(min=-bound, max=bound), diag=-1)
        squares = partial**2
        left = (1 - squares).sqrt().cumprod(-1)
        shifted = adjoint.nn.functional.pad(left[..., :-1], [1, 0], value=1.0)
        return (partial + adjoint.eye(partial.shape[-1], dtype=x.dtype, device=x.device)) * shifted

    def _inverse(self, y: Any) -> Any:
        left = 1 - adjoint.cumsum(y * y, dim=-1)
        shifted = adjoint.nn.functional.pad(left[..., :-1], [1, 0], value=1.0)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(shifted, diag=-1).sqrt()
        return (adjoint.log1p(partial) - adjoint.log1p(-partial)) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = 1 - (y * y).cumsum(dim=-1)
        of_rows = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return of_rows + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return shape[:-2] + (n * (n - 1) // 2,)


# transforms of parts --------------------------------------------------------------------------------------------------


class CatTransform(Transform):
    """Transforms of slices along an axis. lengths: the lengths of the slices; the default is 1 for each.

    The results are joined along the same axis.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [each.with_cache(cache_size) for each in tseq], dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    event_dim = property(lambda self: max(each.event_dim for each in self.transforms))
    length = property(lambda self: sum(self.lengths))
    bijective = property(lambda self: all(each.bijective for each in self.transforms))
    domain = constraints.dependent_property(
        lambda self: constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)
    )
    codomain = constraints.dependent_property(
        lambda self: constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)
    )

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Any) -> Any:
        return value.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return adjoint.cat([each(p) for each, p in zip(self.transforms, self._parts(x), strict=True)], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        parts = zip(self.transforms, self._parts(y), strict=True)
        return adjoint.cat([each.inv(part) for each, part in parts], dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The log-determinants of the slices, joined, or summed if the axis belongs to the event."""
        logs = []
        for each, a, b in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            logs.append(sum_rightmost(each.log_abs_det_jacobian(a, b), self.event_dim - each.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return adjoint.cat(logs, dim=dim) if dim < 0 else sum(logs)


class StackTransform(Transform):
    """Transforms of the members along an axis.

    The results are stacked along the same axis.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [each.with_cache(cache_size) for each in tseq], dim

    bijective = property(lambda self: all(each.bijective for each in self.transforms))
    domain = constraints.dependent_property(
        lambda self: constraints.stack([each.domain for each in self.transforms], self.dim)
    )
    codomain = constraints.dependent_property(
        lambda self: constraints.stack([each.codomain for each in self.transforms], self.dim)
    )

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _pairs(self, value: Any) -> Any:
        return zip(self.transforms, value.unbind(self.dim), strict=True)

    def _call(self, x: Any) -> Any:
        return adjoint.stack([each(part) for each, part in self._pairs(x)], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        return adjoint.stack([each.inv(part) for each, part in self._pairs(y)], dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The log-determinants of the members, stacked along the axis."""
        members = zip(self.transforms, x.unbind(self.dim), y.unbind(self.dim), strict=True)
        return adjoint.stack([each.log_abs_det_jacobian(a, b) for each, a, b in members], dim=self.dim)
