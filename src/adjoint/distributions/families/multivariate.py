"""Distributions of vectors and matrices.

Formulas without another source are from S. Kotz, N. Balakrishnan, N. L. Johnson, Continuous Multivariate
Distributions, 2000.
"""

from __future__ import annotations

import math
from typing import Any

import adjoint
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, ExponentialFamily, Parametric, shape_of
from adjoint.distributions.distribution import standard_normal as _standard_normal
from adjoint.distributions.utils import lazy_property

__all__ = ["Dirichlet", "LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]

Size = adjoint.Size
_LOG_2PI = math.log(2 * math.pi)


class Dirichlet(Parametric, ExponentialFamily):
    """The Dirichlet distribution over the simplex, with concentrations along the last axis.

    Samples have implicit derivatives of any order. Raises ValueError for a parameter with shape ().
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        Distribution.__init__(self, concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    _total = property(lambda self: self.concentration.sum(-1, True))
    mean = property(lambda self: self.concentration / self._total)
    variance = property(lambda self: self.mean * (1 - self.mean) / (self._total + 1))

    @property
    def mode(self) -> Any:
        """The inner maximum, or, if all concentrations are below 1, the corner with the largest one."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = adjoint.nn.functional.one_hot(self.concentration.argmax(-1), self.concentration.shape[-1])
        return adjoint.where((self.concentration < 1).all(-1, keepdim=True), corner.to(mode.dtype), mode)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Gamma samples divided by their sum, with implicit derivatives."""
        return adjoint._sample_dirichlet(*self._parameters_at(sample_shape, "concentration"))

    def _log_prob(self, value: Any) -> Any:
        a = self.concentration
        return adjoint.xlogy(a - 1, value).sum(-1) + adjoint.lgamma(a.sum(-1)) - adjoint.lgamma(a).sum(-1)

    def entropy(self) -> Any:
        """log B(a) + (Σ a - n) ψ(Σ a) - Σ (a - 1) ψ(a)."""
        a = self.concentration
        total, psi = a.sum(-1), adjoint.digamma
        log_beta = adjoint.lgamma(a).sum(-1) - adjoint.lgamma(total)
        return log_beta + (total - a.size(-1)) * psi(total) - ((a - 1) * psi(a)).sum(-1)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - adjoint.lgamma(x.sum(-1))


# the normal distribution ----------------------------------------------------------------------------------------------


def squared_distance(factor: Any, difference: Any) -> Any:
    """xᵀ (L Lᵀ)⁻¹ x for each x, with the lower factor L; their batch axes broadcast."""
    if factor.dim() == 2:
        # a single factor: solve for all right-hand sides at once
        flat = difference.reshape(-1, factor.shape[-1])
        solved = adjoint.linalg.solve_triangular(factor, flat.mT, upper=False)
        return solved.pow(2).sum(-2).reshape(difference.shape[:-1])
    return adjoint.linalg.solve_triangular(factor, difference.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)


def half_log_det(factor: Any) -> Any:
    """The sum of the logarithms of the diagonal."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def inverse_of(factor: Any) -> Any:
    """(L Lᵀ)⁻¹."""
    return adjoint.cholesky_inverse(factor)


def factor_of_inverse(matrix: Any) -> Any:
    """The lower Cholesky factor of the inverse of a positive-definite matrix."""
    # reversed rows and columns turn a lower factor into an upper factor
    upper = adjoint.linalg.cholesky(adjoint.flip(matrix, (-2, -1)))
    lower = adjoint.flip(upper, (-2, -1)).mT
    eye = adjoint.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return adjoint.linalg.solve_triangular(lower, eye.expand(matrix.shape), upper=False)


def _one_of_three(
    covariance_matrix: Any, precision_matrix: Any, scale_tril: Any, minimum: str = "covariance_matrix or "
) -> tuple[str, Any]:
    pairs = (
        ("covariance_matrix", covariance_matrix), ("precision_matrix", precision_matrix), ("scale_tril", scale_tril),
    )  # fmt: skip
    matrices = [pair for pair in pairs if pair[1] is not None]
    if len(matrices) != 1:
        raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    name, matrix = matrices[0]
    if matrix.dim() < 2:
        raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
    return name, matrix


class _ByFactor(Parametric):
    """The base class of distributions that store the lower Cholesky factor of a covariance."""

    _unbroadcasted_scale_tril: Any

    def _of_batch(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance."""
        return self._of_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance; for the Wishart distribution, the covariance of the underlying normal vectors."""
        return self._of_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._of_batch(inverse_of(self._unbroadcasted_scale_tril))


class MultivariateNormal(_ByFactor):
    """The normal distribution of vectors with mean loc and a covariance.

    The covariance is given by itself, its inverse or its lower Cholesky factor. Raises ValueError unless exactly one of
    the three is present.

    >>> import adjoint
    >>> adjoint.distributions.MultivariateNormal(adjoint.zeros(2), adjoint.eye(2)).log_prob(adjoint.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _expanded = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = _one_of_three(covariance_matrix, precision_matrix, scale_tril)
        batch = shape_of(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, *loc.shape[-1:]))
        self.__dict__[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        Distribution.__init__(self, batch, self.loc.shape[-1:], validate_args=validate_args)
        makers: dict[str, Any] = {"covariance_matrix": adjoint.linalg.cholesky, "precision_matrix": factor_of_inverse}
        self._unbroadcasted_scale_tril = makers[name](matrix) if name in makers else matrix

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with parameters expanded to a batch shape; the Cholesky factor is not computed again."""
        new = self._get_checked_instance(MultivariateNormal, _instance)
        batch = Size(batch_shape)
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                new.__dict__[name] = value.expand(batch + value.shape[len(self._batch_shape) :])
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        Distribution.__init__(new, batch, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    mean = mode = property(lambda self: self.loc)
    variance = property(
        lambda self: self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)
    )

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + L ε, for standard normal ε and the Cholesky factor L."""
        noise = _standard_normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Any) -> Any:
        factor = self._unbroadcasted_scale_tril
        distance = squared_distance(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_2PI + distance) - half_log_det(factor)

    def entropy(self) -> Any:
        """n / 2 (1 + log 2π) + log det L."""
        entropy = 0.5 * self._event_shape[0] * (1.0 + _LOG_2PI) + half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape)


class LowRankMultivariateNormal(Parametric):
    """The normal distribution of vectors with covariance W Wᵀ + diag(D), for a factor W with few columns.

    The cost of a density depends on the rank of W, by Woodbury's formula.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        events = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != events:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {events[0]} x m")
        if cov_diag.shape[-1:] != events:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {events}")
        batch = shape_of(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand(batch + events), cov_diag.expand(batch + events)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        Distribution.__init__(self, batch, events, validate_args=validate_args)

    @lazy_property
    def _capacitance_tril(self) -> Any:
        """The Cholesky factor of I + Wᵀ D⁻¹ W."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        product = scaled @ self.cov_factor
        eye = adjoint.eye(product.shape[-1], dtype=product.dtype, device=product.device)
        return adjoint.linalg.cholesky(product + eye)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: self.cov_factor.pow(2).sum(-1) + self.cov_diag)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance."""
        return adjoint.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        part = adjoint.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - part.mT @ part

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + W ε + √D η, for standard normal ε and η."""
        shape = self._extended_shape(sample_shape)
        few = _standard_normal(self.loc, shape[:-1] + self.cov_factor.shape[-1:])
        low_rank = (self.cov_factor @ few.unsqueeze(-1)).squeeze(-1)
        return self.loc + low_rank + self.cov_diag.sqrt() * _standard_normal(self.loc, shape)

    def _log_prob(self, value: Any) -> Any:
        difference = value - self.loc
        weighted = (self.cov_factor.mT @ (difference / self.cov_diag).unsqueeze(-1)).squeeze(-1)
        distance = (difference**2 / self.cov_diag).sum(-1) - squared_distance(self._capacitance_tril, weighted)
        return -0.5 * (self._event_shape[0] * _LOG_2PI + self._log_det + distance)

    @property
    def _log_det(self) -> Any:
        return 2 * half_log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def entropy(self) -> Any:
        """n / 2 (1 + log 2π) + log det / 2."""
        return 0.5 * (self._event_shape[0] * (1.0 + _LOG_2PI) + self._log_det)


# matrices -------------------------------------------------------------------------------------------------------------


class Wishart(_ByFactor):
    """The Wishart distribution of positive-definite matrices (n, n), with df degrees of freedom.

    Raises ValueError unless exactly one of covariance, its inverse and its Cholesky factor is present, and unless
    df > n - 1.
    """

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True
    _expanded = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = _one_of_three(covariance_matrix, precision_matrix, scale_tril)
        df = adjoint.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch, events = shape_of(matrix.shape[:-2], df.shape), matrix.shape[-2:]
        if df.le(events[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {events[-1] - 1}.")
        self.df, self.__dict__[name] = df.expand(batch), matrix.expand((*batch, *events))
        Distribution.__init__(self, batch, events, validate_args=validate_args)
        makers: dict[str, Any] = {"covariance_matrix": adjoint.linalg.cholesky, "precision_matrix": factor_of_inverse}
        self._unbroadcasted_scale_tril = (makers[name](matrix) if name in makers else matrix).expand((*batch, *events))

    _wide_df = property(lambda self: self.df[..., None, None])
    mean = property(lambda self: self._wide_df * self.covariance_matrix)

    @property
    def mode(self) -> Any:
        """(df - n - 1) times the covariance; NaN if this factor is negative."""
        factor = self._wide_df - self.covariance_matrix.shape[-1] - 1
        return adjoint.where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._wide_df * (covariance**2 + diagonal[..., :, None] * diagonal[..., None, :])

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """L A Aᵀ Lᵀ, with the factor A of M. S. Bartlett (1933): chi numbers on the diagonal, normal numbers below.

        max_try_correction: has no effect; torch draws again this often if a sample is singular, and none is here.
        """
        n, shape = self._event_shape[-1], Size(sample_shape) + self._batch_shape
        degrees = self.df.expand(shape).unsqueeze(-1) - adjoint.arange(n, dtype=self.df.dtype, device=self.df.device)
        diagonal = (2 * adjoint._standard_gamma(degrees / 2)).clamp(min=adjoint.finfo(self.df.dtype).tiny).sqrt()
        factor = _standard_normal(self.df, (*shape, n, n)).tril(-1) + diagonal.diag_embed()
        chol = self._unbroadcasted_scale_tril @ factor
        return chol @ chol.mT

    def _log_prob(self, value: Any) -> Any:
        n, factor = self._event_shape[-1], self._unbroadcasted_scale_tril
        log_det = adjoint.linalg.slogdet(value).logabsdet
        trace = adjoint.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        norm = self.df * (n * math.log(2) / 2 + half_log_det(factor)) + adjoint.mvlgamma(self.df / 2, p=n)
        return -norm + (self.df - n - 1) / 2 * log_det - trace / 2

    def entropy(self) -> Any:
        """The entropy, from the mean of the log-determinant."""
        n, half = self._event_shape[-1], self.df / 2
        log_det = 2 * half_log_det(self._unbroadcasted_scale_tril)
        rows = adjoint.arange(n, dtype=half.dtype, device=half.device)
        slopes = adjoint.digamma(half.unsqueeze(-1) - rows / 2).sum(-1)
        norm = self.df * n * math.log(2) / 2 + half * log_det + adjoint.mvlgamma(half, p=n)
        mean = slopes + n * math.log(2) + log_det
        return norm - (self.df - n - 1) / 2 * mean + self.df * n / 2


class LKJCholesky(Parametric):
    """Cholesky factors of random correlation matrices (dim, dim), with density det ** (concentration - 1).

    The density is that of the correlation matrices (D. Lewandowski, D. Kurowicka, H. Joe, 2009). Raises ValueError for
    fewer than two rows.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = adjoint.distributions.utils.broadcast_all(concentration)
        Distribution.__init__(self, self.concentration.size(), Size((dim, dim)), validate_args=validate_args)

    def _expand_others(self, new: Any, batch_shape: Any) -> None:
        new.dim = self.dim

    def sample(self, sample_shape: Any = ()) -> Any:
        """Factors by the onion method: each row has a random direction, and a beta distribution gives its radius."""
        with adjoint.no_grad():
            batch = Size(sample_shape) + self._batch_shape
            kind = {"dtype": self.concentration.dtype, "device": self.concentration.device}
            rows = adjoint.arange(1, self.dim, **kind)
            half = (self.concentration + (self.dim - 2) / 2).unsqueeze(-1) - (rows - 1) / 2
            pair = adjoint.stack(adjoint.broadcast_tensors(rows / 2, half), -1).expand((*batch, self.dim - 1, 2))
            square = adjoint._sample_dirichlet(pair)[..., 0].unsqueeze(-1)
            noise = adjoint.randn((*batch, self.dim - 1, self.dim), **kind).tril()
            inner = square.sqrt() * noise / noise.norm(dim=-1, keepdim=True)
            w = adjoint.nn.functional.pad(inner, [0, 0, 1, 0])
            diagonal = (1 - w.pow(2).sum(-1)).clamp(min=adjoint.finfo(w.dtype).tiny).sqrt()
            return w + diagonal.diag_embed()

    def _log_prob(self, value: Any) -> Any:
        n = self.dim
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = adjoint.arange(2, n + 1, dtype=value.dtype, device=value.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + n - order
        density = (order * diagonal.log()).sum(-1)
        alpha = self.concentration + 0.5 * (n - 1)
        norm = 0.5 * (n - 1) * math.log(math.pi) + adjoint.mvlgamma(alpha - 0.5, n - 1)
        return density - (norm - adjoint.lgamma(alpha) * (n - 1))
