"""scipy.special over Tensors: its ufuncs, and the functions that are none."""

from __future__ import annotations

import inspect
import math

import numpy
import scipy.special

from adjoint.core.recorded import operations
from adjoint.interop.declare import Array, function
from adjoint.interop.operands import axes_of, cast, inexact, kind_of, plain, promoted, tensor_of
from adjoint.interop.ufuncs import UFUNCS, ufunc_over_tensors
from adjoint.tensor.table import ops

#: Ufuncs of scipy.special and the operations that they are, where the operands are the same.
OPERATIONS = {
    "cbrt": "cbrt", "dawsn": "dawsn", "digamma": "digamma", "ellipe": "ellipe", "ellipk": "ellipk",
    "entr": "special_entr", "erf": "erf", "erfc": "erfc", "erfcinv": "erfcinv", "erfcx": "special_erfcx",
    "erfi": "erfi", "erfinv": "erfinv", "exp1": "exp1", "exp2": "exp2", "expi": "expi", "expit": "sigmoid",
    "expm1": "expm1", "exprel": "exprel", "gamma": "gamma", "gammainc": "igamma", "gammaincc": "igammac",
    "gammainccinv": "gammainccinv", "gammaincinv": "gammaincinv", "gammaln": "lgamma", "i0": "i0", "i0e": "special_i0e",
    "i1": "special_i1", "i1e": "special_i1e", "j0": "special_bessel_j0", "j1": "special_bessel_j1",
    "k0": "special_modified_bessel_k0", "k0e": "special_scaled_modified_bessel_k0", "k1": "special_modified_bessel_k1",
    "k1e": "special_scaled_modified_bessel_k1", "log1p": "log1p", "log_expit": "logsigmoid",
    "log_ndtr": "special_log_ndtr", "logit": "logit", "ndtr": "special_ndtr", "ndtri": "special_ndtri",
    "psi": "digamma", "spence": "spence", "xlog1py": "special_xlog1py", "xlogy": "xlogy", "y0": "special_bessel_y0",
    "y1": "special_bessel_y1", "beta": "beta", "betaln": "betaln", "betainc": "betainc", "betaincinv": "betaincinv",
    "stdtr": "stdtr", "stdtrit": "stdtrit", "jv": "jv", "jn": "jv", "yv": "yv", "iv": "iv", "kv": "kv",
}  # fmt: skip


def _boxcox(log):
    def transform(x, lmbda):
        # log(x) times exprel(lmbda * log(x)), smooth where lmbda is 0
        logarithm = getattr(ops, log)(x)
        return logarithm * ops.exprel(lmbda * logarithm)

    return transform


def _inverse_boxcox(y, lmbda):
    zero = lmbda == 0
    safe = ops.where(zero, 1, lmbda)
    return ops.where(zero, y, ops.log1p(safe * y) / safe)


def _kl(x, y):
    inside = (x > 0) & (y > 0)
    return ops.where(inside, ops.xlogy(x, ops.where(inside, x / y, 1)), _edge(x, y))


def _edge(x, y):
    return ops.where((x == 0) & (y >= 0), ops.zeros_like(x + y), math.inf)


def _huber(delta, r):
    size = abs(r)
    value = ops.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return ops.where(delta < 0, math.inf, value)


def _pseudo_huber(delta, r):
    u = r / delta
    return delta * delta * (u * u / (1 + ops.sqrt(1 + u * u)))


def _of_integer(name):
    return lambda n, x: getattr(ops, name)(cast(n, kind_of(x)), x)


def _expn(n, x):
    order = n._array
    if order.size != 1:
        raise TypeError("expn: with a Tensor as the argument, the order must be one integer")
    return ops.expn(x, int(order.reshape(())))


