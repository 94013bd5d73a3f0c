"""scipy.stats over Tensors: distributions of vectors. Those of numbers are in `distributions`."""

from __future__ import annotations

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS, function
from adjoint.interop.operands import inexact, kind_of, promote, tensor_of
from adjoint.tensor.table import ops

HALF_LOG_TWO_PI = 0.9189385332046727


def gaussian(x, mean, cov):
    """Places, mean and covariance matrix of one dtype, and the shape of results.

    A number as covariance is the variance of each element.
    """
    x = points = tensor_of(x)
    cov = tensor_of(1.0 if cov is None else cov)
    mean = tensor_of(numpy.zeros(max(cov.shape[-1] if cov.ndim else 1, 1)) if mean is None else mean)
    x, mean, cov = promote(inexact(x), inexact(mean), inexact(cov))
    n = mean.shape[0] if mean.ndim else 1
    mean = ops.reshape(mean, (n,))
    if cov.ndim == 0:
        cov = cov * ops.identity(mean, n, n)
    elif cov.ndim == 1:
        cov = cov[:, None] * ops.identity(mean, n, n)
    if x.ndim == 0:
        x = ops.reshape(x, (1, 1))
    elif x.ndim == 1:
        x = ops.reshape(x, (-1, 1)) if n == 1 else x[None]
    shape = points.shape[:-1] if n > 1 or points.ndim > 1 else points.shape
    return x, mean, cov, tuple(shape)


@function("scipy.stats.multivariate_normal.logpdf")
def multivariate_normal_logpdf(x, mean=None, cov=1, allow_singular=False):
    """The logarithm of the density of the multivariate normal distribution."""
    x, mean, cov, shape = gaussian(x, mean, cov)
    n = mean.shape[0]
    rest = ops.reshape(x - mean, (-1, n))
    if allow_singular:
        values, vectors = ops.linalg_eigh(cov, "L")
        is_positive = values._array > numpy.finfo(kind_of(values)).eps * 1e6 * abs(values._array).max(initial=0.0)
        log_det = ops.sum(ops.where(is_positive, ops.log(ops.where(is_positive, values, 1)), 0))
        white = (rest @ vectors) * ops.where(is_positive, ops.rsqrt(ops.where(is_positive, values, 1)), 0)
        rank = int(is_positive.sum())
    else:
        symmetric = 0.5 * (cov + ops.transpose(cov, 0, 1))
        factor = ops.linalg_cholesky(symmetric, upper=False)
        log_det = 2 * ops.sum(ops.log(ops.diagonal(factor, 0, 0, 1)), (0,))
        white = ops.transpose(ops.linalg_solve_triangular(factor, ops.transpose(rest, 0, 1), upper=False), 0, 1)
        rank = n
    result = -0.5 * (ops.sum(white * white, (1,)) + log_det) - rank * HALF_LOG_TWO_PI
    return ops.reshape(result, shape)


@function("scipy.stats.multivariate_normal.pdf")
def multivariate_normal_pdf(x, mean=None, cov=1, allow_singular=False):
    """The density of the multivariate normal distribution."""
    return ops.exp(FUNCTIONS["scipy.stats.multivariate_normal.logpdf"](x, mean, cov, allow_singular))


@function("scipy.stats.multivariate_normal.entropy")
def multivariate_normal_entropy(mean=None, cov=1):
    """The differential entropy of the multivariate normal distribution."""
    _, mean, cov, _ = gaussian(0.0, mean, cov)
    return 0.5 * ops.linalg_slogdet(cov)[1] + mean.shape[0] * (0.5 + HALF_LOG_TWO_PI)


@function("scipy.stats.dirichlet.logpdf")
def dirichlet_logpdf(x, alpha):
    """The logarithm of the density of the Dirichlet distribution; x may lack its last element, which is the rest."""
    x, alpha = promote(inexact(tensor_of(x)), inexact(tensor_of(alpha)))
    if x.shape[0] + 1 == alpha.shape[0]:
        x = ops.cat([x, (1 - ops.sum(x, (0,)))[None]], 0)
    columns = ops.permute(x, tuple(range(x.ndim))[::-1])
    norm = ops.sum(ops.lgamma(alpha), (0,)) - ops.lgamma(ops.sum(alpha, (0,)))
    result = ops.sum(ops.xlogy(alpha - 1, columns), (columns.ndim - 1,)) - norm
    return ops.permute(result, tuple(range(result.ndim))[::-1]) if result.ndim > 1 else result


@function("scipy.stats.dirichlet.pdf")
def dirichlet_pdf(x, alpha):
    """The density of the Dirichlet distribution."""
    return ops.exp(dirichlet_logpdf(x, alpha))


@function("scipy.stats.multinomial.logpmf")
def multinomial_logpmf(x, n, p):
    """The logarithm of the probability of counts in n draws."""
    x, n, p = promote(inexact(tensor_of(x)), inexact(tensor_of(n)), inexact(tensor_of(p)))
    return ops.lgamma(n + 1) + ops.sum(ops.xlogy(x, p) - ops.lgamma(x + 1), (-1,))


@function("scipy.stats.multinomial.pmf")
def multinomial_pmf(x, n, p):
    """The probability of counts in n draws."""
    return ops.exp(multinomial_logpmf(x, n, p))
