"""The distribution function of the multivariate normal distribution over Tensors.

Values are SciPy's, in two dimensions by Owen's T function. The derivative by a limit is the density there times the
probability of the others given that coordinate, a problem of one dimension less. The second derivatives by two limits,
H, are of the same kind, and dP = tr(H dcov) / 2 (Plackett 1954). So derivatives of any order exist. From four
dimensions on they have the error of SciPy's integrals, `abseps`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_functions import FUNCTIONS, function
from adjoint.interop.operands import values_of
from adjoint.tensor.table import ops
from adjoint.transforms.custom_functions.custom import custom

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Integral = Callable[[Any, Any], Any]

ROOT_TWO_PI = 2.5066282746310002


def probability(limits: Tensor, cov: Tensor, integral: Integral) -> Tensor:
    """The probability that n normal numbers of mean 0 are below limits (m, n). integral: the function for n > 2."""
    n = cov.shape[0]
    if n == 0:
        return ops.zeros_like(limits.sum(1)) + 1
    if n == 1:
        return ops.special_ndtr(limits[:, 0] * ops.rsqrt(cov[0, 0]))
    return _of_several(limits, cov, _of_two if n == 2 else integral)


@custom
def _of_several(limits: Tensor, cov: Tensor, integral: Integral) -> Any:
    return new_tensor(numpy.asarray(integral(values_of(limits), values_of(cov)), limits._array.dtype).reshape(-1))


@_of_several.vjp
def _(g: Any, limits: Any, cov: Any, integral: Any) -> Any:
    slopes = ops.stack([_slope(limits, cov, i, integral) for i in range(cov.shape[0])], 1)
    second = _second_slopes(limits, cov, slopes, integral)
    return {"limits": g[:, None] * slopes, "cov": 0.5 * (g[:, None, None] * second).sum(0)}


def _slope(limits: Tensor, cov: Tensor, i: int, integral: Integral) -> Tensor:
    """The derivative by one limit."""
    density, rest, covariances = _conditional(limits, cov, i)
    return density * probability(rest, covariances, integral)


def _conditional(limits: Tensor, cov: Tensor, i: int) -> tuple[Tensor, Tensor, Tensor]:
    """The density of one number at its limit, and the limits and covariances of the others, given that it is there."""
    others = [k for k in range(cov.shape[0]) if k != i]
    variance, column, limit = cov[i, i], cov[others, i], limits[:, i]
    # there is no density at infinity
    ends = numpy.isinf(values_of(limit))
    point = ops.where(new_tensor(ends), 0.0, limit)
    density = ops.exp(-0.5 * point * point / variance) * ops.rsqrt(variance) / ROOT_TWO_PI
    density = ops.where(new_tensor(ends), 0.0, density)
    rest = limits[:, others] - point[:, None] * (column / variance)
    return density, rest, cov[others][:, others] - column[:, None] * column / variance


def _second_slopes(limits: Tensor, cov: Tensor, slopes: Tensor, integral: Integral) -> Tensor:
    """The second derivatives by the limits."""
    n = cov.shape[0]
    mixed: dict[tuple[int, int], Tensor] = {}
    for i in range(n):
        density, rest, covariances = _conditional(limits, cov, i)
        for j in range(i + 1, n):
            mixed[i, j] = mixed[j, i] = density * _slope(rest, covariances, j - 1, integral)
    infinite = new_tensor(numpy.isinf(values_of(limits)))
    weighted = ops.where(infinite, 0.0, limits) * slopes
    for i in range(n):
        # the densities of normal numbers fall as limit / variance
        of_others = sum([cov[i, j] * mixed[i, j] for j in range(n) if j != i], weighted[:, i])
        mixed[i, i] = -of_others / cov[i, i]
    rows = [ops.stack([mixed[i, j] for j in range(n)], 1) for i in range(n)]
    return ops.stack(rows, 1)


def _of_two(limits: Any, cov: Any) -> Any:
    """The probability of two numbers, by Owen's T function (Owen 1956, 2.1)."""
    import scipy.special

    scale = numpy.sqrt(numpy.diag(cov))
    rho = cov[0, 1] / (scale[0] * scale[1])
    h, k = (limits / scale).T
    rest = numpy.sqrt((1 - rho) * (1 + rho))
    ends = numpy.isinf(h) | numpy.isinf(k)
    u, v = numpy.where(ends, 1.0, h), numpy.where(ends, 1.0, k)

    def part(u: Any, v: Any) -> Any:
        zero = u == 0
        ratio = numpy.where(zero, numpy.copysign(numpy.inf, v), v / numpy.where(zero, 1.0, u))
        return scipy.special.owens_t(u, (ratio - rho) / rest)

    below = scipy.special.ndtr
    outside = 0.5 * ((u * v < 0) | ((u * v == 0) & (u + v < 0)))
    value = 0.5 * (below(u) + below(v)) - part(u, v) - part(v, u) - outside
    value = numpy.where((u == 0) & (v == 0), 0.25 + numpy.arcsin(rho) / (2 * numpy.pi), value)
    # with one limit at infinity the other number remains
    return numpy.where(ends, numpy.where((h == -numpy.inf) | (k == -numpy.inf), 0.0, below(numpy.minimum(h, k))), value)


@function("scipy.stats.multivariate_normal.cdf")
def multivariate_normal_cdf(
    x, mean=None, cov=1, allow_singular=False, maxpts=None, abseps=1e-5, releps=1e-5, *, lower_limit=None, rng=None
):  # fmt: skip
    """The probability that all coordinates of a normal vector are below x; differentiable by x, mean and cov."""
    # imported only here: stats imports this file
    import scipy.stats

    from adjoint.interop.scipy_functions.stats import gaussian

    if lower_limit is not None:
        raise TypeError(
            "multivariate_normal.cdf(): lower_limit is not supported for Tensors; use differences of values without it"
        )
    points, mean, cov, shape = gaussian(x, mean, cov)

    def integral(limits: Any, cov: Any) -> Any:
        # SciPy before 1.16 has no rng
        options = {"maxpts": maxpts, "abseps": abseps, "releps": releps} | ({} if rng is None else {"rng": rng})
        return scipy.stats.multivariate_normal.cdf(limits, None, cov, allow_singular, **options)

    symmetric = 0.5 * (cov + ops.transpose(cov, 0, 1))
    limits = ops.reshape(points - mean, (-1, mean.shape[0]))
    return ops.reshape(probability(limits, symmetric, integral), shape)


@function("scipy.stats.multivariate_normal.logcdf")
def multivariate_normal_logcdf(
    x, mean=None, cov=1, allow_singular=False, maxpts=None, abseps=1e-5, releps=1e-5, *, lower_limit=None, rng=None
):  # fmt: skip
    """The logarithm of cdf()."""
    options = {"lower_limit": lower_limit, "rng": rng}
    cdf = FUNCTIONS["scipy.stats.multivariate_normal.cdf"]
    return ops.log(cdf(x, mean, cov, allow_singular, maxpts, abseps, releps, **options))