def _with_numbers(name, n_upper):
    def apply(*values):
        *parameters, z = values
        if any(p.ndim or p.requires_grad for p in parameters):
            raise TypeError(f"{name}: with a Tensor as the argument, the parameters must be numbers")
        numbers = [plain(value) for value in parameters]
        return getattr(ops, name)(z, upper=tuple(numbers[:n_upper]), lower=numbers[n_upper])

    return apply


#: Ufuncs that take several operations, over Tensors of one dtype.
FUNCTIONS_OF_UFUNCS = {
    "betaincc": lambda a, b, x: ops.betainc(b, a, 1 - x),
    "betainccinv": lambda a, b, y: 1 - ops.betaincinv(b, a, y),
    "binom": lambda n, k: ops.exp(ops.lgamma(n + 1) - ops.lgamma(k + 1) - ops.lgamma(n - k + 1)),
    "boxcox": _boxcox("log"),
    "boxcox1p": _boxcox("log1p"),
    "chdtr": lambda v, x: ops.igamma(0.5 * v, 0.5 * x),
    "chdtrc": lambda v, x: ops.igammac(0.5 * v, 0.5 * x),
    "chdtri": lambda v, p: 2 * ops.gammainccinv(0.5 * v, p),
    "cosm1": lambda x: -2 * ops.square(ops.sin(0.5 * x)),
    "ellipkm1": lambda p: ops.ellipk(1 - p),
    "exp10": lambda x: ops.exp(x * math.log(10.0)),
    "expn": _expn,
    "fdtr": lambda a, b, x: ops.betainc(0.5 * a, 0.5 * b, a * x / (a * x + b)),
    "fdtrc": lambda a, b, x: ops.betainc(0.5 * b, 0.5 * a, b / (a * x + b)),
    "fresnel": lambda x: (ops.fresnel_s(x), ops.fresnel_c(x)),
    "gdtr": lambda a, b, x: ops.igamma(b, a * x),
    "gdtrc": lambda a, b, x: ops.igammac(b, a * x),
    "huber": _huber,
    "hyp1f1": _with_numbers("hyp1f1", 1),
    "hyp2f1": _with_numbers("hyp2f1", 2),
    "inv_boxcox": lambda y, lmbda: ops.exp(_inverse_boxcox(y, lmbda)),
    "inv_boxcox1p": lambda y, lmbda: ops.expm1(_inverse_boxcox(y, lmbda)),
    "ive": lambda v, z: ops.iv(v, z, 0, True),
    "kl_div": lambda x, y: _kl(x, y) - x + y,
    "kn": _of_integer("kv"),
    "kve": lambda v, z: ops.kv(v, z, 0, True),
    "loggamma": lambda z: ops.lgamma(z),
    "ndtri_exp": lambda y: ops.special_ndtri(ops.exp(y)),
    "pdtr": lambda k, m: ops.igammac(ops.floor(k) + 1, m),
    "pdtrc": lambda k, m: ops.igamma(ops.floor(k) + 1, m),
    "poch": lambda z, m: ops.gamma(z + m) / ops.gamma(z),
    "pseudo_huber": _pseudo_huber,
    "radian": lambda d, m, s: ops.deg2rad(d + m / 60 + s / 3600),
    "rel_entr": _kl,
    "rgamma": lambda x: 1 / ops.gamma(x),
    "sici": lambda x: (ops.sine_integral(x), ops.cosine_integral(x)),
    "yn": _of_integer("yv"),
}


def _fill():
    tables = {name: operations[own] for name, own in OPERATIONS.items()} | FUNCTIONS_OF_UFUNCS
    for name, over_tensors in tables.items():
        # in its array API mode SciPy wraps them
        ufunc = inspect.unwrap(getattr(scipy.special, name))
        # SciPy has some under two names, and some that are NumPy's
        if isinstance(ufunc, numpy.ufunc) and ufunc not in UFUNCS:
            ufunc_over_tensors(ufunc, over_tensors)


_fill()
del _fill

# functions that are no ufuncs -----------------------------------------------------------------------------------------


def _axes(axis, a):
    return axes_of(axis, a.ndim)


@function("scipy.special.logsumexp")
def logsumexp(a: Array, axis=None, b=None, keepdims=False, return_sign=False):
    """log(sum(b * exp(a))) along axes, of the absolute value where the sign is returned too."""
    a = inexact(a)
    axes = _axes(axis, a)
    if b is None and not return_sign:
        return ops.logsumexp(a, axes, keepdims) if axes else a
    if b is not None:
        a, b = promoted(a, b)
    highest = a._array.max(axis=axes, keepdims=True, initial=-math.inf) if kind_of(a).kind != "c" else 0.0
    highest = tensor_of(numpy.where(numpy.isfinite(highest), highest, 0.0).astype(kind_of(a)))
    powers = ops.exp(a - highest)
    total = ops.sum(powers if b is None else b * powers, axes, keepdims)
    shift = highest if keepdims else ops.reshape(highest, tuple(total.shape))
    if not return_sign:
        return ops.log(total) + shift
    sign = ops.sgn(total)
    return ops.log(abs(total)) + shift, sign


def _along_several(operation, x, axis):
    axes = _axes(axis, x)
    if len(axes) == 1:
        return operation(x, axes[0])
    rest = [i for i in range(x.ndim) if i not in axes]
    order = (*rest, *axes)
    moved = ops.permute(x, order)
    flat = ops.reshape(moved, (*[x.shape[i] for i in rest], -1))
    result = ops.reshape(operation(flat, len(rest)), tuple(moved.shape))
    return ops.permute(result, tuple(numpy.argsort(order).tolist()))


@function("scipy.special.softmax")
def softmax(x: Array, axis=None):
    """exp(x) over its sum along axes."""
    return _along_several(ops.softmax, inexact(x), axis)


@function("scipy.special.log_softmax")
def log_softmax(x: Array, axis=None):
    """The logarithm of softmax()."""
    return _along_several(ops.log_softmax, inexact(x), axis)


@function("scipy.special.polygamma")
def polygamma(n, x: Array):
    """The n-th derivative of digamma, for one n."""
    order = numpy.asarray(plain(n))
    if order.size != 1:
        raise TypeError("polygamma: with a Tensor as the argument, the order must be one integer")
    return ops.polygamma(inexact(x), int(order.reshape(())))


@function("scipy.special.multigammaln")
def multigammaln(a: Array, d):
    """The logarithm of the gamma function of dimension d."""
    return ops.mvlgamma(inexact(a), int(plain(d)))


@function("scipy.special.zeta")
def zeta(x, q=None, out=None):
    """Hurwitz's zeta function; differentiable by q."""
    x, q = promoted(x, 1.0 if q is None else q)
    return ops.special_zeta(inexact(x), inexact(q))


@function("scipy.special.spherical_jn")
def spherical_jn(n, z: Array, derivative=False):
    """The spherical Bessel function of the first kind of one order."""
    order, z = int(plain(n)), inexact(z)
    if not derivative:
        return ops.spherical_bessel_j(z, order)
    if order == 0:
        return -ops.spherical_bessel_j(z, 1)
    return ops.spherical_bessel_j(z, order - 1) - (order + 1) / z * ops.spherical_bessel_j(z, order)


@function("scipy.special.sinc")
def sinc(x: Array):
    """sin(pi * x) / (pi * x)."""
    return ops.sinc(inexact(x))


@function("scipy.special.factorial")
def factorial(n: Array, exact=False):
    """gamma(n + 1)."""
    return ops.gamma(inexact(n) + 1)


@function("scipy.special.comb")
def comb(N: Array, k: Array, *, exact=False, repetition=False):
    """The number of ways to choose k of N, for real numbers too."""
    N, k = promoted(inexact(N), inexact(k))
    if repetition:
        N = N + k - 1
    return FUNCTIONS_OF_UFUNCS["binom"](N, k)


